//! The keys of the matching documents, in the order in which they were found: in memory, or in
//! files if they are too many.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::Execution;
use crate::marks;
use crate::spill::{Spill, Spilled};
use alluvium_exec::{Limits, Sorted, Sorter};
use alluvium_query::pipeline::PipelineError;
use alluvium_store::{QueryCharge, Store};

/// The maximum number of bytes of memory for keys.
const BYTES_MAX: usize = 16 << 20;
/// The minimum memory of the sorter that writes the keys to files.
const SORTER_BYTES_MIN: usize = 128 << 10;
/// The name of this list in errors.
const PURPOSE: &str = "the list of matching documents";
/// The memory of a key in addition to its bytes.
const OVERHEAD: usize = size_of::<Vec<u8>>();

/// The keys of documents that are to be written.
pub(super) struct FoundKeys {
    keys: Keys,
    /// Accounts for the memory of the keys.
    _charge: QueryCharge,
}

enum Keys {
    InMemory(std::vec::IntoIter<Vec<u8>>),
    Spilled(Box<Spilled>),
}

impl FoundKeys {
    /// Collects the keys of all documents of an execution.
    pub fn collect(mut execution: Execution, engine: &EngineHandle, limits: &Limits) -> Result<Self> {
        let (max_bytes, mut charge) = (bytes_max(engine.store()), engine.store().query_memory().charge());
        let (mut keys, mut bytes) = (Vec::new(), 0);
        // Twice the bytes, because the list is copied when it grows.
        while bytes < max_bytes && charge.grow(2 * bytes) {
            let Some(key) = execution.next_key()? else {
                return Ok(Self { keys: Keys::InMemory(keys.into_iter()), _charge: charge });
            };
            bytes += key.len() + OVERHEAD;
            keys.push(key);
        }
        marks::KEYS_SPILLED.hit();
        let sorter_bytes = max_bytes.min(bytes.max(SORTER_BYTES_MIN));
        if !charge.grow(sorter_bytes) {
            return Err(PipelineError::memory_shortage(PURPOSE, true).into());
        }
        let mut spill = Spill::new(engine, PURPOSE, sorter_bytes);
        let mut position = 0u64;
        let mut add = |key: &[u8]| {
            position += 1;
            spill.add(limits, &position.to_be_bytes(), key)
        };
        keys.drain(..).try_for_each(|key| add(&key))?;
        while let Some(key) = execution.next_key()? {
            add(&key)?;
        }
        drop(execution);
        Ok(Self { keys: Keys::Spilled(Box::new(spill.finish(limits)?)), _charge: charge })
    }

    pub fn next(&mut self, limits: &Limits) -> Result<Option<Vec<u8>>> {
        Ok(match &mut self.keys {
            Keys::InMemory(keys) => keys.next(),
            Keys::Spilled(sorted) => sorted.next_value(limits)?.map(<[u8]>::to_vec),
        })
    }
}

fn bytes_max(store: &Store) -> usize {
    let options = store.options();
    options.tuning.gather_bytes.unwrap_or(BYTES_MAX.min(options.memory_bytes / 16))
}
