//! Fault points: named places at which a test ends the process, or the piece of work that passes there.
//!
//! Only with the feature `fault-points`; without it [`fault_point!`](crate::fault_point) is nothing at all.
//!
//! - In a test, [`watched`] runs a piece of work, tells which points it passed, and lets it end at one of them: the future is
//!   dropped there, as a crash would leave it.
//! - In a function, the environment variable `FAULT_POINT` names where the process is to abort: `consumer.head-moved`, or
//!   `consumer.head-moved:3` for the third time that this process passes there; several, with commas between.

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use tokio::sync::Notify;

tokio::task_local! {
    static WATCH: Arc<Watch>;
}

/// What came of a piece of work under watch.
#[derive(Debug)]
pub struct Watched<T> {
    /// The points that it passed, in order, the one at which it ended included.
    pub reached: Vec<String>,
    /// Its result; none when it ended at a point.
    pub end: Option<T>,
}

#[derive(Debug)]
struct Watch {
    dies_at: Option<usize>,
    reached: Mutex<Vec<String>>,
    died: Notify,
}

/// Runs `work`, which ends at the point passed as number `dies_at` (from 0); to its own end where there is none.
pub async fn watched<F: Future>(work: F, dies_at: Option<usize>) -> Watched<F::Output> {
    let watch = Arc::new(Watch {
        dies_at,
        reached: Mutex::default(),
        died: Notify::new(),
    });
    let work = WATCH.scope(watch.clone(), work);
    let end = tokio::select! {
        biased;
        end = work => Some(end),
        () = watch.died.notified() => None,
    };
    let reached = std::mem::take(&mut *watch.reached.lock().unwrap_or_else(PoisonError::into_inner));
    Watched { reached, end }
}

/// What [`fault_point!`](crate::fault_point) calls.
pub async fn reach(name: String) {
    static ABORTS: OnceLock<Aborts> = OnceLock::new();
    let aborts = ABORTS.get_or_init(|| Aborts::read(&std::env::var("FAULT_POINT").unwrap_or_default()));
    if aborts.pass(&name) {
        tracing::error!(fault_point = name, "the process ends here, as FAULT_POINT says");
        std::process::abort();
    }
    if WATCH.try_with(|watch| watch.pass(name)) == Ok(true) {
        std::future::pending::<()>().await;
    }
}

impl Watch {
    /// Notes the point. True: the work ends here.
    fn pass(&self, name: String) -> bool {
        let mut reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let dies = self.dies_at == Some(reached.len());
        // What goes on beside the point that was its end is as dead.
        if self.dies_at.is_none_or(|end| reached.len() <= end) {
            reached.push(name);
        }
        if dies {
            self.died.notify_one();
        }
        dies
    }
}

/// Where the process aborts: by point, how often it may still pass.
#[derive(Debug, Default)]
struct Aborts {
    left: Mutex<BTreeMap<String, u64>>,
}

impl Aborts {
    fn read(text: &str) -> Self {
        let points = text.split(',').map(str::trim).filter(|point| !point.is_empty());
        let left = points.map(|point| match point.rsplit_once(':') {
            Some((name, nth)) => (name.to_owned(), nth.parse().unwrap_or(1).max(1)),
            None => (point.to_owned(), 1),
        });
        Self {
            left: Mutex::new(left.collect()),
        }
    }

    /// Counts one pass. True: this is the one.
    fn pass(&self, name: &str) -> bool {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.get_mut(name).is_some_and(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn work(steps: &Mutex<Vec<u8>>) -> u8 {
        for step in 0..3 {
            steps.lock().unwrap().push(step);
            crate::fault_point!("step.{step}");
        }
        7
    }

    #[tokio::test]
    async fn work_tells_its_points_and_ends_at_any_of_them() {
        let steps = Mutex::default();
        let whole = watched(work(&steps), None).await;
        assert_eq!(whole.reached, ["step.0", "step.1", "step.2"]);
        assert_eq!(whole.end, Some(7));
        steps.lock().unwrap().clear();
        let cut = watched(work(&steps), Some(1)).await;
        assert_eq!((cut.reached.len(), cut.end), (2, None));
        assert_eq!(*steps.lock().unwrap(), [0, 1], "nothing was done after the point");
        assert_eq!(work(&Mutex::default()).await, 7, "nobody watches");
    }

    #[test]
    fn the_variable_names_points_and_the_pass_that_is_the_last() {
        let aborts = Aborts::read("webhook.recorded:2, consumer.read,");
        assert!(!aborts.pass("webhook.recorded"));
        assert!(aborts.pass("webhook.recorded"));
        assert!(aborts.pass("consumer.read"));
        assert!(!aborts.pass("relay.sent"));
        assert!(!Aborts::read("").pass(""));
    }
}
