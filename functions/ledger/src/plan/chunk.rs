//! A plan in items that DynamoDB can hold.

use serde::{Deserialize, Serialize};

use super::{PackedEntries, PlanEntry};

/// A chunk stays well below DynamoDB's 400 KB an item.
const CHUNK_BYTES: usize = 200 * 1024;
/// Entries a chunk takes at the most before it is measured.
const CHUNK_ENTRIES: usize = 1000;

/// One chunk of a plan, an item `PLAN#<number>` below the document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChunk {
    /// Its place among the plan's chunks.
    pub number: u32,
    /// Grows with every change; a change is conditional on the version read.
    pub version: u64,
    /// On chunk 0, written last: how many chunks the plan has. Without it the plan was not stored to its end, so no route or
    /// edge has been written for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<u32>,
    /// The entries.
    pub entries: PackedEntries,
}

impl PlanChunk {
    /// Sort key of the chunk with this number.
    pub fn sort_key(number: u32) -> String {
        format!("PLAN#{number:04}")
    }
}

/// Lays `entries` out in chunks over those `held` (by number). Every chunk gets the version after the held one's, and chunk
/// 0 the mark of completeness; held chunks that are not needed any more come back empty.
pub fn merge_into_chunks<'a>(
    entries: impl IntoIterator<Item = &'a PlanEntry>,
    held: &[PlanChunk],
) -> Vec<PlanChunk> {
    let mut lists: Vec<PackedEntries> = Vec::new();
    let mut rest: Vec<&PlanEntry> = entries.into_iter().collect();
    while !rest.is_empty() {
        let mut take = rest.len().min(CHUNK_ENTRIES);
        let packed = loop {
            let packed = PackedEntries::pack(&rest[..take]);
            if packed.len() <= CHUNK_BYTES || take == 1 {
                break packed;
            }
            take /= 2;
        };
        lists.push(packed);
        rest.drain(..take);
    }
    let count = lists.len();
    let needed = count
        .max(
            held.iter()
                .map(|chunk| chunk.number as usize + 1)
                .max()
                .unwrap_or(0),
        )
        .max(1);
    let empty: [&PlanEntry; 0] = [];
    (0..needed)
        .map(|number| PlanChunk {
            number: number as u32,
            version: held
                .iter()
                .find(|chunk| chunk.number as usize == number)
                .map_or(1, |chunk| chunk.version + 1),
            chunks: (number == 0).then_some(count as u32),
            entries: lists
                .get(number)
                .cloned()
                .unwrap_or_else(|| PackedEntries::pack(&empty)),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Entry, Key, Layer, Plan};

    fn plan(count: usize) -> Plan {
        let mut plan = Plan::default();
        let wanted: Vec<Entry> = (0..count)
            .map(|number| Entry {
                key: Key::Slug {
                    slug: format!("/{number}"),
                },
                behind: vec![],
            })
            .collect();
        plan.owe(&wanted, &Layer::ALL, "token");
        plan
    }

    #[test]
    fn a_large_plan_is_cut_and_reads_back_whole() {
        let large = plan(2500);
        let chunks = merge_into_chunks(large.entries(), &[]);
        assert_eq!(chunks.len(), 3);
        assert_eq!(chunks[0].chunks, Some(3));
        let back = Plan::of(
            chunks
                .iter()
                .flat_map(|chunk| chunk.entries.unpack::<PlanEntry>().unwrap()),
        );
        assert_eq!(back, large);
    }

    #[test]
    fn a_smaller_plan_empties_the_chunks_it_no_longer_needs() {
        let held = merge_into_chunks(plan(2500).entries(), &[]);
        let smaller = merge_into_chunks(plan(1).entries(), &held);
        assert_eq!(smaller.len(), 3);
        assert_eq!(smaller[0].chunks, Some(1));
        assert!(smaller.iter().all(|chunk| chunk.version == 2));
        assert!(smaller[2].entries.unpack::<PlanEntry>().unwrap().is_empty());
    }
}
