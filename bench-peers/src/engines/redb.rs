//! redb as a store of keys and values: one table, a transaction for each write.

use super::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, Table, TableDefinition};
use std::sync::atomic::{AtomicU64, Ordering};

const PAIRS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("pairs");

/// redb has no log. A commit is either durable, with a sync, or kept in memory until the next durable one. One of this
/// number of commits is durable, which also lets pages be used again.
const DURABLE_EVERY: u64 = 1000;

struct Redb {
    database: Database,
    commits: AtomicU64,
}

/// The memory is the cache, of which redb itself takes a part for writes.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    let memory = usize::try_from(place.memory_bytes)?;
    let database = Database::builder().set_cache_size(memory).create(place.dir.join("pairs.redb"))?;
    let redb = Redb { database, commits: AtomicU64::new(0) };
    // The table exists from here on, for reads.
    redb.write(Durability::Immediate, |_| Ok(true))?;
    Ok(Box::new(redb))
}

impl Redb {
    /// Runs `act` in a transaction, which is committed if it returns true.
    fn write(
        &self,
        durability: Durability,
        act: impl FnOnce(&mut Table<'_, &'static [u8], &'static [u8]>) -> Result<bool, Failure>,
    ) -> Result<bool, Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(durability)?;
        let done = act(&mut transaction.open_table(PAIRS)?)?;
        if done {
            transaction.commit()?;
        } else {
            transaction.abort()?;
        }
        Ok(done)
    }

    /// The durability of the next commit.
    fn durability(&self) -> Durability {
        let commit = self.commits.fetch_add(1, Ordering::Relaxed);
        if commit % DURABLE_EVERY == DURABLE_EVERY - 1 { Durability::Immediate } else { Durability::None }
    }
}

impl KeyValues for Redb {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session(self)))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.write(Durability::Immediate, |_| Ok(true)).map(drop)
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.settle()
    }
}

struct Session<'a>(&'a Redb);

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let put = |table: &mut Table<'_, &'static [u8], &'static [u8]>| {
            table.insert(key, value)?;
            Ok(true)
        };
        self.0.write(self.0.durability(), put).map(drop)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let table = self.0.database.begin_read()?.open_table(PAIRS)?;
        let Some(found) = table.get(key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(found.value());
        Ok(true)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        self.0.write(self.0.durability(), |table| Ok(table.remove(key)?.is_some()))
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        self.0.write(self.0.durability(), |table| {
            let mut new = Vec::new();
            match table.get(key)? {
                Some(old) => change(old.value(), &mut new)?,
                None => return Ok(false),
            }
            table.insert(key, new.as_slice())?;
            Ok(true)
        })
    }
}
