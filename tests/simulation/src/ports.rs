//! What a process calls: the ledger, the routes and the source, each call taking its time and possibly being the last.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use consumer::source::{Shown, Source, SourceError};
use ledger::{
    item::{OutboxItem, Seen},
    plan::PlanChunk,
    record::{NewEvent, rfc3339},
    store::{
        Advance, Breakers, Deferral, DocumentState, Documents, DueCursor, DuePage, LedgerError, Mark, Outbox,
        Ready, Recorded, Recorder, Written,
        jobs::{Bookmarks, Wakes},
        memory::MemoryLedger,
    },
};
use platform::Deadline;
use reconcile::source as reconciled;
use routing::{
    DocumentRef, Entry, RouteChange, RouteName, RouteStore, StoreError,
    config::RoutingQuery,
    store::{
        Dependants, Outcome, Pointer,
        walk::{KnownPage, RouteWalk},
    },
};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::{
    lake,
    process::{Process, Takes, pause},
    world::World,
};

/// A plan held back: document, head version, chunks.
type HeldPlan = (String, u64, Vec<PlanChunk>);

const READ: Takes = (0.005, 0.03);
const WRITE: Takes = (0.005, 0.02);
const MARK: Takes = (0.001, 0.005);
const BREAKER: Takes = (0.002, 0.01);

/// A process's hands on the world.
#[derive(Debug, Clone)]
pub struct Hands {
    /// The world.
    pub world: Arc<World>,
    /// Whose hands they are.
    pub process: Arc<Process>,
    /// A plan that is held back until routes are written and a purge came back ([`crate::config::Switches::routes_first`]).
    held_back: Arc<Mutex<Option<HeldPlan>>>,
}

fn busy<T>(answer: Option<Result<T, LedgerError>>) -> Result<T, LedgerError> {
    answer.unwrap_or_else(|| Err(LedgerError::Busy("throttled".to_owned())))
}

impl Hands {
    /// The hands of `process`.
    pub fn new(world: Arc<World>, process: Arc<Process>) -> Self {
        Self {
            world,
            process,
            held_back: Arc::default(),
        }
    }

    fn ledger(&self) -> &MemoryLedger {
        &self.world.ledger
    }

    async fn ask<T>(
        &self,
        takes: Takes,
        effect: impl Future<Output = Result<T, LedgerError>>,
    ) -> Result<T, LedgerError> {
        busy(self.process.call_busy(takes, effect).await)
    }

    /// Stores a plan that was held back.
    async fn let_through(&self) -> Result<(), LedgerError> {
        let held_back = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some((document_key, version, chunks)) = held_back {
            self.ask(WRITE, self.ledger().put_plan(&document_key, version, &chunks))
                .await?;
        }
        Ok(())
    }
}

impl Documents for Hands {
    async fn read(&self, document_key: &str, sort_key: &str) -> Result<DocumentState, LedgerError> {
        let state = self.ask(READ, self.ledger().read(document_key, sort_key)).await?;
        Ok(match self.world.lagging(document_key) {
            Some(stale) => DocumentState {
                items: stale
                    .items
                    .into_iter()
                    .filter(|item| item.sk >= stale.head.read_from(sort_key))
                    .collect(),
                head: stale.head,
                chunks: stale.chunks,
            },
            None => state,
        })
    }

    async fn event_exists(&self, event_id: &str) -> Result<bool, LedgerError> {
        self.ask(READ, self.ledger().event_exists(event_id)).await
    }

    async fn put_plan(
        &self,
        document_key: &str,
        head_version: u64,
        chunks: &[PlanChunk],
    ) -> Result<Written, LedgerError> {
        if self.world.config.switches.routes_first {
            let held_back = (document_key.to_owned(), head_version, chunks.to_vec());
            *self.held_back.lock().unwrap_or_else(PoisonError::into_inner) = Some(held_back);
            return Ok(Written::Done);
        }
        self.ask(WRITE, async {
            let written = self.ledger().put_plan(document_key, head_version, chunks).await?;
            self.world.noted(document_key);
            self.world.log(|| {
                format!(
                    "  plan of {} at head {head_version}: {written:?} {}",
                    self.world.name_of(document_key),
                    plan_text(chunks)
                )
            });
            Ok(written)
        })
        .await
    }

    async fn confirm(&self, document_key: &str, chunk: &PlanChunk) -> Result<Written, LedgerError> {
        self.let_through().await?;
        self.ask(WRITE, async {
            let written = self.ledger().confirm(document_key, chunk).await?;
            self.world.noted(document_key);
            Ok(written)
        })
        .await
    }

    async fn advance(&self, advance: &Advance) -> Result<Written, LedgerError> {
        self.let_through().await?;
        self.ask(WRITE, async {
            let written = self.ledger().advance(advance).await?;
            self.world.noted(&advance.document_key);
            self.world.log(|| {
                format!(
                    "  head of {} {} to {:?} seen {:?}: {written:?}, later {:?}",
                    self.world.name_of(&advance.document_key),
                    advance.from_version,
                    advance.head.second.map(|second| second - lake::START),
                    advance.head.seen.as_ref().map(|seen| &seen.revision),
                    advance.wakes.iter().map(|wake| wake.kind).collect::<Vec<_>>(),
                )
            });
            if written == Written::Done {
                for wake in &advance.wakes {
                    self.world.inserted(wake);
                }
            }
            Ok(written)
        })
        .await
    }

    async fn mark(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.ask(MARK, async {
            let written = self.ledger().mark(item, mark).await?;
            self.world.noted(&item.pk);
            if written == Written::Done {
                self.world.log(|| {
                    format!(
                        "  {} of {}: {}",
                        self.world.item(item),
                        self.world.name_of(&item.pk),
                        mark.reason
                    )
                });
            }
            Ok(written)
        })
        .await
    }

    async fn defer(&self, item: &OutboxItem, deferral: &Deferral) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().defer(item, deferral).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(deferral.next_attempt);
            self.world.log(|| {
                format!(
                    "  {} put off to {}: {}",
                    self.world.item(item),
                    deferral.next_attempt - lake::START,
                    deferral.error
                )
            });
            Ok(written)
        })
        .await
    }
}

impl Breakers for Hands {
    async fn breaker(&self, target: &str) -> Result<(u64, Option<String>), LedgerError> {
        self.ask(BREAKER, self.ledger().breaker(target)).await
    }

    async fn set_breaker(&self, target: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.ask(BREAKER, self.ledger().set_breaker(target, version, state))
            .await
    }
}

impl Outbox for Hands {
    async fn due(&self, shard: &str, until: i64, from: Option<DueCursor>) -> Result<DuePage, LedgerError> {
        self.ask(READ, self.ledger().due(shard, until, from)).await
    }

    /// Only measured; the simulation looks at the items themselves.
    async fn ready(&self, _: &str) -> Result<Ready, LedgerError> {
        Ok(Ready::default())
    }

    async fn item_and_head(
        &self,
        document_key: &str,
        sort_key: &str,
    ) -> Result<Option<(OutboxItem, ledger::head::Head)>, LedgerError> {
        self.ask(READ, self.ledger().item_and_head(document_key, sort_key))
            .await
    }

    async fn claim(
        &self,
        item: &OutboxItem,
        claim: &ledger::resend::Claim,
        group: &str,
    ) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().claim(item, claim, group).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(claim.next_attempt);
            Ok(written)
        })
        .await
    }

    async fn unclaim(
        &self,
        item: &OutboxItem,
        claim: &ledger::resend::Claim,
        next_attempt: i64,
    ) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().unclaim(item, claim, next_attempt).await?;
            self.world.noted(&item.pk);
            self.world.relay_due(next_attempt);
            Ok(written)
        })
        .await
    }

    async fn settle(&self, item: &OutboxItem, mark: &Mark) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().settle(item, mark).await?;
            self.world.noted(&item.pk);
            self.world
                .log(|| format!("  relay settles {}", self.world.item(item)));
            Ok(written)
        })
        .await
    }

    async fn bury(&self, item: &OutboxItem, reason: &str) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().bury(item, reason).await?;
            self.world.noted(&item.pk);
            self.world.log(|| format!("  DEAD {}", self.world.item(item)));
            Ok(written)
        })
        .await
    }
}

impl Recorder for Hands {
    async fn record(&self, event: &NewEvent, deadline: Deadline) -> Result<Recorded, LedgerError> {
        self.ask(WRITE, self.world.record(event, deadline)).await
    }

    async fn count_delivery(&self, event: &NewEvent) -> Result<(), LedgerError> {
        self.ask(WRITE, self.ledger().count_delivery(event)).await
    }
}

impl Bookmarks for Hands {
    async fn bookmark(&self, job: &str) -> Result<(u64, Option<String>), LedgerError> {
        self.ask(READ, self.ledger().bookmark(job)).await
    }

    async fn set_bookmark(&self, job: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.ask(WRITE, self.ledger().set_bookmark(job, version, state))
            .await
    }
}

impl Wakes for Hands {
    async fn wake(&self, item: &OutboxItem) -> Result<Written, LedgerError> {
        self.ask(WRITE, async {
            let written = self.ledger().wake(item).await?;
            if written == Written::Done {
                self.world.inserted(item);
            }
            Ok(written)
        })
        .await
    }
}

impl RouteWalk for Hands {
    async fn known(
        &self,
        from: Option<&str>,
        items: u32,
        deadline: &Deadline,
    ) -> Result<KnownPage, StoreError> {
        self.process
            .call(READ, self.world.routes.known(from, items, deadline))
            .await
    }
}

impl RouteStore for Hands {
    async fn routes_of(&self, document: &DocumentRef, deadline: &Deadline) -> Result<Vec<Entry>, StoreError> {
        self.process
            .call(READ, self.world.routes.routes_of(document, deadline))
            .await
    }

    async fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        deadline: &Deadline,
    ) -> Result<Dependants, StoreError> {
        self.process
            .call(READ, self.world.routes.dependants_of(document, limit, deadline))
            .await
    }

    async fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        self.process
            .call(READ, self.world.routes.entries(names, deadline))
            .await
    }

    async fn pages_at(
        &self,
        dataset: &str,
        slug: &str,
        deadline: &Deadline,
    ) -> Result<Vec<Pointer>, StoreError> {
        self.process
            .call(READ, self.world.routes.pages_at(dataset, slug, deadline))
            .await
    }

    async fn apply(&self, change: &RouteChange, deadline: &Deadline) -> Result<Outcome, StoreError> {
        self.process
            .call(WRITE, async {
                let outcome = self.world.routes.apply(change, deadline).await?;
                self.world
                    .log(|| format!("  route {}: {outcome:?}", change_text(change)));
                Ok(outcome)
            })
            .await
    }
}

impl Source for Hands {
    async fn observe(&self, _: &str, ids: &[String], _: Deadline) -> Result<Shown, SourceError> {
        self.asked().await?;
        let mut shown = Shown::new();
        for id in ids {
            let version = self.visible(id);
            if let Some((document, version)) = version
                && let Some(revision) = version.revision
            {
                let id = lake::id(&self.world.config, document);
                let second = version.second;
                shown.insert(id, Seen { revision, second });
            }
        }
        self.answered().await;
        self.world.log(|| {
            let of = |id| {
                format!(
                    "{id}={}",
                    shown.get(id).map_or("absent", |seen: &Seen| &seen.revision)
                )
            };
            format!("  source shows {:?}", ids.iter().map(of).collect::<Vec<_>>())
        });
        Ok(shown)
    }

    async fn rows(&self, _: &str, query: &RoutingQuery, _: Deadline) -> Result<Value, SourceError> {
        self.asked().await?;
        let mut rows = Vec::new();
        for id in &query.ids {
            let Some((document, version)) = self.visible(id) else {
                continue;
            };
            let Some(content) = version.content else { continue };
            let updated_at =
                OffsetDateTime::from_unix_timestamp(version.second).unwrap_or(OffsetDateTime::UNIX_EPOCH);
            let routes: Vec<Value> = content
                .slug
                .iter()
                .map(|slug| json!({"route": "default", "slug": lake::slug_name(*slug)}))
                .collect();
            let shows: Vec<String> = content
                .shows
                .iter()
                .map(|it| lake::id(&self.world.config, *it))
                .collect();
            rows.push(json!({
                "_id": id, "_type": lake::kind(&self.world.config, document), "_rev": version.revision,
                "_updatedAt": rfc3339(updated_at), "routes": routes, "dependencies": shows,
            }));
        }
        self.answered().await;
        self.world.log(|| {
            let of = |row: &Value| format!("{}={}{}", row["_id"], row["_rev"], row["routes"]);
            format!("  rows {:?}", rows.iter().map(of).collect::<Vec<_>>())
        });
        Ok(Value::Array(rows))
    }
}

impl reconciled::Lake for Hands {
    async fn changed(
        &self,
        _: &str,
        after: &reconciled::Place,
        limit: usize,
        _: Deadline,
    ) -> Result<Vec<reconciled::Shown>, reconciled::SourceError> {
        self.asked().await.map_err(retold)?;
        let mut shown = self.all_shown();
        shown.retain(|shown| shown.place > *after);
        shown.sort_by(|one, other| one.place.cmp(&other.place));
        shown.truncate(limit);
        self.answered().await;
        Ok(shown)
    }

    async fn newest(&self, _: &str, _: Deadline) -> Result<Option<String>, reconciled::SourceError> {
        self.asked().await.map_err(retold)?;
        let newest = self.all_shown().into_iter().map(|shown| shown.place.at).max();
        self.answered().await;
        Ok(newest)
    }

    async fn shown(
        &self,
        _: &str,
        ids: &[String],
        _: Deadline,
    ) -> Result<BTreeMap<String, reconciled::Shown>, reconciled::SourceError> {
        self.asked().await.map_err(retold)?;
        let mut shown = self.all_shown();
        shown.retain(|shown| ids.contains(&shown.place.id));
        self.answered().await;
        Ok(shown
            .into_iter()
            .map(|shown| (shown.place.id.clone(), shown))
            .collect())
    }
}

fn retold(error: SourceError) -> reconciled::SourceError {
    reconciled::SourceError {
        what: error.what,
        retry_after: error.retry_after,
    }
}

impl Hands {
    /// Every document as reconcile is shown it.
    fn all_shown(&self) -> Vec<reconciled::Shown> {
        let config = &self.world.config;
        let ids = (0..config.pages + config.components).map(|document| lake::id(config, document));
        ids.filter_map(|id| {
            let (document, version) = self.visible(&id)?;
            let slug = version.content?.slug.map(lake::slug_name);
            let at = OffsetDateTime::from_unix_timestamp(version.second).ok()?;
            Some(reconciled::Shown {
                place: reconciled::Place {
                    at: rfc3339(at).replace(".000Z", "Z"),
                    id,
                },
                document_type: lake::kind(config, document).to_owned(),
                seen: Seen {
                    revision: version.revision?,
                    second: version.second,
                },
                slug,
            })
        })
        .collect()
    }

    async fn asked(&self) -> Result<(), SourceError> {
        self.process.call((0.01, 0.1), async {}).await;
        if self
            .process
            .draw(|random| random.chance(self.world.config.source_fails))
        {
            let retry_after = self.process.draw(|random| {
                random
                    .chance(0.5)
                    .then(|| std::time::Duration::from_secs(random.whole(1, 300) as u64))
            });
            return Err(SourceError {
                what: "HTTP 429".to_owned(),
                retry_after,
            });
        }
        Ok(())
    }

    fn visible(&self, id: &str) -> Option<(usize, lake::Version)> {
        let document = lake::document(&self.world.config, id)?;
        let now = self.world.seconds();
        let version = self.process.draw(|random| {
            self.world
                .lake(|lake| lake.visible(document, now, random).clone())
        });
        Some((document, version))
    }

    async fn answered(&self) {
        let takes = self.process.draw(|random| random.between(0.02, 0.1));
        pause(takes).await;
    }
}

fn plan_text(chunks: &[PlanChunk]) -> String {
    let mut keys = Vec::new();
    for chunk in chunks {
        for entry in chunk
            .entries
            .unpack::<ledger::plan::PlanEntry>()
            .unwrap_or_default()
        {
            let owed = entry
                .layers
                .values()
                .filter(|progress| !progress.is_settled())
                .count();
            keys.push(format!("{}({owed})", crate::caches::name(&entry.entry.key)));
        }
    }
    keys.join(" ")
}

fn change_text(change: &RouteChange) -> String {
    match change.entry() {
        Entry::Live(route) => format!(
            "{} at {} from {} shows {:?}",
            route.document_id, route.slug, route.source_revision, route.dependencies
        ),
        Entry::Gone(gone) => format!("{} gone by {:?}", gone.document_id, gone.source_revision),
    }
}
