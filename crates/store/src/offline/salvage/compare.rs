//! Comparing the log and the sorted files of a damaged store.

use super::Loss;
use super::entry::{OwnedEntry, index_of};
use super::files::{FoundFiles, SalvagedPartition};
use super::log::SalvagedLog;
use crate::error::Result;
use crate::report::LostNumbers;
use alluvium_codec::entry::{Kind, Seq};
use alluvium_env::Env;
use std::collections::BTreeSet;

/// Compares the log with the files. Determines which numbers are lost, and which operations of the log are used.
pub(super) fn compare(env: &Env, log: &mut SalvagedLog, found: &mut FoundFiles) -> Result<()> {
    let FoundFiles { partitions, losses, .. } = found;
    let flushed: Vec<Seq> = partitions.iter().zip(&log.flushed).map(|(p, noted)| p.flushed.max(*noted)).collect();
    let lowest = flushed.iter().min().copied();
    let reached = partitions.iter().flat_map(|partition| partition.reaches.values());
    let highest = flushed.iter().chain(reached).max().copied().unwrap_or(0);
    if log.segments == 0 {
        let dir = log.dir.display();
        log.notes.push(format!(
            "the log {dir} is missing: operations that were in memory only are lost, and their number is not known"
        ));
        log.lost.push(LostNumbers { first: lowest.unwrap_or(0) + 1, last: Seq::MAX });
    } else if log.released > 0 && log.released >= log.needed {
        log.notes.push(format!("the oldest segment of the log {} is missing", log.dir.display()));
        log.lost.push(LostNumbers { first: log.needed.max(1), last: log.released });
    }
    if log.segments > 0 && highest >= log.expected.max(1) {
        log.notes.push(format!("the end of the log {} is missing", log.dir.display()));
        log.lose(highest);
    }
    if log.open_end {
        log.notes.push("the end of the log is not known: operations that were in memory only may be lost".to_owned());
        let first = log.expected.max(lowest.unwrap_or(0) + 1);
        log.lost.push(LostNumbers { first, last: Seq::MAX });
    }
    // A gap counts even if everything in it was flushed long ago: the log before the gap is out of date.
    let whole = log.lost.is_empty();
    // Operations that every partition has in files are not lost, even if the log lacks them.
    log.lost.retain(|lost| lowest.is_none_or(|lowest| lost.last > lowest));
    let indexes = if whole { BTreeSet::new() } else { indexes(env, log, partitions)? };
    let all = log.entries.iter_mut().zip(&flushed).zip(partitions.iter_mut());
    for (index, ((entries, flushed), partition)) in (0..).zip(all) {
        partition.flushed = *flushed;
        let reached = partition.reached(&indexes);
        // If the log has a gap, a later operation in the gap may have deleted an old write of the log, and the files
        // have that delete. A range tombstone hides older keys for good. A complete manifest has the range itself, or
        // has dropped it.
        let ranges_too = !partition.listed;
        let lost: Vec<&Loss> = losses.iter().filter(|loss| loss.partition == index && loss.entries).collect();
        entries.retain(|entry| match entry.kind {
            Kind::RangeDelete => whole || entry.seq > *flushed || ranges_too,
            // The file that had the entry may be lost. Then the log has the last copy.
            _ => whole || entry.seq > *flushed || may_be_lost(&lost, entry),
        });
        for entry in entries {
            entry.latest = whole;
            entry.may_be_outdated = !whole && entry.seq <= reached.max(*flushed);
        }
    }
    Ok(())
}

/// True if a lost file, or a lost part of a file, may have had the entry.
fn may_be_lost(losses: &[&Loss], entry: &OwnedEntry) -> bool {
    let key = entry.key.as_slice();
    losses.iter().any(|loss| loss.from.as_slice() <= key && loss.to.as_deref().is_none_or(|to| key <= to))
}

/// The known trees of indexes. An index may be built from documents that are older than the files of the index.
fn indexes(env: &Env, log: &SalvagedLog, partitions: &[SalvagedPartition]) -> Result<BTreeSet<u32>> {
    let mut found = partitions.first().map_or(Ok(BTreeSet::new()), |registry| registry.indexes(env, &log.stop))?;
    found.extend(log.entries.iter().flatten().filter_map(|entry| index_of(&entry.key)));
    Ok(found)
}
