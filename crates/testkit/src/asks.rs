//! Filters, orders and projections as the model sees them: drawn, written down for the database, and evaluated by the
//! model itself ([`crate::values`]).

use crate::values::{any_at, compare, is_nan, same_type, sorted_by};
use crate::{Id, Runner};
use alluvium::{Map, Value};
use alluvium_document::value::Double;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Paths that filters ask for; indexes are over most of them.
const PATHS: [&str; 14] =
    ["k", "k", "k", "set", "inc", "n", "u", "score", "tags", "list", "by.name", "deep.x", "when", "missing"];

/// Fields that documents are sorted by; at most one of them may be an array.
const SORTED: [&str; 6] = ["k", "set", "inc", "n", "score", "u"];

/// A test of a value.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Equal(Value),
    Greater(Value),
    GreaterOrEqual(Value),
    Less(Value),
    LessOrEqual(Value),
    In(Vec<Value>),
    Exists(bool),
    /// It is not equal.
    NotEqual(Value),
}

impl Test {
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
pub(crate) enum Ask {
    /// All tests hold of the path.
    Field(String, Vec<Test>),
    /// All of these.
    And(Vec<Ask>),
    /// One of these.
    Or(Vec<Ask>),
}

impl Ask {
    /// The document with this `_id`.
    pub fn id(value: Value) -> Self {
        Self::Field("_id".to_owned(), vec![Test::Equal(value)])
    }

    /// Documents in which a field has a value.
    pub fn equal(path: &str, value: impl Into<Value>) -> Self {
        Self::Field(path.to_owned(), vec![Test::Equal(value.into())])
    }

    /// Documents in which a field is above a value.
    pub fn above(path: &str, value: impl Into<Value>) -> Self {
        Self::Field(path.to_owned(), vec![Test::Greater(value.into())])
    }

    /// Documents that have a field.
    pub fn exists(path: &str) -> Self {
        Self::Field(path.to_owned(), vec![Test::Exists(true)])
    }

    /// True if a document matches.
    pub fn matches(&self, map: &Map) -> bool {
        match self {
            Self::Field(path, tests) => tests.iter().all(|test| test.holds(map, path)),
            Self::And(all) => all.iter().all(|ask| ask.matches(map)),
            Self::Or(any) => any.iter().any(|ask| ask.matches(map)),
        }
    }

    /// As the database reads it.
    pub fn to_map(&self) -> Map {
        let list = |asks: &[Self]| Value::Array(asks.iter().map(|ask| Value::Map(ask.to_map())).collect());
        let mut map = Map::new();
        match self {
            Self::Field(path, tests) => match tests.as_slice() {
                [Test::Equal(value)] if !matches!(value, Value::Map(_)) => map.push(path.as_str(), value.clone()),
                tests => {
                    let mut operators = Map::new();
                    for (name, operand) in tests.iter().map(Test::operator) {
                        operators.push(name, operand);
                    }
                    map.push(path.as_str(), operators);
                }
            },
            Self::And(asks) if asks.is_empty() => {}
            Self::And(asks) => map.push("$and", list(asks)),
            Self::Or(asks) => map.push("$or", list(asks)),
        }
        map
    }
}

/// An order of documents: fields, and whether they descend.
#[derive(Debug, Clone)]
pub(crate) struct Order(pub Vec<(&'static str, bool)>);

impl Order {
    /// By `_id`.
    pub fn by_id(descending: bool) -> Self {
        Self(vec![("_id", descending)])
    }

    /// As the database reads it.
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

/// What of documents is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    names: Vec<&'static str>,
    /// These, or all but these.
    includes: bool,
    id: bool,
}

impl Part {
    fn random(rng: &mut fastrand::Rng) -> Self {
        const NAMES: [&str; 9] = ["k", "n", "set", "inc", "score", "tags", "by", "a", "missing"];
        let mut names: Vec<&str> = (0..rng.usize(1..4)).map(|_| NAMES[rng.usize(0..NAMES.len())]).collect();
        names.sort_unstable();
        names.dedup();
        Self { names, includes: rng.u8(0..3) > 0, id: rng.u8(0..4) > 0 }
    }

    /// As the database reads it.
    pub fn to_map(&self) -> Map {
        let mut map: Map = self.names.iter().map(|name| (*name, i32::from(self.includes))).collect();
        if !self.id {
            map.push("_id", 0);
        }
        map
    }

    /// What it leaves of a document.
    pub fn of(&self, map: &Map) -> Map {
        let stays = |name: &Value| match name.as_str() {
            Some("_id") => self.id,
            name => self.names.iter().any(|other| name == Some(other)) == self.includes,
        };
        Map { entries: map.entries.iter().filter(|(name, _)| stays(name)).cloned().collect() }
    }
}

impl Runner {
    /// A filter, mostly one that some documents match.
    pub(crate) fn any_ask(&mut self, name: &str) -> Ask {
        match self.rng.u8(0..12) {
            0 => Ask::And(Vec::new()),
            1 => Ask::And(vec![self.any_field(name), self.any_field(name)]),
            2 => Ask::Or(vec![self.any_field(name), self.any_field(name)]),
            3 => {
                let id = self.any_id(name);
                Ask::id(id.value(&mut self.rng))
            }
            _ => self.any_field(name),
        }
    }

    pub(crate) fn any_field(&mut self, name: &str) -> Ask {
        let path = PATHS[self.rng.usize(0..PATHS.len())];
        let mut a = self.any_operand(name, path);
        let mut b = self.any_operand(name, path);
        let which = self.rng.u8(0..12);
        if which > 6 {
            // There are no ranges of nothing.
            for bound in [&mut a, &mut b].into_iter().filter(|bound| **bound == Value::Null) {
                *bound = Value::Int32(1);
            }
        }
        let tests = match which {
            0..=3 => vec![Test::Equal(a)],
            4 => vec![Test::In(vec![a, b, Value::Int32(1)])],
            5 => vec![Test::Exists(self.rng.u8(0..4) > 0)],
            6 => vec![Test::NotEqual(a)],
            7 => vec![Test::Greater(a)],
            8 => vec![Test::LessOrEqual(a)],
            9 => vec![Test::GreaterOrEqual(a), Test::Less(b)],
            10 => vec![Test::Greater(a), Test::LessOrEqual(b)],
            _ => vec![Test::GreaterOrEqual(a)],
        };
        Ask::Field(path.to_owned(), tests)
    }

    /// A value that a document has at the path, or a small one.
    fn any_operand(&mut self, name: &str, path: &str) -> Value {
        let documents = self.state.documents(name).filter(|documents| !documents.is_empty());
        if let Some(documents) = documents
            && self.rng.u8(0..3) > 0
        {
            let map = documents.values().nth(self.rng.usize(0..documents.len())).expect("within");
            let mut found = Vec::new();
            crate::values::distinct_at(map, path, &mut found);
            let plain = |value: &&&Value| {
                matches!(value, Value::Int32(_) | Value::String(_) | Value::Null | Value::DateTime(_))
            };
            if let Some(value) = found.iter().find(plain) {
                return (*value).clone();
            }
        }
        match self.rng.u8(0..8) {
            0 => Value::Null,
            1 => Value::Double(Double(f64::from(self.rng.i32(0..6)) / 2.0)),
            2 => Value::from("x"),
            3 => Value::Int64(i64::from(self.rng.i32(0..1000))),
            _ => Value::Int32(self.rng.i32(0..6)),
        }
    }

    /// An order that tells any two documents apart.
    pub(crate) fn any_order(&mut self) -> Order {
        let mut order = Vec::new();
        for _ in 0..self.rng.usize(0..3) {
            let name = SORTED[self.rng.usize(0..SORTED.len())];
            if !order.iter().any(|(other, _)| *other == name) {
                order.push((name, self.rng.bool()));
            }
        }
        order.push(("_id", self.rng.bool()));
        Order(order)
    }

    /// A projection, now and then.
    pub(crate) fn any_part(&mut self) -> Option<Part> {
        (self.rng.u8(0..3) == 0).then(|| Part::random(&mut self.rng))
    }

    /// The name or the keys of an index that may be hinted at, or the natural order; and whether it may be refused, as
    /// those are that do not have all documents, or no ranges.
    pub(crate) fn any_hint(&mut self, name: &str, now: bool) -> Option<(alluvium::Hint, bool)> {
        if self.rng.u8(0..3) > 0 {
            return None;
        }
        let ready = self.state.collections.get(name).map(|contents| {
            let indexes = contents.indexes.values().filter(|index| now && index.ready);
            indexes.map(|index| index.definition.clone()).collect::<Vec<_>>()
        });
        let ready = ready.unwrap_or_default();
        if ready.is_empty() || self.rng.u8(0..3) == 0 {
            return Some((r#"{"$natural":1}"#.into(), false));
        }
        let definition = &ready[self.rng.usize(0..ready.len())];
        let words = format!("{:?}", definition.to_map());
        let few = definition.is_sparse() || definition.partial_filter().is_some() || words.contains("hashed");
        Some((definition.name().into(), few))
    }
}

/// The documents that match, in the order of their `_id`s.
pub(crate) fn matching<'a>(documents: &'a BTreeMap<Id, Arc<Map>>, ask: &Ask) -> Vec<(&'a Id, &'a Arc<Map>)> {
    documents.iter().filter(|(_, map)| ask.matches(map)).collect()
}
