//! The targets' breakers in memory.

use super::MemoryLedger;
use crate::store::{Breakers, LedgerError, Written};

impl Breakers for MemoryLedger {
    async fn breaker(&self, target: &str) -> Result<(u64, Option<String>), LedgerError> {
        Ok(match self.tables().breakers.get(target) {
            Some((version, state)) => (*version, Some(state.clone())),
            None => (0, None),
        })
    }

    async fn set_breaker(&self, target: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        let mut tables = self.tables();
        let held = tables.breakers.get(target).map_or(0, |(version, _)| *version);
        if held != version {
            return Ok(Written::Moved);
        }
        tables
            .breakers
            .insert(target.to_owned(), (version + 1, state.to_owned()));
        Ok(Written::Done)
    }
}
