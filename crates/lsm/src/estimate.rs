//! Estimates of the number of keys in a range.

use crate::covers::Covers;
use crate::files::FileHandle;
use crate::view::View;
use alluvium_codec::entry::{EntryIter, Kind, MAX_SEQ, Seq};
use alluvium_env::Result;
use alluvium_memtable::Memtable;
use std::sync::Arc;

/// About this many entries of a memtable are examined, at [`SAMPLES`] places. The other entries are
/// assumed to be similar.
const COUNTED: u64 = 256;
const SAMPLES: usize = 16;
/// At most this many ranges of deleted keys are subtracted from a file. Keys in further ranges
/// count as existing.
const LEFT_OUT: usize = 64;

impl View {
    /// The approximate number of keys from `lower` to below `upper`. Reads the blocks at both ends
    /// in each run; a tombstone counts as minus one key, and keys under range tombstones are left
    /// out.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`].
    pub fn estimate(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        let (mut keys, mut deletes) = (0, 0);
        let mut covers = Covers::new(self.ranges(), MAX_SEQ);
        for memtable in self.memtables() {
            let (come, gone) = count(memtable, lower, upper, &mut covers);
            keys += come;
            deletes += gone;
        }
        for run in &self.version.runs {
            for file in run.overlapping(lower, upper) {
                let meta = &file.meta;
                let inside = lower <= meta.smallest.as_slice() && meta.largest.as_slice() < upper;
                let mut entries = if inside { meta.entries } else { file.reader()?.entries_between(lower, upper)? };
                if let Some(covers) = &mut covers {
                    entries = entries.saturating_sub(hidden(file, lower, upper, covers)?);
                }
                let tombstones = u128::from(entries) * u128::from(meta.tombstones) / u128::from(meta.entries.max(1));
                let tombstones = u64::try_from(tombstones).unwrap_or(u64::MAX);
                keys += entries.saturating_sub(tombstones);
                deletes += tombstones;
            }
        }
        Ok(keys.saturating_sub(deletes))
    }
}

/// The approximate number of entries that a file has in a range and that are hidden by range
/// tombstones newer than the whole file.
fn hidden(file: &FileHandle, lower: &[u8], upper: &[u8], covers: &mut Covers) -> Result<u64> {
    let mut at = lower.max(&file.meta.smallest).to_vec();
    let mut entries = 0;
    for _ in 0..LEFT_OUT {
        if at.as_slice() >= upper || at > file.meta.largest {
            break;
        }
        let cover: Seq = covers.newest(&at);
        let Some(end) = covers.end() else { break };
        if cover > file.meta.max_seq {
            entries += file.reader()?.entries_between(&at, end.min(upper))?;
        }
        at = end.to_vec();
    }
    Ok(entries)
}

/// The approximate numbers of keys that a memtable adds to a range and removes from it.
fn count(memtable: &Arc<Memtable>, lower: &[u8], upper: &[u8], covers: &mut Option<Covers>) -> (u64, u64) {
    let entries = memtable.entries_between(lower, upper);
    if entries == 0 {
        return (0, 0);
    }
    let few = entries <= COUNTED;
    let starts = if few { vec![lower.to_vec()] } else { memtable.spread_keys(lower, upper, SAMPLES) };
    let each = if few { u64::MAX } else { COUNTED / SAMPLES as u64 };
    let (mut seen, mut come, mut gone) = (0, 0, 0);
    for start in starts {
        let mut iter = memtable.iter();
        // A memtable is in memory, so its iterator does not fail.
        let mut on = iter.seek(&start, MAX_SEQ).is_ok();
        let (mut here, mut key): (u64, Option<KeyChange>) = (0, None);
        while on && iter.valid() && iter.key() < upper {
            if key.as_ref().is_none_or(|key| key.bytes != iter.key()) {
                if here >= each {
                    break;
                }
                key.replace(KeyChange::of(iter.key())).inspect(|done| done.add(&mut come, &mut gone));
            }
            here += 1;
            let hidden = covers.as_mut().is_some_and(|covers| iter.seq() < covers.newest(iter.key()));
            if let (Some(key), false) = (&mut key, hidden) {
                key.older(iter.kind());
            }
            on = iter.next().is_ok();
        }
        key.inspect(|done| done.add(&mut come, &mut gone));
        seen += here;
    }
    let of_all = |part: u64| (u128::from(part) * u128::from(entries) / u128::from(seen.max(1))) as u64;
    if few { (come, gone) } else { (of_all(come), of_all(gone)) }
}

/// The effect of a memtable's entries on one key.
struct KeyChange {
    bytes: Vec<u8>,
    /// The newest and the oldest full write of the key; true if the write is a value, false if it
    /// is a delete.
    newest: Option<bool>,
    oldest: Option<bool>,
}

impl KeyChange {
    fn of(key: &[u8]) -> Self {
        Self { bytes: key.to_vec(), newest: None, oldest: None }
    }

    /// Adds the next older entry of the key.
    fn older(&mut self, kind: Kind) {
        // A delta creates no key.
        let is_value = match kind {
            Kind::Put | Kind::Folded => true,
            Kind::Delete | Kind::RangeDelete => false,
            Kind::Delta => return,
        };
        self.newest.get_or_insert(is_value);
        self.oldest = Some(is_value);
    }

    /// A key whose oldest full write is a delete is assumed to exist below. A key whose oldest full
    /// write is a value is assumed not to exist below.
    fn add(&self, come: &mut u64, gone: &mut u64) {
        *come += u64::from(self.newest == Some(true));
        *gone += u64::from(self.oldest == Some(false));
    }
}
