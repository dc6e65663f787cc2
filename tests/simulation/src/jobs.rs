//! The scheduled jobs and the operator: the real reconcile with its sweep (law 13), and a reprocess (law 14).

use std::{sync::Arc, time::Duration};

use ledger::{
    item::{Kind, Origin, OutboxItem},
    record::Settings,
    store::{Documents, jobs::Wakes},
    wake::Sleeper,
};
use platform::{Deadline, Metrics};
use reconcile::{run::Reconcile, settings::Settings as ReconcileSettings};

use crate::{
    config::Config,
    lake::{self, DATASET, PROJECT},
    ports::Hands,
    process::{Process, pause},
    random::Random,
    world::World,
};

const EVERY: f64 = 900.0;
const DAY: f64 = 86_400.0;
const TIMEOUT: Duration = Duration::from_secs(60);

impl World {
    /// Reconcile knows where the source stood before the history, and swept it within the last day.
    pub async fn reconciled_before(self: &Arc<Self>) {
        let ago = self.draw("reconcile", |random| random.between(0.0, DAY));
        self.reconcile_once("before", -ago, &Config::default()).await;
    }

    /// Reconciles until the history ends.
    pub async fn reconcile(self: Arc<Self>) {
        let first = self.draw("reconcile", |random| random.between(0.0, EVERY));
        pause(first).await;
        for number in 0.. {
            let now = self.seconds();
            let down = self
                .script
                .api_down
                .is_some_and(|(from, until)| (from..=until).contains(&now));
            if !down {
                self.reconcile_once(&number.to_string(), 0.0, &self.config).await;
            }
            pause(first + EVERY * f64::from(number + 1) - self.seconds()).await;
        }
    }

    async fn reconcile_once(self: &Arc<Self>, number: &str, skew: f64, faults: &Config) {
        let random = Random::new(self.seed, &format!("reconcile {number}"));
        let process = Arc::new(Process::new(random, faults));
        let hands = Arc::new(Hands::new(self.clone(), process.clone()));
        let reconcile = Reconcile {
            ledger: hands.clone(),
            routes: hands.clone(),
            source: hands,
            config: self.routes_config.clone(),
            settings: ReconcileSettings::new(Settings {
                grace_seconds: 1500,
                ..self.settings.clone()
            }),
            clock: self.clock(skew),
            metrics: Metrics::new("simulation", "reconcile"),
        };
        let run = reconcile.run(false, Deadline::after(TIMEOUT));
        match tokio::time::timeout(TIMEOUT, process.run(run)).await {
            Ok(Ok(Ok(summary))) => {
                let entered: u64 = summary.changes.iter().map(|changes| changes.entered).sum();
                self.count("reconciled", entered as usize);
                if let Some(sweep) = summary.sweep {
                    self.log(|| format!("SWEPT {sweep:?}"));
                    self.count("swept", (sweep.entered + sweep.vanished) as usize);
                    self.count("swept plans", sweep.woken as usize);
                }
            }
            Ok(Ok(Err(error))) => self.log(|| format!("  reconcile stops: {error}")),
            Ok(Err(_)) | Err(_) => self.log(|| "  reconcile dies".to_owned()),
        }
    }

    /// An operator's reprocess of a document, as law 14 has it.
    pub async fn reprocess(self: Arc<Self>, at: f64, document: usize) {
        pause(at - self.seconds()).await;
        let key = self.document_key(document);
        let Ok(state) = self.ledger.read(&key, "").await else {
            return;
        };
        let items = self.ledger.all_items();
        let of_document = || items.iter().filter(|item| item.pk == key);
        let asked = of_document().filter_map(|item| item.generation).max();
        let generation = 1 + asked.unwrap_or(0).max(state.head.generation);
        let id = lake::id(&self.config, document);
        let kind = lake::kind(&self.config, document);
        let newest = of_document().rfind(|item| item.kind == Kind::Event);
        let sleeper = newest.map_or_else(|| Sleeper::named(PROJECT, DATASET, &id, Some(kind)), Sleeper::of);
        let now = platform::Clock::now(&self.clock(0.0));
        let item = OutboxItem {
            generation: Some(generation),
            ..sleeper.wake(
                Kind::Reprocess,
                &format!("g{generation}"),
                Origin::Operator,
                now,
                &self.settings,
            )
        };
        self.log(|| format!("REPROCESS {id} generation {generation}"));
        self.count("reprocessed", 1);
        if self.ledger.wake(&item).await.is_ok() {
            self.inserted(&item);
        }
    }
}
