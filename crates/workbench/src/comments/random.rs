//! A small, fast generator of pseudo-random numbers whose output never changes.
//!
//! Generated files must stay the same in every release, so the algorithm is implemented here and not taken from a
//! dependency.

/// Pseudo-random numbers: Wang Yi's `wyrand` (wyhash, final version 4), one multiplication per number.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream that depends only on `seed`.
    pub(crate) fn new(seed: u64) -> Self {
        Self(mix(seed ^ 0x5851_f42d_4c95_7f2d))
    }

    /// The next 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0xa076_1d64_78bd_642f);
        let product = u128::from(self.0) * u128::from(self.0 ^ 0xe703_7ed1_a0b4_28db);
        (product as u64) ^ ((product >> 64) as u64)
    }

    /// A uniformly distributed number below `end`; 0 if `end` is 0.
    #[inline]
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(end)) >> 64) as u64
    }

    /// True with a probability of `parts` in 65,536.
    #[inline]
    pub(crate) fn chance(&mut self, parts: u64) -> bool {
        self.next() >> 48 < parts
    }

    /// A rank below `count` (0 if `count` is 0) from an approximate Zipf distribution with exponent 1. The first
    /// `2^head_bits` ranks are equally likely. Every further octave of ranks has the same weight, and all ranks within
    /// an octave are equally likely. Only integers are used, so the result is the same on every machine.
    #[inline]
    pub(crate) fn zipf(&mut self, count: usize, head_bits: u32) -> usize {
        let Some(top) = count.checked_ilog2() else { return 0 };
        let head = head_bits.min(top);
        let bits = self.next();
        // One group for the head, and one for each octave above it. The last octave may end early, at `count`.
        let groups = u64::from(top - head) + 1 + u64::from(!count.is_power_of_two());
        let group = (((bits >> 32) * groups) >> 32) as u32;
        let octave = if group == 0 { 0 } else { 1usize << (head + group - 1) };
        let span = if group == 0 { 1usize << head } else { octave };
        let rank = octave + (bits as usize & (span - 1));
        if rank < count { rank } else { rank - span }
    }
}

/// Scrambles `value`: a bijection of all 64-bit numbers (the finaliser of SplitMix64, Steele et al. 2014).
#[inline]
pub(crate) fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Scrambles the low `bits` bits of `value` (1 to 32 of them): a bijection of the numbers below `2^bits`, so that
/// neighbouring ranks get unrelated names and numbers.
#[inline]
pub(crate) fn permute(value: u64, bits: u32) -> u64 {
    let mask = (1u64 << bits) - 1;
    let half = bits.div_ceil(2);
    // An odd multiplier and a shift-xor are each invertible below 2^bits.
    let value = value.wrapping_mul(0x9e37_79b1) & mask;
    let value = value ^ (value >> half);
    let value = value.wrapping_mul(0x85eb_ca6b) & mask;
    value ^ (value >> half)
}
