//! Recent writes of one partition in memory: found by key through a hash, ordered on demand,
//! their memory accounted.

#![deny(missing_docs)]

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

pub use iter::MemtableIter;
pub use pool::ChunkPool;
pub use table::Memtable;
