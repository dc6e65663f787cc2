//! Sends the batches of a [`Work`], several at a time.

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use platform::Deadline;

use crate::work::{Answer, Batch, Finished, Work};

/// With less time than this no request is begun: it would most likely be cut off, and be repeated.
const LEAST_TIME: Duration = Duration::from_millis(250);

/// Sends one batch of a purge.
pub(crate) trait Wire: Sync {
    fn send(&self, batch: &Batch) -> impl Future<Output = Answer> + Send;
}

pub(crate) async fn drive(
    wire: &impl Wire,
    mut work: Work,
    concurrency: usize,
    deadline: Deadline,
) -> Finished {
    let mut in_flight = FuturesUnordered::new();
    loop {
        while in_flight.len() < concurrency.max(1) {
            if deadline.is_near(LEAST_TIME) {
                work.out_of_time();
            }
            let Some(batch) = work.next() else { break };
            in_flight.push(async move {
                let answer = wire.send(&batch).await;
                (batch, answer)
            });
        }
        match in_flight.next().await {
            Some((batch, answer)) => work.answered(batch, answer),
            None => return work.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::work::{Found, Limits, Verdict};

    #[derive(Default)]
    struct Slow {
        now: AtomicUsize,
        most: AtomicUsize,
    }

    impl Wire for Slow {
        async fn send(&self, batch: &Batch) -> Answer {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            Answer::Each(vec![Verdict::Confirmed; batch.units.len()])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_run_side_by_side_up_to_the_cap_and_none_begins_near_the_deadline() {
        let limits = Limits {
            batch: 1,
            apart: 1,
            extra_requests: 0,
        };
        for (concurrency, at_once, confirmed) in [(0, 1, 3), (1, 1, 3), (3, 3, 9), (100, 20, 20)] {
            let wire = Slow::default();
            // Room for three rounds of a second; the fourth would begin with less than the least time left.
            let deadline = Deadline::after(Duration::from_millis(3200));
            let finished = drive(&wire, Work::new(20, limits), concurrency, deadline).await;
            assert_eq!(wire.most.load(Ordering::SeqCst), at_once);
            let done = finished
                .found
                .iter()
                .filter(|found| **found == Found::Confirmed)
                .count();
            assert_eq!(done, confirmed);
            assert!(
                finished.found[done..]
                    .iter()
                    .all(|found| *found == Found::Failed("deadline".into()))
            );
        }
    }
}
