//! Randomness, as a trait. The random numbers are not suitable for secrets.

use crate::sync::atomic::{AtomicU64, Ordering};
use std::hash::{BuildHasher, RandomState};

/// A source of random numbers, shared by threads.
pub trait Rng: Send + Sync {
    /// 64 uniformly distributed bits.
    fn next_u64(&self) -> u64;
}

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014): the
/// state is a counter, so that threads can share the generator with one atomic addition.
pub struct SeededRng {
    state: AtomicU64,
}

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl SeededRng {
    /// A generator whose numbers are determined by `seed` alone.
    pub fn new(seed: u64) -> Self {
        Self { state: AtomicU64::new(seed) }
    }
}

impl Rng for SeededRng {
    fn next_u64(&self) -> u64 {
        let state = self.state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// A [`SeededRng`] with a seed from the operating system.
pub(crate) struct OsRng {
    inner: SeededRng,
}

impl OsRng {
    /// A generator with a random seed.
    pub(crate) fn new() -> Self {
        // The standard library seeds its hashers with random numbers of the system.
        Self { inner: SeededRng::new(RandomState::new().hash_one(GAMMA)) }
    }
}

impl Rng for OsRng {
    fn next_u64(&self) -> u64 {
        self.inner.next_u64()
    }
}

#[cfg(test)]
mod tests;
