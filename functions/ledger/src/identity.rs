//! Names of things: event ids, document keys, sort keys, message groups (laws 3 and 6).
//!
//! Every name is ASCII and short enough for SQS (128 characters) and the Pipe, whatever characters Sanity's ids hold.

use platform::Environment;
use sha2::{Digest, Sha256};

/// Hashes parts so that no two different lists of parts give the same text to the hash.
fn hash(domain: &str, parts: &[&str], characters: usize) -> String {
    let mut digest = Sha256::new();
    for part in std::iter::once(&domain).chain(parts) {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let mut text = hex(&digest.finalize());
    text.truncate(characters);
    text
}

/// Lowercase hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// Partition of a document in the outbox: `DOC#` and 32 hexadecimal digits of project, dataset and `_id`.
pub fn document_key(project: &str, dataset: &str, document_id: &str) -> String {
    format!("DOC#{}", hash("document", &[project, dataset, document_id], 32))
}

/// Partition of an event that is its own document, because it names none.
pub fn own_document_key(event_id: &str) -> String {
    format!("DOC#{}", hash("own-document", &[event_id], 32))
}

/// Event id of the given identifying parts: `evt_` and 40 hexadecimal digits.
pub fn event_id(parts: &[&str]) -> String {
    format!("evt_{}", hash("event", parts, 40))
}

/// Sort key of an event's outbox item. The second is padded, so that keys sort by it.
pub fn sort_key(second: i64, event_id: &str) -> String {
    format!("E#{:012}#{event_id}", second.max(0))
}

/// The second in a sort key, if it is one of an outbox item.
pub fn second_of(sort_key: &str) -> Option<i64> {
    let mut parts = sort_key.splitn(3, '#');
    if parts.next() != Some("E") {
        return None;
    }
    let second = parts.next()?.parse().ok()?;
    parts.next().map(|_| second)
}

/// How messages are grouped in the FIFO queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageGroup {
    /// By document: one poison message blocks one document. The default.
    Document,
    /// By `_type`: documents of a type queue up behind each other.
    Type,
}

impl MessageGroup {
    /// Reads `MESSAGE_GROUP`, `document` or `type`.
    pub fn read(env: &mut Environment) -> Self {
        env.choice(
            "MESSAGE_GROUP",
            &[("document", Self::Document), ("type", Self::Type)],
        )
    }

    /// The message group id of a document. SQS takes at most 128 characters of ASCII letters, digits and punctuation.
    pub fn id(self, document_key: &str, document_type: Option<&str>) -> String {
        let name = |text: &str| {
            !text.is_empty()
                && text.len() <= 100
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
        };
        match (self, document_type) {
            (Self::Type, Some(document_type)) if name(document_type) => format!("type-{document_type}"),
            (Self::Type, Some(document_type)) => format!("type-{}", hash("type", &[document_type], 32)),
            _ => document_key.trim_start_matches("DOC#").to_owned(),
        }
    }
}

/// Key of the sparse READY index for an event: by hash, so that no one partition takes all the writes.
pub fn ready_shard(event_id: &str, shards: u32) -> String {
    let digest = Sha256::digest(event_id.as_bytes());
    let number = digest
        .iter()
        .take(4)
        .fold(0u32, |number, byte| number << 8 | u32::from(*byte));
    shard_key(number % shards.max(1))
}

/// Key of one shard of the READY index.
pub fn shard_key(shard: u32) -> String {
    format!("READY#{shard}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ascii_and_short_whatever_the_ids_hold() {
        let key = document_key("p", "d", "élan vital \u{1F600}");
        assert_eq!(key.len(), 36);
        for group in [MessageGroup::Document, MessageGroup::Type] {
            for document_type in [None, Some(""), Some("page"), Some("a b"), Some("é")] {
                let id = group.id(&key, document_type);
                assert!(
                    id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_graphic()),
                    "{id}"
                );
            }
        }
        assert_eq!(MessageGroup::Type.id(&key, Some("page")), "type-page");
        assert_ne!(
            MessageGroup::Type.id(&key, Some("a b")),
            MessageGroup::Type.id(&key, Some("a_b"))
        );
    }

    #[test]
    fn parts_cannot_run_into_each_other() {
        assert_ne!(event_id(&["ab", "c"]), event_id(&["a", "bc"]));
        assert_ne!(event_id(&["a"]), event_id(&["a", ""]));
    }

    #[test]
    fn sort_keys_sort_by_second_and_give_it_back() {
        assert!(sort_key(9, "evt_z") < sort_key(10, "evt_a"));
        assert_eq!(
            second_of(&sort_key(1_700_000_000, "evt_a#g2")),
            Some(1_700_000_000)
        );
        for other in ["HEAD", "PLAN#0001", "E#x#evt", "E#12", ""] {
            assert_eq!(second_of(other), None, "{other}");
        }
    }

    #[test]
    fn events_spread_over_the_shards() {
        let mut hit = std::collections::BTreeSet::new();
        for number in 0..100 {
            hit.insert(ready_shard(&format!("evt_{number}"), 4));
        }
        assert_eq!(hit.len(), 4);
    }
}
