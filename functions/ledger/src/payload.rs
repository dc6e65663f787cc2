//! The raw bytes of an event as evidence (law 4).

use std::io::{Read, Write};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use serde::{Deserialize, Serialize};

/// Bodies up to this size are stored as they are.
const AS_IS: usize = 32 * 1024;
/// No event item can hold more beside its other attributes: DynamoDB's limit is 400 KB an item.
const HOLDABLE: usize = 330 * 1024;

/// How the payload attribute holds the raw bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Encoding {
    /// As received.
    Identity,
    /// Compressed with gzip.
    Gzip,
    /// Too large for any item even when compressed: only the fingerprint and the envelope are kept.
    Absent,
}

/// Encodes raw bytes for the event's item.
pub fn encode(raw: &[u8]) -> (Encoding, Option<Vec<u8>>) {
    if raw.len() <= AS_IS {
        return (Encoding::Identity, Some(raw.to_vec()));
    }
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    match encoder.write_all(raw).and_then(|()| encoder.finish()) {
        Ok(compressed) if compressed.len() <= HOLDABLE => (Encoding::Gzip, Some(compressed)),
        _ => (Encoding::Absent, None),
    }
}

/// Gives the raw bytes back; none where they were too large to keep. `length` is how many there were.
///
/// # Errors
/// The stored bytes are not what [`encode`] made.
pub fn decode(encoding: Encoding, payload: &[u8], length: u64) -> std::io::Result<Option<Vec<u8>>> {
    match encoding {
        Encoding::Identity => Ok(Some(payload.to_vec())),
        Encoding::Absent => Ok(None),
        Encoding::Gzip => {
            let mut raw = Vec::new();
            GzDecoder::new(payload).take(length).read_to_end(&mut raw)?;
            Ok(Some(raw))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        let mut state = 1u32;
        (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect()
    }

    #[test]
    fn law_4_bytes_come_back_exactly_while_any_item_can_hold_them() {
        let cases = [
            (vec![], Encoding::Identity),
            (b"\xff\xfe not UTF-8".to_vec(), Encoding::Identity),
            ("{\"a\": 1.0}".repeat(100_000).into_bytes(), Encoding::Gzip),
            (noise(200 * 1024), Encoding::Gzip),
            (noise(4_500_000), Encoding::Absent),
        ];
        for (raw, expected) in cases {
            let (encoding, payload) = encode(&raw);
            assert_eq!(encoding, expected);
            let back = decode(encoding, &payload.unwrap_or_default(), raw.len() as u64).unwrap();
            assert_eq!(back, (expected != Encoding::Absent).then_some(raw));
        }
    }
}
