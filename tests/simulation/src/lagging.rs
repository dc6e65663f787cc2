//! The switch `lagging_reads`: the ledger as an index shows it that is behind.

use ledger::{
    item::OutboxItem,
    store::{DocumentState, Documents},
};

use crate::world::World;

/// Seconds by which the index of the switch `lagging_reads` is behind, at the most.
const INDEX_LAG: f64 = 120.0;

impl World {
    /// A partition has changed.
    pub fn noted(&self, document_key: &str) {
        if !self.config.switches.lagging_reads {
            return;
        }
        // The ledger in memory answers at once.
        let mut read = std::pin::pin!(self.ledger.read(document_key, ""));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        if let std::task::Poll::Ready(Ok(state)) = read.as_mut().poll(&mut context) {
            let items: Vec<OutboxItem> = self.ledger.all_items();
            let items = items.into_iter().filter(|item| item.pk == document_key).collect();
            let state = DocumentState { items, ..state };
            let now = self.seconds();
            let mut rest = self.rest();
            rest.snapshots
                .entry(document_key.to_owned())
                .or_default()
                .push((now, state));
        }
    }

    /// A partition as a lagging index shows it; none where reads are consistent.
    pub fn lagging(&self, document_key: &str) -> Option<DocumentState> {
        if !self.config.switches.lagging_reads {
            return None;
        }
        let behind = self.draw("index", |random| random.between(0.0, INDEX_LAG));
        let then = self.seconds() - behind;
        let rest = self.rest();
        let snapshots = rest.snapshots.get(document_key)?;
        let held = snapshots.iter().rev().find(|(at, _)| *at <= then);
        Some(held.map(|(_, state)| state.clone()).unwrap_or_default())
    }
}
