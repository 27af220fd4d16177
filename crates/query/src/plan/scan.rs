//! Scans of indexes: what bounds a filter gives their parts, and the bytes between which their entries lie.

use std::sync::Arc;

use alluvium_document::{Map, Value};

use super::Index;
use super::cost::within_bounds;
use super::interval::{Edge, Interval, Intervals};
use super::jump::skip;
use super::said::{Candidate, Said};
use crate::filter::Filter;
use crate::filter::tree::Clause;
use crate::index::{Order, Part};

/// The most ranges that a scan is taken apart into. What bounds beyond it ask is asked of entries ([`IndexScan::place`]).
const RANGES_MAX: usize = 4096;

/// Entries of an index within bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexScan {
    /// The index's name.
    pub index: String,
    /// For each part of the index.
    pub bounds: Vec<PartBounds>,
    /// From the last entry to the first.
    pub backward: bool,
    /// The entries alone answer, and this is what their values must meet, laid out as a document. None: the documents
    /// are read.
    pub covered: Option<Filter>,
    /// What the values of an entry must meet, laid out as a document, before its document is read: conditions that bounds do
    /// not tell, and that are asked of the document again. Empty if the entries alone answer.
    pub keys: Filter,
    /// A document may have several entries, so that each must be told once.
    pub multikey: bool,
    /// Bit n is set if an entry tells the value of part n as the document has it.
    pub(super) tells: u64,
}

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
        let (intervals, width) = (set.0.as_slice().into(), super::cost::width(set));
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

    pub(super) fn admits(&self, bytes: &[u8]) -> bool {
        let at = self.ranges.partition_point(|range| range.from.as_slice() <= bytes);
        at.checked_sub(1).is_some_and(|at| self.ranges[at].contains(bytes))
    }
}

impl IndexScan {
    /// The ranges of bytes that the entries lie in, in the order of the bytes, none meeting another: one for each way to
    /// take single values for the first parts, and an interval of the next. For a backward scan they are to be taken from
    /// the last to the first. Between them lie entries, too, that
    /// [`IndexScan::admits`] tells apart, and that [`IndexScan::place`] tells a reader to pass over.
    pub fn ranges(&self) -> Vec<KeyRange> {
        ranges_of(&self.bounds)
    }

    /// True if an entry whose index key, or whole key, is given lies within the bounds of all parts.
    pub fn admits(&self, entry: &[u8]) -> bool {
        let mut rest = entry;
        self.bounds.iter().all(|part| {
            let whole = rest;
            skip(part, &mut rest) && part.admits(&whole[..whole.len() - rest.len()])
        })
    }

    /// What entries tell of a condition, and bounds do not: the share of them that it leaves.
    pub(super) fn asks(&self, clause: &Clause) -> Option<f64> {
        let Clause::Field { path, condition } = clause else { return None };
        let is_told = |at: usize| self.tells >> at & 1 == 1;
        let mut parts = self.bounds.iter().enumerate().filter(|(at, _)| is_told(*at));
        parts.any(|(_, it)| it.part.path.as_str() == &*path.text).then(|| within_bounds(condition)).flatten()
    }

    /// The conditions that are asked of entries.
    pub(super) fn asked(&self, filter: &Filter) -> Filter {
        let asked = filter.clauses.iter().filter(|clause| self.asks(clause).is_some());
        Filter { clauses: asked.cloned().collect(), ..Filter::default() }
    }

    /// The document that the filter of a covered scan, or of its keys, is asked of, from what [`Definition::values`] gives: as much of it as
    /// the parts tell.
    pub fn document(&self, values: &[Option<Value>]) -> Map {
        let mut document = Map::new();
        for (part, value) in self.bounds.iter().zip(values) {
            let Some(value) = value else { continue };
            let names: Vec<&str> = part.part.path.names().collect();
            put(&mut document, &names, value);
        }
        document
    }
}

/// As [`IndexScan::ranges`].
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

fn put(map: &mut Map, names: &[&str], value: &Value) {
    match names {
        [] => {}
        [name] => drop(map.insert(*name, value.clone())),
        [name, rest @ ..] => {
            if !matches!(map.get(name), Some(Value::Map(_))) {
                map.insert(*name, Map::new());
            }
            if let Some(Value::Map(inner)) = map.get_mut(name) {
                put(inner, rest, value);
            }
        }
    }
}

/// The bytes of a part's keys for the values of an interval.
fn range(interval: &Interval, order: Order) -> KeyRange {
    let bytes = |edge: &Edge| {
        let mut bytes = Vec::new();
        crate::index::put_part(&edge.value, order, &mut bytes);
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

/// What a filter says of an index.
#[derive(Debug, Clone)]
pub(super) struct Bounded {
    pub bounds: Vec<PartBounds>,
    /// The filter's clauses that an entry within the bounds proves.
    pub proved: Vec<usize>,
}

/// A part whose bounds were taken, for those behind it.
struct Taken<'a> {
    path: &'a str,
    multikey: bool,
    clause: usize,
    element_of: Option<Box<str>>,
}

/// The bounds that the clauses of a filter give the parts of an index.
pub(super) fn bounded<'f>(said: &Said<'f>, index: &Index<'f>) -> Bounded {
    let mut found = Bounded { bounds: Vec::new(), proved: Vec::new() };
    let mut taken: Vec<Taken<'_>> = Vec::new();
    for (at, part) in index.definition.parts().iter().enumerate() {
        let multikey = index.multikey >> at & 1 == 1;
        let of_path = said.of_part(part, multikey);
        let bounds = if multikey {
            // Without a value there is no entry, and so none that shows a null in another element.
            let shows = |one: &&Candidate| one.positive || !index.definition.is_sparse();
            let agrees = |one: &&Candidate| taken.iter().all(|before| agree(before, one, part));
            let candidates = of_path.candidates.iter().filter(shows).filter(agrees);
            // Of several conditions each may be met by another element: one of them gives the bounds.
            let best = candidates.min_by(|a, b| a.width.total_cmp(&b.width));
            match best.filter(|best| !best.set.values.is_all()) {
                None => PartBounds::new(part, &Intervals::all()),
                Some(best) => {
                    if best.exact && part.order != Order::Hashed {
                        found.proved.push(best.clause);
                    }
                    let (path, element_of) = (part.path.as_str(), best.element_of.clone());
                    taken.push(Taken { path, multikey, clause: best.clause, element_of });
                    best.set.bounds(part)
                }
            }
        } else {
            if part.order != Order::Hashed {
                found.proved.extend_from_slice(&of_path.proved);
            }
            of_path.together.bounds(part)
        };
        found.bounds.push(bounds);
    }
    found
}

/// True if an entry that a document has for the one condition is one that it has for the other: their paths lead through
/// no array together, or to one element of it.
fn agree(before: &Taken<'_>, candidate: &Candidate, part: &Part) -> bool {
    fn first(path: &str) -> &str {
        path.split('.').next().unwrap_or_default()
    }
    let path = part.path.as_str();
    if !before.multikey || first(before.path) != first(path) {
        return true;
    }
    match (&before.element_of, &candidate.element_of) {
        (Some(a), Some(b)) if a == b && before.clause == candidate.clause => {
            fn rest<'p>(path: &'p str, array: &str) -> &'p str {
                first(path.get(array.len() + 1..).unwrap_or_default())
            }
            rest(before.path, a) != rest(path, a)
        }
        _ => false,
    }
}
