//! The bounds that a filter imposes on the paths of indexes. They are computed once for all indexes
//! that share a path. This keeps planning fast with many indexes and long lists of values.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use alluvium_document::Value;
use alluvium_document::compare::type_rank;
use alluvium_document::path::array_index;
use alluvium_document::row::ID;

use super::Index;
use super::bounds::{Bounds, KeySource};
use super::interval::Intervals;
use super::ranges::PartBounds;
use super::selectivity::width;
use crate::collation::Collation;
use crate::filter::tree::{Clause, Condition, Ordered, Test};
use crate::filter::{Filter, Form};
use crate::index::{Definition, Order, Part};

/// The maximum number of conditions on one path from which bounds are derived. Further conditions
/// are checked on documents.
const CONDITIONS_MAX: usize = 128;

/// The paths of all indexes and `_id`. For each path, the indexes that have it are given as bits.
/// All indexes after the 63rd share the last bit.
pub(super) struct Paths<'a>(BTreeMap<&'a str, u64>);

impl<'a> Paths<'a> {
    pub fn of(indexes: &'a [Index<'a>]) -> Self {
        let mut paths = BTreeMap::from([(ID, 0)]);
        for (at, index) in indexes.iter().enumerate() {
            for part in index.definition.parts() {
                *paths.entry(part.path.as_str()).or_default() |= bit(at);
            }
        }
        Self(paths)
    }

    /// The indexes that have the path of a clause. If the clause is on fields of elements, the
    /// indexes of paths below it are included.
    fn indexes(&self, clause: &Clause) -> u64 {
        let own = |path: &str| self.0.get(path).copied().unwrap_or_default();
        let (path, condition) = match clause {
            Clause::Field { path, condition } => (path, condition),
            Clause::Expression(computed) => {
                return computed.orders.iter().fold(0, |all, order| all | own(&order.path.text));
            }
            _ => return 0,
        };
        let own = own(&path.text);
        match fields_of(condition) {
            None => own,
            Some(_) => own | self.below(&path.text),
        }
    }

    fn below(&self, path: &str) -> u64 {
        let below = self.0.range(path..).skip_while(|(known, _)| **known == path);
        below.take_while(|(known, _)| known.starts_with(path)).fold(0, |all, (_, indexes)| all | indexes)
    }
}

/// The bit that represents an index.
pub(super) fn bit(index: usize) -> u64 {
    1 << index.min(63)
}

/// The filter on the fields of an array's elements, if the condition has one.
fn fields_of(condition: &Condition) -> Option<&Filter> {
    match condition {
        Condition::Test(Test::ElemMatch(element)) => match &element.form {
            Form::Fields(fields) => Some(fields),
            Form::Element(_) => None,
        },
        _ => None,
    }
}

/// The indexes, as bits, that have a path which occurs in the clauses.
pub(super) fn indexes_of(clauses: &[Clause], paths: &Paths<'_>) -> u64 {
    clauses.iter().fold(0, |all, clause| all | paths.indexes(clause))
}

/// The conditions of a filter, by path.
pub(super) struct Predicates<'f> {
    pub filter: &'f Filter,
    /// For each path of an index, the clauses on it.
    at: BTreeMap<&'f str, Vec<usize>>,
    /// The clauses on fields of array elements.
    of_elements: Vec<usize>,
    /// The indexes, as bits, that have a path which occurs in the filter.
    indexes: u64,
    /// The bounds computed so far, by the path and whether it is multikey. Indexes with different
    /// collations have separate bounds.
    known: RefCell<BTreeMap<(&'f str, bool), Vec<OfCollation>>>,
}

/// The bounds for indexes with a certain collation.
type OfCollation = (Option<Collation>, Rc<PathPredicates>);

/// The bounds that the clauses impose on a path.
pub(super) struct PathPredicates {
    /// The bounds of each clause.
    pub clauses: Vec<ClauseBounds>,
    /// The intersection of all bounds.
    pub together: Set,
    /// The clauses that hold if a key is within all bounds.
    pub proved: Vec<usize>,
}

/// The bounds that a clause imposes on a path.
pub(super) struct ClauseBounds {
    pub clause: usize,
    pub set: Set,
    /// True if the clause holds for every document with a key within the bounds.
    pub exact: bool,
    /// The fraction of values within the bounds.
    pub width: f64,
    /// The path of the array, if the condition is on the fields of a single element of an array.
    pub element_of: Option<Box<str>>,
    /// True if a document that meets the clause has a value at the path.
    pub positive: bool,
}

/// A set of values, with their encoded bounds for each order of a part.
pub(super) struct Set {
    pub values: Intervals,
    bounds: [OnceCell<PartBounds>; 3],
}

impl Set {
    fn new(values: Intervals) -> Self {
        Self { values, bounds: [const { OnceCell::new() }; 3] }
    }

    /// The bounds for a part with this path.
    pub fn bounds(&self, part: &Part) -> PartBounds {
        let at = match part.order {
            Order::Ascending => 0,
            Order::Descending => 1,
            Order::Hashed => 2,
        };
        self.bounds[at].get_or_init(|| PartBounds::new(part, &self.values)).clone()
    }
}

impl ClauseBounds {
    fn new(
        clause: usize,
        condition: &Condition,
        of: KeySource,
        element_of: Option<&str>,
        collation: Option<&Collation>,
    ) -> Self {
        let bounds = Bounds::of_condition(condition, of, collation);
        Self {
            clause,
            width: width(&bounds.set),
            exact: bounds.exact && element_of.is_none() && !bounds.set.is_cut(),
            set: Set::new(bounds.set),
            element_of: element_of.map(Box::from),
            positive: is_positive(condition),
        }
    }

    fn of_order(clause: usize, order: &Ordered, of: KeySource, collation: Option<&Collation>) -> Self {
        let set = Bounds::of_order(order, of, collation).set;
        // A path that leads through an array has an array as its value, even if no element has the field.
        let arrays = type_rank(&Value::Array(Vec::new()));
        let positive = order.is_above() && order.operand.rank > arrays;
        Self { clause, width: width(&set), exact: false, set: Set::new(set), element_of: None, positive }
    }
}

impl<'f> Predicates<'f> {
    pub fn new(filter: &'f Filter, paths: &Paths<'_>) -> Self {
        let mut at: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let mut of_elements = Vec::new();
        let mut indexes = 0;
        for (number, clause) in filter.clauses.iter().enumerate() {
            indexes |= paths.indexes(clause);
            let (path, condition) = match clause {
                Clause::Field { path, condition } => (path, condition),
                Clause::Expression(computed) => {
                    for order in &computed.orders {
                        let known = paths.0.contains_key(&*order.path.text);
                        let all = known.then(|| at.entry(&order.path.text).or_default());
                        // A clause is added once for all comparisons of its expression.
                        if let Some(all) = all.filter(|all| all.last() != Some(&number) && all.len() < CONDITIONS_MAX) {
                            all.push(number);
                        }
                    }
                    continue;
                }
                _ => continue,
            };
            if paths.0.contains_key(&*path.text) {
                let all = at.entry(&path.text).or_default();
                if all.len() < CONDITIONS_MAX {
                    all.push(number);
                }
            }
            if fields_of(condition).is_some() && of_elements.len() < CONDITIONS_MAX {
                of_elements.push(number);
            }
        }
        Self { filter, at, of_elements, indexes, known: RefCell::default() }
    }

    /// True if the filter may have bounds for the index at this position.
    pub fn concerns(&self, index: usize) -> bool {
        self.indexes & bit(index) != 0
    }

    /// The clauses at a path from which bounds are derived, with their conditions.
    pub fn conditions(&self, path: &str) -> impl Iterator<Item = (usize, &'f Condition)> {
        let clauses: &'f [Clause] = &self.filter.clauses;
        self.at.get(path).into_iter().flatten().filter_map(move |at| match &clauses[*at] {
            Clause::Field { condition, .. } => Some((*at, condition)),
            _ => None,
        })
    }

    /// The comparisons in expressions at a path from which bounds are derived, with their clauses.
    pub fn orders(&self, path: &str) -> impl Iterator<Item = (usize, &'f Ordered)> {
        let clauses: &'f [Clause] = &self.filter.clauses;
        let of_clause = move |at: &usize| match &clauses[*at] {
            Clause::Expression(computed) => computed.orders.iter(),
            _ => [].iter(),
        };
        let all = self.at.get(path).into_iter().flatten();
        let all = all.flat_map(move |at| of_clause(at).map(move |order| (*at, order)));
        let path = path.to_owned();
        all.filter(move |(_, order)| *order.path.text == *path).take(CONDITIONS_MAX)
    }

    /// The bounds that the clauses impose on a part's path, for an index with this collation.
    pub fn of_part(&self, part: &'f Part, multikey: bool, collation: Option<&Collation>) -> Rc<PathPredicates> {
        let path = part.path.as_str();
        let known = self.known.borrow();
        let mut of_path = known.get(&(path, multikey)).into_iter().flatten();
        if let Some((_, found)) = of_path.find(|(known, _)| known.as_ref() == collation) {
            return found.clone();
        }
        drop(known);
        let clauses = self.clauses(part, multikey, collation);
        let together = clauses.iter().fold(Intervals::all(), |all, one| all.intersection(&one.set.values));
        let proved = clauses.iter().filter(|one| one.exact).map(|one| one.clause).collect();
        let found = Rc::new(PathPredicates { clauses, together: Set::new(together), proved });
        self.known.borrow_mut().entry((path, multikey)).or_default().push((collation.cloned(), found.clone()));
        found
    }

    fn clauses(&self, part: &Part, multikey: bool, collation: Option<&Collation>) -> Vec<ClauseBounds> {
        let path = part.path.as_str();
        let positions = part.path.names().any(|name| array_index(name).is_some());
        let of = KeySource::Path { multikey, dotted: part.path.depth() > 1, positions };
        let one = |(clause, condition)| ClauseBounds::new(clause, condition, of, None, collation);
        let mut found: Vec<ClauseBounds> = self.conditions(path).map(one).collect();
        if positions {
            return found;
        }
        let one = |(clause, order)| ClauseBounds::of_order(clause, order, of, collation);
        found.extend(self.orders(path).map(one));
        for clause in &self.of_elements {
            let Clause::Field { path: array, condition } = &self.filter.clauses[*clause] else { continue };
            let rest = path.strip_prefix(&*array.text).and_then(|rest| rest.strip_prefix('.'));
            let (Some(rest), Some(fields)) = (rest, fields_of(condition)) else { continue };
            let inner = fields.clauses.iter().filter_map(|one| match one {
                Clause::Field { path, condition } if &*path.text == rest => Some(condition),
                _ => None,
            });
            let of = KeySource::Path { multikey: true, dotted: rest.contains('.'), positions };
            let one = |condition| ClauseBounds::new(*clause, condition, of, Some(&array.text), collation);
            found.extend(inner.map(one).take(CONDITIONS_MAX.saturating_sub(found.len())));
        }
        // Sorts by the order of clauses in the filter.
        found.sort_by_key(|one| one.clause);
        found
    }

    /// True if a sparse index has entries for every document that the filter may match.
    pub fn has_all(&self, definition: &'f Definition) -> bool {
        let collation = definition.collation();
        let is_positive = |part| self.of_part(part, true, collation).clauses.iter().any(|one| one.positive);
        definition.parts().iter().any(is_positive)
    }
}

/// True if a document that meets the condition always has a value at the path.
fn is_positive(condition: &Condition) -> bool {
    matches!(condition, Condition::Test(test) if !test.passes_missing())
}
