//! Range tombstones in a version: the files that they make superfluous, and the range tombstones
//! that are superfluous themselves.
//!
//! A version holds range tombstones next to its runs, not in files. A range tombstone hides all
//! entries with lower numbers, in any run. Therefore it needs no place among the runs, and files
//! keep the bounds of their entries. Each file records the number up to which all tombstones had
//! been applied to it when it was written (*clean*). A tombstone is removed when no remaining file
//! may hold an entry that it hides: the older entries of its keys are in files by then, because
//! memtables are flushed in order.

use crate::edit::AddedFile;
use crate::files::{Covered, FileHandle};
use crate::version::Version;
use alluvium_codec::entry::{EntryIter, MAX_SEQ, Seq};
use alluvium_codec::ranges::{Fragment, RangeSet};
use alluvium_env::{Error, Result};
use std::path::Path;

/// The number of ranges within a file that are looked up to estimate how much of it is covered.
const SAMPLES: usize = 8;

/// The newest number of a fragment that may hide entries of a file from all snapshots at or above
/// `oldest`; `None` if it hides nothing.
fn hides(file: &FileHandle, fragment: &Fragment, oldest: Seq) -> Option<Seq> {
    let seq = fragment.newest(oldest);
    (seq > file.clean && seq > file.meta.min_seq).then_some(seq)
}

/// The part of a file that tombstones of `ranges` hide if `oldest` is the oldest snapshot. May read
/// some blocks of the file, once for each change.
pub(crate) fn covered(file: &FileHandle, ranges: &RangeSet, oldest: Seq) -> Covered {
    let (smallest, largest) = (file.meta.smallest.as_slice(), file.meta.largest.as_slice());
    let found = ranges.overlapping(smallest, largest).iter().filter_map(|f| Some((f, hides(file, f, oldest)?)));
    let found: Vec<(&Fragment, Seq)> = found.collect();
    let Some(newest) = found.iter().map(|(_, seq)| *seq).max() else { return Covered::default() };
    let fragments = found.len() as u64;
    file.covered(fragments, newest, || {
        let wholly = covers_all(&found, smallest, largest, file.meta.max_seq);
        let entries = if wholly { file.meta.entries } else { estimate(file, &found) };
        Covered { wholly, entries, fragments }
    })
}

/// True if the fragments hide every entry up to `max_seq` from `smallest` to `largest`.
fn covers_all(found: &[(&Fragment, Seq)], smallest: &[u8], largest: &[u8], max_seq: Seq) -> bool {
    let touch = found.windows(2).all(|pair| pair[0].0.end() == pair[1].0.start());
    let reach = found.first().is_some_and(|(first, _)| first.start() <= smallest)
        && found.last().is_some_and(|(last, _)| last.end() > largest);
    touch && reach && found.iter().all(|(_, seq)| *seq > max_seq)
}

fn estimate(file: &FileHandle, found: &[(&Fragment, Seq)]) -> u64 {
    let Ok(reader) = file.reader() else { return 0 };
    let step = found.len().div_ceil(SAMPLES).max(1);
    let sampled = found.iter().step_by(step);
    let (mut entries, mut samples) = (0, 0);
    for (fragment, _) in sampled {
        entries += reader.entries_between(fragment.start(), fragment.end()).unwrap_or(0);
        samples += 1;
    }
    (entries * found.len() as u64 / samples.max(1)).min(file.meta.entries)
}

/// Records in new files that the tombstones of `sets` up to `clean` have been applied to them.
pub(crate) fn mark_clean(files: &mut [AddedFile], sets: &[&RangeSet], clean: Seq) {
    for file in files {
        let covered = |set: &&&RangeSet| !set.overlapping(&file.meta.smallest, &file.meta.largest).is_empty();
        if sets.iter().any(|set| covered(&set)) {
            file.clean = clean;
        }
    }
}

/// The tombstones of a version that hide nothing any more, as ranges with the numbers up to which
/// they can be removed. Considers tombstones that have a key from `low` to `high` or end at `low`:
/// a new range that begins at `low` may have cut them off from the files that needed them. The part
/// of a range that remains is between the outermost files that need it.
pub(crate) fn superfluous(version: &Version, low: &[u8], high: &[u8]) -> RangeSet {
    let mut done = Vec::new();
    let fragments = version.ranges.fragments();
    let from = fragments.partition_point(|fragment| fragment.end() < low);
    for fragment in fragments[from..].iter().take_while(|fragment| fragment.start() <= high) {
        // A file that needs an older tombstone needs the newer ones, too.
        for &seq in fragment.seqs() {
            let Some((first, last)) = needed(version, fragment, seq) else {
                done.push(RangeSet::one(fragment.start(), fragment.end(), seq));
                break;
            };
            let mut behind = last.to_vec();
            behind.push(0);
            done.push(RangeSet::one(fragment.start(), first.min(fragment.end()), seq));
            done.push(RangeSet::one(behind.as_slice().max(fragment.start()), fragment.end(), seq));
        }
    }
    RangeSet::union(done, &[])
}

/// The lowest and the highest key of the files in which a tombstone of a fragment may hide an
/// entry.
fn needed<'a>(version: &'a Version, fragment: &Fragment, seq: Seq) -> Option<(&'a [u8], &'a [u8])> {
    let mut bounds: Option<(&[u8], &[u8])> = None;
    for run in &version.runs {
        for file in run.overlapping(fragment.start(), fragment.end()) {
            let meta = &file.meta;
            if meta.smallest.as_slice() < fragment.end() && meta.min_seq < seq && file.clean < seq {
                let (low, high) = bounds.unwrap_or((&meta.smallest, &meta.largest));
                bounds = Some((low.min(&meta.smallest), high.max(&meta.largest)));
            }
        }
    }
    bounds
}

/// Checks that no range tombstone is newer than the flushed number.
pub(crate) fn verify(version: &Version, dir: &Path) -> Option<Error> {
    let (newest, flushed) = (version.ranges.newest(), version.flushed_seq);
    (newest > flushed).then(|| {
        let what = format!("the manifest has a range tombstone of number {newest}, and is flushed up to {flushed}");
        Error::corrupt(dir, 0, what)
    })
}

/// Looks for entries under range tombstones that were applied to the file.
pub(crate) fn verify_clean(file: &FileHandle, ranges: &RangeSet) -> Result<()> {
    for fragment in ranges.overlapping(&file.meta.smallest, &file.meta.largest) {
        let applied = fragment.newest(file.clean);
        if applied <= file.meta.min_seq {
            continue;
        }
        let mut iter = file.reader()?.iter(false);
        iter.seek(fragment.start(), MAX_SEQ)?;
        while iter.valid() && iter.key() < fragment.end() {
            if iter.seq() < applied {
                let what = format!("key {:02x?} was deleted with its range by number {applied}", iter.key());
                return Err(Error::corrupt(&file.path(), 0, what));
            }
            iter.next()?;
        }
    }
    Ok(())
}
