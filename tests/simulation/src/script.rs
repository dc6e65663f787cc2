//! What happens outside of Cascata in one history, decided before it begins: edits, the fate of their webhooks, outages.
//!
//! An explicit list, so that a failing history can be made smaller by taking things out of it.

use crate::{
    config::{Config, Lag},
    random::Random,
};

/// What a document says. Components have no slug and no references.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// Number of the page's slug.
    pub slug: Option<usize>,
    /// The components that the page shows.
    pub shows: Vec<usize>,
}

/// What becomes of a change's webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// Seconds after the change at which it is delivered; empty if it is lost.
    pub deliveries: Vec<f64>,
    /// How long each delivery's commit takes.
    pub commit: f64,
    /// How far the clock of the webhook's host is off.
    pub skew: f64,
    /// The body names no `_updatedAt`.
    pub timeless: bool,
}

/// One change of one document.
#[derive(Debug, Clone, PartialEq)]
pub struct Edit {
    /// Its number; names its revision.
    pub number: usize,
    /// When.
    pub at: f64,
    /// Which document: pages first, then components.
    pub document: usize,
    /// What it says afterwards; none: it is deleted.
    pub content: Option<Content>,
    /// Seconds by which its `_updatedAt` lies in the past.
    pub backdated: i64,
    /// Seconds until the query index shows it.
    pub lag: f64,
    /// Its webhook.
    pub hook: Hook,
}

/// From, until.
pub type Window = (f64, f64);

/// A whole script.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// What the documents say before the history begins.
    pub initial: Vec<Option<Content>>,
    /// In the order of time.
    pub edits: Vec<Edit>,
    /// When the last change is made.
    pub end: f64,
    /// The Pipe is stopped; whether its records are trimmed meanwhile.
    pub pipe_stopped: Option<(Window, bool)>,
    /// Targets out, by layer.
    pub outage: Option<(Window, Vec<usize>)>,
    /// The webhook's API is down; reconcile with it.
    pub api_down: Option<Window>,
    /// Documents reprocessed, and when.
    pub reprocess: Vec<(f64, usize)>,
    /// Mean seconds between two visitors of each slug.
    pub visits: Vec<f64>,
    /// The GraphQL CDN caches routing answers and objects apart, instead of one answer a page.
    pub split: bool,
    /// What an earlier life has left of the documents' heads.
    pub heads: Heads,
}

/// What an earlier life has left of the documents' heads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heads {
    /// Nothing: only the routes are known.
    None,
    /// What the source showed, but no applied event.
    Seen,
    /// An applied event.
    Applied,
}

const GAPS: [f64; 8] = [0.3, 2.0, 10.0, 30.0, 60.0, 90.0, 150.0, 1200.0];
const VISITS: [f64; 4] = [1.0, 5.0, 30.0, 200.0];
/// Sanity gives a delivery up after this.
const GIVEN_UP: f64 = 1800.0;

impl Script {
    /// The script of a history.
    pub fn new(seed: u64, config: &Config) -> Self {
        let documents = config.pages + config.components;
        let mut random = Random::new(seed, "script");
        let mut free: Vec<usize> = (0..config.slugs).collect();
        random.shuffle(&mut free);
        let initial = (0..documents)
            .map(|document| {
                if !random.chance(0.85) {
                    return None;
                }
                Some(if document < config.pages {
                    Content {
                        slug: free.pop(),
                        shows: some_components(&mut random, config),
                    }
                } else {
                    Content {
                        slug: None,
                        shows: vec![],
                    }
                })
            })
            .collect();
        let mut script = Self {
            initial,
            edits: vec![],
            end: 0.0,
            pipe_stopped: None,
            outage: None,
            api_down: None,
            reprocess: vec![],
            visits: (0..config.slugs).map(|_| *random.pick(&VISITS)).collect(),
            split: random.chance(0.5),
            heads: *random.pick(&[Heads::None, Heads::Seen, Heads::Applied]),
        };
        let mut times: Vec<(f64, usize)> = Vec::new();
        for document in 0..documents {
            let mut at = 60.0;
            for _ in 0..random.whole(config.fewest_edits, config.most_edits) {
                at += random.pick(&GAPS) * random.unit() + 0.05;
                times.push((at, document));
            }
            script.end = script.end.max(at);
        }
        let mut window = |length: f64| {
            let from = random.between(0.0, script.end);
            (length > 0.0).then_some((from, from + length))
        };
        script.pipe_stopped = window(config.pipe_stopped).map(|window| (window, false));
        script.outage = window(config.outage).map(|window| (window, vec![]));
        script.api_down = window(config.api_down);
        if let Some((_, trimmed)) = &mut script.pipe_stopped {
            *trimmed = random.chance(0.5);
        }
        if let Some((_, layers)) = &mut script.outage {
            *layers = random.pick(&[vec![0], vec![1], vec![2], vec![0, 1, 2]]).clone();
        }
        for document in 0..documents {
            if random.chance(config.reprocess) {
                script
                    .reprocess
                    .push((random.between(60.0, script.end + 600.0), document));
            }
        }
        times.sort_by(|one, other| one.0.total_cmp(&other.0));
        script.edit(times, &mut random, config);
        script
    }

    fn edit(&mut self, times: Vec<(f64, usize)>, random: &mut Random, config: &Config) {
        let mut now = self.initial.clone();
        for (number, (at, document)) in times.into_iter().enumerate() {
            let before = now[document].clone();
            let deleted = before.is_some() && random.chance(config.deletes);
            let content = (!deleted).then(|| changed(before.as_ref(), document, random, config));
            let backdated = if before.is_some() && !deleted && random.chance(config.backdated) {
                random.whole(1, 3999) as i64
            } else {
                0
            };
            let lag = lag(random, config.lag);
            let hook = self.hook(at, random, config);
            now[document].clone_from(&content);
            self.edits.push(Edit {
                number,
                at,
                document,
                content,
                backdated,
                lag,
                hook,
            });
        }
    }

    fn hook(&self, at: f64, random: &mut Random, config: &Config) -> Hook {
        let lost = random.chance(config.lost);
        let mut delay = random.exponential(0.5);
        if random.chance(config.late_hook) {
            delay += random.pick(&[5.0, 60.0, 240.0, 900.0, 1700.0]);
        }
        let mut given_up = false;
        if let Some((from, until)) = self.api_down
            && (from..=until).contains(&(at + delay))
        {
            given_up = until - (at + delay) > GIVEN_UP;
            delay = until - at + random.between(0.0, 300.0);
        }
        let again = random
            .chance(config.doubled)
            .then(|| delay + random.between(1.0, 400.0));
        let slow = random.chance(config.slow_commit);
        let commit = random.exponential(0.05) + if slow { random.between(0.0, 10.0) } else { 0.0 };
        Hook {
            deliveries: if lost || given_up {
                vec![]
            } else {
                std::iter::once(delay).chain(again).collect()
            },
            commit,
            skew: *random.pick(&[-0.05, 0.03, 0.05]),
            timeless: random.chance(config.timeless),
        }
    }

    /// Takes an edit out.
    pub fn without(mut self, number: usize) -> Self {
        self.edits.retain(|edit| edit.number != number);
        self
    }
}

fn some_components(random: &mut Random, config: &Config) -> Vec<usize> {
    (0..config.components)
        .filter(|_| random.chance(0.6))
        .map(|component| config.pages + component)
        .collect()
}

fn changed(before: Option<&Content>, document: usize, random: &mut Random, config: &Config) -> Content {
    if document >= config.pages {
        return Content {
            slug: None,
            shows: vec![],
        };
    }
    let renamed = random.chance(config.renames);
    let recomposed = random.chance(0.3);
    let slug = random.whole(0, config.slugs - 1);
    let shows = some_components(random, config);
    match before {
        None => Content {
            slug: Some(slug),
            shows,
        },
        Some(before) => Content {
            slug: if renamed { Some(slug) } else { before.slug },
            shows: if recomposed { shows } else { before.shows.clone() },
        },
    }
}

fn lag(random: &mut Random, lag: Lag) -> f64 {
    let base = random.exponential(0.3);
    let (chance, most) = match lag {
        Lag::Fast => (0.03, 5.0),
        Lag::Short => (0.05, 40.0),
        Lag::Long => (0.05, 120.0),
        Lag::Storm => (0.5, 120.0),
    };
    base + if random.chance(chance) {
        random.between(0.0, most)
    } else {
        0.0
    }
}
