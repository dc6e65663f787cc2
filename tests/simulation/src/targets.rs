//! The targets of the purges: the layers of [`crate::caches`], called over a network that fails.

use ledger::plan::{Key, Layer};
use platform::Deadline;
use purge::{AnyTarget, KeyOutcome, Outage, PurgeReport, Target, Targets};

use crate::ports::Hands;

/// Attempts within one purge.
const TRIES: usize = 2;

/// One layer's target.
#[derive(Debug, Clone)]
struct CacheTarget {
    hands: Hands,
    /// What the consumer takes it for.
    layer: Layer,
    /// What it is.
    cache: Layer,
    name: &'static str,
}

/// The three targets of a process.
pub fn targets(hands: &Hands) -> Targets {
    let mut order = Layer::ALL;
    if hands.world.config.switches.outer_first {
        order.reverse();
    }
    let target = |(layer, cache)| {
        AnyTarget::new(CacheTarget {
            hands: hands.clone(),
            layer,
            cache,
            name: match cache {
                Layer::GraphqlCdn => "graphql",
                Layer::Storefront => "storefront",
                Layer::HtmlCdn => "html",
            },
        })
    };
    Targets::new(Layer::ALL.into_iter().zip(order).map(target).collect())
}

impl Target for CacheTarget {
    fn layer(&self) -> Layer {
        self.layer
    }

    fn name(&self) -> &str {
        self.name
    }

    async fn purge(&self, keys: &[Key], _: Deadline) -> PurgeReport {
        let (world, process) = (&self.hands.world, &self.hands.process);
        let chance = world.config.target_fails / 2.0;
        let mut left: Vec<Key> = keys.to_vec();
        let mut out = false;
        let mut calls = 0;
        for attempt in 0..TRIES {
            if attempt > 0 {
                process.call((0.3, 0.8), async {}).await;
            }
            calls += 1;
            out = process
                .call((0.05, 0.3), async { self.call(&mut left, chance) })
                .await;
            if left.is_empty() {
                break;
            }
        }
        world.count("purges", keys.len());
        let outcome = |key: &Key| {
            if left.contains(key) {
                KeyOutcome::Failed {
                    reason: "HTTP 503".into(),
                }
            } else {
                KeyOutcome::Confirmed
            }
        };
        PurgeReport {
            outcomes: keys.iter().map(|key| (key.clone(), outcome(key))).collect(),
            outage: out.then(|| Outage {
                retry_after: None,
                what: "HTTP 503".into(),
            }),
            calls,
            suspects: vec![],
        }
    }
}

impl CacheTarget {
    /// One request. What it purged is taken off `left`; true when the target is out.
    fn call(&self, left: &mut Vec<Key>, chance: f64) -> bool {
        let (world, process) = (&self.hands.world, &self.hands.process);
        let place = Layer::ALL.iter().position(|layer| *layer == self.cache);
        let down = world
            .script
            .outage
            .as_ref()
            .is_some_and(|((from, until), layers)| {
                (*from..=*until).contains(&world.seconds())
                    && place.is_some_and(|place| layers.contains(&place))
            });
        if down || process.draw(|random| random.chance(chance)) {
            world.log(|| format!("    {} is out", self.name));
            return true;
        }
        left.retain(|key| {
            if process.draw(|random| random.chance(chance)) {
                return true;
            }
            world.let_go(self.cache, key);
            false
        });
        false
    }
}
