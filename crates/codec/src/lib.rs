//! Bytes: variable-length integers, checksums, checked frames, order-preserving keys,
//! the entries that memtables and sorted files share, and range tombstones.
//!
//! No storage and no I/O. Every decoder takes any bytes without panicking.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod checksum;
pub mod entry;
pub mod frame;
pub mod key;
pub mod limits;
pub mod ranges;
pub mod varint;

pub use checksum::{Hasher64, checksum32, checksum64, hash64};

/// Bytes that are not what an encoder of this crate writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The input ends within a value.
    #[error("the bytes end within a value")]
    Truncated,
    /// A value is out of its range, or a code is unknown.
    #[error("the bytes hold no valid value: {0}")]
    Invalid(&'static str),
}

/// A result with [`DecodeError`].
pub type Result<T> = std::result::Result<T, DecodeError>;
