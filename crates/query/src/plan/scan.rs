//! Index scans: the bounds that a filter imposes on the parts of an index, and the ranges of bytes
//! of the entries.

use alluvium_document::{Map, Value};

use super::Index;
use super::interval::Intervals;
use super::predicates::{ClauseBounds, Predicates};
use super::ranges::{KeyRange, PartBounds, ranges_of};
use super::selectivity::within_bounds;
use crate::filter::Filter;
use crate::filter::tree::Clause;
use crate::index::{Order, Part, put_index_part};

/// A scan of the entries of an index within bounds.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexScan {
    /// The index's name.
    pub index: String,
    /// The bounds of each part of the index.
    pub bounds: Vec<PartBounds>,
    /// True for a scan from the last entry to the first.
    pub backward: bool,
    /// Set if the entries alone answer the query. It is the filter on the values of an entry, which
    /// are treated as a document. `None` if documents are read.
    pub covered: Option<Filter>,
    /// A filter that is checked on the values of an entry, treated as a document, before the
    /// entry's document is read. It has the conditions that the bounds do not express. They are
    /// checked again on the document. Empty if the entries alone answer the query.
    pub keys: Filter,
    /// True if a document may have several entries. The documents that a scan finds must then be
    /// deduplicated.
    pub multikey: bool,
    /// Bit n is set if entries contain exactly the value of part n in the document.
    pub(super) exact_parts: u64,
    /// True if the values of the bounds have collation keys instead of strings.
    pub(super) is_collated: bool,
}

impl IndexScan {
    /// The ranges of bytes of the entries, ascending and disjoint. There is a range for each
    /// combination of single values of the first parts with an interval of the next part. A
    /// backward scan reads the ranges from the last to the first. The ranges may contain entries
    /// outside the bounds: [`IndexScan::admits`] detects such entries, and [`IndexScan::place`]
    /// finds the next key to seek.
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

    /// The key of a value of the first part, in the form used in entries. If the index has a collation, strings in the
    /// value must be collation keys.
    pub fn first_key(&self, value: &Value) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(first) = self.bounds.first() {
            put_index_part(value, first.part.order, &mut bytes);
        }
        bytes
    }

    /// The key of the first part of an entry; `None` if the entry is malformed.
    pub fn first_of<'e>(&self, entry: &'e [u8]) -> Option<&'e [u8]> {
        self.first_parts_of(entry, 1)
    }

    /// The keys of this number of parts of an entry, or of all parts if they are fewer; `None` if the entry is malformed.
    pub fn first_parts_of<'e>(&self, entry: &'e [u8], parts: usize) -> Option<&'e [u8]> {
        let mut rest = entry;
        let skipped = self.bounds.iter().take(parts).all(|part| part.skip(&mut rest));
        skipped.then(|| &entry[..entry.len() - rest.len()])
    }

    /// The fraction of entries that meet a condition. `None` unless the values of entries decide
    /// the condition and the bounds do not express it.
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

    /// Makes a document of the result of [`crate::index::Definition::values`]. The filter of a covered scan, or of its
    /// keys, is evaluated on this document. It has the fields whose values are exact.
    pub fn document(&self, values: &[Option<Value>]) -> Map {
        let mut document = Map::new();
        for (part, value) in self.bounds.iter().zip(values) {
            let Some(value) = value else { continue };
            part.part.path.set_in(&mut document, value.clone());
        }
        document
    }
}

/// The bounds that a filter imposes on an index.
#[derive(Debug, Clone)]
pub(super) struct Bounded {
    pub bounds: Vec<PartBounds>,
    /// The clauses of the filter that hold for every entry within the bounds.
    pub proved: Vec<usize>,
}

/// A part with the clause that determined its bounds. It is needed for the bounds of later parts.
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
            // A sparse index has no entry for a missing value. Therefore it may have no entry for a
            // document with the value in one element and null in another.
            let shows = |one: &&ClauseBounds| one.positive || !index.definition.is_sparse();
            let agrees = |one: &&ClauseBounds| taken.iter().all(|before| agree(before, one, part));
            let candidates = of_path.clauses.iter().filter(shows).filter(agrees);
            // Different elements may meet different conditions, so only one condition can determine
            // the bounds.
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

/// True if both conditions hold for the same entries of a document, because their paths have no
/// array in common or lead to the same element of it.
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
