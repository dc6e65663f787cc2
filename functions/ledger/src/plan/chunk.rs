//! A plan in items that DynamoDB can hold.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Key, PackedEntries, PlanEntry, UnpackError};

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
/// 0 the mark of completeness.
///
/// An entry stays in the chunk that holds it, or moves to a later one, and later chunks are stored first: a crash between two
/// transactions can leave an entry twice, and never lose one.
///
/// # Errors
/// A held chunk does not read as entries.
pub fn merge_into_chunks<'a>(
    entries: impl IntoIterator<Item = &'a PlanEntry>,
    held: &[PlanChunk],
) -> Result<Vec<PlanChunk>, UnpackError> {
    let mut place_of: BTreeMap<Key, usize> = BTreeMap::new();
    for chunk in held {
        for entry in chunk.entries.unpack::<PlanEntry>()? {
            place_of.insert(entry.entry.key, chunk.number as usize);
        }
    }
    let last = held.iter().map(|chunk| chunk.number as usize).max().unwrap_or(0);
    let mut lists: Vec<Vec<&PlanEntry>> = vec![vec![]; last + 1];
    let mut beyond = Vec::new();
    for entry in entries {
        match place_of.get(&entry.entry.key) {
            Some(place) => lists[*place].push(entry),
            None => beyond.push(entry),
        }
    }
    lists[last].append(&mut beyond);
    let mut packed: Vec<PackedEntries> = Vec::new();
    for list in lists {
        let (fits, rest) = pack(list);
        packed.push(fits);
        beyond.extend(rest);
    }
    while !beyond.is_empty() {
        let (fits, rest) = pack(beyond);
        packed.push(fits);
        beyond = rest;
    }
    let count = packed.len();
    let version_of = |number: usize| {
        let held = held.iter().find(|chunk| chunk.number as usize == number);
        held.map_or(1, |chunk| chunk.version + 1)
    };
    let chunk = |(number, entries)| PlanChunk {
        number: number as u32,
        version: version_of(number),
        chunks: (number == 0).then_some(count as u32),
        entries,
    };
    Ok(packed.into_iter().enumerate().map(chunk).collect())
}

/// Packs as many of `list` as a chunk takes, at least one, and gives the rest back.
fn pack(mut list: Vec<&PlanEntry>) -> (PackedEntries, Vec<&PlanEntry>) {
    let mut take = list.len().min(CHUNK_ENTRIES);
    loop {
        let packed = PackedEntries::pack(&list[..take]);
        if packed.len() <= CHUNK_BYTES || take <= 1 {
            return (packed, list.split_off(take));
        }
        take /= 2;
    }
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
        let chunks = merge_into_chunks(large.entries(), &[]).unwrap();
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
    fn law_8_no_entry_moves_to_a_chunk_that_is_stored_later() {
        let held = merge_into_chunks(plan(2500).entries(), &[]).unwrap();
        let united = merge_into_chunks(plan(4000).entries(), &held).unwrap();
        assert_eq!(united.len(), 4);
        assert_eq!(united[0].chunks, Some(4));
        let versions: Vec<u64> = united.iter().map(|chunk| chunk.version).collect();
        assert_eq!(versions, [2, 2, 2, 1]);
        // Stored from the last to the first: wherever that ends, nothing is missing.
        for stored in 0..=united.len() {
            let left = united.iter().rev().take(stored);
            let first = united.len() - stored;
            let there = left.chain(held.iter().filter(|chunk| (chunk.number as usize) < first));
            let keys: BTreeMap<Key, ()> = there
                .flat_map(|chunk| chunk.entries.unpack::<PlanEntry>().unwrap())
                .map(|entry| (entry.entry.key, ()))
                .collect();
            let before = plan(2500);
            assert!(before.entries().all(|entry| keys.contains_key(&entry.entry.key)));
        }
    }
}
