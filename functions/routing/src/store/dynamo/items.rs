//! The table's keys and items; see [`crate::store`] for the layout.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::{
    AttributeValue, ConditionCheck, Delete, Put, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
};
use serde::de::DeserializeOwned;
use serde_dynamo::aws_sdk_dynamodb_1 as dynamo;
use time::{Duration, OffsetDateTime};

use crate::model::{DocumentRef, Entry, RouteName};
use crate::store::actions::Action;
use crate::store::{Pointer, StoreError};

pub(super) const ROUTE_PREFIX: &str = "ROUTE#";
pub(super) const PAGE_PREFIX: &str = "PAGE#";

/// How long a removed route is remembered: longer than any consumer that could still write it can live.
const GONE_FOR: Duration = Duration::days(7);

type Attributes = HashMap<String, AttributeValue>;

pub(super) fn document_partition(document: &DocumentRef) -> String {
    format!("DOC#{}#{}", document.dataset, document.document_id)
}

pub(super) fn edge_partition(dependency: &DocumentRef) -> String {
    format!("DEP#{}#{}", dependency.dataset, dependency.document_id)
}

pub(super) fn slug_partition(dataset: &str, slug: &str) -> String {
    format!("SLUG#{dataset}#{slug}")
}

/// Document and route in one: a document id holds no `#`.
fn owner(name: &RouteName) -> String {
    format!("{}#{}", name.document.document_id, name.route)
}

/// Where an item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pk: String,
    sk: String,
}

impl Key {
    pub(super) fn route(name: &RouteName) -> Self {
        Self {
            pk: document_partition(&name.document),
            sk: format!("{ROUTE_PREFIX}{}", name.route),
        }
    }

    fn edge(dependency: &DocumentRef, page: &RouteName) -> Self {
        Self {
            pk: edge_partition(dependency),
            sk: format!("{PAGE_PREFIX}{}", owner(page)),
        }
    }

    fn pointer(slug: &str, name: &RouteName) -> Self {
        Self {
            pk: slug_partition(&name.document.dataset, slug),
            sk: format!("{ROUTE_PREFIX}{}", owner(name)),
        }
    }

    pub(super) fn into_attributes(self) -> Attributes {
        HashMap::from([
            ("pk".to_owned(), AttributeValue::S(self.pk)),
            ("sk".to_owned(), AttributeValue::S(self.sk)),
        ])
    }
}

/// An item as read.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item(Attributes);

impl From<Attributes> for Item {
    fn from(attributes: Attributes) -> Self {
        Self(attributes)
    }
}

impl Item {
    /// A route, present or removed.
    pub(super) fn entry(self) -> Result<Entry, StoreError> {
        if self.0.get("gone") == Some(&AttributeValue::Bool(true)) {
            self.read().map(Entry::Gone)
        } else {
            self.read().map(Entry::Live)
        }
    }

    /// The document behind a partition key of edges.
    pub(super) fn dependency(&self) -> Option<DocumentRef> {
        let AttributeValue::S(pk) = self.0.get("pk")? else {
            return None;
        };
        let (dataset, id) = pk.strip_prefix("DEP#")?.split_once('#')?;
        Some(DocumentRef::new(dataset, id))
    }

    /// Whether it is a route, present or removed.
    pub(super) fn is_route(&self) -> bool {
        matches!(self.0.get("pk"), Some(AttributeValue::S(pk)) if pk.starts_with("DOC#"))
    }

    pub(super) fn pointer(self) -> Result<Pointer, StoreError> {
        self.read()
    }

    /// The page that an edge leads to.
    pub(super) fn edge_page(self, dataset: &str) -> Result<RouteName, StoreError> {
        #[derive(serde::Deserialize)]
        struct Page {
            document_id: String,
            route: String,
        }
        let page: Page = self.read()?;
        Ok(RouteName {
            document: DocumentRef::new(dataset, page.document_id),
            route: page.route,
        })
    }

    fn read<T: DeserializeOwned>(self) -> Result<T, StoreError> {
        let text = |name: &str| match self.0.get(name) {
            Some(AttributeValue::S(text)) => text.clone(),
            _ => String::new(),
        };
        let (pk, sk) = (text("pk"), text("sk"));
        dynamo::from_item(self.0).map_err(|error| StoreError::Unreadable {
            pk,
            sk,
            reason: error.to_string(),
        })
    }
}

/// `action` as DynamoDB takes it.
///
/// # Errors
/// The builder's complaint; a bug.
pub(super) fn write(action: &Action, table: &str, now: OffsetDateTime) -> Result<TransactWriteItem, String> {
    let builder = TransactWriteItem::builder();
    let item = match action {
        Action::PutRoute { entry, expected } => {
            let put = Put::builder()
                .table_name(table)
                .set_item(Some(route_item(entry, now)?))
                .condition_expression(condition(*expected))
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .set_expression_attribute_names(version_name(*expected))
                .set_expression_attribute_values(version_value(*expected));
            builder.put(put.build().map_err(|error| error.to_string())?)
        }
        Action::CheckRoute { name, expected } => {
            let check = ConditionCheck::builder()
                .table_name(table)
                .set_key(Some(Key::route(name).into_attributes()))
                .condition_expression(condition(*expected))
                .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
                .set_expression_attribute_names(version_name(*expected))
                .set_expression_attribute_values(version_value(*expected));
            builder.condition_check(check.build().map_err(|error| error.to_string())?)
        }
        Action::PutEdge(edge) => {
            let mut item = Key::edge(&edge.dependency, &edge.page).into_attributes();
            let page = &edge.page;
            item.insert(
                "document_id".into(),
                AttributeValue::S(page.document.document_id.clone()),
            );
            item.insert("route".into(), AttributeValue::S(page.route.clone()));
            builder.put(put(table, item)?)
        }
        Action::DeleteEdge(edge) => builder.delete(delete(table, Key::edge(&edge.dependency, &edge.page))?),
        Action::PutPointer { slug, name, pointer } => {
            let mut item: Attributes = dynamo::to_item(pointer).map_err(|error| error.to_string())?;
            item.extend(Key::pointer(slug, name).into_attributes());
            item.insert("owner".into(), AttributeValue::S(owner(name)));
            builder.put(put(table, item)?)
        }
        Action::DeletePointer { slug, name } => builder.delete(delete(table, Key::pointer(slug, name))?),
    };
    Ok(item.build())
}

fn route_item(entry: &Entry, now: OffsetDateTime) -> Result<Attributes, String> {
    let mut item: Attributes = match entry {
        Entry::Live(route) => dynamo::to_item(route),
        Entry::Gone(gone) => dynamo::to_item(gone),
    }
    .map_err(|error| error.to_string())?;
    item.extend(Key::route(&entry.name()).into_attributes());
    if let Entry::Gone(_) = entry {
        let expires_at = (now + GONE_FOR).unix_timestamp();
        item.insert("gone".into(), AttributeValue::Bool(true));
        item.insert("expires_at".into(), AttributeValue::N(expires_at.to_string()));
    }
    Ok(item)
}

fn condition(expected: Option<u64>) -> &'static str {
    match expected {
        None => "attribute_not_exists(pk)",
        Some(_) => "#version = :version",
    }
}

fn version_name(expected: Option<u64>) -> Option<HashMap<String, String>> {
    expected.map(|_| HashMap::from([("#version".to_owned(), "version".to_owned())]))
}

fn version_value(expected: Option<u64>) -> Option<Attributes> {
    expected.map(|version| HashMap::from([(":version".to_owned(), AttributeValue::N(version.to_string()))]))
}

fn put(table: &str, item: Attributes) -> Result<Put, String> {
    let put = Put::builder().table_name(table).set_item(Some(item));
    put.build().map_err(|error| error.to_string())
}

fn delete(table: &str, key: Key) -> Result<Delete, String> {
    let delete = Delete::builder()
        .table_name(table)
        .set_key(Some(key.into_attributes()));
    delete.build().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{GoneRoute, Route};

    fn route() -> Route {
        Route {
            dataset: "production".into(),
            document_id: "p1".into(),
            document_type: "page".into(),
            graphql_type: "Page".into(),
            route: "it".into(),
            slug: "/a b".into(),
            dependencies: vec![],
            source_revision: "r1".into(),
            source_second: 100,
            item_hash: "hash".into(),
            version: 3,
        }
    }

    #[test]
    fn a_route_survives_the_table() {
        let item = route_item(&Entry::Live(route()), OffsetDateTime::UNIX_EPOCH).unwrap();
        assert_eq!(item["pk"], AttributeValue::S("DOC#production#p1".into()));
        assert_eq!(item["sk"], AttributeValue::S("ROUTE#it".into()));
        assert_eq!(item["dependencies"], AttributeValue::L(vec![]));
        assert_eq!(item["version"], AttributeValue::N("3".into()));
        assert!(!item.contains_key("gone") && !item.contains_key("expires_at"));
        assert_eq!(Item(item).entry(), Ok(Entry::Live(route())));
    }

    #[test]
    fn a_removed_route_survives_the_table_for_a_week() {
        for source_revision in [None, Some("r2".to_owned())] {
            let gone = Entry::Gone(GoneRoute {
                dataset: "production".into(),
                document_id: "p1".into(),
                route: "it".into(),
                source_revision,
                source_second: 100,
                version: 4,
            });
            let item = route_item(&gone, OffsetDateTime::UNIX_EPOCH).unwrap();
            assert_eq!(item["expires_at"], AttributeValue::N("604800".into()));
            assert_eq!(item["gone"], AttributeValue::Bool(true));
            assert_eq!(Item(item).entry(), Ok(gone));
        }
    }

    #[test]
    fn an_item_of_another_shape_is_named() {
        let item = Item(Key::route(&route().name()).into_attributes());
        let error = item.entry().unwrap_err().to_string();
        assert!(
            error.starts_with("the item DOC#production#p1 / ROUTE#it of the routes table"),
            "{error}"
        );
    }
}
