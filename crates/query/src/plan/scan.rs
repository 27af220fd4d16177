//! Index scans: the bounds that a filter sets on their parts, and the ranges of bytes of their
//! entries.

use alluvium_document::{Map, Value};

use super::Index;
use super::interval::Intervals;
use super::predicates::{ClauseBounds, Predicates};
use super::ranges::{KeyRange, PartBounds, ranges_of};
use super::selectivity::within_bounds;
use crate::filter::Filter;
use crate::filter::tree::Clause;
use crate::index::{Order, Part, put_index_part};

/// Entries of an index within bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexScan {
    /// The index's name.
    pub index: String,
    /// The bounds of each part of the index.
    pub bounds: Vec<PartBounds>,
    /// From the last entry to the first.
    pub backward: bool,
    /// If set, the entries alone answer the query, and this is the filter on their values, taken as
    /// a document. `None` if the documents are read.
    pub covered: Option<Filter>,
    /// The filter on the values of an entry, taken as a document, before its document is read:
    /// conditions that the bounds do not express. They are checked again on the document. Empty if
    /// the entries alone answer the query.
    pub keys: Filter,
    /// True if a document may have several entries, so that the documents of a scan have to be
    /// deduplicated.
    pub multikey: bool,
    /// Bit n is set if an entry has the identical value of part n of the document.
    pub(super) exact_parts: u64,
    /// The values of the bounds have collation keys in place of strings.
    pub(super) is_collated: bool,
}

impl IndexScan {
    /// The ranges of bytes of the entries, ascending and disjoint: one for each combination of
    /// single values of the first parts with an interval of the next part. A backward scan takes
    /// them from the last to the first. They may contain entries outside the bounds:
    /// [`IndexScan::admits`] detects these, and [`IndexScan::place`] finds the next key to seek.
    pub fn ranges(&self) -> Vec<KeyRange> {
        ranges_of(&self.bounds)
    }

    /// True if an entry is within the bounds of all parts. `entry` is the index key or the whole
    /// key.
    pub fn admits(&self, entry: &[u8]) -> bool {
        let mut rest = entry;
        self.bounds.iter().all(|part| {
            let whole = rest;
            part.skip(&mut rest) && part.admits(&whole[..whole.len() - rest.len()])
        })
    }

    /// The key of a value of the first part, as entries have it. Strings are collation keys if the index has a
    /// collation.
    pub fn first_key(&self, value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(first) = self.bounds.first() {
            put_index_part(value, first.part.order, &mut bytes);
        }
        bytes
    }

    /// The key of the first part of an entry; `None` if the entry is malformed.
    pub fn first_of<'e>(&self, entry: &'e [u8]) -> Option<&'e [u8]> {
        let mut rest = entry;
        let skipped = self.bounds.first()?.skip(&mut rest);
        skipped.then(|| &entry[..entry.len() - rest.len()])
    }

    /// The share of entries that meet a condition which the values of entries decide but the bounds
    /// do not express.
    pub(super) fn entry_selectivity(&self, clause: &Clause) -> Option<f64> {
        let Clause::Field { path, condition } = clause else { return None };
        let is_exact = |at: usize| self.exact_parts >> at & 1 == 1;
        let mut parts = self.bounds.iter().enumerate().filter(|(at, _)| is_exact(*at));
        parts.any(|(_, it)| it.part.path.as_str() == &*path.text).then(|| within_bounds(condition)).flatten()
    }

    /// The conditions that are checked on entries.
    pub(super) fn entry_filter(&self, filter: &Filter) -> Filter {
        let clauses = filter.clauses.iter().filter(|clause| self.entry_selectivity(clause).is_some());
        Filter { clauses: clauses.cloned().collect(), ..Filter::default() }
    }

    /// The document on which the filter of a covered scan, or of its keys, is evaluated, made from
    /// the result of [`crate::index::Definition::values`]. It has the fields whose values are exact.
    pub fn document(&self, values: &[Option<Value>]) -> Map {
        let mut document = Map::new();
        for (part, value) in self.bounds.iter().zip(values) {
            let Some(value) = value else { continue };
            part.part.path.set_in(&mut document, value.clone());
        }
        document
    }
}

/// The bounds that a filter sets on an index.
#[derive(Debug, Clone)]
pub(super) struct Bounded {
    pub bounds: Vec<PartBounds>,
    /// The filter's clauses that an entry within the bounds proves.
    pub proved: Vec<usize>,
}

/// A part with the clause that set its bounds, for the parts after it.
struct Taken<'a> {
    path: &'a str,
    multikey: bool,
    clause: usize,
    element_of: Option<Box<str>>,
}

/// Derives the bounds of the parts of an index from the clauses of a filter.
pub(super) fn bounded<'f>(predicates: &Predicates<'f>, index: &Index<'f>) -> Bounded {
    let mut found = Bounded { bounds: Vec::new(), proved: Vec::new() };
    let mut taken: Vec<Taken<'_>> = Vec::new();
    for (at, part) in index.definition.parts().iter().enumerate() {
        let multikey = index.multikey >> at & 1 == 1;
        let of_path = predicates.of_part(part, multikey, index.definition.collation());
        let bounds = if multikey {
            // A sparse index has no entry for a missing value, and so none that shows a null in
            // another element.
            let shows = |one: &&ClauseBounds| one.positive || !index.definition.is_sparse();
            let agrees = |one: &&ClauseBounds| taken.iter().all(|before| agree(before, one, part));
            let candidates = of_path.clauses.iter().filter(shows).filter(agrees);
            // Different elements may meet different conditions, so only one condition can set the
            // bounds.
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

/// True if both conditions hold for the same entries of a document: their paths have no array in
/// common, or lead to the same element of it.
fn agree(before: &Taken<'_>, candidate: &ClauseBounds, part: &Part) -> bool {
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
