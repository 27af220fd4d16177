//! Keys that a stage has seen, in memory or in files.

use super::gather::Held;
use super::host::Host;
use super::run::Run;
use crate::source::KeySet;
use hashbrown::HashSet;

/// The memory of a key in a set, in addition to its bytes.
const KEY_BYTES: usize = 64;

/// Longer keys are counted even when they are in files, because parts of the files that are read into memory contain
/// whole keys.
const LONG_BYTES: usize = 64 << 10;

/// The most keys of a file that are in memory at the same time. While runs are merged, these are the keys that are read
/// and the key that is written, each with a copy.
const KEYS_AT_ONCE: usize = 10;

/// Keys that a stage has seen.
pub(super) struct Known<H: Host> {
    stage: &'static str,
    keys: HashSet<Vec<u8>>,
    /// The memory of `keys`.
    bytes: usize,
    files: Option<H::KeySet>,
    /// The longest key in the files, and the memory for reading keys of that length.
    longest: usize,
    held: Option<Held<H>>,
}

impl<H: Host> Known<H> {
    /// No keys yet.
    pub fn new(stage: &'static str) -> Self {
        Self { stage, keys: HashSet::new(), bytes: 0, files: None, longest: 0, held: None }
    }

    /// The memory of the keys that are not in files.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds the keys of these items. Returns the items whose keys are new, in the order of the keys. If several items
    /// have the same key, returns the first of them.
    pub fn add<T>(&mut self, run: &Run<H>, mut items: Vec<(Vec<u8>, T)>) -> Result<Vec<T>, H::Error> {
        items.sort_by(|(a, _), (b, _)| a.cmp(b));
        items.dedup_by(|(later, _), (first, _)| later == first);
        items.retain(|(key, _)| !self.keys.contains(key));
        if let Some(files) = &mut self.files
            && !items.is_empty()
        {
            let keys: Vec<&[u8]> = items.iter().map(|(key, _)| &key[..]).collect();
            let mut known = files.contains(&run.settings.limits, &keys)?.into_iter();
            items.retain(|_| known.next() == Some(false));
        }
        let new = items.into_iter().map(|(key, item)| {
            self.bytes += key.len() + KEY_BYTES;
            self.keys.insert(key);
            item
        });
        Ok(new.collect())
    }

    /// Moves the keys in memory to files if they take more than this number of bytes.
    pub fn spill_above(&mut self, run: &Run<H>, bytes_max: usize) -> Result<(), H::Error> {
        if self.bytes <= bytes_max {
            return Ok(());
        }
        let mut keys: Vec<Vec<u8>> = std::mem::take(&mut self.keys).into_iter().collect();
        self.bytes = 0;
        keys.sort_unstable();
        self.longest = keys.iter().map(Vec::len).fold(self.longest, usize::max);
        if self.longest > LONG_BYTES {
            let held = self.held.get_or_insert_with(|| Held::in_memory(run, self.stage));
            held.set(KEYS_AT_ONCE * self.longest)?;
        }
        self.files.get_or_insert_with(|| run.host.key_set(self.stage)).add(&run.settings.limits, &keys)
    }
}
