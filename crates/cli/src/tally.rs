//! Counts of documents by the values of fields, within a limit of memory.

use alluvium::Value;
use alluvium_document::key;
use std::collections::HashMap;

/// The maximum number of bytes for the values of a tally.
pub(crate) const MOST_BYTES: usize = 128 << 20;
/// The approximate size of an entry in the table, without its values.
const ENTRY_BYTES: usize = 96;

/// The error for values that take more memory than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// The number of different values when the limit was reached.
    pub values: u64,
}

/// Counts for each combination of values. Numbers that are equal count as one value, even if their types differ; the
/// first one is kept.
pub(crate) struct Tally {
    counts: HashMap<Box<[u8]>, Entry>,
    bytes: usize,
    bytes_max: usize,
    /// A buffer that is reused.
    key: Vec<u8>,
}

struct Entry {
    values: Vec<Value>,
    count: u64,
}

/// A combination of values, and the number of documents that have it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    pub values: Vec<Value>,
    pub count: u64,
}

impl Tally {
    /// An empty tally that takes at most about this many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { counts: HashMap::new(), bytes: 0, bytes_max, key: Vec::new() }
    }

    /// Counts one document with these values.
    ///
    /// # Errors
    /// [`TooMany`] if the limit is reached; the document is not counted then.
    pub(crate) fn add(&mut self, values: &[Value]) -> Result<(), TooMany> {
        self.key.clear();
        values.iter().for_each(|value| key::encode(value, &mut self.key));
        if let Some(entry) = self.counts.get_mut(self.key.as_slice()) {
            entry.count += 1;
            return Ok(());
        }
        // The key and the values themselves, which have about the same size.
        let bytes = ENTRY_BYTES + 2 * self.key.len() + size_of_val(values);
        if self.bytes + bytes > self.bytes_max {
            return Err(TooMany { values: self.counts.len() as u64 });
        }
        self.bytes += bytes;
        self.counts.insert(self.key.as_slice().into(), Entry { values: values.to_vec(), count: 1 });
        Ok(())
    }

    /// The values, the most frequent first; values of the same frequency are sorted.
    pub(crate) fn into_counted(self) -> Vec<Counted> {
        let mut all: Vec<(Box<[u8]>, Entry)> = self.counts.into_iter().collect();
        all.sort_unstable_by(|(key, entry), (other_key, other)| {
            other.count.cmp(&entry.count).then_with(|| key.cmp(other_key))
        });
        all.into_iter().map(|(_, Entry { values, count })| Counted { values, count }).collect()
    }
}

#[cfg(test)]
mod tests;
