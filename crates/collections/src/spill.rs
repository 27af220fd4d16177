//! Uses files to sort pairs that exceed memory, and to store sets of keys and blocks of documents. The files leave the
//! disk reserve free for writes.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::space;
use alluvium_exec::Limits;
use alluvium_readonly::sorter::{Blocks, KeySet, Sorted, Sorter};
use std::path::PathBuf;

/// Takes pairs of keys and values, and returns them sorted by key.
pub(crate) struct Spill {
    engine: EngineHandle,
    sorter: Sorter,
    purpose: &'static str,
}

/// The sorted pairs of a [`Spill`].
pub(crate) struct Spilled {
    engine: EngineHandle,
    sorted: Sorted,
    purpose: &'static str,
}

impl Spill {
    /// Keeps about `memory_bytes` in memory. Errors name the `purpose`.
    pub fn new(engine: &EngineHandle, purpose: &'static str, memory_bytes: usize) -> Self {
        let sorter = Sorter::new(engine.store().sorted_env(), new_folder(engine), memory_bytes);
        Self { engine: engine.clone(), sorter, purpose }
    }
}

/// A folder that does not exist yet. If a crash prevents its removal, the next open removes it.
fn new_folder(engine: &EngineHandle) -> PathBuf {
    engine.store().path().join(format!("{}{:016x}", alluvium_store::SORT_PREFIX, engine.env.rng.next_u64()))
}

/// A set of keys in files.
pub(crate) struct SpilledKeys {
    engine: EngineHandle,
    set: KeySet,
    purpose: &'static str,
}

impl SpilledKeys {
    /// Errors name the `purpose`.
    pub fn new(engine: &EngineHandle, purpose: &'static str) -> Self {
        let set = KeySet::new(engine.store().sorted_env(), new_folder(engine));
        Self { engine: engine.clone(), set, purpose }
    }
}

impl alluvium_exec::KeySet for SpilledKeys {
    type Error = Error;

    fn add(&mut self, limits: &Limits, keys: &[Vec<u8>]) -> Result<()> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.set.add(keys, |needed| check_space(engine, limits, purpose, needed))
    }

    fn contains(&mut self, limits: &Limits, keys: &[&[u8]]) -> Result<Vec<bool>> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.set.contains(keys, |needed| check_space(engine, limits, purpose, needed))
    }
}

/// Blocks of documents in files.
pub(crate) struct SpilledBlocks {
    engine: EngineHandle,
    blocks: Blocks,
    purpose: &'static str,
}

impl SpilledBlocks {
    /// Errors name the `purpose`.
    pub fn new(engine: &EngineHandle, purpose: &'static str) -> Self {
        let blocks = Blocks::new(engine.store().sorted_env(), new_folder(engine));
        Self { engine: engine.clone(), blocks, purpose }
    }
}

impl alluvium_exec::Blocks for SpilledBlocks {
    type Error = Error;

    fn push(&mut self, limits: &Limits, block: &[u8]) -> Result<()> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.blocks.push(block, |needed| check_space(engine, limits, purpose, needed))
    }

    fn read(&mut self, limits: &Limits, number: usize, out: &mut Vec<u8>) -> Result<()> {
        limits.check(&self.engine.env)?;
        Ok(self.blocks.read(number, out)?)
    }
}

impl alluvium_exec::Sorter for Spill {
    type Error = Error;
    type Sorted = Spilled;

    fn add(&mut self, limits: &Limits, key: &[u8], value: &[u8]) -> Result<()> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.sorter.add(key, value, |needed| check_space(engine, limits, purpose, needed))
    }

    fn finish(self, limits: &Limits) -> Result<Spilled> {
        let Self { engine, sorter, purpose } = self;
        let sorted = sorter.finish(|needed| check_space(&engine, limits, purpose, needed))?;
        Ok(Spilled { engine, sorted, purpose })
    }
}

impl alluvium_exec::Sorted for Spilled {
    type Error = Error;

    fn next_value(&mut self, limits: &Limits) -> Result<Option<&[u8]>> {
        let (engine, purpose) = (&self.engine, self.purpose);
        self.sorted.next(|needed| check_space(engine, limits, purpose, needed))
    }
}

fn check_space(engine: &EngineHandle, limits: &Limits, purpose: &'static str, needed: u64) -> Result<()> {
    limits.check(&engine.env)?;
    // If a database is opened for reading only, the files are in memory, which has a limit of its own.
    if needed == 0 || engine.store().options().read_only {
        return Ok(());
    }
    let needed = needed.saturating_add(engine.store().disk_reserve_bytes());
    space::at(&engine.env, engine.store().path(), purpose, needed).check()
}
