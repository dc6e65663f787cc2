//! Counts what a client asks of DynamoDB.

use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_dynamodb::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef},
    },
    operation::{batch_get_item::BatchGetItemOutput, query::QueryOutput, scan::ScanOutput},
};

use crate::{Failure, size};

/// What was asked and read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reading {
    /// Requests sent, each attempt of its own, writes included.
    pub requests: usize,
    /// Items that were read, those that a filter then left out included.
    pub items: usize,
    /// Read units of the consistent reads. A Scan's are not in here: a filter hides what it read.
    pub units: usize,
}

/// An interceptor; clones count together.
#[derive(Debug, Clone, Default)]
pub struct Meter {
    reading: Arc<Mutex<Reading>>,
}

impl Meter {
    /// What was counted since the last call.
    pub fn take(&self) -> Reading {
        std::mem::take(&mut *self.reading.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, requests: usize, items: usize, units: usize) {
        let mut reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        reading.requests += requests;
        reading.items += items;
        reading.units += units;
    }
}

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "meter"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), Failure> {
        self.add(1, 0, 0);
        let target = context.request().headers().get("x-amz-target").unwrap_or("");
        let reads = target.ends_with(".Query") || target.ends_with(".BatchGetItem");
        let body = context.request().body().bytes().unwrap_or_default();
        if reads && !String::from_utf8_lossy(body).contains(r#""ConsistentRead":true"#) {
            return Err(format!("{target} does not read consistently, and its units are counted so").into());
        }
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), Failure> {
        let Ok(output) = context.output_or_error() else {
            return Ok(());
        };
        if let Some(page) = output.downcast_ref::<QueryOutput>() {
            let bytes = page.items().iter().map(size::item).sum();
            self.add(0, page.items().len(), size::units(bytes));
        } else if let Some(batch) = output.downcast_ref::<BatchGetItemOutput>() {
            let items = batch
                .responses()
                .into_iter()
                .flat_map(|tables| tables.values().flatten());
            for item in items {
                self.add(0, 1, size::units(size::item(item)));
            }
        } else if let Some(page) = output.downcast_ref::<ScanOutput>() {
            self.add(0, usize::try_from(page.scanned_count()).unwrap_or(0), 0);
        }
        Ok(())
    }
}
