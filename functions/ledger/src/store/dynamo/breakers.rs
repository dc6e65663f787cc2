//! The targets' breakers, beside the documents: `TARGET#<name>`, `BREAKER`.

use super::{DynamoLedger, versioned::Place};
use crate::store::{Breakers, LedgerError, Written};

fn place(target: &str) -> Place<'static> {
    Place {
        pk: format!("TARGET#{target}"),
        sk: "BREAKER",
        attribute: "breaker",
    }
}

impl Breakers for DynamoLedger {
    async fn breaker(&self, target: &str) -> Result<(u64, Option<String>), LedgerError> {
        self.versioned(&place(target)).await
    }

    async fn set_breaker(&self, target: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        self.set_versioned(&place(target), version, state).await
    }
}
