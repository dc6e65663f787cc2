//! What a verified webhook says: the facts in its body, which are signed, and those in its headers, which are not.
//!
//! [`Delivery::read`] never fails. A body that verifies but cannot be understood is still evidence: it comes back with
//! a [`ReviewReason`] instead of facts, for a person to look at.
//!
//! Two bodies are understood, and much in between:
//!
//! - the **whole document**, which Sanity sends when the hook has no projection. Operation, project and dataset are not
//!   in it, so they come from the headers;
//! - a **projection** with the fields `_id`, `_type`, `_rev`, `_updatedAt`, `operation`, `slug`, `previousSlug`,
//!   `previousRevision`, `projectId` (or `project`) and `dataset`; or with `before` and `after` objects that hold them.
//!
//! A whole document (told by its `_createdAt`) may have fields of its own called `operation`, `project` or `dataset`.
//! There such a field counts only when the header says the same, else the header counts, unsigned.

mod body;
mod headers;
mod json;

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};
use time::OffsetDateTime;

use crate::signature::SignedAt;

/// A fact, and whether the signature covers it: facts of the body are signed, those of a header are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fact<T> {
    /// What is said.
    pub value: T,
    /// Whether it was found in the signed body.
    pub signed: bool,
}

/// What happened to the document, as Sanity names it (`delta::operation()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// It did not exist before. A publication of a document never published before is one.
    Create,
    /// It existed before and does now.
    Update,
    /// It exists no more. An unpublication is one.
    Delete,
}

/// The distinction that identity and order make: a create and an update of one revision are the same event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The document exists after it.
    Write,
    /// The document is gone after it.
    Delete,
}

impl Operation {
    /// `create`, `update` or `delete`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// Reads Sanity's word for it.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete]
            .into_iter()
            .find(|operation| operation.as_str() == word)
    }

    /// Whether it writes or deletes.
    pub fn class(self) -> Class {
        match self {
            Self::Create | Self::Update => Class::Write,
            Self::Delete => Class::Delete,
        }
    }
}

impl Class {
    /// `write` or `delete`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Delete => "delete",
        }
    }
}

/// Why a verified body needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReviewReason {
    /// The body's bytes are not UTF-8.
    NotUtf8,
    /// The body is not JSON.
    NotJson,
    /// The body is JSON, but no object: the hook's projection makes a list or a plain value.
    NotAnObject,
    /// The object has no `_id` that is a text: the hook's projection leaves it out, on deletes perhaps.
    NoDocumentId,
    /// A text that names something (`_id`, `_type`, `_rev`, …) is longer than 256 bytes.
    FieldTooLong,
    /// More than 100 slugs, or slugs of more than 16 KB.
    SlugsOutOfBounds,
}

impl ReviewReason {
    /// A stable code, as the ledger and the answers carry it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotUtf8 => "not_utf8",
            Self::NotJson => "not_json",
            Self::NotAnObject => "not_an_object",
            Self::NoDocumentId => "no_document_id",
            Self::FieldTooLong => "field_too_long",
            Self::SlugsOutOfBounds => "slugs_out_of_bounds",
        }
    }
}

/// One verified webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// `_id`.
    pub document_id: Option<String>,
    /// `_type`.
    pub document_type: Option<String>,
    /// `_rev`: the revision after the change; on a delete the one deleted.
    pub revision: Option<String>,
    /// The revision before the change.
    pub previous_revision: Option<String>,
    /// `_updatedAt`. `None` too if it cannot be read or lies before 1970.
    pub updated_at: Option<OffsetDateTime>,
    /// What happened.
    pub operation: Option<Fact<Operation>>,
    /// The project's id.
    pub project: Option<Fact<String>>,
    /// The dataset's name.
    pub dataset: Option<Fact<String>>,
    /// Old and new slugs in the order found, none twice, none empty.
    pub slugs: Vec<String>,
    /// The `idempotency-key` header without quotes. Not signed.
    pub idempotency_key: Option<String>,
    /// The `sanity-transaction-id` header. Not signed.
    pub transaction_id: Option<String>,
    /// The `sanity-transaction-time` header as sent. Not signed.
    pub transaction_time: Option<String>,
    /// The headers worth keeping, by lower-case name, each cut at 512 bytes. Not signed.
    pub headers: BTreeMap<String, String>,
    /// The signed time.
    pub signed_at: SignedAt,
    /// SHA-256 of the body as received, 64 lower-case hexadecimal digits.
    pub body_sha256: String,
    /// SHA-256 of what the body says apart from its version: the canonical JSON (keys sorted, no blanks, numbers as
    /// written, lists in their order, the last of equal keys) without any `_rev` and `_updatedAt`. `None` for what is
    /// not JSON or is nested deeper than 128 levels.
    pub content_fingerprint: Option<String>,
    /// Set when the body verifies but cannot be acted on.
    pub review: Option<ReviewReason>,
}

impl Delivery {
    /// Reads a verified body and its headers (lower-case names).
    pub fn read(raw: &[u8], headers: &BTreeMap<String, String>, signed_at: SignedAt) -> Self {
        let mut delivery = Self {
            document_id: None,
            document_type: None,
            revision: None,
            previous_revision: None,
            updated_at: None,
            operation: None,
            project: None,
            dataset: None,
            slugs: vec![],
            idempotency_key: headers::idempotency_key(headers),
            transaction_id: headers::short(headers, "sanity-transaction-id"),
            transaction_time: headers::short(headers, "sanity-transaction-time"),
            headers: headers::relevant(headers),
            signed_at,
            body_sha256: hex(&Sha256::digest(raw)),
            content_fingerprint: None,
            review: None,
        };
        delivery.read_body(raw, headers);
        delivery
    }

    /// Whether the document is a draft or belongs to a content release. By default neither triggers a webhook, but
    /// drafts were seen to arrive (sanity-io/sanity#9621).
    pub fn is_draft_or_version(&self) -> bool {
        let id = self.document_id.as_deref().unwrap_or_default();
        id.starts_with("drafts.") || id.starts_with("versions.")
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            _ = write!(text, "{byte:02x}");
            text
        })
}
