//! Bytes: variable-length integers, checksums, checked frames, order-preserving keys,
//! the entries that memtables and sorted files share, and range tombstones.
//!
//! No storage and no I/O. Every decoder takes any bytes without panicking.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bounds;
mod checksum;
pub mod entry;
mod error;
pub mod frame;
pub mod key;
pub mod limits;
pub mod ranges;
pub mod varint;

pub use checksum::{Hasher64, checksum32, checksum64, hash64, hash128};
pub use error::{DecodeError, Result};
