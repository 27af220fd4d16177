//! What an answer gathers beyond its memory: in files, which leave writes their reserve of the disk.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::limits::Limits;
use crate::space::Space;
use alluvium_readonly::sorter::{Sorted, Sorter};

/// Takes pairs of keys and values, to give them back by their keys.
pub(crate) struct Spill {
    engine: EngineHandle,
    sorter: Sorter,
    purpose: &'static str,
}

impl Spill {
    /// For a `purpose` that an error names; about `memory_bytes` are kept in memory.
    pub fn new(engine: &EngineHandle, purpose: &'static str, memory_bytes: usize) -> Self {
        let folder = format!("{}{:016x}", alluvium_store::SORT_PREFIX, engine.env.rng.next_u64());
        let sorter = Sorter::new(&engine.env, engine.store().path().join(folder), memory_bytes);
        Self { engine: engine.clone(), sorter, purpose }
    }

    /// Adds a pair, if there is room for it, nobody wants to stop and the time is not over.
    pub fn add(&mut self, limits: &Limits, key: &[u8], value: &[u8]) -> Result<()> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.sorter.add(key, value, |needed| check_space(engine, limits, purpose, needed))
    }

    /// The pairs in order.
    pub fn finish(self, limits: &Limits) -> Result<Sorted> {
        let Self { engine, sorter, purpose } = self;
        sorter.finish(|needed| check_space(&engine, limits, purpose, needed))
    }
}

fn check_space(engine: &EngineHandle, limits: &Limits, purpose: &'static str, needed: u64) -> Result<()> {
    limits.check(&engine.env)?;
    if needed == 0 {
        return Ok(());
    }
    let needed = needed.saturating_add(engine.store().disk_reserve_bytes());
    Space::at(&engine.env, engine.store().path(), purpose, needed).check()
}
