//! A content lake in memory: documents with revisions, and an index that shows each change a while after it was made.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use consumer::source::{Shown, Source, SourceError};
use ledger::{item::Seen, record::rfc3339};
use platform::{Clock, Deadline};
use routing::config::{Asks, RoutingQuery};
use serde_json::{Value, json};
use time::OffsetDateTime;

use super::SharedClock;

/// What a change made of a document, and the webhook body that tells of it.
#[derive(Debug, Clone)]
pub struct Change {
    pub id: String,
    pub revision: String,
    pub body: Value,
}

#[derive(Debug, Clone)]
struct Version {
    visible_at: OffsetDateTime,
    revision: String,
    second: i64,
    /// None: deleted.
    content: Option<Content>,
}

#[derive(Debug, Clone)]
struct Content {
    kind: String,
    slug: Option<String>,
    dependencies: Vec<String>,
}

#[derive(Debug, Default)]
struct Inner {
    documents: BTreeMap<String, Vec<Version>>,
    revisions: usize,
    lag: Duration,
    fault: Option<SourceError>,
    /// What the routing query answers instead.
    answer: Option<Value>,
    /// How long a routing query takes.
    slow: Duration,
    /// Reads that succeed before the fault begins.
    spared: usize,
    reads: usize,
    second: Option<i64>,
}

impl Inner {
    /// Counts a read, which fails while a fault lasts.
    fn count(&mut self) -> Result<(), SourceError> {
        self.reads += 1;
        match &self.fault {
            Some(fault) if self.spared == 0 => Err(fault.clone()),
            _ => {
                self.spared = self.spared.saturating_sub(1);
                Ok(())
            }
        }
    }
}

#[derive(Debug)]
pub struct Lake {
    clock: SharedClock,
    inner: Mutex<Inner>,
}

impl Lake {
    pub fn new(clock: SharedClock) -> Self {
        Self {
            clock,
            inner: Mutex::default(),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    /// Changes become visible this long after they are made.
    pub fn set_lag(&self, lag: Duration) {
        self.inner().lag = lag;
    }

    pub fn set_fault(&self, fault: Option<SourceError>) {
        self.inner().fault = fault;
    }

    /// Lets each routing query take this long.
    pub fn set_slow(&self, slow: Duration) {
        self.inner().slow = slow;
    }

    /// Answers the routing query with this.
    pub fn set_answer(&self, answer: Option<Value>) {
        self.inner().answer = answer;
    }

    /// Fails every read but the next `spared`.
    pub fn fail_after(&self, spared: usize, fault: SourceError) {
        let mut inner = self.inner();
        inner.spared = spared;
        inner.fault = Some(fault);
    }

    /// Fixes `_updatedAt` of later changes, for several changes in one second.
    pub fn set_second(&self, second: Option<i64>) {
        self.inner().second = second;
    }

    pub fn reads(&self) -> usize {
        self.inner().reads
    }

    /// Creates or updates a document.
    pub fn write(&self, kind: &str, id: &str, slug: Option<&str>, dependencies: &[&str]) -> Change {
        let content = Content {
            kind: kind.to_owned(),
            slug: slug.map(str::to_owned),
            dependencies: dependencies.iter().map(|id| (*id).to_owned()).collect(),
        };
        self.change(id, Some(content))
    }

    pub fn delete(&self, id: &str) -> Change {
        self.change(id, None)
    }

    fn change(&self, id: &str, content: Option<Content>) -> Change {
        let now = self.clock.now();
        let mut inner = self.inner();
        let before = inner
            .documents
            .get(id)
            .and_then(|versions| versions.last().cloned());
        let gone = content.is_none();
        // A delete is told with the revision and time of what it deleted.
        let (revision, second) = if gone {
            let before = before.as_ref().expect("something to delete");
            (before.revision.clone(), before.second)
        } else {
            inner.revisions += 1;
            (
                format!("rev-{}", inner.revisions),
                inner.second.unwrap_or(now.unix_timestamp()),
            )
        };
        let kind = content
            .as_ref()
            .or(before.as_ref().and_then(|it| it.content.as_ref()))
            .map(|it| it.kind.clone());
        let slug = |content: Option<&Content>| content.and_then(|it| it.slug.clone());
        let updated = rfc3339(OffsetDateTime::from_unix_timestamp(second).unwrap());
        let body = json!({
            "_id": id, "_type": kind, "_rev": revision, "_updatedAt": updated,
            "operation": if gone { "delete" } else if before.is_none() { "create" } else { "update" },
            "slug": slug(content.as_ref()), "previousSlug": slug(before.as_ref().and_then(|it| it.content.as_ref())),
            "previousRevision": before.as_ref().map(|it| it.revision.clone()),
            "projectId": "project", "dataset": "production",
        });
        let visible_at = now + inner.lag;
        let version = Version {
            visible_at,
            revision: revision.clone(),
            second,
            content,
        };
        inner.documents.entry(id.to_owned()).or_default().push(version);
        Change {
            id: id.to_owned(),
            revision,
            body,
        }
    }

    /// The revision that the source shows now.
    pub fn shown(&self, id: &str) -> Option<String> {
        self.visible(&self.inner(), id).map(|version| version.revision)
    }

    fn visible(&self, inner: &Inner, id: &str) -> Option<Version> {
        let now = self.clock.now();
        let version = inner
            .documents
            .get(id)?
            .iter()
            .rev()
            .find(|version| version.visible_at <= now)?;
        version.content.is_some().then(|| version.clone())
    }
}

impl Source for Lake {
    async fn observe(&self, _: &str, ids: &[String], _: Deadline) -> Result<Shown, SourceError> {
        let mut inner = self.inner();
        inner.count()?;
        let seen = |version: Version| Seen {
            revision: version.revision,
            second: version.second,
        };
        Ok(ids
            .iter()
            .filter_map(|id| Some((id.clone(), seen(self.visible(&inner, id)?))))
            .collect())
    }

    async fn rows(&self, _: &str, query: &RoutingQuery, deadline: Deadline) -> Result<Value, SourceError> {
        let slow = self.inner().slow;
        let in_time = deadline.bound(tokio::time::sleep(slow)).await;
        in_time.map_err(|_| SourceError {
            what: "no answer in time".to_owned(),
            retry_after: None,
        })?;
        let mut inner = self.inner();
        inner.count()?;
        if let Some(answer) = &inner.answer {
            return Ok(answer.clone());
        }
        let document = |id: &String| {
            let version = self.visible(&inner, id)?;
            let content = version.content?;
            let references = content.dependencies.iter().map(|id| json!({"_ref": id}));
            let made_of = references.collect::<Vec<_>>();
            Some(json!({"_id": id, "_type": content.kind, "_rev": version.revision, "made_of": made_of}))
        };
        let documents = || Value::Array(query.ids.iter().filter_map(document).collect());
        let row = |id: &String| {
            let version = self.visible(&inner, id)?;
            let mut content = version.content?;
            if query.asks != Asks::Rows {
                content.dependencies.clear();
            }
            let routes: Vec<Value> = content
                .slug
                .iter()
                .map(|slug| json!({"route": "default", "slug": slug}))
                .collect();
            Some(json!({
                "_id": id, "_type": content.kind, "_rev": version.revision,
                "_updatedAt": rfc3339(OffsetDateTime::from_unix_timestamp(version.second).unwrap()),
                "routes": routes, "dependencies": content.dependencies,
            }))
        };
        let rows = Value::Array(query.ids.iter().filter_map(row).collect());
        Ok(match query.asks {
            Asks::Rows => rows,
            Asks::RowsAndDocuments => json!({"rows": rows, "documents": documents()}),
            Asks::Documents => documents(),
        })
    }
}
