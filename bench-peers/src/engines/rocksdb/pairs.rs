//! RocksDB as a store of keys and values: one column family.

use super::ffi::{Config, Database, Dictionary};
use super::{LZ4, ZSTD};
use crate::engines::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues, Stripes};

/// How blocks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    /// LZ4, the last level zstd.
    Lz4,
    /// Zstandard on all levels, with a trained dictionary in each file.
    ZstdWithDictionary,
}

/// The sizes that RocksDB's documentation suggests: a dictionary of 16 KiB, trained with a hundred times of it.
const DICTIONARY: Dictionary = Dictionary { bytes_max: 16 << 10, training_bytes_max: 1600 << 10 };

struct Pairs {
    database: Database,
    /// Updates read and write under the lock of their key.
    locks: Stripes,
}

/// Half of the memory is for write buffers, half for the block cache with filters and indexes in it.
pub(super) fn config(compression: Compression, place: &Place<'_>) -> Result<Config, Failure> {
    let memory = usize::try_from(place.memory_bytes)?;
    let (upper, dictionary) = match compression {
        Compression::Lz4 => (LZ4, None),
        Compression::ZstdWithDictionary => (ZSTD, Some(DICTIONARY)),
    };
    Ok(Config {
        cache_bytes: memory / 2,
        write_buffer_bytes: memory / 2,
        direct: false,
        compression: upper,
        bottommost_compression: ZSTD,
        block_bytes: place.block_bytes,
        partition_filters: false,
        dictionary,
    })
}

/// A store without transactions.
pub(crate) fn open(compression: Compression, place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    let database = Database::open(place.dir, &["default".to_owned()], &config(compression, place)?)?;
    Ok(Box::new(Pairs { database, locks: Stripes::default() }))
}

impl KeyValues for Pairs {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session { pairs: self, old: Vec::new(), new: Vec::new() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.database.settle()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.database);
        Ok(())
    }
}

struct Session<'a> {
    pairs: &'a Pairs,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.pairs.database.put_one(0, key, value)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        self.pairs.database.get(0, key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let found = self.pairs.database.get(0, key, &mut self.old)?;
        self.pairs.database.delete_one(0, key)?;
        Ok(found)
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        let pairs = self.pairs;
        pairs.locks.with(key, || {
            if !pairs.database.get(0, key, &mut self.old)? {
                return Ok(false);
            }
            self.new.clear();
            change(&self.old, &mut self.new)?;
            pairs.database.put_one(0, key, &self.new).map(|()| true)
        })
    }
}
