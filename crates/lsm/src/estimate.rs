//! Estimates: about how many keys lie in a range.

use crate::View;
use crate::files::FileHandle;
use crate::ranges::Covers;
use codec::entry::{EntryIter, Kind, MAX_SEQ, Seq};
use env::Result;
use memtable::Memtable;
use std::sync::Arc;

/// So many entries of a memtable are looked at; those behind them are thought to be like them.
const COUNTED: u64 = 256;
/// So many ranges of deleted keys are left out of a file; what lies in further ones counts as if it were there.
const LEFT_OUT: usize = 64;

impl View {
    /// About how many keys lie from `lower` to below `upper`. Reads the blocks at both ends in each run; a
    /// tombstone counts as one key less, and what range tombstones cover is left out.
    ///
    /// # Errors
    /// [`env::Error::Corrupt`] or [`env::Error::Io`].
    pub fn estimate(&self, lower: &[u8], upper: &[u8]) -> Result<u64> {
        let (mut keys, mut deletes) = (0, 0);
        let mut covers = Covers::new(self.ranges(), MAX_SEQ);
        for memtable in self.memtables() {
            let (puts, gone) = count(memtable, lower, upper, &mut covers);
            keys += puts;
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

/// About how many entries of a file in a range lie under range tombstones that are newer than all of it.
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

/// Keys that are put and keys that are deleted last by a memtable in a range, about.
fn count(memtable: &Arc<Memtable>, lower: &[u8], upper: &[u8], covers: &mut Option<Covers>) -> (u64, u64) {
    let entries = memtable.entries_between(lower, upper);
    if entries == 0 {
        return (0, 0);
    }
    let (mut puts, mut deletes, mut seen) = (0, 0, 0);
    let (mut iter, mut last) = (memtable.iter(), Vec::new());
    // A memtable is in memory: its iterator does not fail.
    let mut on = iter.seek(lower, MAX_SEQ).is_ok();
    while on && iter.valid() && iter.key() < upper && seen < COUNTED {
        let older = seen > 0 && iter.key() == last.as_slice();
        let hidden = covers.as_mut().is_some_and(|covers| iter.seq() < covers.newest(iter.key()));
        seen += 1;
        if !older {
            last.clear();
            last.extend_from_slice(iter.key());
            match iter.kind() {
                _ if hidden => {}
                Kind::Delete => deletes += 1,
                _ => puts += 1,
            }
        }
        on = iter.next().is_ok();
    }
    let of_all = |part: u64| (u128::from(part) * u128::from(entries) / u128::from(seen.max(1))) as u64;
    if entries <= seen { (puts, deletes) } else { (of_all(puts), of_all(deletes)) }
}
