//! What an answer gathers beyond its memory: in files, which leave writes their reserve of the disk.

use crate::database::DatabaseInner;
use crate::find::Limits;
use crate::{Result, Space};
use alluvium_readonly::sorter::{Sorted, Sorter};
use std::sync::Arc;

/// Takes pairs of keys and values, to give them back by their keys.
pub(crate) struct Spill {
    database: Arc<DatabaseInner>,
    sorter: Sorter,
    purpose: &'static str,
}

impl Spill {
    /// For a `purpose` that an error names; about `memory_bytes` are kept in memory.
    pub fn new(database: &Arc<DatabaseInner>, purpose: &'static str, memory_bytes: usize) -> Self {
        let folder = format!("{}{:016x}", alluvium_store::SORT_PREFIX, database.env.rng.next_u64());
        let sorter = Sorter::new(&database.env, database.store.path().join(folder), memory_bytes);
        Self { database: database.clone(), sorter, purpose }
    }

    /// Adds a pair, if there is room for it, nobody wants to stop and the time is not over.
    pub fn add(&mut self, limits: &Limits, key: &[u8], value: &[u8]) -> Result<()> {
        let (database, purpose) = (&self.database, self.purpose);
        self.sorter.add(key, value, |needed| go_on(database, limits, purpose, needed))
    }

    /// The pairs in order.
    pub fn finish(self, limits: &Limits) -> Result<Sorted> {
        let Self { database, sorter, purpose } = self;
        sorter.finish(|needed| go_on(&database, limits, purpose, needed))
    }
}

fn go_on(database: &DatabaseInner, limits: &Limits, purpose: &'static str, needed: u64) -> Result<()> {
    limits.check(&database.env)?;
    if needed == 0 {
        return Ok(());
    }
    let needed = needed.saturating_add(database.store.disk_reserve_bytes());
    Space::at(&database.env, database.store.path(), purpose, needed).check()
}
