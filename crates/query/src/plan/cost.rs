//! What plans cost: estimates in microseconds of one thread.
//!
//! The figures are those of the engine with blocks of 4 KB that are not cached (a block takes some 7 µs to decode and
//! holds some ten rows, or some 200 entries). What matters is how they stand to each other: an index pays up to about an
//! eighth of the documents.

use std::collections::BTreeMap;

use alluvium_document::Value;
use alluvium_document::compare::{compare, type_rank};
use alluvium_document::row::ID;

use super::interval::{Interval, Intervals, bracket};
use super::scan::{id_ranges, ranges_of};
use super::{Collection, Index, PartBounds};
use crate::filter::Filter;
use crate::filter::tree::{Clause, Comparison, Condition, Test};
use crate::index::Order;

/// A document met in a scan of all, for each KB of its row; at least one is counted.
pub const SCAN_DOCUMENT_US: f64 = 1.0;
/// An entry of usual length met in a scan of an index.
pub const SCAN_ENTRY_US: f64 = 0.15;
/// A document fetched by its `_id`.
pub const FETCH_US: f64 = 8.0;
/// The beginning of a range, in each partition.
pub const SEEK_US: f64 = 8.0;
/// So many entries outside the bounds are looked at one by one, for each partition, before a reader seeks the next that may be
/// within: about what a seek costs.
pub const JUMP_ENTRIES: u32 = 32;
/// The most ranges of a scan that an index is looked into for.
const ESTIMATED_RANGES: usize = 16;
/// A comparison of two documents in a sort.
pub const COMPARE_US: f64 = 0.1;
/// Conditions asked of the values of an entry.
pub const ASK_ENTRY_US: f64 = 0.5;
/// An `_id` in a union or an intersection.
pub const DEDUPLICATE_US: f64 = 0.1;

/// The bytes of an entry, up to which it costs [`SCAN_ENTRY_US`].
const ENTRY_BYTES: f64 = 64.0;

/// An entry met in a scan of this index: long ones take longer.
pub(super) fn scan_entry_us(index: &Index<'_>) -> f64 {
    let bytes = index.bytes as f64 / index.entries.max(1) as f64;
    SCAN_ENTRY_US * (bytes / ENTRY_BYTES).max(1.0)
}

/// What a plan is thought to cost.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// Time in microseconds.
    pub time_us: f64,
    /// Index entries that are looked at.
    pub entries: f64,
    /// Documents that are looked at.
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

/// What a scan of an index meets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Met {
    /// Beginnings of ranges.
    pub seeks: f64,
    /// Entries that are looked at.
    pub entries: f64,
    /// Entries within all bounds.
    pub within: f64,
    /// Documents that they are of.
    pub documents: f64,
}

impl Met {
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
            // Each group of the same values before the bounds is begun by a seek, behind a few entries.
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

/// The share of the entries that lie in the ranges of a scan, as far as somebody has looked.
fn share_of_ranges(bounds: &[PartBounds], index: &Index<'_>, collection: &Collection<'_>) -> Option<f64> {
    let estimator = collection.estimator?;
    if bounds.first().is_none_or(PartBounds::is_all) {
        return None;
    }
    // The ranges are at least as many as any of the leading parts says.
    let mut leading = bounds.iter().take_while(|part| part.is_points());
    if leading.any(|part| part.intervals.len() > ESTIMATED_RANGES) {
        return None;
    }
    let ranges = ranges_of(bounds);
    if ranges.len() > ESTIMATED_RANGES { None } else { estimator.share(index, &ranges) }
}

/// The share of the documents in a set of `_id`s: as somebody finds who looks, where there is a choice; else as a rule.
pub(super) fn share_of_ids(set: &Intervals, collection: &Collection<'_>) -> f64 {
    let looks = !set.is_all() && set.0.len() <= ESTIMATED_RANGES && !collection.indexes.is_empty();
    let estimator = collection.estimator.filter(|_| looks);
    estimator.and_then(|estimator| estimator.share_of_ids(&id_ranges(&set.0))).unwrap_or_else(|| width(set))
}

/// How many groups of entries there are that a scan looks for, each with the same values in the parts before the last one that
/// has bounds; none if that is not known, or if the ranges of the scan tell them apart.
fn groups(bounds: &[PartBounds], index: &Index<'_>) -> Option<f64> {
    let last = bounds.iter().rposition(|part| !part.is_all())?;
    let is_loose = bounds[..last].iter().any(|part| !part.is_points());
    let distinct = *index.distinct.get(last.checked_sub(1)?)?;
    let share: f64 = bounds[..last].iter().enumerate().map(|(at, part)| part_fraction(part, at, index)).product();
    is_loose.then_some((distinct as f64 * share).max(1.0))
}

/// The share of the entries that a part's bounds leave.
fn part_fraction(part: &PartBounds, at: usize, index: &Index<'_>) -> f64 {
    let before = if at == 0 { Some(1) } else { index.distinct.get(at - 1).copied() };
    let distinct = match (index.distinct.get(at), before) {
        (Some(with), Some(without)) => Some((*with as f64 / without.max(1) as f64).max(1.0)),
        _ => None,
    };
    match distinct {
        Some(distinct) if part.is_points() => (part.intervals.len() as f64 / distinct).min(1.0),
        _ if part.is_all() => 1.0,
        // A hash leaves nothing but equality.
        _ if part.part.order == Order::Hashed => (part.intervals.len() as f64 * POINT).min(1.0),
        _ => part.width,
    }
}

/// Shares of values where nothing is known of them.
const POINT: f64 = 0.01;
const BETWEEN: f64 = 0.1;
const BESIDE: f64 = 0.33;
const OF_TYPE: f64 = 0.9;

/// The share of values in a set.
pub(super) fn width(set: &Intervals) -> f64 {
    fraction_of(&set.0)
}

fn fraction_of(intervals: &[Interval]) -> f64 {
    let one = |interval: &Interval| {
        if interval.is_point() {
            return POINT;
        }
        if interval.is_all() {
            return 1.0;
        }
        if matches!(interval.low.value, Value::Regex(_)) && matches!(interval.high.value, Value::Regex(_)) {
            // Whoever looks for texts takes stored regular expressions along; there are hardly any.
            return 0.0;
        }
        let (low, high) = bracket(&interval.low.value);
        let from_end = compare(&low.value, &interval.low.value).is_eq();
        let to_end = compare(&high.value, &interval.high.value).is_eq();
        match (from_end, to_end) {
            (true, true) => OF_TYPE,
            (false, true) | (true, false) => BESIDE,
            _ if type_rank(&interval.low.value) == type_rank(&interval.high.value) => BETWEEN,
            _ => OF_TYPE,
        }
    };
    let mut share = 0.0;
    for interval in intervals {
        share += one(interval);
        if share >= 1.0 {
            return 1.0;
        }
    }
    share
}

/// The share of the documents that match.
pub(super) fn selectivity(filter: &Filter, shares: &Shares<'_>) -> f64 {
    let of_clause = |clause: &Clause| match clause {
        Clause::Field { path, condition } => of_condition(&path.text, condition, shares),
        Clause::Or(branches) => branches.iter().map(|branch| selectivity(branch, shares)).sum::<f64>().min(1.0),
        Clause::Nor(branches) => 1.0 - branches.iter().map(|branch| selectivity(branch, shares)).sum::<f64>().min(1.0),
    };
    filter.clauses.iter().map(of_clause).product()
}

fn of_condition(path: &str, condition: &Condition, shares: &Shares<'_>) -> f64 {
    let test = match condition {
        Condition::Test(test) => test,
        Condition::Not(conditions) => {
            return 1.0 - conditions.iter().map(|one| of_condition(path, one, shares)).product::<f64>();
        }
    };
    match test {
        Test::Compare(Comparison::Equal, _) => shares.of_one(path),
        Test::In(list) => (shares.of_one(path) * (list.values.len() + list.patterns.len()) as f64).min(1.0),
        Test::Compare(..) => BESIDE,
        Test::Exists => OF_TYPE,
        Test::Regex(_) | Test::Mod { .. } | Test::Size(_) | Test::ElemMatch(_) => BETWEEN,
        Test::Type(_) | Test::Bits(_) => 0.5,
    }
}

/// The share of the values within its bounds that a condition leaves; none if bounds tell nearly all that it says.
pub(super) fn within_bounds(condition: &Condition) -> Option<f64> {
    match condition {
        Condition::Test(Test::Regex(pattern)) => match pattern.prefix() {
            None => Some(BETWEEN),
            // Nothing but `^` and the prefix.
            Some(prefix) if pattern.source().pattern.len() <= prefix.len() + 1 => None,
            Some(_) => Some(1.0),
        },
        Condition::Test(Test::In(list)) if list.patterns.iter().any(|pattern| pattern.prefix().is_none()) => {
            Some((list.patterns.len() as f64 * BETWEEN).min(1.0))
        }
        Condition::Test(Test::Mod { .. }) => Some(BETWEEN),
        Condition::Test(Test::Bits(_)) => Some(0.5),
        Condition::Not(conditions) => {
            let left = conditions.iter().filter_map(within_bounds).product::<f64>();
            (left < 1.0).then_some(1.0 - left)
        }
        Condition::Test(_) => None,
    }
}

/// The shares of documents with one value at a path, where an index knows them.
pub(super) struct Shares<'a>(BTreeMap<&'a str, f64>);

impl<'a> Shares<'a> {
    pub fn of(collection: &Collection<'a>) -> Self {
        let share = |count: u64| 1.0 / count.max(1) as f64;
        let mut shares = BTreeMap::from([(ID, share(collection.documents))]);
        for index in collection.indexes {
            if let (Some(part), Some(distinct)) = (index.definition.parts().first(), index.distinct.first()) {
                shares.entry(part.path.as_str()).or_insert_with(|| share(*distinct));
            }
        }
        Self(shares)
    }

    fn of_one(&self, path: &str) -> f64 {
        self.0.get(path).copied().unwrap_or(POINT)
    }
}

/// A sort of so many documents, of which the first are wanted.
pub(super) fn sort(documents: f64, first: Option<u64>) -> Cost {
    let held = first.map_or(documents, |first| documents.min(first as f64)).max(1.0);
    Cost::of_time(documents * COMPARE_US * (held + 1.0).log2().max(1.0))
}
