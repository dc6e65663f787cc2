//! What must hold when all is quiet.

use std::{collections::BTreeSet, time::Duration};

use ledger::{
    item::{Kind, State, Status},
    record::rfc3339,
    store::Documents,
};
use platform::Deadline;
use routing::{DocumentRef, Entry, RouteStore};

use crate::{
    caches::text,
    lake::{self, DATASET, Lake, Shown},
    world::World,
};

/// Seconds after which an event counts as slow: the relay had to help.
const SLOW: i64 = 1500;

/// What is wrong at the end of a history, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Pages that visitors get from the outermost cache and that are not the truth.
    pub stale: usize,
    /// Entries of inner caches that are not the truth.
    pub latent: usize,
    /// Entries that are not the truth and that nobody promised: see the README.
    pub excused: usize,
    /// Items still READY.
    pub stuck: usize,
    /// Items DEAD.
    pub dead: usize,
    /// Items failed, in no final state, or in one that the late policy of their type does not allow.
    pub failed: usize,
    /// Plans left over that nothing will finish.
    pub plan_left: usize,
    /// Routes, edges and pointers that differ from the source.
    pub table_wrong: usize,
    /// Events applied later than without any fault they could be. Only counted, since most faults delay.
    pub slow: usize,
    /// In words.
    pub problems: Vec<String>,
}

impl Verdict {
    /// Whether a law is broken.
    pub fn is_bad(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The kinds of what is wrong.
    pub fn kinds(&self) -> Vec<&'static str> {
        let all = [
            ("stale", self.stale),
            ("latent", self.latent),
            ("stuck", self.stuck),
            ("DEAD", self.dead),
            ("failed", self.failed),
            ("plan left", self.plan_left),
            ("table wrong", self.table_wrong),
        ];
        all.into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(kind, _)| kind)
            .collect()
    }
}

impl World {
    /// Looks at everything.
    pub async fn verdict(&self) -> Verdict {
        let mut verdict = Verdict {
            problems: self.problems(),
            ..Verdict::default()
        };
        self.judge_caches(&mut verdict);
        self.judge_items(&mut verdict);
        for document in 0..self.config.pages + self.config.components {
            self.judge_plan(document, &mut verdict).await;
            self.judge_routes(document, &mut verdict).await;
        }
        for slug in 0..self.config.slugs {
            self.judge_pointer(slug, &mut verdict).await;
        }
        verdict
    }

    fn judge_caches(&self, verdict: &mut Verdict) {
        let mut wrong: Vec<(bool, String, bool)> = Vec::new();
        self.lake(|lake| {
            self.caches(|caches| {
                let layers = [
                    ("html", &caches.html),
                    ("storefront", &caches.storefront),
                    ("graphql", &caches.answers),
                ];
                for (layer, entries) in layers {
                    for (slug, shown) in entries {
                        let truth = lake.truth(*slug);
                        if *shown != truth {
                            let excused = is_excused(lake, *slug, shown);
                            let what = format!(
                                "{layer} shows at {} {}, not {}",
                                lake::slug_name(*slug),
                                text(shown),
                                text(&truth)
                            );
                            wrong.push((layer == "html", what, excused));
                        }
                    }
                }
                for (slug, page) in &caches.routing {
                    let truth = lake.truth(*slug).map(|(page, _)| page);
                    if *page != truth {
                        let former = page.map(|page| (page, (usize::MAX, vec![])));
                        let excused = is_excused(lake, *slug, &former);
                        let what = format!(
                            "graphql routes {} to {page:?}, not {truth:?}",
                            lake::slug_name(*slug)
                        );
                        wrong.push((false, what, excused));
                    }
                }
                for (page, object) in &caches.objects {
                    let truth = lake.object(*page, |document| lake.latest(document));
                    // An object that nothing routes to is not shown; it must be right when it is routed to again.
                    if *object != truth {
                        let shown = object.clone().map(|object| (*page, object));
                        let version = object
                            .as_ref()
                            .map_or(lake.latest(*page), |(index, _)| &lake.versions(*page)[*index]);
                        let slug = version.content.as_ref().and_then(|it| it.slug);
                        let excused = slug.is_some_and(|slug| is_excused(lake, slug, &shown));
                        let what = format!(
                            "graphql holds object {page} as {}",
                            text(&object.clone().map(|it| (*page, it)))
                        );
                        wrong.push((false, what, excused));
                    }
                }
            });
        });
        for (outermost, what, excused) in wrong {
            if excused {
                verdict.excused += 1;
                continue;
            }
            if outermost {
                verdict.stale += 1;
            } else {
                verdict.latent += 1;
            }
            verdict.problems.push(what);
        }
    }

    fn judge_items(&self, verdict: &mut Verdict) {
        for item in self.ledger.all_items() {
            let final_state = match (item.state, item.status) {
                (_, Some(Status::Ready)) => {
                    verdict.stuck += 1;
                    false
                }
                // No consumer answered any send: an alarm, and an operator's turn. Only counted.
                (_, Some(Status::Dead)) => {
                    verdict.dead += 1;
                    true
                }
                (State::Applied, Some(Status::Sent)) | (State::Ignored | State::InReview, None)
                    if self.is_allowed(&item) =>
                {
                    true
                }
                _ => {
                    verdict.failed += 1;
                    false
                }
            };
            if !final_state {
                verdict.problems.push(format!(
                    "{} of {} is {:?} {:?}, {:?}",
                    self.item(&item),
                    self.name_of(&item.pk),
                    item.state,
                    item.status,
                    item.reason
                ));
            }
            let due = time::OffsetDateTime::from_unix_timestamp(item.accepted_at / 1000 + SLOW);
            if item.kind == Kind::Event
                && item.accepted_at / 1000 >= lake::START
                && item
                    .applied_at
                    .zip(due.ok())
                    .is_some_and(|(applied, due)| applied > rfc3339(due))
            {
                verdict.slow += 1;
            }
        }
    }

    async fn judge_plan(&self, document: usize, verdict: &mut Verdict) {
        let key = self.document_key(document);
        let Ok(state) = self.ledger.read(&key, "").await else {
            return;
        };
        let open = |item: &ledger::item::OutboxItem| {
            item.pk == key && matches!(item.status, Some(Status::Ready | Status::Dead))
        };
        if !state.chunks.is_empty() && !self.ledger.all_items().iter().any(open) {
            verdict.plan_left += 1;
            verdict
                .problems
                .push(format!("a plan of {} is left over", self.name_of(&key)));
        }
    }

    async fn judge_routes(&self, document: usize, verdict: &mut Verdict) {
        let far = Deadline::after(Duration::from_secs(60));
        let id = lake::id(&self.config, document);
        let of = DocumentRef::new(DATASET, &id);
        let held: Vec<(String, Vec<String>)> = self
            .routes
            .routes_of(&of, &far)
            .await
            .unwrap_or_default()
            .iter()
            .filter_map(Entry::live)
            .map(|route| (route.slug.clone(), route.dependencies.clone()))
            .collect();
        let content = self.lake(|lake| lake.latest(document).content.clone());
        let wanted: Vec<(String, Vec<String>)> = content
            .into_iter()
            .filter_map(|content| {
                let shows = content.shows.iter().map(|it| lake::id(&self.config, *it));
                Some((lake::slug_name(content.slug?), shows.collect()))
            })
            .collect();
        if held != wanted {
            verdict.table_wrong += 1;
            verdict
                .problems
                .push(format!("route of {id} is {held:?}, not {wanted:?}"));
        }
        let edges = self
            .routes
            .dependants_of(&of, 100, &far)
            .await
            .unwrap_or_default();
        let edges: BTreeSet<String> = edges
            .pages
            .into_iter()
            .map(|page| page.document.document_id)
            .collect();
        let wanted: BTreeSet<String> = (0..self.config.pages)
            .filter(|page| {
                let content = self.lake(|lake| lake.latest(*page).content.clone());
                content.is_some_and(|content| content.shows.contains(&document))
            })
            .map(|page| lake::id(&self.config, page))
            .collect();
        if edges != wanted {
            verdict.table_wrong += 1;
            verdict
                .problems
                .push(format!("edges of {id} are {edges:?}, not {wanted:?}"));
        }
    }

    async fn judge_pointer(&self, slug: usize, verdict: &mut Verdict) {
        let far = Deadline::after(Duration::from_secs(60));
        let name = lake::slug_name(slug);
        let pointers = self
            .routes
            .pages_at(DATASET, &name, &far)
            .await
            .unwrap_or_default();
        let owners: BTreeSet<String> = pointers.into_iter().map(|pointer| pointer.document_id).collect();
        let wanted: BTreeSet<String> = (0..self.config.pages)
            .filter(|page| {
                let content = self.lake(|lake| lake.latest(*page).content.clone());
                content.is_some_and(|content| content.slug == Some(slug))
            })
            .map(|page| lake::id(&self.config, page))
            .collect();
        if owners != wanted {
            verdict.table_wrong += 1;
            verdict
                .problems
                .push(format!("{name} belongs to {owners:?}, not {wanted:?}"));
        }
    }
}

/// Not promised: a page that came to a slug and left it, or was created and removed, wholly while nothing reached us; the same
/// of a component that the page shows.
fn is_excused(lake: &Lake, slug: usize, shown: &Shown) -> bool {
    let Some((page, (index, parts))) = shown else {
        return false;
    };
    // An object can be older than the page's coming to this slug; then it is the last stay that counts.
    let stays = stays(lake, *page, slug);
    let stay = stays
        .iter()
        .find(|(from, left)| (*from..left.unwrap_or(usize::MAX)).contains(index))
        .or(stays.last());
    if stay.is_some_and(|(from, left)| is_untold(lake, *page, *from, *left)) {
        return true;
    }
    let Some((true_page, (true_index, true_parts))) = lake.truth(slug) else {
        return false;
    };
    if (true_page, true_index) != (*page, *index) {
        return false;
    }
    for (component, revision) in parts {
        let truth = true_parts.iter().find(|(it, _)| it == component);
        if truth.is_some_and(|(_, it)| it == revision) {
            continue;
        }
        // Only a component that exists no more, and came and went untold.
        let versions = lake.versions(*component);
        let shown = versions
            .iter()
            .position(|version| version.revision == *revision && version.content.is_some());
        let (Some(shown), None) = (shown, truth.and_then(|(_, it)| it.as_ref())) else {
            return false;
        };
        let from = (0..=shown)
            .rev()
            .take_while(|version| versions[*version].content.is_some())
            .last()
            .unwrap_or(shown);
        let gone = (shown..versions.len()).find(|version| versions[*version].content.is_none());
        if !is_untold(lake, *component, from, gone) {
            return false;
        }
    }
    true
}

/// From which version on a page was at a slug, and with which it left.
fn stays(lake: &Lake, page: usize, slug: usize) -> Vec<(usize, Option<usize>)> {
    let mut stays: Vec<(usize, Option<usize>)> = Vec::new();
    for version in lake.versions(page) {
        let here = version
            .content
            .as_ref()
            .is_some_and(|content| content.slug == Some(slug));
        match (here, stays.last_mut()) {
            (true, Some((_, None))) => {}
            (true, _) => stays.push((version.index, None)),
            (false, Some((_, left @ None))) => *left = Some(version.index),
            (false, _) => {}
        }
    }
    stays
}

/// Whether no webhook told of any version from its coming to its leaving.
fn is_untold(lake: &Lake, document: usize, from: usize, left: Option<usize>) -> bool {
    left.is_some_and(|left| {
        from > 0 && (from..=left).all(|version| !lake.delivered.contains(&(document, version)))
    })
}
