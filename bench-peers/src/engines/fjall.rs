//! fjall as a store of keys and values: one of its trees.

use super::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues, Stripes};
use fjall::config::BlockSizePolicy;
use fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};

/// The bounds of a memtable that fjall's documentation recommends.
const MEMTABLE_MIN: u64 = 8 << 20;
const MEMTABLE_MAX: u64 = 64 << 20;

struct Fjall {
    database: Database,
    pairs: Keyspace,
    /// Updates read and write under the lock of their key.
    locks: Stripes,
}

/// Half of the memory is for the cache; a memtable has up to a quarter, since one is filled while another is written.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    let database = Database::builder(place.dir).cache_size(place.memory_bytes / 2).open()?;
    let memtable = (place.memory_bytes / 4).clamp(MEMTABLE_MIN, MEMTABLE_MAX);
    let block = u32::try_from(place.block_bytes)?;
    let options = || {
        let options = KeyspaceCreateOptions::default().max_memtable_size(memtable);
        options.data_block_size_policy(BlockSizePolicy::all(block))
    };
    let pairs = database.keyspace("pairs", options)?;
    Ok(Box::new(Fjall { database, pairs, locks: Stripes::default() }))
}

impl KeyValues for Fjall {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session(self)))
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(self.pairs.rotate_memtable_and_wait()?)
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(self.database.persist(PersistMode::SyncAll)?)
    }
}

struct Session<'a>(&'a Fjall);

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        Ok(self.0.pairs.insert(key, value)?)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let Some(found) = self.0.pairs.get(key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(&found);
        Ok(true)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let found = self.0.pairs.contains_key(key)?;
        self.0.pairs.remove(key)?;
        Ok(found)
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        let pairs = &self.0.pairs;
        self.0.locks.with(key, || {
            let Some(old) = pairs.get(key)? else { return Ok(false) };
            let mut new = Vec::new();
            change(&old, &mut new)?;
            pairs.insert(key, new)?;
            Ok(true)
        })
    }
}
