//! The key/value store: one write-ahead log, P partitions, batches, snapshots, recovery, one
//! memory budget and one worker pool.
//!
//! A [`Store`] holds *trees* of byte keys and byte values. A tree is made by
//! [`Store::create_tree`]; a key lives in the partition that its hash names. Writes are
//! [`WriteBatch`]es, atomic across trees and partitions; reads see the latest visible state or a
//! [`Snapshot`]. [`typed`] puts keys and values of any type on top, through small serializer traits.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod admission;
mod batch;
mod checkpoint;
mod commit;
mod definitions;
mod durability;
mod error;
mod events;
mod fold;
mod holds;
mod indexes;
mod ingest;
mod inspect;
mod invariants;
mod locks;
mod maintenance;
pub mod marks;
mod multivalue;
mod open;
mod options;
mod policy;
mod replay;
mod restore;
mod salvage;
mod scan;
mod stats;
mod store;
mod superblock;
mod trees;
mod tuning;
pub mod typed;
mod verify;
mod visibility;
mod workers;

pub use admission::Admitted;
pub use alluvium_codec::bounds::Bounds;
pub use alluvium_codec::entry::Seq;
pub use alluvium_lsm::{BlockCounts, Charge};
pub use batch::WriteBatch;
pub use checkpoint::building::make_whole;
pub use checkpoint::check::{CheckedCheckpoint, check_checkpoint, check_checkpoint_unless};
pub use checkpoint::listing::{FileChecksum, ListedFile, Listing};
pub use checkpoint::{CheckpointOptions, CheckpointReport};
pub use definitions::Definitions;
pub use error::{Error, Result};
pub use fold::{Fold, FoldError};
pub use indexes::TreeChanges;
pub use ingest::EntryRun;
pub use inspect::{Fact, FactValue, FileKind, InspectOptions, Item, file_kind, inspect};
pub use locks::{LockGuard, LockMode};
pub use multivalue::{Keys, Multivalue, Values, ValuesOf};
pub use open::{OpenReport, SORT_PREFIX};
pub use options::{Compression, Durability, Options};
pub use restore::{RestoreOptions, RestoreReport, is_checkpoint, is_store, restore_checkpoint};
pub use salvage::{Loss, LostNumbers, Salvage, SalvagedKey, Version};
pub use scan::Scan;
pub use stats::{PartitionStats, Stats, TreeStats};
pub use store::Store;
pub use trees::TreeId;
pub use tuning::Tuning;
pub use visibility::Snapshot;
