//! Following every schedule to its end.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};

use super::step::{Consumer, Page, Step, World, lock};
use crate::config::RoutesConfig;
use crate::model::Entry;
use crate::store::memory::Tables;

const CONFIG: &str = r#"
[limits]
chunk_size = 100
maximum_width = 100
maximum_dependencies = 100
[graphql]
routing_type = "Routing"
slug_field = "slug"
id_field = "_id"
[routed.page]
graphql_type = "Page"
[routing_query]
groq = '''*[_id in $ids]{_id, _type, _rev, _updatedAt, "routes": [], "dependencies": []}'''
"#;

/// Steps after which a schedule is taken for one without end.
const LONGEST: usize = 80;

/// Who does what.
pub(super) struct Scenario {
    /// The lake and, handled already, the table.
    pub(super) before: BTreeMap<String, Page>,
    /// What is edited, in order.
    pub(super) edits: Vec<(&'static str, Option<Page>)>,
    pub(super) consumers: Vec<Consumer>,
    pub(super) transaction_size: usize,
}

struct Run {
    world: Arc<Mutex<World>>,
    tasks: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
}

impl Run {
    /// Task 0 edits; the others consume.
    fn begin(scenario: &Scenario, config: &Arc<RoutesConfig>, start: &World) -> Self {
        let world = Arc::new(Mutex::new(World::holding(
            start.tables.clone(),
            start.lake.clone(),
        )));
        let step = |task| Step {
            world: world.clone(),
            task,
            transaction_size: scenario.transaction_size,
        };
        let mut tasks: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>> = vec![];
        tasks.push(Some(Box::pin(step(0).edit(scenario.edits.clone()))));
        for (n, consumer) in scenario.consumers.iter().enumerate() {
            tasks.push(Some(Box::pin(step(n + 1).consume(config.clone(), *consumer))));
        }
        let mut run = Self { world, tasks };
        for task in 0..run.tasks.len() {
            run.poll(task);
        }
        run
    }

    fn poll(&mut self, task: usize) {
        let mut context = Context::from_waker(Waker::noop());
        if let Some(future) = &mut self.tasks[task]
            && future.as_mut().poll(&mut context).is_ready()
        {
            self.tasks[task] = None;
        }
    }

    fn step(&mut self, task: usize) {
        lock(&self.world).give_turn(task);
        self.poll(task);
        assert_eq!(lock(&self.world).turn, None, "task {task} took its turn");
    }

    /// The tasks that can take a step.
    fn ready(&self, scenario: &Scenario) -> Vec<usize> {
        let edits_made = lock(&self.world).edits_made;
        let woken = |task: usize| task == 0 || scenario.consumers[task - 1].after <= edits_made;
        (0..self.tasks.len())
            .filter(|task| self.tasks[*task].is_some() && woken(*task))
            .collect()
    }
}

/// Follows every schedule; the number of different states met.
pub(super) fn explore(scenario: &Scenario) -> usize {
    let config = Arc::new(RoutesConfig::parse(CONFIG).unwrap());
    let before = handled(scenario, &config);
    let mut seen = HashSet::new();
    let mut open: Vec<Vec<usize>> = vec![vec![]];
    while let Some(mut schedule) = open.pop() {
        let mut run = Run::begin(scenario, &config, &before);
        schedule.iter().for_each(|task| run.step(*task));
        // On with the first who can; with the others later.
        while seen.insert(lock(&run.world).fingerprint()) {
            assert!(schedule.len() < LONGEST, "no end: {schedule:?}");
            let ready = run.ready(scenario);
            let Some((first, others)) = ready.split_first() else {
                assert_right(&lock(&run.world), scenario, &schedule);
                break;
            };
            open.extend(others.iter().map(|task| [&schedule[..], &[*task]].concat()));
            schedule.push(*first);
            run.step(*first);
        }
    }
    seen.len()
}

/// The table as consumers left it before the story begins.
fn handled(scenario: &Scenario, config: &Arc<RoutesConfig>) -> World {
    let world = Arc::new(Mutex::new(World::holding(
        Tables::default(),
        scenario.before.clone(),
    )));
    for id in scenario.before.keys() {
        let document: &'static str = if id == "p1" { "p1" } else { "p2" };
        let step = Step {
            world: world.clone(),
            task: 0,
            transaction_size: 100,
        };
        let consumer = Consumer {
            document,
            after: 0,
            lagging: false,
        };
        let mut run = Run {
            world: world.clone(),
            tasks: vec![Some(Box::pin(step.consume(config.clone(), consumer)))],
        };
        run.poll(0);
        while run.tasks[0].is_some() {
            run.step(0);
        }
    }
    let world = lock(&world);
    World::holding(world.tables.clone(), world.lake.clone())
}

/// Routes, pointers and edges say what the lake says.
fn assert_right(world: &World, scenario: &Scenario, schedule: &[usize]) {
    let mut routes = BTreeSet::new();
    let mut pointers = BTreeSet::new();
    let mut edges = BTreeSet::new();
    for (id, page) in &world.lake {
        for (route, slug) in &page.routes {
            routes.insert((id.as_str(), route.as_str(), slug.as_str()));
            pointers.insert((slug.as_str(), id.as_str(), route.as_str()));
            let on = page.dependencies.iter();
            edges.extend(on.map(|dependency| (dependency.as_str(), id.as_str(), route.as_str())));
        }
    }
    let live: Vec<_> = world.tables.routes.values().filter_map(Entry::live).collect();
    let held: BTreeSet<_> = live
        .iter()
        .map(|route| {
            (
                route.document_id.as_str(),
                route.route.as_str(),
                route.slug.as_str(),
            )
        })
        .collect();
    assert_eq!(held, routes, "routes after {schedule:?}");
    let held: BTreeSet<_> = world
        .tables
        .pointers
        .iter()
        .flat_map(|((_, slug), owners)| owners.keys().map(move |name| (slug, name)))
        .map(|(slug, name)| {
            (
                slug.as_str(),
                name.document.document_id.as_str(),
                name.route.as_str(),
            )
        })
        .collect();
    assert_eq!(held, pointers, "pointers after {schedule:?}");
    let mut held = BTreeSet::new();
    for edge in &world.tables.edges {
        let (page, dependency) = (&edge.page, edge.dependency.document_id.as_str());
        // Only a change of several transactions may leave an edge that its route does not name.
        let named = matches!(world.tables.routes.get(page), Some(Entry::Live(route))
            if route.dependencies.iter().any(|id| id == dependency));
        assert!(
            named || scenario.transaction_size < 100,
            "edge {edge:?} after {schedule:?}"
        );
        if named {
            held.insert((
                dependency,
                page.document.document_id.as_str(),
                page.route.as_str(),
            ));
        }
    }
    assert_eq!(held, edges, "edges after {schedule:?}");
}
