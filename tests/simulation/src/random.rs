//! Randomness that depends on nothing but the seed and a name.
//!
//! Every actor draws from a stream of its own, named after what it is. So a history stays much the same when an edit is taken
//! out of its script, which is what makes shrinking work.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The stream `name` of a history.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a, then the finalizer of splitmix64: names that differ in one letter share nothing.
        let mut hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325 ^ seed, |hash: u64, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(fastrand::Rng::with_seed(hash ^ (hash >> 31)))
    }

    /// From 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        self.0.f64()
    }

    /// From `low` up to `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// True with this probability.
    pub fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }

    /// Exponentially distributed.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.unit()).ln()
    }

    /// One of `choices`.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.0.usize(..choices.len())]
    }

    /// A whole number from `low` to `high`, both included.
    pub fn whole(&mut self, low: usize, high: usize) -> usize {
        self.0.usize(low..=high)
    }

    /// Mixes an order up.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        self.0.shuffle(list);
    }
}
