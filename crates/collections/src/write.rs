//! The write protocol, by which every document is written.
//!
//! Every write (insert, put, update, delete, batch, load) is a [`WriteTxn`] and takes the same
//! steps:
//!
//! 1. The documents are encoded: rows, deltas, index entries, definitions of new shapes. Changes
//!    that read no document are encoded first; a change that depends on documents is encoded under
//!    their locks.
//! 2. The parts of indexes whose paths lead through an array for the first time are recorded.
//! 3. The batch is admitted: it waits according to the compaction debt of the partitions, and reserves its memory. No
//!    locks are held.
//! 4. Documents and unique keys are locked, all in one call.
//! 5. Keys are checked: an inserted document must not exist, and a unique key must not belong to another document.
//! 6. The batch is committed, with the definitions of its shapes.
//! 7. The shapes are marked visible, so later batches do not carry them.
//!
//! If a write finds after reading that it needs more (bytes, the lock of a unique key, the record of an array), it
//! releases its locks and starts over. If its collection was dropped, or got other indexes, in the meantime, the write
//! starts over from the catalogue.

mod entries;
mod patience;
mod transaction;
mod txn;
mod unique;
mod writer;

pub use patience::Patience;
pub use transaction::{Transaction, repeat};
pub(crate) use txn::{DocumentLock, Named, Reads, execute, retry};
pub use txn::{Locked, WriteLimits, WriteTxn};
pub(crate) use unique::{Collection, demands_key, duplicate_key};
pub use unique::{Sequence, Taken};
pub use writer::{Record, Writer};
