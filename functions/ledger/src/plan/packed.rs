//! Entries as an attribute: readable JSON while small, compressed when large.

use std::io::{Read, Write};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Up to this many bytes the JSON stays readable for an operator.
const READABLE: usize = 16 * 1024;
/// No honest attribute expands beyond this: a DynamoDB item holds 400 KB, and JSON of keys compresses about tenfold.
const MOST: u64 = 64 * 1024 * 1024;

/// A list of entries as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PackedEntries {
    /// JSON text.
    Json(String),
    /// JSON text, compressed with gzip, as DynamoDB's binary type.
    Gzip(#[serde(with = "serde_bytes")] Vec<u8>),
}

/// Why packed entries could not be read.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// Not gzip, or larger than any honest attribute.
    #[error("the packed entries do not decompress: {0}")]
    Compression(#[from] std::io::Error),
    /// Not the JSON of entries.
    #[error("the packed entries are not the JSON expected: {0}")]
    Json(#[from] serde_json::Error),
}

impl PackedEntries {
    /// Packs `entries`.
    pub fn pack<T: Serialize>(entries: &[T]) -> Self {
        // Entries are plain structs of strings: neither step can fail, and an empty list is the honest fallback of neither.
        let json = serde_json::to_vec(entries).unwrap_or_default();
        if json.len() <= READABLE {
            return Self::Json(String::from_utf8(json).unwrap_or_default());
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        let _ = encoder.write_all(&json);
        Self::Gzip(encoder.finish().unwrap_or_default())
    }

    /// Reads the entries back.
    pub fn unpack<T: DeserializeOwned>(&self) -> Result<Vec<T>, UnpackError> {
        match self {
            Self::Json(text) => Ok(serde_json::from_str(text)?),
            Self::Gzip(compressed) => {
                let mut json = Vec::new();
                GzDecoder::new(compressed.as_slice())
                    .take(MOST)
                    .read_to_end(&mut json)?;
                Ok(serde_json::from_slice(&json)?)
            }
        }
    }

    /// Bytes it takes in an item.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(text) => text.len(),
            Self::Gzip(compressed) => compressed.len(),
        }
    }

    /// True when nothing is stored at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Entry, Key};

    fn entries(count: usize) -> Vec<Entry> {
        (0..count)
            .map(|number| Entry {
                key: Key::Slug {
                    slug: format!("/página/{number}"),
                },
                behind: vec![],
            })
            .collect()
    }

    #[test]
    fn small_lists_stay_readable_and_large_ones_are_compressed() {
        for (count, readable) in [(0, true), (3, true), (5000, false)] {
            let packed = PackedEntries::pack(&entries(count));
            assert_eq!(matches!(packed, PackedEntries::Json(_)), readable, "{count}");
            assert_eq!(packed.unpack::<Entry>().unwrap(), entries(count));
        }
    }

    #[test]
    fn both_forms_survive_the_table() {
        for count in [3, 5000] {
            let packed = PackedEntries::pack(&entries(count));
            let attribute: aws_sdk_dynamodb::types::AttributeValue =
                serde_dynamo::to_attribute_value(&packed).unwrap();
            assert_eq!(attribute.is_s(), count == 3);
            assert_eq!(attribute.is_b(), count == 5000);
            let back: PackedEntries = serde_dynamo::from_attribute_value(attribute).unwrap();
            assert_eq!(back, packed);
        }
    }

    #[test]
    fn what_is_not_entries_is_an_error() {
        assert!(PackedEntries::Json("{".to_owned()).unpack::<Entry>().is_err());
        assert!(PackedEntries::Gzip(vec![1, 2, 3]).unpack::<Entry>().is_err());
    }
}
