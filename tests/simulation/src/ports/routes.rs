//! A process's hands on the routes.

use std::collections::BTreeSet;

use ledger::identity;
use platform::Deadline;
use routing::{
    DocumentRef, Entry, RouteChange, RouteName, RouteStore, StoreError,
    store::{
        Dependants, Outcome, Pointer,
        walk::{KnownPage, RouteWalk},
    },
};

use super::{Hands, READ, WRITE};
use crate::lake::{DATASET, PROJECT};

impl RouteWalk for Hands {
    async fn known(
        &self,
        from: Option<&str>,
        items: u32,
        deadline: &Deadline,
    ) -> Result<KnownPage, StoreError> {
        self.process
            .call(READ, self.world.routes.known(from, items, deadline))
            .await
    }
}

impl RouteStore for Hands {
    async fn routes_of(&self, document: &DocumentRef, deadline: &Deadline) -> Result<Vec<Entry>, StoreError> {
        self.process
            .call(READ, self.world.routes.routes_of(document, deadline))
            .await
    }

    async fn dependants_of(
        &self,
        document: &DocumentRef,
        limit: usize,
        deadline: &Deadline,
    ) -> Result<Dependants, StoreError> {
        self.process
            .call(READ, self.world.routes.dependants_of(document, limit, deadline))
            .await
    }

    async fn entries(
        &self,
        names: &BTreeSet<RouteName>,
        deadline: &Deadline,
    ) -> Result<Vec<Entry>, StoreError> {
        self.process
            .call(READ, self.world.routes.entries(names, deadline))
            .await
    }

    async fn pages_at(
        &self,
        dataset: &str,
        slug: &str,
        deadline: &Deadline,
    ) -> Result<Vec<Pointer>, StoreError> {
        self.process
            .call(READ, self.world.routes.pages_at(dataset, slug, deadline))
            .await
    }

    async fn apply(&self, change: &RouteChange, deadline: &Deadline) -> Result<Outcome, StoreError> {
        self.process
            .call(WRITE, async {
                let outcome = self.world.routes.apply(change, deadline).await?;
                if let (Outcome::Applied, Some(route)) = (outcome, change.entry().live())
                    && self
                        .waking
                        .is(&identity::document_key(PROJECT, DATASET, &route.document_id))
                {
                    self.world.note_route(&route.document_id, &route.slug);
                }
                self.world
                    .log(|| format!("  route {}: {outcome:?}", change_text(change)));
                Ok(outcome)
            })
            .await
    }
}

fn change_text(change: &RouteChange) -> String {
    match change.entry() {
        Entry::Live(route) => format!(
            "{} at {} from {} shows {:?}",
            route.document_id, route.slug, route.source_revision, route.dependencies
        ),
        Entry::Gone(gone) => format!("{} gone by {:?}", gone.document_id, gone.source_revision),
    }
}
