//! The way without edges: one item a route, and a Scan with `contains` over its list of dependencies.

use std::{collections::HashMap, time::Instant};

use aws_sdk_dynamodb::{Client, types::AttributeValue};
use routing::Route;

use crate::{
    Cost, Failure,
    meter::Meter,
    site::{self, Loaded},
    size,
};

/// One route as such a table holds it.
pub fn item(route: &Route) -> HashMap<String, AttributeValue> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let dependencies = route.dependencies.iter().map(|id| text(id)).collect();
    HashMap::from([
        ("pk".to_owned(), text(&route.document_id)),
        ("sk".to_owned(), text(&route.slug)),
        ("type".to_owned(), text(&route.graphql_type)),
        ("dependencies".to_owned(), AttributeValue::L(dependencies)),
        ("itemHash".to_owned(), text(&route.item_hash)),
    ])
}

/// Finds the pages of the component. A Scan reads everything; its units, half of a consistent read's, come from the bytes of
/// the whole table.
///
/// # Errors
/// The database refused, or did not find the pages that show the component.
pub async fn scan_cost(
    client: &Client,
    table: &str,
    held: Loaded,
    meter: &Meter,
) -> Result<(Cost, f64), Failure> {
    meter.take();
    let began = Instant::now();
    let mut pages = client
        .scan()
        .table_name(table)
        .filter_expression("pk = :changed OR contains(dependencies, :changed)")
        .expression_attribute_values(":changed", AttributeValue::S(site::component().document_id))
        .into_paginator()
        .send();
    let mut found = 0;
    while let Some(page) = pages.next().await {
        found += page?.items().len();
    }
    let cost = Cost {
        time: began.elapsed(),
        reading: meter.take(),
    };
    if found != site::DEPENDANTS || cost.reading.items != held.items {
        return Err(format!("the Scan found {found} pages among {} items", cost.reading.items).into());
    }
    let units = size::units(held.bytes) as f64 / 2.0;
    Ok((cost, units))
}
