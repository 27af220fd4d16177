//! Operators on the elements of an array.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use alluvium_document::Value;
use alluvium_document::path::FieldPath;

use crate::collation::{Collation, compare_by};

/// With at least this number of values, `$addToSet` and `$pullAll` use a set.
const MANY: usize = 4;

/// An end of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
}

/// `$push`, with its modifiers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Push {
    pub values: Vec<Value>,
    /// The position at which values are inserted. It counts from the start, or from the end if
    /// negative. `None` is the end.
    pub position: Option<i64>,
    /// The number of elements to keep: the first ones, or the last ones if negative.
    pub slice: Option<i64>,
    pub sort: Option<Sort>,
}

/// The order in which `$push` sorts all elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    Whole(Direction),
    /// By these fields. An element that is not a map is treated as a map without fields. A missing
    /// field counts as null.
    Fields(Vec<(FieldPath, Direction)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Push {
    /// `$push` of one value at the end.
    pub fn one(value: Value) -> Self {
        Self { values: vec![value], position: None, slice: None, sort: None }
    }

    /// Applies the operator. Returns true if the elements changed. Strings are sorted by the collation.
    pub fn apply(&self, elements: &mut Vec<Value>, collation: Option<&Collation>) -> bool {
        // Sorting and slicing may undo the insertion.
        let before = (self.sort.is_some() || self.slice.is_some()).then(|| elements.clone());
        let at = match self.position.map(|position| (position >= 0, magnitude(position))) {
            None => elements.len(),
            Some((true, from_start)) => from_start.min(elements.len()),
            Some((false, from_end)) => elements.len().saturating_sub(from_end),
        };
        elements.splice(at..at, self.values.iter().cloned());
        if let Some(sort) = &self.sort {
            elements.sort_by(|a, b| sort.compare(a, b, collation));
        }
        match self.slice.map(|slice| (slice >= 0, magnitude(slice))) {
            None => {}
            Some((true, len)) => elements.truncate(len),
            Some((false, len)) => drop(elements.drain(..elements.len().saturating_sub(len))),
        }
        before.map_or(!self.values.is_empty(), |before| before != *elements)
    }
}

fn magnitude(n: i64) -> usize {
    usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)
}

impl Sort {
    fn compare(&self, a: &Value, b: &Value, collation: Option<&Collation>) -> Ordering {
        match self {
            Self::Whole(direction) => direction.of(compare_by(collation, a, b)),
            Self::Fields(fields) => {
                let order = |path: &FieldPath| compare_by(collation, key(path, a), key(path, b));
                let orders = fields.iter().map(|(path, direction)| direction.of(order(path)));
                orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
        }
    }
}

fn key<'a>(path: &FieldPath, element: &'a Value) -> &'a Value {
    element.as_map().and_then(|map| path.get_in(map)).unwrap_or(&Value::Null)
}

impl Direction {
    fn of(self, order: Ordering) -> Ordering {
        match self {
            Self::Ascending => order,
            Self::Descending => order.reverse(),
        }
    }
}

/// Appends the values that are not equal to any element, in the order of all values. Returns true
/// if the elements changed.
pub(super) fn add_to_set(values: &[Value], elements: &mut Vec<Value>, collation: Option<&Collation>) -> bool {
    let before = elements.len();
    if values.len() < MANY {
        for value in values {
            if !elements.iter().any(|element| compare_by(collation, element, value).is_eq()) {
                elements.push(value.clone());
            }
        }
    } else {
        let mut known: BTreeSet<Ordered<'_>> = elements.iter().map(|element| Ordered(element, collation)).collect();
        let new: Vec<Value> = values.iter().filter(|value| known.insert(Ordered(value, collation))).cloned().collect();
        elements.extend(new);
    }
    elements.len() > before
}

/// Removes all elements that are equal to one of the values. Returns true if elements were removed.
pub(super) fn pull_all(values: &[Value], elements: &mut Vec<Value>, collation: Option<&Collation>) -> bool {
    let before = elements.len();
    if values.len() < MANY {
        elements.retain(|element| !values.iter().any(|value| compare_by(collation, element, value).is_eq()));
    } else {
        let known: BTreeSet<Ordered<'_>> = values.iter().map(|value| Ordered(value, collation)).collect();
        elements.retain(|element| !known.contains(&Ordered(element, collation)));
    }
    elements.len() < before
}

/// A value that compares in the order of all values. Strings are compared by the collation.
struct Ordered<'a>(&'a Value, Option<&'a Collation>);

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare_by(self.1, self.0, other.0)
    }
}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered<'_> {}

/// Removes the element at this end. Returns true if there was an element.
pub(super) fn pop(end: End, elements: &mut Vec<Value>) -> bool {
    match end {
        End::First if elements.is_empty() => false,
        End::First => {
            elements.remove(0);
            true
        }
        End::Last => elements.pop().is_some(),
    }
}
