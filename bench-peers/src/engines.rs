//! The databases, each behind the traits of the harness.

mod fjall;
mod lmdb;
mod redb;
pub(crate) mod rocksdb;
pub(crate) mod sqlite;
pub(crate) mod wiredtiger;

use alluvium_workbench::peer::{Failure, KeyValues, ours};
use std::path::Path;

/// Where a store is, and what it may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub dir: &'a Path,
    pub memory_bytes: u64,
    /// The threads that will use it.
    pub threads: usize,
    /// Bytes of a data block before compression, of engines that compress blocks and leave their size to the user.
    pub block_bytes: usize,
}

/// A store of keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    Alluvium,
    RocksDb(rocksdb::Compression),
    RocksDbTransactions,
    WiredTiger(wiredtiger::Kind),
    Lmdb,
    Fjall,
    Redb,
    Sqlite,
}

impl Store {
    /// Opens the store, and creates it if it does not exist.
    pub fn open(self, place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
        match self {
            Self::Alluvium => ours::key_values(place.dir, place.memory_bytes),
            Self::RocksDb(compression) => rocksdb::open_pairs(compression, place),
            Self::RocksDbTransactions => rocksdb::open_transactions(place),
            Self::WiredTiger(kind) => wiredtiger::open_pairs(kind, place),
            Self::Lmdb => lmdb::open(place),
            Self::Fjall => fjall::open(place),
            Self::Redb => redb::open(place),
            Self::Sqlite => sqlite::open_pairs(place),
        }
    }
}
