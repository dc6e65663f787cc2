//! Which revision of a document the query API shows now.

use std::collections::BTreeMap;

use platform::Deadline;
use serde::Deserialize;
use serde_json::{Map, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Client, QueryError};

const QUERY: &str = "*[_id in $ids]{_id,_rev,_updatedAt,_type}";

/// A document as the query API shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// `_rev`.
    pub revision: String,
    /// `_updatedAt`; `None` if it cannot be read.
    pub updated_at: Option<OffsetDateTime>,
    /// `_type`.
    pub document_type: String,
}

#[derive(Deserialize)]
struct Row {
    #[serde(rename = "_id")]
    id: String,
    #[serde(rename = "_rev")]
    revision: String,
    #[serde(rename = "_updatedAt")]
    updated_at: Option<String>,
    #[serde(rename = "_type")]
    document_type: String,
}

/// Asks for published documents, all in one request. Every id asked for is in the answer: `None` is a document that
/// the API does not show. No ids, no request.
///
/// # Errors
/// See [`QueryError`].
pub async fn observe(
    client: &Client,
    dataset: &str,
    ids: &[String],
    deadline: Deadline,
) -> Result<BTreeMap<String, Option<Observed>>, QueryError> {
    let mut observed: BTreeMap<String, Option<Observed>> = ids.iter().map(|id| (id.clone(), None)).collect();
    if observed.is_empty() {
        return Ok(observed);
    }
    let ids: Vec<&String> = observed.keys().collect();
    let params = Map::from_iter([("ids".to_owned(), json!(ids))]);
    let rows: Vec<Row> = client.query(dataset, QUERY, params, deadline).await?;
    for Row {
        id,
        revision,
        updated_at,
        document_type,
    } in rows
    {
        if let Some(place) = observed.get_mut(&id) {
            let updated_at = updated_at.and_then(|text| OffsetDateTime::parse(&text, &Rfc3339).ok());
            *place = Some(Observed {
                revision,
                updated_at,
                document_type,
            });
        }
    }
    Ok(observed)
}
