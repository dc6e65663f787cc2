//! Putting work off (law 11): the item stays READY with a later attempt and its message ends well, so no group waits behind it.

use std::time::Duration;

use ledger::{
    item::{OutboxItem, Status},
    record::rfc3339,
    resend::defer_seconds,
    store::{Breakers, Deferral, Documents, Written},
};
use platform::{Clock, fault_point};
use routing::store::RouteStore;

use super::{Consumer, Failure, Round, fence::Fenced};
use crate::source::Source;

impl<L, R, S, C> Consumer<L, R, S, C>
where
    L: Documents + Breakers,
    R: RouteStore,
    S: Source,
    C: Clock,
{
    /// Puts off every item that the messages name and that is still READY.
    pub(super) async fn put_off(
        &self,
        round: &Round<'_>,
        why: &str,
        retry_after: Option<Duration>,
    ) -> Result<(), Failure> {
        let named = |item: &&OutboxItem| round.named.contains(&item.sk);
        for item in round.state.items.iter().filter(named) {
            self.put_off_item(item, why, retry_after).await?;
        }
        Ok(())
    }

    /// Puts off the named unordered events that the fence did not let pass together with the others.
    pub(super) async fn put_off_the_unfenced(
        &self,
        round: &Round<'_>,
        fenced: &Fenced,
    ) -> Result<(), Failure> {
        let handled = fenced.handled();
        for item in round
            .agenda
            .unordered
            .iter()
            .filter(|item| round.named.contains(&item.sk))
        {
            if !handled.iter().any(|done| done.sk == item.sk) {
                self.metrics.count("FenceDeferred", 1);
                self.put_off_item(
                    item,
                    "fence shut: the source does not show this revision yet",
                    None,
                )
                .await?;
            }
        }
        Ok(())
    }

    pub(super) async fn put_off_item(
        &self,
        item: &OutboxItem,
        why: &str,
        retry_after: Option<Duration>,
    ) -> Result<(), Failure> {
        if !item.is_open() || item.status != Some(Status::Ready) {
            return Ok(());
        }
        let now = self.clock.now();
        let most = self.settings.defer_max_seconds;
        let wait = defer_seconds(item.defers, self.settings.defer_first_seconds, most);
        let wished = retry_after
            .map_or(0, |wished| i64::try_from(wished.as_secs()).unwrap_or(most))
            .min(most);
        let deferral = Deferral {
            next_attempt: now.unix_timestamp() + wait.max(wished),
            error: why.to_owned(),
            at: rfc3339(now),
        };
        fault_point!("consumer.putting-off");
        if self.ledger.defer(item, &deferral).await? == Written::Done {
            fault_point!("consumer.put-off");
            self.metrics.count("Deferred", 1);
            tracing::warn!(
                document_key = item.pk,
                event_id = item.event_id,
                why,
                next_attempt = deferral.next_attempt,
                "put off"
            );
        }
        Ok(())
    }
}
