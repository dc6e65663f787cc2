//! The source of truth as the consumer reads it: Sanity's query API, never its CDN (law 7).

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ledger::item::Seen;
use platform::Deadline;
use routing::config::RoutingQuery;
use serde_json::Value;
use tokio::sync::watch;

/// Why the source did not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the source did not answer: {what}")]
pub struct SourceError {
    /// What happened.
    pub what: String,
    /// How long it asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// What the source shows of some documents, by `_id`; a document that is not there is absent.
pub type Shown = BTreeMap<String, Seen>;

/// The source.
pub trait Source: Send + Sync {
    /// What it shows now of `ids`.
    fn observe(
        &self,
        dataset: &str,
        ids: &[String],
        deadline: Deadline,
    ) -> impl Future<Output = Result<Shown, SourceError>> + Send;

    /// The raw answer of a routing query.
    fn rows(
        &self,
        dataset: &str,
        query: &RoutingQuery,
        deadline: Deadline,
    ) -> impl Future<Output = Result<Value, SourceError>> + Send;
}

type Answer = Option<Result<Arc<Shown>, SourceError>>;

/// Asks the source once for all documents of a batch that ask at about the same time: a batch waits once, not once a document,
/// and Sanity bills each read.
#[derive(Debug)]
pub struct Observer<S> {
    source: Arc<S>,
    gathering: Mutex<BTreeMap<String, Gathering>>,
}

#[derive(Debug)]
struct Gathering {
    ids: BTreeSet<String>,
    answer: watch::Receiver<Answer>,
}

/// How long an asker waits for others to join.
const GATHER: Duration = Duration::from_millis(15);

impl<S: Source> Observer<S> {
    /// An observer of `source`.
    pub fn new(source: Arc<S>) -> Self {
        Self {
            source,
            gathering: Mutex::default(),
        }
    }

    /// What the source shows of one document; the read begins after the call does.
    ///
    /// # Errors
    /// The source did not answer.
    pub async fn observe(
        &self,
        dataset: &str,
        id: &str,
        deadline: Deadline,
    ) -> Result<Option<Seen>, SourceError> {
        let (mut answer, leads) = self.join(dataset, id);
        if let Some(publish) = leads {
            tokio::time::sleep(GATHER).await;
            let ids: Vec<String> = {
                let mut gathering = self.gathering.lock().unwrap_or_else(PoisonError::into_inner);
                gathering
                    .remove(dataset)
                    .map(|it| it.ids.into_iter().collect())
                    .unwrap_or_default()
            };
            let shown = self.source.observe(dataset, &ids, deadline).await.map(Arc::new);
            let _ = publish.send(Some(shown));
        }
        let lost = || SourceError {
            what: "the read was given up".to_owned(),
            retry_after: None,
        };
        let shown = answer.wait_for(Option::is_some).await.map_err(|_| lost())?;
        match shown.as_ref() {
            Some(Ok(shown)) => Ok(shown.get(id).cloned()),
            Some(Err(error)) => Err(error.clone()),
            None => Err(lost()),
        }
    }

    /// Joins the gathering of a dataset; whoever opens it leads the read.
    fn join(&self, dataset: &str, id: &str) -> (watch::Receiver<Answer>, Option<watch::Sender<Answer>>) {
        let mut gathering = self.gathering.lock().unwrap_or_else(PoisonError::into_inner);
        // A leader that was dropped before it read leaves a closed gathering behind.
        if let Some(open) = gathering.get_mut(dataset)
            && open.answer.has_changed().is_ok()
        {
            open.ids.insert(id.to_owned());
            return (open.answer.clone(), None);
        }
        let (publish, answer) = watch::channel(None);
        let opened = Gathering {
            ids: [id.to_owned()].into(),
            answer: answer.clone(),
        };
        gathering.insert(dataset.to_owned(), opened);
        (answer, Some(publish))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Counting {
        asked: Mutex<Vec<Vec<String>>>,
    }

    impl Source for Counting {
        async fn observe(&self, _: &str, ids: &[String], _: Deadline) -> Result<Shown, SourceError> {
            self.asked.lock().unwrap().push(ids.to_vec());
            Ok(ids
                .iter()
                .map(|id| {
                    (
                        id.clone(),
                        Seen {
                            revision: id.clone(),
                            second: 1,
                        },
                    )
                })
                .collect())
        }
        async fn rows(&self, _: &str, _: &RoutingQuery, _: Deadline) -> Result<Value, SourceError> {
            Ok(Value::Null)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn law_13_documents_that_ask_together_are_read_together() {
        let source = Arc::new(Counting::default());
        let observer = Observer::new(source.clone());
        let deadline = Deadline::after(Duration::from_secs(60));
        let ask = |id: &'static str| observer.observe("production", id, deadline);
        let (one, two, three) = tokio::join!(ask("a"), ask("b"), ask("c"));
        assert_eq!(
            [one, two, three].map(|it| it.unwrap().unwrap().revision),
            ["a", "b", "c"]
        );
        assert_eq!(source.asked.lock().unwrap().len(), 1);
        ask("a").await.unwrap();
        assert_eq!(
            source.asked.lock().unwrap().len(),
            2,
            "a later question is a read of its own"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_is_dropped_leaves_nobody_waiting() {
        let source = Arc::new(Counting::default());
        let observer = Observer::new(source.clone());
        let deadline = Deadline::after(Duration::from_secs(60));
        let dropped =
            tokio::time::timeout(Duration::from_millis(1), observer.observe("d", "a", deadline)).await;
        assert!(dropped.is_err());
        assert!(observer.observe("d", "a", deadline).await.unwrap().is_some());
    }
}
