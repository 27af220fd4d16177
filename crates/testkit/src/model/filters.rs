//! Filters, sorts and projections of the model. They are printed for the database, and evaluated by the model's own
//! code ([`crate::model::values`]).

use super::Id;
use super::values::{any_at, compare, is_nan, same_type, sorted_by};
use alluvium::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A condition on a value.
#[derive(Debug, Clone)]
pub(crate) enum Predicate {
    Equal(Value),
    Greater(Value),
    GreaterOrEqual(Value),
    Less(Value),
    LessOrEqual(Value),
    In(Vec<Value>),
    Exists(bool),
    NotEqual(Value),
}

impl Predicate {
    fn holds(&self, map: &Map, path: &str) -> bool {
        let equal = |wanted: &Value, found: Option<&Value>| match found {
            Some(found) => compare(found, wanted).is_eq(),
            None => *wanted == Value::Null,
        };
        let ordered = |wanted: &Value, found: Option<&Value>, takes: fn(Ordering) -> bool| match found {
            Some(found) => same_type(found, wanted) && !is_nan(found) && takes(compare(found, wanted)),
            None => false,
        };
        any_at(map, path, &|found| match self {
            Self::Equal(wanted) => equal(wanted, found),
            Self::Greater(wanted) => ordered(wanted, found, Ordering::is_gt),
            Self::GreaterOrEqual(wanted) => ordered(wanted, found, Ordering::is_ge),
            Self::Less(wanted) => ordered(wanted, found, Ordering::is_lt),
            Self::LessOrEqual(wanted) => ordered(wanted, found, Ordering::is_le),
            Self::In(list) => list.iter().any(|wanted| equal(wanted, found)),
            Self::Exists(_) => found.is_some(),
            Self::NotEqual(wanted) => equal(wanted, found),
        }) != matches!(self, Self::Exists(false) | Self::NotEqual(_))
    }

    fn operator(&self) -> (&'static str, Value) {
        match self {
            Self::Equal(value) => ("$eq", value.clone()),
            Self::Greater(value) => ("$gt", value.clone()),
            Self::GreaterOrEqual(value) => ("$gte", value.clone()),
            Self::Less(value) => ("$lt", value.clone()),
            Self::LessOrEqual(value) => ("$lte", value.clone()),
            Self::In(list) => ("$in", Value::Array(list.clone())),
            Self::Exists(there) => ("$exists", Value::Bool(*there)),
            Self::NotEqual(value) => ("$ne", value.clone()),
        }
    }
}

/// A filter.
#[derive(Debug, Clone)]
pub(crate) enum Filter {
    /// All these conditions are true for the path.
    Field(String, Vec<Predicate>),
    /// All of these filters match.
    And(Vec<Filter>),
    /// At least one of these filters matches.
    Or(Vec<Filter>),
}

impl Filter {
    /// A filter for the document with this `_id`.
    pub fn id(value: Value) -> Self {
        Self::Field("_id".to_owned(), vec![Predicate::Equal(value)])
    }

    /// A filter for documents in which a field has a value.
    pub fn equal(path: &str, value: impl Into<Value>) -> Self {
        Self::Field(path.to_owned(), vec![Predicate::Equal(value.into())])
    }

    /// A filter for documents in which a field is greater than a value.
    pub fn above(path: &str, value: impl Into<Value>) -> Self {
        Self::Field(path.to_owned(), vec![Predicate::Greater(value.into())])
    }

    /// A filter for documents that have a field.
    pub fn exists(path: &str) -> Self {
        Self::Field(path.to_owned(), vec![Predicate::Exists(true)])
    }

    /// True if a document matches.
    pub fn matches(&self, map: &Map) -> bool {
        match self {
            Self::Field(path, tests) => tests.iter().all(|test| test.holds(map, path)),
            Self::And(all) => all.iter().all(|filter| filter.matches(map)),
            Self::Or(any) => any.iter().any(|filter| filter.matches(map)),
        }
    }

    /// The form that the database parses.
    pub fn to_map(&self) -> Map {
        let list = |filters: &[Self]| Value::Array(filters.iter().map(|filter| Value::Map(filter.to_map())).collect());
        let mut map = Map::new();
        match self {
            Self::Field(path, tests) => match tests.as_slice() {
                [Predicate::Equal(value)] if !matches!(value, Value::Map(_)) => map.push(path.as_str(), value.clone()),
                tests => {
                    let mut operators = Map::new();
                    for (name, operand) in tests.iter().map(Predicate::operator) {
                        operators.push(name, operand);
                    }
                    map.push(path.as_str(), operators);
                }
            },
            Self::And(filters) if filters.is_empty() => {}
            Self::And(filters) => map.push("$and", list(filters)),
            Self::Or(filters) => map.push("$or", list(filters)),
        }
        map
    }
}

/// A sort order of documents: the fields, and whether each is descending.
#[derive(Debug, Clone)]
pub(crate) struct SortOrder(pub Vec<(&'static str, bool)>);

impl SortOrder {
    /// The order of `_id`.
    pub fn by_id(descending: bool) -> Self {
        Self(vec![("_id", descending)])
    }

    /// The form that the database parses.
    pub fn to_map(&self) -> Map {
        self.0.iter().map(|(name, descending)| (*name, if *descending { -1 } else { 1 })).collect()
    }

    /// Sorts documents.
    pub fn sort(&self, documents: &mut [(&Id, &Arc<Map>)]) {
        documents.sort_by(|a, b| {
            let of = |(name, descending): &(&str, bool)| {
                let order = match *name {
                    "_id" => a.0.cmp(b.0),
                    name => compare(&sorted_by(a.1, name, *descending), &sorted_by(b.1, name, *descending)),
                };
                if *descending { order.reverse() } else { order }
            };
            self.0.iter().map(of).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
    }
}

/// A projection: the fields of documents that are returned.
#[derive(Debug, Clone)]
pub(crate) struct Projection {
    names: Vec<&'static str>,
    /// True if only these fields are returned, false if all fields except these are.
    includes: bool,
    id: bool,
}

impl Projection {
    pub fn random(rng: &mut fastrand::Rng) -> Self {
        const NAMES: [&str; 9] = ["k", "n", "set", "inc", "score", "tags", "by", "a", "missing"];
        let mut names: Vec<&str> = (0..rng.usize(1..4)).map(|_| NAMES[rng.usize(0..NAMES.len())]).collect();
        names.sort_unstable();
        names.dedup();
        Self { names, includes: rng.u8(0..3) > 0, id: rng.u8(0..4) > 0 }
    }

    /// The form that the database parses.
    pub fn to_map(&self) -> Map {
        let mut map: Map = self.names.iter().map(|name| (*name, i32::from(self.includes))).collect();
        if !self.id {
            map.push("_id", 0);
        }
        map
    }

    /// Applies the projection to a document.
    pub fn of(&self, map: &Map) -> Map {
        let stays = |name: &Value| match name.as_str() {
            Some("_id") => self.id,
            name => self.names.iter().any(|other| name == Some(other)) == self.includes,
        };
        Map { entries: map.entries.iter().filter(|(name, _)| stays(name)).cloned().collect() }
    }
}

/// The documents that match, in the order of their `_id`s.
pub(crate) fn matching<'a>(documents: &'a BTreeMap<Id, Arc<Map>>, filter: &Filter) -> Vec<(&'a Id, &'a Arc<Map>)> {
    documents.iter().filter(|(_, map)| filter.matches(map)).collect()
}
