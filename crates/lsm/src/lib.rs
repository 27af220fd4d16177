//! One partition of a store: its memtables, sorted runs, manifest, flush, compaction and reads.
//!
//! A [`Partition`] is one LSM tree. Its writes are in memtables that the layer above fills.
//! [`Partition::flush_oldest`] writes them to sorted files, and compactions keep the number and the
//! size of sorted runs within bounds (lazy levelling). The layer above implements the traits of
//! [`Policies`], which give a partition the knowledge that it does not have: live snapshots and
//! trees, the order between log and files, and the meaning of values.
//!
//! Keys begin with four bytes, big-endian: the number of the tree that owns them.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod budget;
mod cache;
mod chain;
mod compaction;
mod counters;
mod covers;
mod dictionary;
mod edit;
mod estimate;
mod files;
mod flush;
pub mod image;
mod ingest;
mod iter;
mod jobs;
mod kept;
mod key;
mod manifest;
pub mod marks;
mod merge;
mod names;
mod newest;
mod options;
mod partition;
mod picker;
mod policy;
mod ranges;
mod retention;
mod run_iter;
mod stats;
mod superseded;
mod uncommitted;
mod used;
mod version;
mod view;

pub use budget::{Budget, Charge, Owner, QueryCharge, QueryMemory};
pub use cache::{BlockCounts, Cache};
pub use compaction::{CompactionJob, Drops, Outcome, Swept};
pub use edit::{AddedFile, VersionEdit};
pub use iter::PartitionIter;
pub use manifest::DroppedTail;
pub use manifest::walk::WalkedManifest;
pub use merge::Merge;
pub use newest::NewestProver;
pub use options::{Options, Shared};
pub use partition::Partition;
pub use picker::MergeReason;
pub use policy::{DefinitionUse, DeltaFold, Liveness, LogBarrier, NUMBERLESS, Policies, TreeProperties};
pub use stats::{Debt, FileInfo, Stats, Verified};
pub use superseded::Superseded;
pub use uncommitted::{FIRST_UNCOMMITTED, Uncommitted};
pub use used::Used;
pub use view::View;
