//! Scans of indexes: what bounds a filter gives their parts, and the bytes between which their entries lie.

use alluvium_document::{Map, Value};

use super::Index;
use super::interval::Intervals;
use super::predicates::{ClauseBounds, Predicates};
use super::ranges::{KeyRange, PartBounds, ranges_of};
use super::selectivity::within_bounds;
use crate::filter::Filter;
use crate::filter::tree::Clause;
use crate::index::{Order, Part};

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
    /// What the values of an entry must meet, laid out as a document, before its document is read:
    /// conditions that bounds do not tell, and that are asked of the document again. Empty if the
    /// entries alone answer.
    pub keys: Filter,
    /// A document may have several entries, so that the documents of a scan have to be made unique.
    pub multikey: bool,
    /// Bit n is set if an entry has the value of part n as the document has it.
    pub(super) tells: u64,
}

impl IndexScan {
    /// The ranges of bytes that the entries lie in, in the order of the bytes, none meeting
    /// another: one for each way to take single values for the first parts, and an interval of the
    /// next. For a backward scan they are to be taken from the last to the first. They may also
    /// contain entries outside the bounds: [`IndexScan::admits`] detects these, and
    /// [`IndexScan::place`] finds the next key to seek.
    pub fn ranges(&self) -> Vec<KeyRange> {
        ranges_of(&self.bounds)
    }

    /// True if an entry whose index key, or whole key, is given lies within the bounds of all parts.
    pub fn admits(&self, entry: &[u8]) -> bool {
        let mut rest = entry;
        self.bounds.iter().all(|part| {
            let whole = rest;
            part.skip(&mut rest) && part.admits(&whole[..whole.len() - rest.len()])
        })
    }

    /// What entries decide of a condition, and bounds do not: the share of them that it leaves.
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

    /// The document that the filter of a covered scan, or of its keys, is asked of, from what
    /// [`Definition::values`] gives: as much of it as the parts tell.
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
pub(super) fn bounded<'f>(predicates: &Predicates<'f>, index: &Index<'f>) -> Bounded {
    let mut found = Bounded { bounds: Vec::new(), proved: Vec::new() };
    let mut taken: Vec<Taken<'_>> = Vec::new();
    for (at, part) in index.definition.parts().iter().enumerate() {
        let multikey = index.multikey >> at & 1 == 1;
        let of_path = predicates.of_part(part, multikey);
        let bounds = if multikey {
            // Without a value there is no entry, and so none that shows a null in another element.
            let shows = |one: &&ClauseBounds| one.positive || !index.definition.is_sparse();
            let agrees = |one: &&ClauseBounds| taken.iter().all(|before| agree(before, one, part));
            let candidates = of_path.clauses.iter().filter(shows).filter(agrees);
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

/// True if an entry that a document has for the one condition is one that it has for the other:
/// their paths lead through no array together, or to one element of it.
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
