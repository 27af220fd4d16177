//! The compression dictionary of each tree: trained from a large output, shared by all partitions,
//! and trained again when its compression ratio drifts.
//!
//! Locking: one lock over the slots, a leaf; training runs without it.

use crate::marks;
use alluvium_env::sync::Mutex;
use alluvium_sst::{Dictionary, DictionaryRegistry};
use std::collections::HashMap;
use std::sync::Arc;

/// A tree's dictionary is trained again when the average ratio has become worse by this factor
/// since the training.
const DRIFT: f64 = 1.15;
/// The weight of a new file in the moving average.
const NEW_FILE_WEIGHT: f64 = 0.25;
/// Training reads at most this many bytes of samples. More samples take more time and hardly
/// improve the dictionary.
const SAMPLE_BYTES: usize = 1 << 20;

#[derive(Default)]
struct Slot {
    dictionary: Option<Arc<Dictionary>>,
    /// True while a thread trains for this tree; other threads use the present dictionary.
    training: bool,
    /// The ratio of compressed to raw bytes of the first file after training.
    first_ratio: Option<f64>,
    /// The moving average of the ratio since then.
    average_ratio: f64,
    /// The number of outputs in a row for which training failed. After failures, some outputs are
    /// skipped.
    failures: u32,
    skip: u32,
}

impl Slot {
    fn drifted(&self) -> bool {
        self.first_ratio.is_some_and(|first| self.average_ratio > first * DRIFT)
    }
}

/// The dictionaries in use by tree.
pub(crate) struct Dictionaries {
    slots: Mutex<HashMap<u32, Slot>>,
}

impl Dictionaries {
    pub fn new() -> Self {
        Self { slots: Mutex::new(HashMap::new()) }
    }

    /// Returns the dictionary for an output of `tree`. Calls `train` on the output's first entries
    /// if the tree has no dictionary or if the present one has drifted.
    pub fn choose(
        &self,
        tree: u32,
        registry: &DictionaryRegistry,
        train: &dyn Fn() -> Option<Dictionary>,
    ) -> Option<Arc<Dictionary>> {
        {
            let mut slots = self.slots.lock();
            let slot = slots.entry(tree).or_default();
            let wanted = slot.dictionary.is_none() || slot.drifted();
            if !wanted || slot.training {
                return slot.dictionary.clone();
            }
            if slot.skip > 0 {
                slot.skip -= 1;
                return slot.dictionary.clone();
            }
            slot.training = true;
        }
        let trained = train().map(|dictionary| registry.intern(dictionary));
        let mut slots = self.slots.lock();
        let slot = slots.entry(tree).or_default();
        slot.training = false;
        match trained {
            Some(dictionary) => {
                if slot.dictionary.is_some() {
                    marks::DICTIONARY_RETRAINED.hit();
                }
                *slot = Slot { dictionary: Some(dictionary), ..Slot::default() };
            }
            None => {
                slot.failures = (slot.failures + 1).min(6);
                slot.skip = 1 << slot.failures;
            }
        }
        slot.dictionary.clone()
    }

    /// True if the tree has a dictionary, or a thread trains one.
    pub fn has(&self, tree: u32) -> bool {
        self.slots.lock().get(&tree).is_some_and(|slot| slot.dictionary.is_some() || slot.training)
    }

    /// Sets the dictionary that a tree's files use already, unless the tree has one.
    pub fn adopt(&self, tree: u32, dictionary: Arc<Dictionary>) {
        self.slots.lock().entry(tree).or_default().dictionary.get_or_insert(dictionary);
    }

    /// Records the ratio that a dictionary achieved in a whole file of one tree.
    pub fn achieved(&self, tree: u32, dictionary_id: u64, compressed_bytes: u64, raw_bytes: u64) {
        if raw_bytes == 0 {
            return;
        }
        let ratio = compressed_bytes as f64 / raw_bytes as f64;
        let mut slots = self.slots.lock();
        let Some(slot) = slots.get_mut(&tree) else { return };
        if slot.dictionary.as_ref().map(|dictionary| dictionary.id()) != Some(dictionary_id) {
            return;
        }
        match slot.first_ratio {
            None => (slot.first_ratio, slot.average_ratio) = (Some(ratio), ratio),
            Some(_) => slot.average_ratio += (ratio - slot.average_ratio) * NEW_FILE_WEIGHT,
        }
    }

    /// Removes the slot of a dropped tree.
    pub fn forget(&self, tree: u32) {
        self.slots.lock().remove(&tree);
    }
}

/// Takes [`SAMPLE_BYTES`] of values, spread evenly over the input.
pub(crate) fn sample<'a>(values: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let total: usize = values.iter().map(|value| value.len()).sum();
    let step = total.div_ceil(SAMPLE_BYTES).max(1);
    values.iter().copied().filter(|value| !value.is_empty()).step_by(step).collect()
}
