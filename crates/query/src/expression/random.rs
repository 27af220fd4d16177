//! Random numbers for expressions.

use std::sync::atomic::{AtomicU64, Ordering};

/// A source of random numbers, which all documents of a query and all threads share. It is not suitable for secrets.
///
/// The algorithm is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the
/// state is a counter.
#[derive(Debug)]
pub struct Random(AtomicU64);

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// A source whose sequence of numbers depends only on `seed`.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// Returns the next number, which is at least 0 and below 1.
    pub(super) fn next(&self) -> f64 {
        let mut z = self.0.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The mantissa of a double has 53 bits.
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A copy continues with the same sequence of numbers.
impl Clone for Random {
    fn clone(&self) -> Self {
        Self::new(self.0.load(Ordering::Relaxed))
    }
}

/// Two sources are equal if they will return the same numbers.
impl PartialEq for Random {
    fn eq(&self, other: &Self) -> bool {
        self.0.load(Ordering::Relaxed) == other.0.load(Ordering::Relaxed)
    }
}

impl Eq for Random {}
