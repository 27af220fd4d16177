//! The keys of what matches, in the order in which it was found: the first in memory, more than fit there in files.

use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::Execution;
use crate::limits::Limits;
use crate::marks;
use crate::spill::Spill;
use alluvium_readonly::sorter::Sorted;
use alluvium_store::{Charge, Store};

/// The most bytes of memory that keys take.
const BYTES_MAX: usize = 16 << 20;
/// What a key takes in memory beside its bytes.
const OVERHEAD: usize = size_of::<Vec<u8>>();

/// The keys of documents that are to be written.
pub(super) struct FoundKeys {
    source: Source,
    /// The memory that they take.
    _charge: Charge,
}

enum Source {
    Few(std::vec::IntoIter<Vec<u8>>),
    Many(Box<Sorted>),
}

impl FoundKeys {
    /// All that an answer gives.
    pub fn collect(mut execution: Execution, engine: &EngineHandle, limits: &Limits) -> Result<Self> {
        let (most, mut charge) = (bytes_max(engine.store()), engine.store().charge(0));
        let (mut keys, mut bytes) = (Vec::new(), 0);
        while bytes < most {
            let Some(key) = execution.next_key()? else {
                return Ok(Self { source: Source::Few(keys.into_iter()), _charge: charge });
            };
            bytes += key.len() + OVERHEAD;
            if bytes > charge.bytes() {
                charge.resize((2 * bytes).min(most));
            }
            keys.push(key);
        }
        marks::KEYS_SPILLED.hit();
        let mut spill = Spill::new(engine, "what was found", most);
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
        Ok(Self { source: Source::Many(Box::new(spill.finish(limits)?)), _charge: charge })
    }

    pub fn next(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(match &mut self.source {
            Source::Few(keys) => keys.next(),
            Source::Many(sorted) => sorted.next()?.map(|(_, key)| key.to_vec()),
        })
    }
}

fn bytes_max(store: &Store) -> usize {
    let options = store.options();
    options.tuning.gather_bytes.unwrap_or(BYTES_MAX.min(options.memory_bytes / 16))
}
