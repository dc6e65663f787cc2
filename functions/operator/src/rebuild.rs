//! `rebuild`: routes and edges from the whole dataset, page by page, resumed where it stopped.
//!
//! It does not disturb running edits. A route is written on the version read and never from an older revision than the one it
//! came from; a conflict is left to whoever was faster. And it takes nothing away by itself: where a page moves or ends, its
//! document is handed to the consumer as a reprocess, which waits for the source, purges the old slug and then writes.

use std::collections::BTreeSet;
use std::time::Duration;

use ledger::store::{
    Documents, Written,
    jobs::{Bookmarks, Letters},
    operator::{Inspection, Interventions},
};
use platform::{Clock, Deadline, fault_point};
use routing::{
    Changed, Reading, Rows, TypePolicy, affected, cascade,
    model::{DocumentRef, Entry, RouteChange},
    store::{
        Outcome, RouteStore,
        walk::{KnownAs, RouteWalk},
    },
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    Operator,
    answer::OperatorError,
    reprocess::{Asked, UnderWay},
    request::Rebuild,
    source::Dataset,
};

/// Documents asked for at a time.
const PAGE: usize = 200;
/// Items of the routes table read at a time when looking for what vanished.
const ITEMS: u32 = 500;
/// What is kept of the invocation's time.
const MARGIN: Duration = Duration::from_secs(20);

/// Where a rebuild stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "snake_case")]
enum Stand {
    /// Reading the dataset; behind this id.
    Documents { after: String },
    /// Looking for routes of documents that vanished.
    Vanished { from: Option<String> },
    /// Done.
    Done,
}

/// What a rebuild has come to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Documents that the source named.
    pub documents: u64,
    /// Those of routed types.
    pub routed: u64,
    /// Routes written, with their edges.
    pub written: u64,
    /// Routes left as they are: a running edit is newer or was faster.
    pub left: u64,
    /// Documents handed to the consumer, because a page of theirs moves or ends.
    pub handed_over: u64,
    /// Documents whose row cannot be used; the log says why.
    pub problems: u64,
    /// Routes looked at in search of documents that vanished.
    pub looked_at: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Bookmark {
    stand: Stand,
    progress: Progress,
}

impl Bookmark {
    fn begin() -> Self {
        Self {
            stand: Stand::Documents { after: String::new() },
            progress: Progress::default(),
        }
    }
}

/// One rebuild, as asked for.
struct Work<'a> {
    dataset: &'a str,
    document_type: Option<&'a str>,
    asked: Asked<'a>,
    dry_run: bool,
    deadline: Deadline,
}

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Bookmarks + Letters + Inspection + Interventions,
    R: RouteStore + RouteWalk,
    S: Dataset,
    C: Clock,
{
    pub(crate) async fn rebuild(&self, request: Rebuild, deadline: Deadline) -> Result<Value, OperatorError> {
        let dataset = self.dataset(request.dataset.clone())?;
        let work = Work {
            dataset: &dataset,
            document_type: request.document_type.as_deref(),
            asked: Asked {
                verb: "rebuild",
                requester: &request.requester,
                because: &request.reason,
            },
            dry_run: request.dry_run,
            deadline,
        };
        if let Some(ids) = &request.ids {
            let ids: BTreeSet<String> = ids.iter().cloned().collect();
            let mut progress = Progress {
                documents: ids.len() as u64,
                ..Progress::default()
            };
            self.build(&work, &ids, &mut progress).await?;
            return Ok(answer(&work, &progress, None));
        }
        if let Some(document_type) = work.document_type
            && self.config.type_policy(document_type) != TypePolicy::Routed
        {
            return Err(OperatorError::BadRequest(format!(
                "{document_type:?} has no pages: routes.toml does not list it under [routed]"
            )));
        }
        let job = format!("rebuild#{dataset}#{}", work.document_type.unwrap_or("*"));
        let (mut version, held) = self.ledger.bookmark(&job).await?;
        let given = request
            .from
            .as_deref()
            .or(held.as_deref().filter(|_| !work.dry_run));
        let mut mark = given
            .filter(|_| !request.restart)
            .map_or_else(|| Ok(Bookmark::begin()), serde_json::from_str::<Bookmark>)
            .map_err(|_| OperatorError::BadRequest("`from` is not what an earlier answer gave".to_owned()))?;
        if mark.stand == Stand::Done {
            mark = Bookmark::begin();
        }
        while mark.stand != Stand::Done && !deadline.is_near(MARGIN) {
            self.advance(&work, &mut mark).await?;
            fault_point!("operator.advanced");
            let text = text_of(&mark);
            tracing::info!(job, dry_run = work.dry_run, progress = text, "rebuild goes on");
            if !work.dry_run {
                if self.ledger.set_bookmark(&job, version, &text).await? == Written::Moved {
                    return Err(OperatorError::Refused(
                        "another rebuild of the same is under way".to_owned(),
                    ));
                }
                version += 1;
            }
        }
        let next = (mark.stand != Stand::Done).then(|| text_of(&mark));
        Ok(answer(&work, &mark.progress, next))
    }

    /// One step.
    async fn advance(&self, work: &Work<'_>, mark: &mut Bookmark) -> Result<(), OperatorError> {
        match mark.stand.clone() {
            Stand::Documents { after } => {
                self.metrics.count("SanityReads", 1);
                let page = self
                    .source
                    .page(work.dataset, work.document_type, &after, PAGE, work.deadline)
                    .await?;
                mark.progress.documents += page.len() as u64;
                let ids: BTreeSet<String> = page
                    .iter()
                    .filter(|named| self.config.type_policy(&named.document_type) == TypePolicy::Routed)
                    .map(|named| named.id.clone())
                    .collect();
                self.build(work, &ids, &mut mark.progress).await?;
                mark.stand = match page.last() {
                    Some(last) if page.len() == PAGE => Stand::Documents {
                        after: last.id.clone(),
                    },
                    _ => Stand::Vanished { from: None },
                };
            }
            Stand::Vanished { from } => {
                let page = self.routes.known(from.as_deref(), ITEMS, &work.deadline).await?;
                let ids: BTreeSet<String> = page
                    .documents
                    .into_iter()
                    .filter(|known| known.document.dataset == work.dataset)
                    .filter(|known| match &known.known_as {
                        KnownAs::Page { document_type, .. } => {
                            work.document_type.is_none_or(|wanted| wanted == document_type)
                        }
                        _ => false,
                    })
                    .map(|known| known.document.document_id)
                    .collect();
                mark.progress.looked_at += ids.len() as u64;
                let rows = self.rows(work, &ids).await?;
                for id in ids.iter().filter(|id| matches!(rows.get(id), Ok(None))) {
                    self.hand_over(work, id, None, &mut mark.progress).await?;
                }
                mark.stand = page
                    .next
                    .map_or(Stand::Done, |next| Stand::Vanished { from: Some(next) });
            }
            Stand::Done => {}
        }
        Ok(())
    }

    async fn rows(&self, work: &Work<'_>, ids: &BTreeSet<String>) -> Result<Rows, OperatorError> {
        let mut reading = Reading::of(&self.config, ids.clone());
        while let Some(query) = reading.next_query() {
            self.metrics.count("SanityReads", 1);
            let answer = self.source.rows(work.dataset, &query, work.deadline).await?;
            reading.answer(&query, &answer);
        }
        Ok(reading.into_rows())
    }

    /// Builds the routes of some documents.
    async fn build(
        &self,
        work: &Work<'_>,
        ids: &BTreeSet<String>,
        progress: &mut Progress,
    ) -> Result<(), OperatorError> {
        if ids.is_empty() {
            return Ok(());
        }
        let documents: Vec<DocumentRef> = ids.iter().map(|id| DocumentRef::new(work.dataset, id)).collect();
        // Routes before rows: what changes in between is then a conflict, and left. Width 0: a rebuild has no dependants.
        let held = affected(&*self.routes, &documents, 0, &work.deadline).await?;
        let rows = self.rows(work, ids).await?;
        for document in documents {
            progress.routed += 1;
            let shown = rows.get(&document.document_id).ok().flatten();
            let document_type = shown.map(|row| row.document_type.clone());
            let changed = Changed {
                document: document.clone(),
                document_type: document_type.clone(),
                slugs: vec![],
            };
            let outcome = cascade(&self.config, &changed, &held, &rows);
            for problem in &outcome.problems {
                progress.problems += 1;
                tracing::error!(document_id = document.document_id, error = %problem.error, "the row cannot be used");
            }
            let entries: Vec<&Entry> = held.entries_of(&document).map(|(_, entry)| entry).collect();
            let mut hand_over = false;
            for change in &outcome.changes {
                let before = entries
                    .iter()
                    .copied()
                    .find(|entry| entry.name() == change.name());
                match judge(change, before) {
                    Verdict::HandOver => hand_over = true,
                    Verdict::Leave => progress.left += 1,
                    Verdict::Write if work.dry_run => progress.written += 1,
                    Verdict::Write => match self.routes.apply(change, &work.deadline).await? {
                        Outcome::Applied => {
                            fault_point!("operator.route-built");
                            progress.written += 1;
                        }
                        Outcome::Unchanged => {}
                        Outcome::Conflict => progress.left += 1,
                    },
                }
            }
            if hand_over {
                self.hand_over(work, &document.document_id, document_type, progress)
                    .await?;
            }
        }
        Ok(())
    }

    async fn hand_over(
        &self,
        work: &Work<'_>,
        id: &str,
        document_type: Option<String>,
        progress: &mut Progress,
    ) -> Result<(), OperatorError> {
        progress.handed_over += 1;
        if work.dry_run {
            return Ok(());
        }
        let mut target = self.target_of_document(work.dataset, id).await?;
        if target.sleeper.document_type.is_none() {
            target.sleeper.document_type = document_type;
        }
        self.reprocess_one(target, work.asked, UnderWay::Join, false)
            .await?;
        Ok(())
    }
}

/// What a rebuild does with a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Write,
    Leave,
    HandOver,
}

fn judge(change: &RouteChange, before: Option<&Entry>) -> Verdict {
    let RouteChange::Write(write) = change else {
        return Verdict::HandOver;
    };
    let Some(before) = before else {
        return Verdict::Write;
    };
    let (second, revision) = before.source();
    let newer = write.route.source_second > second
        || (write.route.source_second == second && revision == Some(write.route.source_revision.as_str()));
    match before.live() {
        _ if !newer => Verdict::Leave,
        Some(live) if live.slug != write.route.slug => Verdict::HandOver,
        _ => Verdict::Write,
    }
}

fn text_of(mark: &Bookmark) -> String {
    serde_json::to_string(mark).unwrap_or_default()
}

fn answer(work: &Work<'_>, progress: &Progress, next: Option<String>) -> Value {
    json!({
        "dry_run": work.dry_run,
        "dataset": work.dataset,
        "type": work.document_type,
        "done": next.is_none(),
        "progress": progress,
        "next": next,
    })
}
