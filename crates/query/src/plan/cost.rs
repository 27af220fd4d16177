//! Estimated costs of plans, in microseconds of one thread.
//!
//! The constants were measured with the engine, for uncached blocks of 4 KB. A block takes about 7
//! µs to decode, and holds about ten rows or 200 entries. Only the ratios of the constants matter:
//! an index is cheaper up to about an eighth of the documents.

use super::interval::Intervals;
use super::ranges::{PartBounds, id_ranges, ranges_of};
use super::selectivity::{POINT, width};
use super::{Collection, Index};
use crate::index::Order;

/// The time for a document in a scan of all documents, per KB of its row, but at least for one KB.
pub const SCAN_DOCUMENT_US: f64 = 1.0;
/// The time for an entry of usual length in a scan of an index.
pub const SCAN_ENTRY_US: f64 = 0.15;
/// The time to fetch a document by its `_id`.
pub const FETCH_US: f64 = 8.0;
/// The time to seek to the start of a range, in each partition.
pub const SEEK_US: f64 = 8.0;
/// The number of entries outside the bounds that a reader skips one by one, in each partition,
/// before it seeks the next key that may be within the bounds. Skipping them costs about as much as
/// a seek.
pub const JUMP_ENTRIES: u32 = 32;
/// The maximum number of ranges for which an index is sampled.
const ESTIMATED_RANGES: usize = 16;
/// The time to compare two documents in a sort.
pub const COMPARE_US: f64 = 0.1;
/// The time to evaluate conditions on the values of an entry.
pub const ASK_ENTRY_US: f64 = 0.5;
/// The time for one `_id` in a union or an intersection.
pub const DEDUPLICATE_US: f64 = 0.1;

/// The maximum size of an entry in bytes for which [`SCAN_ENTRY_US`] is the time. Longer entries cost more.
const ENTRY_BYTES: f64 = 64.0;

/// The time for an entry in a scan of this index; longer entries take longer.
pub(super) fn scan_entry_us(index: &Index<'_>) -> f64 {
    let bytes = index.bytes as f64 / index.entries.max(1) as f64;
    SCAN_ENTRY_US * (bytes / ENTRY_BYTES).max(1.0)
}

/// The estimated cost of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Time in microseconds.
    pub time_us: f64,
    /// The number of index entries read.
    pub entries: f64,
    /// The number of documents read.
    pub documents: f64,
}

impl Cost {
    pub(super) fn add(self, other: Self) -> Self {
        Self {
            time_us: self.time_us + other.time_us,
            entries: self.entries + other.entries,
            documents: self.documents + other.documents,
        }
    }

    pub(super) fn part(self, fraction: f64) -> Self {
        Self {
            time_us: self.time_us * fraction,
            entries: self.entries * fraction,
            documents: self.documents * fraction,
        }
    }

    pub(super) fn of_time(time_us: f64) -> Self {
        Self { time_us, ..Self::default() }
    }
}

/// The estimated work of an index scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanEstimate {
    /// The number of seeks.
    pub seeks: f64,
    /// The number of entries read.
    pub entries: f64,
    /// The number of entries within all bounds.
    pub within: f64,
    /// The number of documents to which these entries belong.
    pub documents: f64,
}

impl ScanEstimate {
    pub fn of(bounds: &[PartBounds], index: &Index<'_>, collection: &Collection<'_>) -> Self {
        let (mut looked, mut behind, mut seeks) = (1.0, 1.0, 1.0);
        let mut leading = true;
        for (at, part) in bounds.iter().enumerate() {
            let fraction = part_fraction(part, at, index);
            if leading {
                looked *= fraction;
                seeks *= part.intervals.len().max(1) as f64;
                leading = part.is_points();
            } else {
                behind *= fraction;
            }
        }
        if let Some(share) = share_of_ranges(bounds, index, collection) {
            looked = share;
        }
        let within = looked * behind;
        let entries = index.entries as f64;
        if let Some(groups) = groups(bounds, index) {
            // For each group of equal values in the parts before the bounds, the reader skips some
            // entries and then seeks.
            let partitions = f64::from(collection.partitions);
            let jumped = entries * within + groups * partitions * f64::from(JUMP_ENTRIES);
            let time = |seeks: f64, entries: f64| seeks * partitions * SEEK_US + entries * SCAN_ENTRY_US;
            if time(seeks + groups, jumped) < time(seeks, entries * looked) {
                (seeks, looked) = (seeks + groups, jumped / entries.max(1.0));
            }
        }
        let per_document = (entries / (collection.documents.max(1) as f64)).max(1.0);
        let met = entries * within;
        Self { seeks, entries: entries * looked, within: met, documents: met / per_document }
    }
}

/// The fraction of entries in the ranges of a scan, if the estimator knows it.
fn share_of_ranges(bounds: &[PartBounds], index: &Index<'_>, collection: &Collection<'_>) -> Option<f64> {
    let estimator = collection.estimator?;
    if bounds.first().is_none_or(PartBounds::is_all) {
        return None;
    }
    // The number of ranges is at least the number of intervals of each leading part.
    let mut leading = bounds.iter().take_while(|part| part.is_points());
    if leading.any(|part| part.intervals.len() > ESTIMATED_RANGES) {
        return None;
    }
    let ranges = ranges_of(bounds);
    if ranges.len() > ESTIMATED_RANGES { None } else { estimator.share(index, &ranges) }
}

/// The fraction of the documents in a set of `_id`s. It comes from the estimator if the choice of a
/// plan depends on it, otherwise from a rule of thumb.
pub(super) fn share_of_ids(set: &Intervals, collection: &Collection<'_>) -> f64 {
    let looks = !set.is_all() && set.0.len() <= ESTIMATED_RANGES && !collection.indexes.is_empty();
    let estimator = collection.estimator.filter(|_| looks);
    estimator.and_then(|estimator| estimator.share_of_ids(&id_ranges(&set.0))).unwrap_or_else(|| width(set))
}

/// The number of groups of entries with equal values in the parts before the last part with bounds.
/// `None` if it is unknown, or if each group has its own range.
fn groups(bounds: &[PartBounds], index: &Index<'_>) -> Option<f64> {
    let last = bounds.iter().rposition(|part| !part.is_all())?;
    let is_loose = bounds[..last].iter().any(|part| !part.is_points());
    let distinct = *index.distinct.get(last.checked_sub(1)?)?;
    let share: f64 = bounds[..last].iter().enumerate().map(|(at, part)| part_fraction(part, at, index)).product();
    is_loose.then_some((distinct as f64 * share).max(1.0))
}

/// The fraction of entries within the bounds of a part.
fn part_fraction(part: &PartBounds, at: usize, index: &Index<'_>) -> f64 {
    let before = if at == 0 { Some(1) } else { index.distinct.get(at - 1).copied() };
    let distinct = match (index.distinct.get(at), before) {
        (Some(with), Some(without)) => Some((*with as f64 / without.max(1) as f64).max(1.0)),
        _ => None,
    };
    match distinct {
        Some(distinct) if part.is_points() => (part.intervals.len() as f64 / distinct).min(1.0),
        _ if part.is_all() => 1.0,
        // A hashed part supports only equality.
        _ if part.part.order == Order::Hashed => (part.intervals.len() as f64 * POINT).min(1.0),
        _ => part.width,
    }
}

/// The cost to sort `documents` documents, of which only the first `first` are needed.
pub(super) fn sort(documents: f64, first: Option<u64>) -> Cost {
    let held = first.map_or(documents, |first| documents.min(first as f64)).max(1.0);
    Cost::of_time(documents * COMPARE_US * (held + 1.0).log2().max(1.0))
}
