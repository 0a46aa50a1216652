//! Chance that can be had again: every draw comes from the seed and a name, so that taking one
//! event out of a scenario leaves the luck of all others as it was.

use jiff::SignedDuration;

/// A stream of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The luck of one named thing under a seed.
    pub fn fate(seed: u64, parts: &[&str]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ seed; // FNV-1a over the parts
        for part in parts {
            for byte in part.bytes().chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        let mut rng = Self(hash);
        rng.next();
        rng
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From `low` to `high`, both included.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// True in so many of a hundred draws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.range(1, 100) <= percent
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let index = self.next() as usize % items.len();
        &items[index]
    }

    pub fn name<'a>(&mut self, names: &[&'a str]) -> &'a str {
        self.pick::<&str>(names)
    }

    /// A whole number of seconds between the two, given in minutes.
    pub fn minutes(&mut self, low: u64, high: u64) -> SignedDuration {
        SignedDuration::from_secs(self.range(low * 60, high * 60) as i64)
    }
}
