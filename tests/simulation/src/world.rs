//! One history: the script, everything that exists in it, and how it is run on virtual time.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use deadletters::letter::Letter;
use ledger::{
    head::{Handled, Head},
    history::History,
    identity::{self, MessageGroup},
    item::{Class, OutboxItem, Seen},
    record::Settings,
    store::{Advance, DocumentState, Documents, memory::MemoryLedger},
};
use platform::Deadline;
use routing::{RouteChange, RouteStore, RoutesConfig, model, store::memory::MemoryStore};
use time::OffsetDateTime;

use crate::{
    caches::Caches,
    config::Config,
    lake::{self, DATASET, Lake, PROJECT, START},
    late::{self, Traces},
    process::pause,
    random::Random,
    script::{Heads, Script},
    transport::Queue,
    verdict::Verdict,
};

/// Quiet time after the last edit.
const QUIET: f64 = 30.0 * 3600.0;
/// Everything that exists in a history.
#[derive(Debug)]
pub struct World {
    /// Names the history.
    pub seed: u64,
    /// Its faults.
    pub config: Config,
    /// What happens outside.
    pub script: Script,
    /// The ledger.
    pub ledger: MemoryLedger,
    /// The routes.
    pub routes: MemoryStore,
    /// What recording needs to know.
    pub settings: Settings,
    /// Types and the routing query.
    pub routes_config: RoutesConfig,
    start: OffsetDateTime,
    origin: tokio::time::Instant,
    traced: bool,
    lake: Mutex<Lake>,
    caches: Mutex<Caches>,
    queue: Mutex<Queue>,
    rest: Mutex<Rest>,
}

/// The rest of what changes.
#[derive(Debug, Default)]
pub(crate) struct Rest {
    streams: BTreeMap<String, Random>,
    relay_at: Option<i64>,
    inserted: BTreeSet<(String, String)>,
    counts: BTreeMap<&'static str, usize>,
    problems: Vec<String>,
    log: Vec<String>,
    /// The queue's dead letters.
    pub(crate) letters: Vec<Letter>,
    pub(crate) following_letters: bool,
    /// How often a person was told.
    pub(crate) told: usize,
    pub(crate) late: Traces,
    pub(crate) snapshots: BTreeMap<String, Vec<(f64, DocumentState)>>,
}

/// The clock of a process, a little off.
#[derive(Debug, Clone)]
pub struct Clock {
    pub(crate) start: OffsetDateTime,
    pub(crate) origin: tokio::time::Instant,
}

/// What came of a history.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was found at the end.
    pub verdict: Verdict,
    /// What was counted on the way.
    pub counts: BTreeMap<&'static str, usize>,
    /// What happened, if it was to be kept.
    pub log: Vec<String>,
}

/// Runs one history from its beginning until all is quiet.
///
/// # Panics
/// The shipped `routes.toml` cannot be read, or no runtime can be built.
#[allow(clippy::expect_used, reason = "without a runtime there is no history")]
pub fn run(seed: u64, config: &Config, script: &Script, traced: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let routes_config = late::routes_config(config);
    runtime.block_on(async {
        let world = Arc::new(World::new(seed, config, script, routes_config, traced));
        world.begin().await;
        tokio::select! {
            biased;
            () = pause(world.script.end + QUIET - world.seconds()) => {}
            () = world.clone().reconcile() => {}
        }
        let verdict = world.verdict().await;
        let mut rest = world.rest();
        Outcome {
            verdict,
            counts: std::mem::take(&mut rest.counts),
            log: std::mem::take(&mut rest.log),
        }
    })
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    fn new(seed: u64, config: &Config, script: &Script, routes_config: RoutesConfig, traced: bool) -> Self {
        let message_group = if config.group_by_type {
            MessageGroup::Type
        } else {
            MessageGroup::Document
        };
        Self {
            seed,
            config: config.clone(),
            script: script.clone(),
            ledger: MemoryLedger::new(),
            routes: MemoryStore::new(),
            settings: Settings {
                stage: "simulation".to_owned(),
                project: PROJECT.to_owned(),
                datasets: vec![DATASET.to_owned()],
                message_group,
                ready_shards: 1,
                grace_seconds: 1500,
                retention_days: 30,
            },
            routes_config,
            start: OffsetDateTime::from_unix_timestamp(START).unwrap_or(OffsetDateTime::UNIX_EPOCH),
            origin: tokio::time::Instant::now(),
            traced,
            lake: Mutex::new(Lake::new(script, config)),
            caches: Mutex::default(),
            queue: Mutex::default(),
            rest: Mutex::default(),
        }
    }

    /// Puts what was there before, and lets everything begin.
    async fn begin(self: &Arc<Self>) {
        for document in 0..self.lake(|lake| lake.documents()) {
            self.known_before(document).await;
        }
        self.reconciled_before().await;
        for edit in self.script.edits.clone() {
            let world = self.clone();
            tokio::spawn(async move {
                pause(edit.at - world.seconds()).await;
                world.edit(&edit);
            });
        }
        for (at, document) in self.script.reprocess.clone() {
            tokio::spawn(self.clone().reprocess(at, document));
        }
        for slug in 0..self.config.slugs {
            let at = self.draw("visitors", |random| random.between(0.0, 60.0));
            let world = self.clone();
            tokio::spawn(async move {
                pause(at).await;
                world.visit(slug);
            });
        }
        if self.config.evict {
            tokio::spawn(self.clone().evict());
        }
    }

    async fn known_before(&self, document: usize) {
        let version = self.lake(|lake| lake.latest(document).clone());
        let (Some(revision), Some(content)) = (version.revision, version.content) else {
            return;
        };
        if let Some(slug) = content.slug {
            let mut route = model::Route {
                dataset: DATASET.to_owned(),
                document_id: lake::id(&self.config, document),
                document_type: lake::kind(&self.config, document).to_owned(),
                graphql_type: "Page".to_owned(),
                route: "default".to_owned(),
                slug: lake::slug_name(slug),
                dependencies: content
                    .shows
                    .iter()
                    .map(|it| lake::id(&self.config, *it))
                    .collect(),
                source_revision: revision.clone(),
                source_second: version.second,
                item_hash: String::new(),
                version: 1,
            };
            route.item_hash = route.content_hash();
            let write = model::RouteWrite {
                add_edges: route.dependencies.clone(),
                route,
                replaces: None,
                remove_edges: vec![],
                old_slug: None,
            };
            let far = Deadline::after(Duration::from_secs(60));
            let _ = self.routes.apply(&RouteChange::Write(write.into()), &far).await;
        }
        if self.script.heads == Heads::None {
            return;
        }
        let applied = self.script.heads == Heads::Applied;
        let head = Head {
            second: applied.then_some(version.second),
            open_second: applied.then_some(version.second),
            handled: applied
                .then(|| Handled {
                    revision: revision.clone(),
                    class: Class::Write,
                })
                .into_iter()
                .collect(),
            seen: Some(Seen {
                revision,
                second: version.second,
            }),
            version: 1,
            ..Head::default()
        };
        let document_key = self.document_key(document);
        let advance = Advance {
            history: History::new(&document_key, "", 0, String::new()),
            document_key,
            from_version: 0,
            head,
            wakes: vec![],
            chunks: vec![],
        };
        let _ = self.ledger.advance(&advance).await;
    }

    /// Seconds since the history began.
    pub fn seconds(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// A clock that is `skew` seconds off.
    pub fn clock(&self, skew: f64) -> Clock {
        Clock {
            start: self.start + time::Duration::seconds_f64(skew),
            origin: self.origin,
        }
    }

    /// Looks at the documents.
    pub fn lake<T>(&self, look: impl FnOnce(&Lake) -> T) -> T {
        look(&held(&self.lake))
    }

    /// Changes the documents.
    pub fn lake_mut<T>(&self, change: impl FnOnce(&mut Lake) -> T) -> T {
        change(&mut held(&self.lake))
    }

    /// Looks at the caches and changes them.
    pub fn caches<T>(&self, change: impl FnOnce(&mut Caches) -> T) -> T {
        change(&mut held(&self.caches))
    }

    /// Looks at the queue and changes it.
    pub fn queue<T>(&self, change: impl FnOnce(&mut Queue) -> T) -> T {
        change(&mut held(&self.queue))
    }

    pub(crate) fn rest(&self) -> MutexGuard<'_, Rest> {
        held(&self.rest)
    }

    /// A draw from the stream of this name.
    pub fn draw<T>(&self, name: &str, draw: impl FnOnce(&mut Random) -> T) -> T {
        let mut stream = self
            .rest()
            .streams
            .remove(name)
            .unwrap_or_else(|| Random::new(self.seed, name));
        let drawn = draw(&mut stream);
        self.rest().streams.insert(name.to_owned(), stream);
        drawn
    }

    /// Counts.
    pub fn count(&self, name: &'static str, by: usize) {
        *self.rest().counts.entry(name).or_default() += by;
    }

    /// Something happened that must not.
    pub fn problem(&self, problem: String) {
        self.log(|| format!("PROBLEM {problem}"));
        self.rest().problems.push(problem);
    }

    /// The problems so far.
    pub fn problems(&self) -> Vec<String> {
        self.rest().problems.clone()
    }

    /// Tells what happens, if anybody listens.
    pub fn log(&self, line: impl FnOnce() -> String) {
        if self.traced {
            let line = format!("{:10.3} {}", self.seconds(), line());
            self.rest().log.push(line);
        }
    }

    /// True when the relay's step at `tick` is news.
    pub fn relay_scheduled(&self, tick: i64) -> bool {
        let mut rest = self.rest();
        let news = rest.relay_at.is_none_or(|at| tick < at);
        if news {
            rest.relay_at = Some(tick);
        }
        news
    }

    /// True when the step at `tick` is the one to be made.
    pub fn relay_begins(&self, tick: i64) -> bool {
        self.rest().relay_at.take_if(|at| *at == tick).is_some()
    }

    /// Partition of a document.
    pub fn document_key(&self, document: usize) -> String {
        identity::document_key(PROJECT, DATASET, &lake::id(&self.config, document))
    }

    /// Which document a partition is.
    pub fn name_of(&self, document_key: &str) -> String {
        let documents = 0..self.config.pages + self.config.components;
        documents
            .map(|document| (self.document_key(document), lake::id(&self.config, document)))
            .find(|(key, _)| key == document_key)
            .map_or_else(|| document_key.to_owned(), |(_, id)| id)
    }

    /// An item in words.
    pub fn item(&self, item: &OutboxItem) -> String {
        let revision = item.revision.as_deref().unwrap_or("no revision");
        format!(
            "{:?} {revision} {:?} second {} ({})",
            item.kind,
            item.class,
            item.second - START,
            item.message_base().get(..10).unwrap_or_default()
        )
    }

    /// The stream has shown this item.
    pub fn note_insert(&self, item: &OutboxItem) {
        self.rest().inserted.insert((item.pk.clone(), item.sk.clone()));
    }

    /// Whether the stream has shown this item.
    pub fn is_inserted(&self, item: &OutboxItem) -> bool {
        self.rest().inserted.contains(&(item.pk.clone(), item.sk.clone()))
    }
}
