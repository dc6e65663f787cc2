//! From a request to its answer.

use std::sync::Arc;

use ledger::{
    record::Settings,
    store::{
        Documents,
        jobs::{Bookmarks, Letters},
        operator::{Inspection, Interventions},
    },
};
use platform::{Clock, Deadline, Metrics};
use routing::{
    RoutesConfig,
    store::{RouteStore, walk::RouteWalk},
};
use serde_json::Value;

use crate::{answer::OperatorError, request::Request, source::Dataset};

/// The version of this function, kept with every request.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Everything the verbs need.
#[derive(Debug)]
pub struct Operator<L, R, S, C> {
    /// The ledger.
    pub ledger: Arc<L>,
    /// Routes and edges.
    pub routes: Arc<R>,
    /// The source.
    pub source: Arc<S>,
    /// What the document types mean.
    pub config: RoutesConfig,
    /// What new items need to know.
    pub settings: Settings,
    /// The clock.
    pub clock: C,
    /// Metrics of this invocation.
    pub metrics: Metrics,
}

impl<L, R, S, C> Operator<L, R, S, C>
where
    L: Documents + Bookmarks + Letters + Inspection + Interventions,
    R: RouteStore + RouteWalk,
    S: Dataset,
    C: Clock,
{
    /// Carries a request out.
    ///
    /// # Errors
    /// See [`OperatorError`]; those with an answer of their own are the request's fault.
    pub async fn handle(&self, event: &Value, deadline: Deadline) -> Result<Value, OperatorError> {
        match Request::read(event)? {
            Request::List(asked) => self.list(asked).await,
            Request::Show(asked) => self.show(asked).await,
            Request::Trace(asked) => self.trace(asked, deadline).await,
            Request::Reprocess(asked) => self.reprocess(asked, deadline).await,
            Request::Settle(asked) => self.settle(asked).await,
            Request::Rebuild(asked) => self.rebuild(asked, deadline).await,
        }
    }
}

impl<L, R, S, C> Operator<L, R, S, C> {
    /// The dataset asked for, if this stack serves it; the first one where none was asked for.
    pub(crate) fn dataset(&self, asked: Option<String>) -> Result<String, OperatorError> {
        let served = &self.settings.datasets;
        match asked {
            None => Ok(served.first().cloned().unwrap_or_default()),
            Some(asked) if served.contains(&asked) => Ok(asked),
            Some(asked) => Err(OperatorError::BadRequest(format!(
                "`dataset` {asked:?} is none of this stack's: {}",
                served.join(", ")
            ))),
        }
    }
}
