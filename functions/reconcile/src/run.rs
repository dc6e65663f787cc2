//! One run: what changed, then a part of the sweep if one is due.

use std::sync::Arc;

use ledger::store::{
    Documents, LedgerError, Recorder,
    jobs::{Bookmarks, Wakes},
};
use platform::{Clock, Deadline, Metrics};
use routing::{
    RoutesConfig,
    store::{StoreError, walk::RouteWalk},
};
use serde::Serialize;

use crate::{
    changes::Changes,
    settings::Settings,
    source::{Lake, SourceError},
    sweep::Sweep,
};

/// Everything a run needs.
#[derive(Debug)]
pub struct Reconcile<L, R, S, C> {
    /// The ledger.
    pub ledger: Arc<L>,
    /// The routes: which documents are known.
    pub routes: Arc<R>,
    /// The source.
    pub source: Arc<S>,
    /// What the document types mean.
    pub config: RoutesConfig,
    /// Times and bounds.
    pub settings: Settings,
    /// The clock.
    pub clock: C,
    /// Metrics of this invocation.
    pub metrics: Metrics,
}

/// Why a run stopped. What it did until then stays done, and the next run goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum ReconcileError {
    /// The ledger did not take a read or a write.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The routes table did not answer.
    #[error(transparent)]
    Routes(#[from] StoreError),
    /// The source did not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A bookmark that this version did not write.
    #[error("the bookmark of {0} cannot be read")]
    Bookmark(String),
}

/// What a run did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// By dataset.
    pub changes: Vec<Changes>,
    /// The part of a sweep that this run did; none: no sweep was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sweep: Option<Sweep>,
}

impl<L, R, S, C> Reconcile<L, R, S, C>
where
    L: Documents + Recorder + Bookmarks + Wakes,
    R: RouteWalk,
    S: Lake,
    C: Clock,
{
    /// One run. With `sweep_now` a sweep begins even if none is due.
    ///
    /// # Errors
    /// See [`ReconcileError`].
    pub async fn run(&self, sweep_now: bool, deadline: Deadline) -> Result<Summary, ReconcileError> {
        // Zeros, so that what never happens and what is never measured can be told apart.
        for metric in ["EventsReconciled", "SanityReads", "PlansWoken"] {
            self.metrics.count(metric, 0);
        }
        let deadline = deadline.earlier(self.settings.margin);
        let mut summary = Summary::default();
        for dataset in &self.settings.ledger.datasets {
            summary.changes.push(self.changes(dataset, deadline).await?);
        }
        if summary.changes.iter().all(|changes| changes.complete) {
            self.metrics.count("ReconcileRuns", 1);
        }
        summary.sweep = self.sweep(sweep_now, deadline).await?;
        Ok(summary)
    }
}
