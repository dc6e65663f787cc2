//! One wake of one document.
//!
//! read → agenda (law 5) → fence (law 7) → cascade and plan (laws 8, 9) → purge (law 10) → head → marks (law 12). Whatever is
//! worth retrying puts the work off and ends well; only what no later wake can mend by itself is a failure (law 11).

mod cascade;
mod defer;
mod fence;
mod finish;
mod late;
mod later;
mod purging;

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use ledger::{
    head::Head,
    history::History,
    item::{Kind, OutboxItem},
    order::Agenda,
    record::{milliseconds, rfc3339},
    store::{Breakers, DocumentState, Documents, LedgerError},
};
use platform::{Clock, Deadline, Metrics, fault_point};
use purge::Targets;
use routing::{config::RoutesConfig, store::RouteStore};

use crate::{
    settings::Settings,
    source::{Observer, Source, SourceError},
};
use cascade::Cascaded;
use fence::Fenced;
use late::Late;

/// Attempts within one wake when somebody else changes the document meanwhile.
const ROUNDS: usize = 6;

/// Everything a wake needs.
#[derive(Debug)]
pub struct Consumer<L, R, S, C> {
    /// The ledger.
    pub ledger: Arc<L>,
    /// Routes and edges.
    pub routes: Arc<R>,
    /// The source.
    pub source: Arc<S>,
    /// Reads of the source that a batch shares.
    pub observer: Observer<S>,
    /// The caches to purge.
    pub targets: Targets,
    /// Types, the routing query and its bounds.
    pub config: RoutesConfig,
    /// Times and bounds.
    pub settings: Settings,
    /// The clock.
    pub clock: C,
    /// Metrics of this invocation.
    pub metrics: Metrics,
}

/// What a wake came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Woken {
    /// Everything found is done.
    Done,
    /// At most marks were missing.
    Idle,
    /// Put off; the relay wakes the document again.
    PutOff(String),
}

/// The result of a wake: what it came to, and which of its messages name an item that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What it came to.
    pub woken: Woken,
    /// Sort keys without an item; their messages fail (law 5).
    pub unknown: Vec<String>,
}

/// What no later wake mends by itself: the queue's redelivery and its dead letter queue are for this.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The ledger did not take a read or a write; without it nothing can be put off either.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The routes table refused.
    #[error("routes: {0}")]
    Routes(String),
    /// The document changes faster than it can be handled.
    #[error("the document changed {ROUNDS} times while it was handled")]
    Contended,
    /// An item that no wake can handle.
    #[error("{0}")]
    Unusable(String),
}

/// Why a round ended early.
enum Stop {
    /// Somebody else changed the document: read it again.
    Again,
    /// Worth retrying later.
    PutOff {
        why: String,
        retry_after: Option<Duration>,
    },
    /// Not worth retrying here.
    Failed(Failure),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl From<SourceError> for Stop {
    fn from(error: SourceError) -> Self {
        Self::PutOff {
            retry_after: error.retry_after,
            why: error.to_string(),
        }
    }
}

/// One round over a document: what was read, and what has come of it.
struct Round<'a> {
    document_key: &'a str,
    named: &'a [String],
    deadline: Deadline,
    /// When the read began, epoch milliseconds.
    begun: i64,
    state: DocumentState,
    agenda: Agenda,
    late: Late,
    history: History,
}

impl Round<'_> {
    fn head(&self) -> &Head {
        &self.state.head
    }

    /// Any item of the agenda: all are of the same document.
    fn any_item(&self) -> Option<&OutboxItem> {
        let agenda = &self.agenda;
        [
            &agenda.frontier,
            &agenda.unordered,
            &agenda.late,
            &agenda.wakes,
            &agenda.reprocess,
            &agenda.repeats,
        ]
        .into_iter()
        .find_map(|items| items.first())
        .or_else(|| self.state.items.first())
    }
}

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    /// Handles a document for the messages that name `named`.
    ///
    /// # Errors
    /// See [`Failure`]; every message of the document has failed.
    pub async fn wake(
        &self,
        document_key: &str,
        named: &[String],
        deadline: Deadline,
    ) -> Result<Answer, Failure> {
        for _ in 0..ROUNDS {
            let mut round = self.begin(document_key, named, deadline).await?;
            fault_point!("consumer.read");
            let unknown = self.unknown(&round).await?;
            match self.round(&mut round).await {
                Ok(woken) => return Ok(Answer { woken, unknown }),
                Err(Stop::Again) => tracing::info!(document_key, "the document changed meanwhile; once more"),
                Err(Stop::PutOff { why, retry_after }) => {
                    self.put_off(&round, &why, retry_after).await?;
                    return Ok(Answer {
                        woken: Woken::PutOff(why),
                        unknown,
                    });
                }
                Err(Stop::Failed(failure)) => return Err(failure),
            }
        }
        Err(Failure::Contended)
    }

    async fn begin<'a>(
        &self,
        document_key: &'a str,
        named: &'a [String],
        deadline: Deadline,
    ) -> Result<Round<'a>, Failure> {
        let now = self.clock.now();
        let lowest = named.iter().min().map_or("", String::as_str);
        let state = self.ledger.read(document_key, lowest).await?;
        let agenda = Agenda::new(&state.head, &state.items, named);
        let history = History::new(document_key, lowest, milliseconds(now), rfc3339(now));
        Ok(Round {
            document_key,
            named,
            deadline,
            begun: milliseconds(now),
            state,
            agenda,
            late: Late::default(),
            history,
        })
    }

    /// The messages whose own item the read does not show. One whose evidence has expired as well is settled (law 5).
    async fn unknown(&self, round: &Round<'_>) -> Result<Vec<String>, Failure> {
        let shown: BTreeSet<&str> = round.state.items.iter().map(|item| item.sk.as_str()).collect();
        let retention = self.settings.ledger.retention_days * 86_400;
        let oldest = self.clock.now().unix_timestamp() - retention;
        let mut unknown = Vec::new();
        for sort_key in round
            .named
            .iter()
            .filter(|sort_key| !shown.contains(sort_key.as_str()))
        {
            let old = ledger::identity::second_of(sort_key).is_some_and(|second| second < oldest);
            let event_id = sort_key.split('#').nth(2).unwrap_or_default();
            if old && !self.ledger.event_exists(event_id).await? {
                tracing::warn!(sort_key, "the event has expired");
                continue;
            }
            tracing::error!(sort_key, "a message names an item that is not in the outbox");
            unknown.push(sort_key.clone());
        }
        Ok(unknown)
    }

    async fn round(&self, round: &mut Round<'_>) -> Result<Woken, Stop> {
        let plan = round.state.plan()?;
        if round.agenda.is_idle(round.head()) && plan.is_settled() {
            self.mark_what_is_owed(round).await?;
            return Ok(Woken::Idle);
        }
        if round.any_item().is_none_or(|item| item.document_id.is_none()) {
            return Err(Failure::Unusable("an open item names no document".to_owned()).into());
        }
        let fenced = self.fence(round).await?;
        fault_point!("consumer.fenced");
        if let Fenced::Unchanged = fenced {
            self.settle_rechecks(round).await?;
            return Ok(Woken::Done);
        }
        self.judge_late(round, &fenced);
        if self.only_waits(round, &fenced, &plan) {
            self.mark_what_is_owed(round).await?;
            self.put_off_the_waiting(round).await?;
            return Ok(Woken::Done);
        }
        let cascaded = if self.is_plain_repeat(round, &fenced) {
            self.repeat(round, plan).await?
        } else if self.is_slugs_only(round, &fenced, &plan) {
            self.plan_slugs(round, fenced.shown().cloned(), plan).await?
        } else {
            self.cascade(round, &fenced, plan).await?
        };
        fault_point!("consumer.cascaded");
        let purged = self.purge(round, cascaded).await?;
        fault_point!("consumer.purged");
        self.finish(round, &fenced, purged).await?;
        self.put_off_the_unfenced(round, &fenced).await?;
        self.put_off_the_waiting(round).await?;
        Ok(Woken::Done)
    }

    /// The time for reads: what is left behind it is for putting the work off.
    fn working_time(&self, round: &Round<'_>) -> Deadline {
        round.deadline.earlier(self.settings.margin)
    }

    /// One more purge of the same keys and nothing else to do: no cascade (law 10).
    fn is_plain_repeat(&self, round: &Round<'_>, fenced: &Fenced) -> bool {
        !round.agenda.wakes.is_empty()
            && self.repeats_at_most(round)
            && round.agenda.late.is_empty()
            && fenced.handled().is_empty()
    }

    /// Whether no wake asks for more than one more purge of the same keys.
    fn repeats_at_most(&self, round: &Round<'_>) -> bool {
        let agenda = &round.agenda;
        agenda.wakes.iter().all(|wake| wake.kind == Kind::Repeat)
            && agenda.wanted_generation(round.head()).is_none()
    }

    async fn repeat(&self, round: &mut Round<'_>, mut plan: ledger::plan::Plan) -> Result<Cascaded, Stop> {
        let token = cascade::token(round, &[], &[]);
        for wake in &round.agenda.wakes {
            let mut layers = self.targets.layers();
            layers.retain(|layer| Some(*layer) >= wake.from_layer);
            let entries = fence::entries_of(std::slice::from_ref(wake))?;
            plan.owe(&entries, &layers, &token);
        }
        let chunks = self.store_plan(round, &plan).await?;
        Ok(Cascaded {
            chunks,
            seen: round.head().seen.clone(),
            routes_affected: None,
        })
    }
}
