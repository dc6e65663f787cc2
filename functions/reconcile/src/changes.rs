//! What changed since the watermark, by the source's clock.

use futures::stream::{self, StreamExt, TryStreamExt};
use ledger::{
    record::rfc3339,
    store::{Documents, Recorder, Written, jobs::Bookmarks},
};
use platform::{Clock, Deadline, fault_point};
use serde::{Deserialize, Serialize};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::{
    enter::is_unpublished,
    run::{Reconcile, ReconcileError},
    source::{Lake, Place, Shown},
};

/// Documents looked up in the ledger at the same time.
const AT_ONCE: usize = 8;
/// A time that the source cannot have reached yet: nothing behind it would ever be found again.
const FUTURE_SECONDS: i64 = 300;

/// Where the job stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watermark {
    /// The largest `_updatedAt` of a run that came to its end, in epoch seconds.
    pub second: i64,
    /// The largest one seen by the run under way.
    pub highest: i64,
    /// Where the run under way goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Place>,
    /// The first watermark of all: what is older was there before this stack.
    pub first: i64,
}

/// What one run did in one dataset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// The dataset.
    pub dataset: String,
    /// Documents that the source named, those of the overlap included.
    pub seen: u64,
    /// Those that the ledger had not seen.
    pub entered: u64,
    /// False: a bound was reached; the next run goes on.
    pub complete: bool,
}

fn job(dataset: &str) -> String {
    format!("changes#{dataset}")
}

impl<L, R, S, C> Reconcile<L, R, S, C>
where
    L: Documents + Recorder + Bookmarks,
    S: Lake,
    C: Clock,
{
    /// The watermark of a dataset, with the bookmark's version.
    pub(crate) async fn watermark(&self, dataset: &str) -> Result<(u64, Option<Watermark>), ReconcileError> {
        let (version, text) = self.ledger.bookmark(&job(dataset)).await?;
        let watermark = text
            .map(|text| serde_json::from_str(&text))
            .transpose()
            .map_err(|_| ReconcileError::Bookmark(job(dataset)))?;
        Ok((version, watermark))
    }

    async fn keep(
        &self,
        dataset: &str,
        version: u64,
        watermark: &Watermark,
    ) -> Result<Written, ReconcileError> {
        let text = serde_json::to_string(watermark).map_err(|_| ReconcileError::Bookmark(job(dataset)))?;
        Ok(self.ledger.set_bookmark(&job(dataset), version, &text).await?)
    }

    pub(crate) async fn changes(&self, dataset: &str, deadline: Deadline) -> Result<Changes, ReconcileError> {
        let mut done = Changes {
            dataset: dataset.to_owned(),
            ..Changes::default()
        };
        let (mut version, held) = self.watermark(dataset).await?;
        let Some(mut watermark) = held else {
            self.begin(dataset, deadline).await?;
            done.complete = true;
            return Ok(done);
        };
        for _ in 0..self.settings.pages_a_run {
            if deadline.is_near(self.settings.margin) {
                return Ok(done);
            }
            let before = watermark.clone();
            let after = watermark
                .next
                .clone()
                .unwrap_or_else(|| place_at(watermark.second - self.settings.overlap_seconds));
            self.metrics.count("SanityReads", 1);
            let shown = self
                .source
                .changed(dataset, &after, self.settings.page_size, deadline)
                .await?;
            fault_point!("reconcile.changes-read");
            done.seen += shown.len() as u64;
            done.entered += self.enter_all(dataset, &shown, deadline).await?;
            let latest = self.clock.now().unix_timestamp() + FUTURE_SECONDS;
            let highest = shown
                .iter()
                .map(|it| it.seen.second)
                .filter(|second| *second <= latest)
                .max();
            watermark.highest = watermark.highest.max(highest.unwrap_or(0));
            if shown.len() < self.settings.page_size {
                watermark.second = watermark.second.max(watermark.highest);
                watermark.next = None;
                done.complete = true;
            } else {
                watermark.next = shown.last().map(|last| last.place.clone());
            }
            if watermark != before {
                if self.keep(dataset, version, &watermark).await? == Written::Moved {
                    tracing::info!(dataset, "another run of reconcile is under way");
                    return Ok(done);
                }
                fault_point!("reconcile.watermark-moved");
                version += 1;
            }
            if done.complete {
                break;
            }
        }
        Ok(done)
    }

    /// The first run only notes where the source stands: what is there already is what `rebuild` is for.
    async fn begin(&self, dataset: &str, deadline: Deadline) -> Result<(), ReconcileError> {
        self.metrics.count("SanityReads", 1);
        let newest = self.source.newest(dataset, deadline).await?;
        let second = newest
            .and_then(|at| OffsetDateTime::parse(&at, &Rfc3339).ok())
            .map_or(0, OffsetDateTime::unix_timestamp)
            .min(self.clock.now().unix_timestamp() + FUTURE_SECONDS);
        let watermark = Watermark {
            second,
            highest: second,
            next: None,
            first: second,
        };
        self.keep(dataset, 0, &watermark).await?;
        tracing::info!(dataset, second, "the watermark is set");
        Ok(())
    }

    async fn enter_all(
        &self,
        dataset: &str,
        shown: &[Shown],
        deadline: Deadline,
    ) -> Result<u64, ReconcileError> {
        let now = self.clock.now().unix_timestamp();
        let young = now - self.settings.young() + 1..=now + FUTURE_SECONDS;
        let entered: Vec<bool> = stream::iter(shown)
            .filter(|it| {
                let left = is_unpublished(&it.place.id) || young.contains(&it.seen.second);
                std::future::ready(!left)
            })
            .map(|it| self.enter_changed(dataset, it, deadline))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(entered.into_iter().filter(|new| *new).count() as u64)
    }
}

/// The place before every document of that second.
fn place_at(second: i64) -> Place {
    let at = OffsetDateTime::from_unix_timestamp(second.max(0)).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    // Sanity writes whole seconds without a fraction; with one, texts of one second would sort before it.
    Place {
        at: rfc3339(at).replace(".000Z", "Z"),
        id: String::new(),
    }
}
