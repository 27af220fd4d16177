//! The bounds of the parts of an index, as values and as bytes of keys.

use std::sync::Arc;

use alluvium_document::key;

use super::interval::{Edge, Interval, Intervals};
use super::selectivity::width;
use crate::index::{Order, Part, put_part};

/// The most ranges of one scan. Bounds beyond it are checked on each entry ([`super::IndexScan::place`]).
const RANGES_MAX: usize = 4096;

/// The values of one part that a scan looks at.
#[derive(Debug, Clone, PartialEq)]
pub struct PartBounds {
    /// The part.
    pub part: Part,
    /// In ascending order of values, whatever the part's order; for a hashed part single values, or all.
    pub intervals: Arc<[Interval]>,
    /// The intervals as bytes of this part's keys, ascending.
    pub(super) ranges: Arc<[KeyRange]>,
    /// Each is a single value.
    pub(super) points: bool,
    /// The share of values that they leave, where nothing is known of these.
    pub(super) width: f64,
}

/// Keys from `from` on, up to but without `to`; without it, to the end.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct KeyRange {
    /// The first bytes.
    pub from: Vec<u8>,
    /// The bytes that lie behind.
    pub to: Option<Vec<u8>>,
}

impl KeyRange {
    /// True if the bytes lie within.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.from.as_slice() <= bytes && self.to.as_deref().is_none_or(|to| bytes < to)
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
        // Values that differ may have one hash.
        ranges.dedup();
        let points = set.is_points();
        let (intervals, width) = (set.0.as_slice().into(), width(set));
        Self { part: part.clone(), intervals, ranges: ranges.into(), points, width }
    }

    /// True if all values are looked at.
    pub fn is_all(&self) -> bool {
        matches!(&self.intervals[..], [only] if only.is_all())
    }

    /// True if one value is looked at.
    pub fn is_point(&self) -> bool {
        matches!(&self.intervals[..], [only] if only.is_point())
    }

    /// True if single values are looked at.
    pub fn is_points(&self) -> bool {
        self.points
    }

    /// True if the bytes of the part's key are within the bounds.
    pub(super) fn admits(&self, bytes: &[u8]) -> bool {
        let at = self.ranges.partition_point(|range| range.from.as_slice() <= bytes);
        at.checked_sub(1).is_some_and(|at| self.ranges[at].contains(bytes))
    }

    /// Passes over the bytes of the part's key; false if the input does not begin with one.
    pub(super) fn skip(&self, rest: &mut &[u8]) -> bool {
        match self.part.order {
            Order::Hashed => rest.get(8..).map(|behind| *rest = behind).is_some(),
            order => key::skip(rest, order == Order::Descending).is_ok(),
        }
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

/// The bytes of a part's keys for the values of an interval.
fn range(interval: &Interval, order: Order) -> KeyRange {
    let bytes = |edge: &Edge| {
        let mut bytes = Vec::new();
        put_part(&edge.value, order, &mut bytes);
        bytes
    };
    let (low, high) = (&interval.low, &interval.high);
    match order {
        Order::Ascending | Order::Hashed => {
            let from = if low.after { after(bytes(low)).unwrap_or_default() } else { bytes(low) };
            let to = if high.after { after(bytes(high)) } else { Some(bytes(high)) };
            if interval.is_all() { KeyRange { from: Vec::new(), to: None } } else { KeyRange { from, to } }
        }
        Order::Descending => {
            let from = if high.after { bytes(high) } else { after(bytes(high)).unwrap_or_default() };
            let to = if low.after { Some(bytes(low)) } else { after(bytes(low)) };
            if interval.is_all() { KeyRange { from: Vec::new(), to: None } } else { KeyRange { from, to } }
        }
    }
}

/// The ranges of keys of `_id` for intervals of it, in order.
pub fn id_ranges(ids: &[Interval]) -> Vec<KeyRange> {
    ids.iter().map(|interval| range(interval, Order::Ascending)).collect()
}

/// The least bytes above all that begin with these; none if there are none.
pub(super) fn after(mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    while let Some(last) = bytes.pop() {
        if last < 0xff {
            bytes.push(last + 1);
            return Some(bytes);
        }
    }
    None
}
