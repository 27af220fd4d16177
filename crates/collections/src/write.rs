//! The write protocol: every document is written this way.
//!
//! Every write (insert, put, update, delete, batch, load) is a [`WriteTxn`] and takes the same
//! steps:
//!
//! 1. The documents are encoded: rows, deltas, index entries, definitions of new shapes. Changes
//!    that read no document are encoded first; a change that depends on documents is encoded under
//!    their locks.
//! 2. Parts of indexes that lead through arrays for the first time are recorded.
//! 3. The batch is admitted: it pays for the debt of the partitions and reserves its memory,
//!    without locks.
//! 4. Documents and unique keys are locked, all in one call.
//! 5. Keys are checked: inserts find no document, unique keys have no other owner.
//! 6. The batch is committed, with the definitions of its shapes.
//! 7. The shapes are marked visible, so later batches do not carry them.
//!
//! A write whose needs are known only after it has read (more bytes, a unique key, an array)
//! releases its locks and starts over. A write whose collection was dropped, or got other indexes,
//! in the meantime starts over from the catalogue.

mod entries;
mod txn;
mod unique;
mod writer;

pub(crate) use txn::{DocumentLock, Named, Reads, execute, retry};
pub use txn::{Locked, WriteTxn};
pub(crate) use unique::{Collection, demands_key, duplicate_key};
pub use unique::{Sequence, Taken};
pub use writer::{Record, Writer};
