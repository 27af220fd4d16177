//! The bounds of the parts of an index, as values and as bytes of keys.

use std::sync::Arc;

use alluvium_document::Value;

use super::interval::{Edge, Interval, Intervals};
use super::selectivity::width;
use crate::index::{Order, Part, put_edge, put_index_part, put_part, skip_part};

/// The maximum number of ranges of one scan. If more would be needed, some bounds are checked on
/// each entry instead ([`super::IndexScan::place`]).
const RANGES_MAX: usize = 4096;

/// The values of one part within the bounds of a scan.
#[derive(Debug, Clone, PartialEq)]
pub struct PartBounds {
    /// The part.
    pub part: Part,
    /// The intervals in ascending order of values, whatever the order of the part. For a hashed
    /// part they are single values, or all values.
    pub intervals: Arc<[Interval]>,
    /// The intervals as ranges of encoded keys of this part, in ascending order.
    pub(super) ranges: Arc<[KeyRange]>,
    /// True if each interval is a single value.
    pub(super) points: bool,
    /// The estimated fraction of values within the bounds, without statistics.
    pub(super) width: f64,
}

/// A range of keys from `from` (inclusive) to `to` (exclusive).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The inclusive start.
    pub from: Vec<u8>,
    /// The exclusive end; `None` if the range has no end.
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    /// True if the range contains the bytes.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.from.as_slice() <= bytes && self.to.as_deref().is_none_or(|to| bytes < to)
    }

    /// Extends the range to the end of the next range, if both have keys in common. Returns true in that case.
    fn merge(&mut self, next: &Self) -> bool {
        let meets = self.to.as_ref().is_none_or(|to| next.from < *to);
        if meets && self.to.is_some() && next.to.as_ref().is_none_or(|to| Some(to) > self.to.as_ref()) {
            self.to.clone_from(&next.to);
        }
        meets
    }

    fn behind(&self, prefix: &[u8]) -> Self {
        let from = [prefix, &self.from].concat();
        let to = match &self.to {
            Some(to) => Some([prefix, to].concat()),
            None => after(prefix.to_vec()),
        };
        Self { from, to }
    }
}

impl PartBounds {
    pub(super) fn new(part: &Part, set: &Intervals) -> Self {
        let all = Intervals::all();
        let set = if part.order == Order::Hashed && !set.is_points() { &all } else { set };
        let mut ranges: Vec<KeyRange> = set.0.iter().map(|interval| range(interval, part.order)).collect();
        ranges.sort_by(|a, b| a.from.cmp(&b.from));
        // Ranges may overlap: different values may have the same hash, and ranges that end at long
        // values may share keys.
        ranges.dedup_by(|next, last| last.merge(next));
        let points = set.is_points();
        let (intervals, width) = (set.0.as_slice().into(), width(set));
        Self { part: part.clone(), intervals, ranges: ranges.into(), points, width }
    }

    /// True if the bounds contain all values.
    pub fn is_all(&self) -> bool {
        matches!(&self.intervals[..], [only] if only.is_all())
    }

    /// True if the bounds contain exactly one value.
    pub fn is_point(&self) -> bool {
        matches!(&self.intervals[..], [only] if only.is_point())
    }

    /// True if the bounds consist of single values.
    pub fn is_points(&self) -> bool {
        self.points
    }

    /// True if the encoded key of the part is within the bounds.
    pub(super) fn admits(&self, bytes: &[u8]) -> bool {
        let at = self.ranges.partition_point(|range| range.from.as_slice() <= bytes);
        at.checked_sub(1).is_some_and(|at| self.ranges[at].contains(bytes))
    }

    /// Skips the encoded key of the part. Returns false if the input does not begin with such a key.
    pub(super) fn skip(&self, rest: &mut &[u8]) -> bool {
        skip_part(rest, self.part.order).is_ok()
    }
}

/// As [`super::IndexScan::ranges`].
pub(super) fn ranges_of(bounds: &[PartBounds]) -> Vec<KeyRange> {
    let mut prefixes: Vec<Vec<u8>> = vec![Vec::new()];
    for part in bounds {
        let many = prefixes.len().saturating_mul(part.ranges.len());
        if many > RANGES_MAX {
            break;
        }
        let ranges = || prefixes.iter().flat_map(|prefix| part.ranges.iter().map(|range| range.behind(prefix)));
        if !part.is_points() {
            return ranges().collect();
        }
        prefixes = ranges().map(|range| range.from).collect();
    }
    prefixes.into_iter().map(|from| KeyRange { to: after(from.clone()), from }).collect()
}

/// The range of encoded keys of a part for an interval. If the interval begins or ends at a long
/// value, the range contains all keys with the same first bytes, because their order is unknown.
fn range(interval: &Interval, order: Order) -> KeyRange {
    if interval.is_all() {
        return KeyRange { from: Vec::new(), to: None };
    }
    if interval.is_point() {
        let mut from = Vec::new();
        put_index_part(&interval.low.value, order, &mut from);
        return KeyRange { to: after(from.clone()), from };
    }
    range_of(interval, order, |value, bytes| put_edge(value, order, bytes))
}

/// As [`range`]. `put` appends the key of a value; if it appends only the first bytes, it returns false.
fn range_of(interval: &Interval, order: Order, put: impl Fn(&Value, &mut Vec<u8>) -> bool) -> KeyRange {
    let descends = order == Order::Descending;
    let (low, high) = if descends { (&interval.high, &interval.low) } else { (&interval.low, &interval.high) };
    // The end is the first key above all values up to the edge.
    let edge = |edge: &Edge, is_end: bool| {
        let mut bytes = Vec::new();
        let is_whole = put(&edge.value, &mut bytes);
        let above = if is_whole { edge.after != descends } else { is_end };
        if above { after(bytes) } else { Some(bytes) }
    };
    KeyRange { from: edge(low, false).unwrap_or_default(), to: edge(high, true) }
}

/// The ranges of encoded `_id` keys for sorted intervals of `_id`.
pub fn id_ranges(ids: &[Interval]) -> Vec<KeyRange> {
    let order = Order::Ascending;
    let whole = |value: &Value, bytes: &mut Vec<u8>| {
        put_part(value, order, bytes);
        true
    };
    let of = |interval: &Interval| match interval.is_all() {
        true => KeyRange { from: Vec::new(), to: None },
        false => range_of(interval, order, whole),
    };
    ids.iter().map(of).collect()
}

/// The least byte string that is greater than all byte strings which begin with `bytes`. `None` if
/// no byte string is greater.
pub(super) fn after(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 0xff {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}
