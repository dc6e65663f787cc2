//! The targets' breakers, beside the documents: `TARGET#<name>`, `BREAKER`.

use super::{DynamoLedger, errors, key, number, text};
use crate::store::{Breakers, LedgerError, Written};

impl Breakers for DynamoLedger {
    async fn breaker(&self, target: &str) -> Result<(u64, Option<String>), LedgerError> {
        let answer = self
            .client
            .get_item()
            .table_name(&self.outbox)
            .set_key(Some(key(&format!("TARGET#{target}"), "BREAKER")))
            .consistent_read(true)
            .send()
            .await
            .map_err(errors::failed)?;
        let item = answer.item.unwrap_or_default();
        let version = item
            .get("version")
            .and_then(|version| version.as_n().ok())
            .and_then(|version| version.parse().ok())
            .unwrap_or(0);
        Ok((
            version,
            item.get("breaker").and_then(|state| state.as_s().ok()).cloned(),
        ))
    }

    async fn set_breaker(&self, target: &str, version: u64, state: &str) -> Result<Written, LedgerError> {
        let mut item = key(&format!("TARGET#{target}"), "BREAKER");
        item.insert("version".to_owned(), number(version + 1));
        item.insert("breaker".to_owned(), text(state));
        let put = super::put_over(&self.outbox, item, version)?;
        errors::conditional(
            self.client
                .put_item()
                .table_name(put.table_name)
                .set_item(Some(put.item))
                .set_condition_expression(put.condition_expression)
                .set_expression_attribute_names(put.expression_attribute_names)
                .set_expression_attribute_values(put.expression_attribute_values)
                .send()
                .await,
        )
    }
}
