//! Mutations of seeds that are the same every time: what a search without a compiler's help can do.

use fastrand::Rng;

/// Words that readers of JSON, TOML and headers care about.
const WORDS: [&[u8]; 26] = [
    b"null",
    b"true",
    b"false",
    b"{}",
    b"[]",
    b"\"\"",
    b"0",
    b"-1",
    b"1e308",
    b"1e-400",
    b"18446744073709551616",
    b"-9223372036854775809",
    b"\\u0000",
    b"\\ud800",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b"\0",
    b"_id",
    b"_updatedAt",
    b"+292277026596-12-04T15:30:07Z",
    b"0000-00-00T00:00:00Z",
    b"drafts.",
    b"429\nretry-after: 99999999999999999999\n\n",
    b"302\nlocation: //\n\n",
    b"[[",
];

/// The `number`th mutation of a seed, with parts of `other`.
pub fn mutated(seed: &[u8], other: &[u8], number: u64) -> Vec<u8> {
    let mut random = Rng::with_seed(number);
    let mut bent = seed.to_vec();
    for _ in 0..random.usize(1..=4) {
        bend(&mut bent, other, &mut random);
    }
    bent
}

fn bend(bent: &mut Vec<u8>, other: &[u8], random: &mut Rng) {
    let at = random.usize(0..=bent.len());
    let to = at + random.usize(0..=(bent.len() - at).min(40));
    match random.u8(0..8) {
        0 => bent.truncate(at),
        1 => drop(bent.drain(at..to)),
        2 if at < bent.len() => bent[at] ^= 1 << random.u8(0..8),
        3 => {
            let word = WORDS[random.usize(0..WORDS.len())];
            bent.splice(at..to, word.iter().copied());
        }
        4 => {
            let from = random.usize(0..=other.len());
            let until = from + random.usize(0..=(other.len() - from).min(400));
            bent.splice(at..to, other[from..until].iter().copied());
        }
        5 => {
            let again = bent[at..to].repeat(random.usize(1..=50));
            bent.splice(at..at, again);
        }
        6 => {
            let deep = [b"[".as_slice(), b"{\"a\":", b"(", b"\""][random.usize(0..4)];
            bent.splice(at..at, deep.repeat(random.usize(1..=3000)));
        }
        _ => bent.insert(at, random.u8(..)),
    }
}
