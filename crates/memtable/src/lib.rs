//! Recent writes of one partition in memory: found by key through a hash, ordered on demand, with their memory counted.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arena;
mod contents;
mod cursor;
mod index;
mod iter;
mod order;
mod prefetch;
mod ranges;
mod sort;
mod sorted;
mod state;
mod table;

pub use arena::FULL_BYTES;
pub use iter::MemtableIter;
pub use table::Memtable;
