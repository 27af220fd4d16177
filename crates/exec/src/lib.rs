//! Operators that execute plans of [`alluvium_query::plan`] over any [`Source`] of documents.
//!
//! | module | contents |
//! |---|---|
//! | [`source`] | the trait that a storage implements: documents by `_id`, entries of indexes, memory, sorting in files |
//! | [`walk`] | the moves of a scan through the bounds of an index, which a source follows |
//! | [`item`], [`key`], [`entries`] | batches of documents and of index entries |
//! | [`execution`], [`run`] | the execution of a plan, and its request |
//! | [`points`] | look-ups of many values in one pass |
//! | [`pipeline`] | the execution of pipelines over documents |
//! | [`limits`] | time limit and stop flag |
//! | [`counts`] | the counts that steps report, for `explain` |
//!
//! Steps pull batches from the steps below them. A step never requests more documents than the query will use, unless
//! the query reads to the end. Therefore `limit` reads no more documents than it needs, and `explain` counts only
//! necessary work.
//!
//! The crate has no storage: no sequence numbers, snapshots, partitions, trees or files.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod counts;
pub mod entries;
pub mod execution;
pub mod item;
pub mod key;
pub mod limits;
pub mod marks;
mod packed;
pub mod pipeline;
pub mod run;
mod seen;
pub mod source;
mod step;
#[cfg(test)]
mod testing;
pub mod walk;

pub use counts::{BlockCounts, Counts, Examined, Report, Spent};
pub use entries::{EntryBatch, EntryRef};
pub use execution::Execution;
pub use item::{BATCH_BYTES, BATCH_MAX, Fields, Item};
pub use key::Key;
pub use limits::{Interrupted, Limits, Watch};
pub use run::{EqualsVisitor, Request};
pub use source::{Blocks, DocumentRequest, KeySet, MemoryAccount, Proof, Sorted, Sorter, Source, matches};
pub use step::points;
pub use walk::{Move, Walk};
