//! The key/value store: one write-ahead log, P partitions, batches, snapshots, recovery, one
//! memory budget and one worker pool.
//!
//! A [`Store`] holds *trees* of byte keys and byte values. [`Store::create_trees`] makes trees. The hash of a key
//! determines its partition. Writes are [`WriteBatch`]es, atomic across trees and partitions; reads see the latest
//! visible state or a [`Snapshot`]. The module [`typed`] adds keys and values of any type, through small serializer
//! traits.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod admission;
mod batch;
mod checkpoint;
mod claims;
mod commit;
mod definitions;
mod durability;
mod error;
mod events;
mod files;
mod fold;
mod health;
mod holds;
mod ingest;
mod invariants;
mod keys;
mod locks;
pub mod marks;
mod multivalue;
mod offline;
mod options;
mod partitions;
mod pauses;
mod poison;
mod policy;
mod prover;
mod reading;
mod reads;
mod report;
mod scan;
mod stats;
mod store;
mod transaction;
mod trees;
mod tuning;
pub mod typed;
mod uncommitted;
mod upkeep;
mod visibility;
mod work;
mod write_set;

pub use admission::Admitted;
pub use alluvium_codec::bounds::Bounds;
pub use alluvium_codec::entry::Seq;
pub use alluvium_lsm::{BlockCounts, Charge, QueryCharge, QueryMemory};
pub use alluvium_sst::Compression;
pub use batch::{BatchWrite, WriteBatch};
pub use checkpoint::building::make_whole;
pub use checkpoint::{CheckpointOptions, CheckpointReport};
pub use definitions::Definitions;
pub use error::{Error, Result};
pub use files::listing::{FileChecksum, ListedFile, Listing};
pub use files::{SORT_PREFIX, is_checkpoint, is_store};
pub use fold::{Fold, FoldError};
pub use ingest::EntryRun;
pub use locks::{LockGuard, LockMode};
pub use multivalue::{Keys, Multivalue, Values, ValuesOf};
pub use offline::check::{CheckedCheckpoint, check_checkpoint, check_checkpoint_unless};
pub use offline::inspect::{Fact, FactValue, FileKind, InspectOptions, Item, inspect};
pub use offline::restore::{RestoreOptions, RestoreReport, restore_checkpoint};
pub use offline::salvage::{Loss, Salvage, SalvagedKey, Version};
pub use options::{Durability, Options};
pub use pauses::Pauses;
pub use prover::Prover;
pub use report::{CutTail, LostNumbers, OpenReport};
pub use scan::Scan;
pub use stats::{PartitionStats, Stats, TreeStats};
pub use store::{Store, TreeChanges};
pub use transaction::Transaction;
pub use trees::TreeId;
pub use tuning::Tuning;
pub use visibility::Snapshot;
pub use write_set::WriteSet;
