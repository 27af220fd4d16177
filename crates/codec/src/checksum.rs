//! Checksums and hashes: XXH3 throughout.

use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_64_with_seed};

/// A 64-bit checksum of `bytes` that also depends on `seed`.
///
/// Callers put the file's number and the offset into the seed, so that an intact block in the wrong
/// place does not pass.
#[inline]
pub fn checksum64(bytes: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(bytes, seed)
}

/// The low 32 bits of [`checksum64`], for small blocks.
#[inline]
pub fn checksum32(bytes: &[u8], seed: u64) -> u32 {
    checksum64(bytes, seed) as u32
}

/// The hash that partitions keys and feeds filters. It is part of the format: it never changes.
#[inline]
pub fn hash64(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// A hash of 128 bits. It is part of the disk format and never changes.
pub fn hash128(bytes: &[u8]) -> u128 {
    xxhash_rust::xxh3::xxh3_128(bytes)
}

/// [`hash64`] or [`checksum64`] of bytes that arrive in pieces.
#[derive(Default)]
pub struct Hasher64(Xxh3);

impl Hasher64 {
    /// For [`checksum64`] with a seed; [`Hasher64::default`] is for [`hash64`].
    pub fn with_seed(seed: u64) -> Self {
        Self(Xxh3::with_seed(seed))
    }

    /// Adds the next piece.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The hash of all pieces so far.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}
