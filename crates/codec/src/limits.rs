//! The greatest numbers that a database assigns, and that its files may therefore contain.
//!
//! Every encoder and decoder refuses greater numbers; a decoder does so before it computes with them. A checksum proves
//! that bytes are unchanged, not that their writer was correct or honest. No machine can exhaust these numbers: at a
//! million a second, they last for two thousand years.

use crate::entry::{MAX_SEQ, Seq};
use crate::error::{DecodeError, Result};
use crate::varint;

/// The greatest sequence number of an operation. [`MAX_SEQ`] is reserved for reads that see everything.
pub const LAST_SEQ: Seq = MAX_SEQ - 1;

/// The greatest number of a file, a sorted run, a manifest or a segment of the log, and the
/// greatest count (of bytes, entries, blocks) that anything on disk may state: 2^56 - 1.
pub const MAX_NUMBER: u64 = (1 << 56) - 1;

/// The greatest number of a tree: the number after it still fits 32 bits.
pub const MAX_TREE: u32 = u32::MAX - 1;

/// The most memory that the range tombstones of a partition may take when they are read, in bytes:
/// 1 GiB.
pub const MAX_RANGE_BYTES: usize = 1 << 30;

/// The most memory that the range tombstones of a partition may take after a flush, in bytes: 256 MiB. The limit is
/// below [`MAX_RANGE_BYTES`] because an open adds the range tombstones of the log, and must not be refused for them.
pub const FULL_RANGE_BYTES: usize = 256 << 20;

/// Takes a number that is at most [`MAX_NUMBER`] from the front of `input`.
///
/// # Errors
/// As [`varint::get_u64`], and [`DecodeError::Invalid`] with `what` above the limit.
pub fn get_number(input: &mut &[u8], what: &'static str) -> Result<u64> {
    at_most(varint::get_u64(input)?, MAX_NUMBER, what)
}

/// Takes the number of an operation, at most [`LAST_SEQ`], or 0 for none, from the front of
/// `input`.
///
/// # Errors
/// As [`varint::get_u64`], and [`DecodeError::Invalid`] with `what` above the limit.
pub fn get_seq(input: &mut &[u8], what: &'static str) -> Result<Seq> {
    at_most(varint::get_u64(input)?, LAST_SEQ, what)
}

/// Returns `number` if it is not above `most`.
///
/// # Errors
/// [`DecodeError::Invalid`] with `what`.
pub fn at_most(number: u64, most: u64, what: &'static str) -> Result<u64> {
    if number <= most { Ok(number) } else { Err(DecodeError::Invalid(what)) }
}

/// The number of the tree, at most [`MAX_TREE`], which is in the first four bytes of a key.
///
/// # Errors
/// [`DecodeError::Invalid`] if the key is shorter than four bytes or the number is above the limit.
pub fn tree_of(key: &[u8]) -> Result<u32> {
    let tree = key.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    tree.filter(|tree| *tree <= MAX_TREE).ok_or(DecodeError::Invalid("a key whose tree is missing or out of range"))
}
