//! What a target is, and what it answers.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use ledger::plan::{Key, Layer};
use platform::Deadline;

use crate::Reason;

/// A cache that can let go of keys.
pub trait Target: Send + Sync {
    /// The layer it belongs to. Several targets may share one, e.g. two storefronts.
    fn layer(&self) -> Layer;

    /// Its name in logs, metrics and the breaker's record; unique among the configured targets.
    fn name(&self) -> &str;

    /// Purges `keys`, stopping early enough for the deadline.
    ///
    /// Never fails as a whole: the report answers every key, in the order given. A key list that is empty is not sent. The
    /// purge is idempotent; it may be dropped and repeated at any time. Not promised: that what is `Failed` had no effect.
    fn purge(&self, keys: &[Key], deadline: Deadline) -> impl Future<Output = PurgeReport> + Send;
}

/// What became of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyOutcome {
    /// The target said that it let go of it.
    Confirmed,
    /// The target refused this very key; repeating it is hardly worth more than the three tries it gets.
    Refused {
        /// Why.
        reason: Reason,
    },
    /// It was not purged, for a reason that is not the key's: try again later, however often.
    Failed {
        /// Why; `deadline` when there was no time left for it.
        reason: Reason,
    },
}

impl KeyOutcome {
    /// True for [`KeyOutcome::Confirmed`].
    pub fn is_confirmed(&self) -> bool {
        matches!(self, Self::Confirmed)
    }

    /// True when the target had its say on this key.
    pub fn is_answer(&self) -> bool {
        !matches!(self, Self::Failed { .. })
    }
}

/// The target as a whole does not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outage {
    /// How long the target asked to be left alone.
    pub retry_after: Option<Duration>,
    /// What was seen, e.g. `HTTP 503`.
    pub what: Reason,
}

/// What a purge came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PurgeReport {
    /// Every key given, once, in the order given.
    pub outcomes: Vec<(Key, KeyOutcome)>,
    /// Set when the target is out. Keys confirmed before it went out stay confirmed.
    pub outage: Option<Outage>,
    /// Requests sent.
    pub calls: u32,
    /// Keys that the target answered with a fault each on its own while nothing else succeeded: the target may be out, or they
    /// may be what breaks it. Their outcome is `Failed`. See [`PurgeReport::blaming_suspects`].
    pub suspects: Vec<Key>,
}

impl PurgeReport {
    /// The report with every suspect refused instead of failed: for a caller who knows that the target worked until a moment
    /// ago ([`crate::BreakerState::blames_keys`]). Without it a page that always breaks would be tried for ever.
    #[must_use]
    pub fn blaming_suspects(mut self) -> Self {
        for (key, outcome) in &mut self.outcomes {
            if let KeyOutcome::Failed { reason } = outcome
                && self.suspects.contains(key)
            {
                *outcome = KeyOutcome::Refused {
                    reason: reason.clone(),
                };
            }
        }
        self
    }

    /// Every key failed for one reason, nothing sent.
    pub fn failed(keys: &[Key], reason: impl Into<Reason>) -> Self {
        let reason = reason.into();
        let outcomes = keys
            .iter()
            .map(|key| {
                (
                    key.clone(),
                    KeyOutcome::Failed {
                        reason: reason.clone(),
                    },
                )
            })
            .collect();
        Self {
            outcomes,
            ..Self::default()
        }
    }
}

/// One outcome a key from the reports of all targets of a layer: confirmed if all confirmed it, failed if any failed it, else
/// refused. Without a report every key is failed, never confirmed.
pub fn merge(keys: &[Key], reports: &[PurgeReport]) -> Vec<(Key, KeyOutcome)> {
    let rank = |outcome: &KeyOutcome| match outcome {
        KeyOutcome::Confirmed => 0,
        KeyOutcome::Refused { .. } => 1,
        KeyOutcome::Failed { .. } => 2,
    };
    let answers: Vec<HashMap<&Key, &KeyOutcome>> = reports
        .iter()
        .map(|report| {
            report
                .outcomes
                .iter()
                .map(|(key, outcome)| (key, outcome))
                .collect()
        })
        .collect();
    let missing = KeyOutcome::Failed {
        reason: Reason::new("no target answered for it"),
    };
    keys.iter()
        .map(|key| {
            let worst = answers
                .iter()
                .map(|by_key| by_key.get(key).copied().unwrap_or(&missing))
                .max_by_key(|outcome| rank(outcome))
                .unwrap_or(&missing);
            (key.clone(), worst.clone())
        })
        .collect()
}

/// Any target, so that targets of different kinds fit into one list. Clones share the target.
#[derive(Clone)]
pub struct AnyTarget(Arc<dyn Erased>);

impl AnyTarget {
    /// Wraps a target.
    pub fn new(target: impl Target + 'static) -> Self {
        Self(Arc::new(target))
    }
}

impl fmt::Debug for AnyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AnyTarget({})", self.name())
    }
}

impl Target for AnyTarget {
    fn layer(&self) -> Layer {
        self.0.layer_erased()
    }

    fn name(&self) -> &str {
        self.0.name_erased()
    }

    async fn purge(&self, keys: &[Key], deadline: Deadline) -> PurgeReport {
        self.0.purge_erased(keys, deadline).await
    }
}

/// [`Target`] with its future boxed: a trait with an `impl Future` cannot be made into an object.
trait Erased: Send + Sync {
    fn layer_erased(&self) -> Layer;
    fn name_erased(&self) -> &str;
    fn purge_erased<'a>(
        &'a self,
        keys: &'a [Key],
        deadline: Deadline,
    ) -> Pin<Box<dyn Future<Output = PurgeReport> + Send + 'a>>;
}

impl<T: Target> Erased for T {
    fn layer_erased(&self) -> Layer {
        self.layer()
    }

    fn name_erased(&self) -> &str {
        self.name()
    }

    fn purge_erased<'a>(
        &'a self,
        keys: &'a [Key],
        deadline: Deadline,
    ) -> Pin<Box<dyn Future<Output = PurgeReport> + Send + 'a>> {
        Box::pin(self.purge(keys, deadline))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(slug: &str) -> Key {
        Key::Slug {
            slug: slug.to_owned(),
        }
    }

    fn refused() -> KeyOutcome {
        KeyOutcome::Refused { reason: "no".into() }
    }

    fn failed() -> KeyOutcome {
        KeyOutcome::Failed {
            reason: "down".into(),
        }
    }

    fn report(outcomes: &[KeyOutcome]) -> PurgeReport {
        let names = ["/a", "/b", "/c"];
        PurgeReport {
            outcomes: names
                .iter()
                .map(|name| key(name))
                .zip(outcomes.iter().cloned())
                .collect(),
            ..PurgeReport::default()
        }
    }

    #[test]
    fn a_layer_has_let_go_only_when_all_its_targets_have() {
        let keys = [key("/a"), key("/b"), key("/c")];
        let one = report(&[KeyOutcome::Confirmed, refused(), refused()]);
        let two = report(&[KeyOutcome::Confirmed, KeyOutcome::Confirmed, failed()]);
        let merged: Vec<KeyOutcome> = merge(&keys, &[one, two])
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        assert_eq!(merged, [KeyOutcome::Confirmed, refused(), failed()]);
    }

    #[test]
    fn silence_never_confirms() {
        let keys = [key("/a")];
        assert!(!merge(&keys, &[])[0].1.is_confirmed());
        assert!(!merge(&keys, &[PurgeReport::default()])[0].1.is_confirmed());
    }

    #[test]
    fn only_suspects_are_blamed() {
        let mut report = report(&[failed(), failed(), KeyOutcome::Confirmed]);
        report.suspects = vec![key("/b"), key("/c")];
        let blamed: Vec<KeyOutcome> = report
            .blaming_suspects()
            .outcomes
            .into_iter()
            .map(|(_, outcome)| outcome)
            .collect();
        assert_eq!(
            blamed,
            [
                failed(),
                KeyOutcome::Refused {
                    reason: "down".into()
                },
                KeyOutcome::Confirmed
            ]
        );
    }
}
