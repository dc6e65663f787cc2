//! A process's hands on the source: as the consumer reads it, and as reconcile does.

use std::collections::BTreeMap;

use consumer::source::{Shown, Source, SourceError};
use ledger::{item::Seen, record::rfc3339};
use platform::Deadline;
use reconcile::source as reconciled;
use routing::config::RoutingQuery;
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::Hands;
use crate::{lake, process::pause};

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
