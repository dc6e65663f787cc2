//! Late events under their types' policies (law 5): what becomes of each is counted, and judged by what the policy allows.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use ledger::{
    duplicate::OTHER_CONTENT,
    history::History,
    item::{Kind, OutboxItem, State},
    late::{LATE, LatePolicy, OLDER_THAN_DELETE},
    plan::{Key, Layer},
};
use routing::RoutesConfig;
use tokio::task::{Id, try_id};

use crate::{config::Config, lake::START, world::World};

/// How far clocks are off at the most, twice.
const CLOCKS: f64 = 0.2;
const ROUTES: &str = include_str!("../../../functions/routing/routes.toml");

/// When each slug was last let go by each layer, and which routes a document's own wakes gave it, since when.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    let_go: BTreeMap<(Layer, String), f64>,
    routed: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Which document each task of a process is waking.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waking(Arc<Mutex<HashMap<Id, String>>>);

impl Waking {
    /// The task has read this document.
    pub(crate) fn begin(&self, document_key: &str) {
        if let Some(task) = try_id() {
            let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            held.insert(task, document_key.to_owned());
        }
    }

    /// Whether the task is waking this document.
    pub(crate) fn is(&self, document_key: &str) -> bool {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        try_id().is_some_and(|task| held.get(&task).is_some_and(|key| key == document_key))
    }
}

/// `routes.toml` with the policies of `config`.
#[allow(clippy::expect_used, reason = "without routes.toml there is no history")]
pub(crate) fn routes_config(config: &Config) -> RoutesConfig {
    let mut routes = ROUTES.to_owned();
    for (table, policy) in [
        ("[routed.page]", config.late_pages),
        ("[components.banner]", config.late_components),
    ] {
        let name = LatePolicy::NAMES.iter().find(|(_, known)| *known == policy);
        let (before, after) = routes
            .split_once(table)
            .expect("a table of the shipped routes.toml");
        routes = format!(
            "{before}{table}\nlate = {:?}{after}",
            name.map_or("", |(name, _)| *name)
        );
    }
    RoutesConfig::parse(&routes).expect("routes.toml")
}

impl World {
    /// Notes that a layer has let go of a key.
    pub(crate) fn note_let_go(&self, layer: Layer, key: &Key) {
        if let Key::Slug { slug } = key {
            let now = self.seconds();
            self.rest().late.let_go.insert((layer, slug.clone()), now);
        }
    }

    /// Notes a route that a document's own wake has written. What only a component's wake saw, the page's head cannot know.
    pub(crate) fn note_route(&self, document_id: &str, slug: &str) {
        let now = self.seconds();
        let mut rest = self.rest();
        let routed = rest.late.routed.entry(document_id.to_owned()).or_default();
        routed.entry(slug.to_owned()).or_insert(now);
    }

    /// An event was marked applied for this reason.
    pub(crate) fn note_applied(&self, item: &OutboxItem, reason: &str) {
        if item.kind != Kind::Event {
            return;
        }
        match reason {
            "late" => self.count("late recomputed", 1),
            "late_ignored" => self.count("late ignored", 1),
            "late_compensated" => {
                self.count("late compensated", 1);
                self.judge_compensation(item);
            }
            _ => return,
        }
        self.judge_purged(item, &item.slugs);
    }

    /// An event was set aside for this reason.
    pub(crate) fn note_set_aside(&self, item: &OutboxItem, reason: &str) {
        match reason {
            LATE => self.count("late in review", 1),
            OLDER_THAN_DELETE => self.count("older than a delete", 1),
            _ => return,
        }
        self.judge_purged(item, &item.slugs);
    }

    /// Each layer has let go of these slugs since the late event was accepted: its own join the plan under every policy.
    fn judge_purged<'a>(&self, item: &OutboxItem, slugs: impl IntoIterator<Item = &'a String>) {
        let accepted = item.accepted_at as f64 / 1000.0 - START as f64 - CLOCKS;
        let left: Vec<&String> = {
            let let_go = &self.rest().late.let_go;
            let is_left = |slug: &&String| {
                let at = |layer| let_go.get(&(layer, (*slug).clone()));
                Layer::ALL
                    .into_iter()
                    .any(|layer| at(layer).is_none_or(|at| *at < accepted))
            };
            slugs.into_iter().filter(is_left).collect()
        };
        if !left.is_empty() {
            self.problem(format!("{left:?} of the late {} are not purged", self.item(item)));
        }
    }

    /// Every slug that the document was known to have when the wake began, by a wake of its own or by an event, has been purged on
    /// every layer since the late event was accepted.
    fn judge_compensation(&self, item: &OutboxItem) {
        let history = self.ledger.history(&item.pk);
        let of_this = |wake: &&History| wake.covered.contains(&item.event_id);
        let (Some(wake), Some(id)) = (history.iter().rev().find(of_this), &item.document_id) else {
            self.problem(format!(
                "no history tells of the compensation of {}",
                self.item(item)
            ));
            return;
        };
        let began = wake
            .sk
            .split('#')
            .nth(1)
            .and_then(|began| began.parse::<f64>().ok());
        let began = began.map_or(0.0, |began| began / 1000.0 - START as f64 - CLOCKS);
        let is_known = |it: &OutboxItem| {
            it.pk == item.pk && it.kind == Kind::Event && it.applied_at.as_ref() < Some(&wake.began_at)
        };
        let told = self
            .ledger
            .all_items()
            .into_iter()
            .filter(|it| it.state == State::Applied && is_known(it));
        let mut slugs: BTreeSet<String> = told.flat_map(|it| it.slugs).collect();
        {
            let rest = self.rest();
            let routed = rest.late.routed.get(id).into_iter().flatten();
            slugs.extend(
                routed
                    .filter(|(_, since)| **since < began)
                    .map(|(slug, _)| slug.clone()),
            );
        }
        self.count("slugs compensated", slugs.len());
        self.judge_purged(item, &slugs);
    }

    /// Whether the policy of an event's type allows the state in which it ended, and for that reason.
    pub(crate) fn is_allowed(&self, item: &OutboxItem) -> bool {
        let policy = self.routes_config.late_policy(item.document_type.as_deref());
        match (item.state, item.reason.as_deref()) {
            (State::Applied, Some("late_ignored")) => policy == LatePolicy::Ignore,
            (State::Applied, Some("late_compensated")) => policy == LatePolicy::Compensate,
            (State::InReview, Some(LATE)) => policy == LatePolicy::Review,
            (State::InReview, reason) => matches!(reason, Some(OLDER_THAN_DELETE | OTHER_CONTENT)),
            _ => true,
        }
    }
}
