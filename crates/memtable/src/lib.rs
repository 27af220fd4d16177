//! Recent writes of one partition in memory: found by key through a hash, ordered on demand,
//! their memory accounted.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arena;
mod cursor;
mod index;
mod iter;
mod order;
mod pool;
mod prefetch;
mod ranges;
mod sort;
mod sorted;
mod state;
mod table;

/// A memtable of so many bytes is to be sealed, whatever the budget allows: 2 GiB. It has room for four times as much, for some
/// 8 GiB of the entries that use it worst.
pub const FULL_BYTES: usize = 2 << 30;

pub use iter::MemtableIter;
pub use pool::ChunkPool;
pub use table::Memtable;
