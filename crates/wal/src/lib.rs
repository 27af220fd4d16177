//! The write-ahead log: records in preallocated segments, group sync, replay.

#![deny(missing_docs)]

mod types;
mod wal;

pub use types::{Dropped, Lost, OnDamage, Options, Position, Record, Recovery};
pub use wal::Wal;
