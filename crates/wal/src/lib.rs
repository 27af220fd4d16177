//! The write-ahead log: records in preallocated segments, group sync, replay.

#![deny(missing_docs)]

mod layout;
mod recover;
mod segment;
mod types;
mod wal;
mod window;

pub use types::{Dropped, Lost, OnDamage, Options, Position, Purpose, Record, Recovery};
pub use wal::{Recovered, Wal};
