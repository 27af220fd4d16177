//! The write-ahead log: records in preallocated segments, group sync, replay.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod compress;
mod decode;
mod layout;
pub mod marks;
mod recover;
mod segment;
mod types;
mod wal;
mod walk;
mod window;

pub use compress::Compressor;
pub use layout::GROUPS_AT;
pub use types::{Dropped, Lost, OnDamage, Options, Position, Purpose, Record, Recovery};
pub use wal::{Recovered, Wal};
pub use walk::{
    Gap, Group, SegmentEnd, SegmentHeader, Walk, WalkedSegment, list_segments, read_whole, segment_number, walk_segment,
};
