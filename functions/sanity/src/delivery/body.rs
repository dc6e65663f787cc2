//! The facts in a body.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Delivery, Fact, Operation, ReviewReason, headers, hex, json};

const LONGEST_NAME: usize = 256;
const MOST_SLUGS: usize = 100;
const LONGEST_SLUGS: usize = 16_384;

/// The fields of a body, by name, as written. Of equal names the last counts, as in every JSON parser.
struct Fields<'a> {
    top: BTreeMap<String, &'a str>,
    /// The members of `after` and `before`, in this order, if the body is a projection that has them.
    sides: Vec<BTreeMap<String, &'a str>>,
    is_whole_document: bool,
}

impl<'a> Fields<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let top: BTreeMap<String, &str> = json::members(text)?.into_iter().collect();
        let is_whole_document = top.contains_key("_createdAt");
        let side = |name: &str| Some(json::members(top.get(name)?)?.into_iter().collect());
        let sides = if is_whole_document {
            vec![]
        } else {
            ["after", "before"].into_iter().filter_map(side).collect()
        };
        Some(Self {
            top,
            sides,
            is_whole_document,
        })
    }

    /// The field, or the one of `after`, or the one of `before`: the first that is a text and not empty.
    fn text(&self, name: &str) -> Option<String> {
        let places = std::iter::once(&self.top).chain(&self.sides);
        places.filter_map(|place| text(place.get(name)?)).next()
    }

    /// The first of several names at the top that holds a text.
    fn top_text(&self, names: &[&str]) -> Option<String> {
        names.iter().find_map(|name| text(self.top.get(*name)?))
    }
}

fn text(json: &str) -> Option<String> {
    json::text_of(json).filter(|text| !text.is_empty())
}

impl Delivery {
    pub(super) fn read_body(&mut self, raw: &[u8], headers: &BTreeMap<String, String>) {
        // Without a body to say it, only the headers can.
        self.operation = headers::short(headers, "sanity-operation")
            .and_then(|word| Operation::from_word(&word.to_ascii_lowercase()))
            .map(|value| Fact { value, signed: false });
        let from_header = |name| headers::short(headers, name).map(|value| Fact { value, signed: false });
        self.project = from_header("sanity-project-id");
        self.dataset = from_header("sanity-dataset");

        let Ok(text) = std::str::from_utf8(raw) else {
            return self.needs_review(ReviewReason::NotUtf8);
        };
        if !json::is_json(text) {
            return self.needs_review(ReviewReason::NotJson);
        }
        let canonical = json::canonical(text, &["_rev", "_updatedAt"]);
        self.content_fingerprint = canonical.map(|canonical| hex(&Sha256::digest(canonical)));
        match Fields::of(text) {
            Some(fields) => self.read_fields(&fields),
            None => self.needs_review(ReviewReason::NotAnObject),
        }
    }

    fn read_fields(&mut self, fields: &Fields<'_>) {
        if fields.text("_id").is_none() {
            self.needs_review(ReviewReason::NoDocumentId);
        }
        self.document_id = self.bounded(fields.text("_id"));
        self.document_type = self.bounded(fields.text("_type"));
        self.revision = self.bounded(fields.text("_rev"));
        self.updated_at = fields
            .text("_updatedAt")
            .and_then(|text| OffsetDateTime::parse(&text, &Rfc3339).ok())
            .filter(|time| time.unix_timestamp() >= 0);
        let previous = fields
            .top_text(&["previousRevision", "previousRev"])
            .or_else(|| before_revision(fields));
        self.previous_revision = self.bounded(previous);

        let operation = fields
            .top_text(&["operation"])
            .and_then(|word| Operation::from_word(&word));
        self.operation = settle(operation, self.operation.take(), fields.is_whole_document);
        let project = self.bounded(fields.top_text(&["projectId", "project"]));
        self.project = settle(project, self.project.take(), fields.is_whole_document);
        let dataset = self.bounded(fields.top_text(&["dataset"]));
        self.dataset = settle(dataset, self.dataset.take(), fields.is_whole_document);
        match slugs(fields) {
            Some(slugs) => self.slugs = slugs,
            None => self.needs_review(ReviewReason::SlugsOutOfBounds),
        }
    }

    /// The first reason found stays: it is nearest to the cause.
    fn needs_review(&mut self, reason: ReviewReason) {
        self.review.get_or_insert(reason);
    }

    fn bounded(&mut self, text: Option<String>) -> Option<String> {
        if text.as_ref().is_some_and(|text| text.len() > LONGEST_NAME) {
            self.needs_review(ReviewReason::FieldTooLong);
            return None;
        }
        text
    }
}

/// The signed fact before the header's; but in a whole document a field that the header contradicts is content.
fn settle<T: PartialEq>(
    body: Option<T>,
    header: Option<Fact<T>>,
    is_whole_document: bool,
) -> Option<Fact<T>> {
    match (body, header) {
        (Some(value), Some(header)) if is_whole_document && header.value != value => Some(header),
        (Some(value), _) => Some(Fact { value, signed: true }),
        (None, header) => header,
    }
}

fn before_revision(fields: &Fields<'_>) -> Option<String> {
    if fields.is_whole_document {
        return None;
    }
    let before: BTreeMap<String, &str> = json::members(fields.top.get("before")?)?.into_iter().collect();
    text(before.get("_rev")?)
}

/// Every slug, new before old; `None` when there are too many or too long ones.
fn slugs(fields: &Fields<'_>) -> Option<Vec<String>> {
    const IN_PROJECTIONS: [&str; 6] = [
        "slug",
        "slugs",
        "previousSlug",
        "previousSlugs",
        "oldSlug",
        "oldSlugs",
    ];
    let names = if fields.is_whole_document {
        &IN_PROJECTIONS[..1]
    } else {
        &IN_PROJECTIONS[..]
    };
    let top = names.iter().filter_map(|name| fields.top.get(*name));
    let sides = fields.sides.iter().filter_map(|side| side.get("slug"));
    let mut found: Vec<String> = vec![];
    for json in top.chain(sides) {
        if json.len() > 4 * LONGEST_SLUGS {
            return None;
        }
        // What is nested too deep for a tree holds no slug.
        let value: Value = serde_json::from_str(json).unwrap_or_default();
        collect(&value, 4, &mut found);
    }
    let total: usize = found.iter().map(String::len).sum();
    (found.len() <= MOST_SLUGS && total <= LONGEST_SLUGS).then_some(found)
}

/// A slug is a text, or Sanity's `{current}`; a list holds several, a list of translations wraps each in `value`.
fn collect(value: &Value, depth: usize, found: &mut Vec<String>) {
    match value {
        Value::String(slug) if !slug.is_empty() && !found.contains(slug) && found.len() <= MOST_SLUGS => {
            found.push(slug.clone());
        }
        Value::Array(items) if depth > 0 => items.iter().for_each(|item| collect(item, depth - 1, found)),
        Value::Object(members) if depth > 0 => {
            for name in ["current", "value"] {
                if let Some(inner) = members.get(name) {
                    collect(inner, depth - 1, found);
                }
            }
        }
        _ => {}
    }
}
