//! Definitions of indexes.

use super::{IndexError, MAX_NAME_BYTES, MAX_PARTIAL_LEVELS, MAX_PARTS};
use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::Variables;
use crate::filter::{Filter, FilterError};
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

/// The order of a part of an index key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// From the least value to the greatest.
    Ascending,
    /// From the greatest value to the least.
    Descending,
    /// Ordered by a hash of the value; supports only equality.
    Hashed,
}

/// A part of an index key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The path of the values.
    pub path: FieldPath,
    /// The order of the values.
    pub order: Order,
}

/// A secondary index.
#[derive(Debug, Clone)]
pub struct Definition {
    name: String,
    parts: Vec<Part>,
    unique: bool,
    sparse: bool,
    partial: Option<(Map, Filter)>,
    expire_after_s: Option<u32>,
    collation: Option<Collation>,
    /// An option without effect. It is kept because clients expect to read it back.
    background: Option<bool>,
    hidden: bool,
}

impl PartialEq for Definition {
    /// True if both define the same index. The option `background` is ignored.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.has_keys_of(other)
            && self.unique == other.unique
            && self.sparse == other.sparse
            && self.partial == other.partial
            && self.expire_after_s == other.expire_after_s
            && self.hidden == other.hidden
    }
}

/// Options of MongoDB that are not supported.
const UNSUPPORTED: [&str; 15] = [
    "2dsphereIndexVersion",
    "bits",
    "bucketSize",
    "clustered",
    "coarsestIndexedLevel",
    "default_language",
    "finestIndexedLevel",
    "language_override",
    "max",
    "min",
    "prepareUnique",
    "storageEngine",
    "textIndexVersion",
    "weights",
    "wildcardProjection",
];

pub(super) fn bad<T>(what: impl Into<String>) -> Result<T, IndexError> {
    Err(IndexError::CannotCreateIndex(what.into()))
}

impl Definition {
    /// Parses a definition: the keys, such as `{author: 1, time: -1}`, and the options `name`,
    /// `unique`, `sparse`, `partialFilterExpression`, `expireAfterSeconds`, `collation`, `hidden`. `v`
    /// and `key` are ignored, `background` has no effect.
    ///
    /// # Errors
    /// [`IndexError`], except its errors of documents.
    pub fn parse(keys: &Map, options: &Map) -> Result<Self, IndexError> {
        let index = Self::read(keys, options)?;
        index.partial_filter_map().map_or(Ok(()), check_levels)?;
        Ok(index)
    }

    fn read(keys: &Map, options: &Map) -> Result<Self, IndexError> {
        let parts = parts(keys)?;
        let mut index = Self {
            name: String::new(),
            parts,
            unique: false,
            sparse: false,
            partial: None,
            expire_after_s: None,
            // The partial filter compares strings by the collation.
            collation: options.get("collation").map_or(Ok(None), collation)?,
            background: None,
            hidden: false,
        };
        index.name = index.usual_name();
        for (name, value) in options.iter() {
            index.option(name.as_str().unwrap_or_default(), value)?;
        }
        index.check()?;
        Ok(index)
    }

    /// True if these are the keys of the index on `_id` that every collection has. A name in the
    /// options is ignored.
    ///
    /// # Errors
    /// [`IndexError::InvalidOption`] for an option that is not allowed for this index.
    pub fn is_on_id(keys: &Map, options: &Map) -> Result<bool, IndexError> {
        if keys.len() != 1 || keys.get("_id").and_then(Value::as_f64) != Some(1.0) {
            return Ok(false);
        }
        for (name, value) in options.iter() {
            match name.as_str() {
                Some("name") if value.as_str().is_none() => {
                    let what = format!("the index option name must be a string, not {}", value.type_name());
                    return Err(IndexError::TypeMismatch(what));
                }
                Some("name" | "v" | "key" | "ns" | "background") => {}
                name => {
                    let what = format!(
                        "The field '{}' is not valid for an _id index specification",
                        name.unwrap_or("a name that is no text")
                    );
                    return Err(IndexError::InvalidOption(what));
                }
            }
        }
        Ok(true)
    }

    /// Parses a definition in one map, as [`Definition::to_map`] writes it and `listIndexes`
    /// returns it: the options, with the keys under `key`.
    ///
    /// # Errors
    /// As [`Definition::parse`].
    pub fn from_map(map: &Map) -> Result<Self, IndexError> {
        let index = Self::read_map(map)?;
        index.partial_filter_map().map_or(Ok(()), check_levels)?;
        Ok(index)
    }

    /// As [`Definition::from_map`], for the definition of an existing index. Filters of more than
    /// [`MAX_PARTIAL_LEVELS`] levels are allowed, because earlier versions accepted them. The version of the
    /// collation's rules is checked, because the existing keys were made by that version.
    ///
    /// # Errors
    /// As [`Definition::parse`], and [`IndexError::Collation`] if this build does not have that version of the
    /// collation's rules.
    pub fn from_stored_map(map: &Map) -> Result<Self, IndexError> {
        if let Some(Value::Map(collation)) = map.get("collation") {
            Collation::check_version(collation).map_err(IndexError::Collation)?;
        }
        Self::read_map(map)
    }

    fn read_map(map: &Map) -> Result<Self, IndexError> {
        match map.get("key") {
            Some(Value::Map(keys)) => Self::read(keys, map),
            Some(other) => {
                Err(IndexError::TypeMismatch(format!("the keys of an index are a map, not {}", other.type_name())))
            }
            None => bad("an index needs keys: {key: {field: 1}}"),
        }
    }

    /// The definition in one map: `v`, `key`, `name` and the options that are set.
    pub fn to_map(&self) -> Map {
        let mut map = Map::new();
        map.push("v", 2);
        map.push("key", self.keys_map());
        map.push("name", self.name.as_str());
        if self.unique {
            map.push("unique", true);
        }
        if self.sparse {
            map.push("sparse", true);
        }
        if let Some(filter) = self.partial_filter_map() {
            map.push("partialFilterExpression", filter.clone());
        }
        if let Some(seconds) = self.expire_after_s {
            map.push("expireAfterSeconds", i64::from(seconds));
        }
        if let Some(collation) = &self.collation {
            map.push("collation", collation.to_map());
        }
        if let Some(background) = self.background {
            map.push("background", background);
        }
        if self.hidden {
            map.push("hidden", true);
        }
        map
    }

    /// The keys in MongoDB's notation: `{author: 1, time: -1}`.
    pub fn keys_map(&self) -> Map {
        let mut keys = Map::new();
        for part in &self.parts {
            let order = match part.order {
                Order::Ascending => Value::Int32(1),
                Order::Descending => Value::Int32(-1),
                Order::Hashed => Value::from("hashed"),
            };
            keys.push(part.path.as_str(), order);
        }
        keys
    }

    /// The name of the index, for dropping it and for hints.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The parts of the key, in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// True if two documents must not yield the same index key.
    pub fn is_unique(&self) -> bool {
        self.unique
    }

    /// True if documents in which all paths are missing have no entry.
    pub fn is_sparse(&self) -> bool {
        self.sparse
    }

    /// The filter that a document must match to have entries.
    pub fn partial_filter(&self) -> Option<&Filter> {
        self.partial.as_ref().map(|(_, filter)| filter)
    }

    /// The partial filter in its original notation.
    pub fn partial_filter_map(&self) -> Option<&Map> {
        self.partial.as_ref().map(|(map, _)| map)
    }

    /// The number of seconds after which a document is deleted, counted from the date in the only part.
    pub fn expire_after_s(&self) -> Option<u32> {
        self.expire_after_s
    }

    /// True if queries do not use the index. Writes still keep it up to date, and a hidden unique index still refuses
    /// duplicates.
    pub fn is_hidden(&self) -> bool {
        self.hidden
    }

    /// The same index, either hidden from queries or visible.
    #[must_use]
    pub fn with_hidden(self, hidden: bool) -> Self {
        Self { hidden, ..self }
    }

    /// The same index with a different number of seconds after which documents are deleted.
    ///
    /// # Errors
    /// [`IndexError`] if the index cannot have an expiry time.
    pub fn with_expire_after_s(self, seconds: u32) -> Result<Self, IndexError> {
        let index = Self { expire_after_s: Some(seconds), ..self };
        index.check()?;
        Ok(index)
    }

    /// The collation of strings in the keys; `None` if they are compared by their bytes.
    pub fn collation(&self) -> Option<&Collation> {
        self.collation.as_ref()
    }

    /// True if both indexes have the same keys in the same order, with the same collation, whatever
    /// their names and other options.
    pub fn has_keys_of(&self, other: &Definition) -> bool {
        self.parts == other.parts && self.collation == other.collation
    }

    fn usual_name(&self) -> String {
        let parts = self.parts.iter().map(|part| {
            let order = match part.order {
                Order::Ascending => "1",
                Order::Descending => "-1",
                Order::Hashed => "hashed",
            };
            format!("{}_{order}", part.path)
        });
        parts.collect::<Vec<_>>().join("_")
    }

    fn option(&mut self, name: &str, value: &Value) -> Result<(), IndexError> {
        let wrong = |wanted: &str| {
            let what = format!("the index option {name} must be {wanted}, not {}", value.type_name());
            Err(IndexError::TypeMismatch(what))
        };
        match (name, value) {
            ("name", Value::String(text)) => self.name = text.to_string(),
            ("name", _) => return wrong("a string"),
            ("unique" | "sparse", _) => {
                let Some(on) = truth(value) else { return wrong("a boolean") };
                if name == "unique" { self.unique = on } else { self.sparse = on }
            }
            ("hidden", Value::Bool(on)) => self.hidden = *on,
            ("hidden", _) => return wrong("a boolean"),
            ("partialFilterExpression", Value::Map(map)) => {
                self.partial = Some((map.clone(), partial(map, self.collation.as_ref())?));
            }
            ("partialFilterExpression", _) => return wrong("a filter, as a map"),
            ("expireAfterSeconds", _) if value.is_number() => {
                let seconds = value.as_f64().unwrap_or(f64::NAN);
                if !(0.0..=f64::from(i32::MAX)).contains(&seconds) {
                    return bad(format!("expireAfterSeconds must be between 0 and {}, not {seconds}", i32::MAX));
                }
                self.expire_after_s = Some(seconds as u32);
            }
            ("expireAfterSeconds", _) => {
                return bad(format!("expireAfterSeconds must be a number, not {}", value.type_name()));
            }
            ("background", _) => self.background = truth(value),
            ("v" | "key" | "ns" | "collation", _) => {}
            (name, _) if UNSUPPORTED.contains(&name) => {
                return bad(format!("the index option {name} is not supported"));
            }
            _ => return Err(IndexError::InvalidOption(format!("there is no index option {name}"))),
        }
        Ok(())
    }

    fn check(&self) -> Result<(), IndexError> {
        if self.name.is_empty() || self.name.contains('\0') || self.name.len() > MAX_NAME_BYTES {
            let len = self.name.len();
            return bad(format!(
                "the name of an index has 1 to {MAX_NAME_BYTES} bytes, not {len}, and no zero character: give it one"
            ));
        }
        if self.name == "*" {
            let what = "an index cannot have the name *, which means all indexes";
            return Err(IndexError::BadValue(what.to_owned()));
        }
        if self.name == "_id_" {
            let what = "the name _id_ is that of the index on _id, which every collection has";
            return Err(IndexError::BadValue(what.to_owned()));
        }
        let hashed = self.parts.iter().filter(|part| part.order == Order::Hashed).count();
        if hashed > 1 {
            return Err(IndexError::InvalidParts(
                "an index has one hashed part at most".to_owned(),
                ErrorCode::Location31303,
            ));
        }
        if hashed > 0 && self.unique {
            let what = "a hashed index cannot be unique: different values may have one hash";
            return Err(IndexError::InvalidParts(what.to_owned(), ErrorCode::Location16764));
        }
        if self.expire_after_s.is_some() && (self.parts.len() > 1 || hashed > 0) {
            return bad("expireAfterSeconds needs an index with one part, which is not hashed");
        }
        if self.expire_after_s.is_some() && self.parts.iter().any(|part| part.path.as_str() == "_id") {
            return bad("expireAfterSeconds cannot be used with _id");
        }
        if self.sparse && self.partial.is_some() {
            return bad(
                "an index cannot be sparse and have a partialFilterExpression: put {field: {$exists: true}} into it",
            );
        }
        Ok(())
    }
}

/// Parses a collation; `None` for the locale `simple`.
fn collation(value: &Value) -> Result<Option<Collation>, IndexError> {
    match value {
        Value::Map(options) => Collation::parse(options).map_err(IndexError::Collation),
        other => {
            let what = format!("the index option collation must be a map, not {}", other.type_name());
            Err(IndexError::TypeMismatch(what))
        }
    }
}

/// Parses a partial filter. As in MongoDB, only equality, `$exists: true`, `$gt`, `$gte`, `$lt`,
/// `$lte`, `$type`, `$in`, `$and` and `$or` are allowed.
fn partial(map: &Map, collation: Option<&Collation>) -> Result<Filter, IndexError> {
    let variables = Variables::NONE.collated(collation.cloned());
    let filter = Filter::parse_in(map, &variables).map_err(IndexError::Filter)?;
    check_partial(map)?;
    Ok(filter)
}

/// Refuses a partial filter whose nesting is too deep to be read back from a stored definition.
fn check_levels(filter: &Map) -> Result<(), IndexError> {
    if filter.entries.iter().any(|(_, value)| value.is_deeper_than(MAX_PARTIAL_LEVELS - 1)) {
        let what = format!("it nests deeper than {MAX_PARTIAL_LEVELS} levels: index more documents by a simpler one");
        return Err(IndexError::Filter(FilterError::TooDeep(what)));
    }
    Ok(())
}

fn check_partial(map: &Map) -> Result<(), IndexError> {
    for (name, operand) in map.iter() {
        let name = name.as_str().unwrap_or_default();
        match (name, operand) {
            ("$and" | "$or", Value::Array(filters)) => {
                filters.iter().filter_map(Value::as_map).try_for_each(check_partial)?;
            }
            ("$exists", on) if truth(on) == Some(false) => {
                return bad("a partialFilterExpression cannot have $exists: false");
            }
            ("$eq" | "$gt" | "$gte" | "$lt" | "$lte" | "$in" | "$type" | "$exists" | "$comment", _) => {}
            (operator, _) if operator.starts_with('$') => {
                return bad(format!("a partialFilterExpression cannot have {operator}"));
            }
            (_, Value::Regex(_)) => return bad("a partialFilterExpression cannot have regular expressions"),
            (_, Value::Map(operators)) if operators.iter().any(|(name, _)| starts_with_dollar(name)) => {
                check_partial(operators)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn starts_with_dollar(name: &Value) -> bool {
    name.as_str().is_some_and(|name| name.starts_with('$'))
}

/// The boolean value of an option, by MongoDB's rules.
pub(super) fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(on) => Some(*on),
        _ => value.as_f64().map(|number| number != 0.0),
    }
}

fn parts(keys: &Map) -> Result<Vec<Part>, IndexError> {
    if keys.is_empty() {
        return bad("an index needs a key: {field: 1}");
    }
    if keys.len() > MAX_PARTS {
        return Err(IndexError::InvalidParts(
            format!("an index has at most {MAX_PARTS} parts"),
            ErrorCode::Location13103,
        ));
    }
    let mut parts: Vec<Part> = Vec::with_capacity(keys.len());
    for (name, order) in keys.iter() {
        let Some(name) = name.as_str() else { return bad("the paths of an index are strings") };
        // The fields of references to documents have names with a dollar sign. They are always
        // inside of other fields.
        let refused = name.starts_with('$') || name.split('.').any(crate::dollar::is_dollar_name);
        if refused && !name.ends_with(".$**") && name != "$**" {
            return bad(format!("the path {name} of an index has a name that begins with a dollar sign"));
        }
        if name.ends_with("$**") {
            return bad("wildcard indexes are not supported");
        }
        let path: FieldPath = name.parse().map_err(|error| {
            IndexError::CannotCreateIndex(format!("the path {name:?} of an index cannot be used: {error}"))
        })?;
        if parts.iter().any(|part| part.path == path) {
            return bad(format!("the path {name} occurs twice in an index"));
        }
        parts.push(Part { path, order: order_of(name, order)? });
    }
    if let [only] = parts.as_slice()
        && only.path.as_str() == "_id"
        && only.order != Order::Hashed
    {
        let order = keys.get("_id").and_then(Value::as_f64);
        if order == Some(-1.0) {
            let what = "the index on _id is {_id: 1}: it is read in both directions, so {_id: -1} has no use";
            return Err(IndexError::BadValue(what.to_owned()));
        }
        return bad("every collection has an index on _id");
    }
    Ok(parts)
}

fn order_of(name: &str, order: &Value) -> Result<Order, IndexError> {
    match order {
        Value::String(text) if &**text == "hashed" => Ok(Order::Hashed),
        Value::String(kind) => bad(format!("indexes of kind {kind:?} are not supported ({name})")),
        number if number.is_number() => match number.as_f64() {
            Some(x) if x > 0.0 => Ok(Order::Ascending),
            Some(x) if x < 0.0 => Ok(Order::Descending),
            _ => bad(format!("the order of {name} in an index is 1 or -1, not 0 or NaN")),
        },
        other => bad(format!("the order of {name} in an index is 1, -1 or \"hashed\", not {}", other.type_name())),
    }
}

#[cfg(test)]
mod tests;
