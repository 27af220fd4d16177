//! Field paths: `author.name`, `tags.0`.

use crate::value::{Map, Value};
use std::fmt;
use std::str::FromStr;

/// The path to a value inside a document: names, separated by dots. A name that is a number also
/// selects an element of an array, from 0. A field with a dot in its name cannot be reached by a
/// path.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath {
    text: Box<str>,
    /// The end of each name.
    ends: Box<[usize]>,
}

/// The maximum number of names of a path: MongoDB's limit.
pub const NAMES_MAX: usize = 200;

/// The reason why text is not a field path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is empty, or a name before, between or after the dots is empty.
    #[error("a field path has an empty name")]
    EmptyName,
    /// The path has more than [`NAMES_MAX`] names.
    #[error("a field path has more than {NAMES_MAX} names")]
    TooLong,
    /// A name contains a zero, which ends names in BSON.
    #[error("a field path has a zero character")]
    Nul,
}

impl FieldPath {
    /// The names in order.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> + Clone {
        let start = |index: usize| if index == 0 { 0 } else { self.ends[index - 1] + 1 };
        (0..self.ends.len()).map(move |index| &self.text[start(index)..self.ends[index]])
    }

    /// The number of names, at least 1.
    pub fn depth(&self) -> usize {
        self.ends.len()
    }

    /// The name at this position, from 0.
    pub fn name(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let start = if at == 0 { 0 } else { self.ends[at - 1] + 1 };
        self.text.get(start..end)
    }

    /// The first name: a top-level field of the document.
    pub fn first(&self) -> &str {
        &self.text[..self.ends[0]]
    }

    /// The text of the path.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// True if this path is `other` or leads into it: `a.b` starts with `a`, not with `a.b.c` or `ab`.
    pub fn starts_with(&self, other: &FieldPath) -> bool {
        match self.text.strip_prefix(&*other.text) {
            Some(rest) => rest.is_empty() || rest.starts_with('.'),
            None => false,
        }
    }

    /// The value at the path, if it exists. A name selects a field of a map; a number selects a field of a map or an
    /// element of an array.
    pub fn get<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.names().try_fold(value, step)
    }

    /// As [`FieldPath::get`], from a map.
    pub fn get_in<'a>(&self, map: &'a Map) -> Option<&'a Value> {
        let mut names = self.names();
        let first = map.get(names.next()?)?;
        names.try_fold(first, step)
    }

    /// Sets the value at the path, which leads through maps. Values on the path that are not maps are replaced by maps.
    pub fn set_in(&self, map: &mut Map, value: Value) {
        let mut names = self.names();
        let Some(mut name) = names.next() else { return };
        let mut map = map;
        for next in names {
            if !matches!(map.get(name), Some(Value::Map(_))) {
                map.insert(name, Map::new());
            }
            let Some(Value::Map(inner)) = map.get_mut(name) else { return };
            (map, name) = (inner, next);
        }
        map.insert(name, value);
    }

    /// Calls `visit` with every value at the path, in the sense of MongoDB's filters and indexes: if the path leads
    /// through an array, it continues in each map among the elements that has the next name. The value at the end of
    /// the path is passed unchanged, even if it is an array. Returns the number of values.
    pub fn visit<'a>(&self, value: &'a Value, visit: &mut dyn FnMut(&'a Value)) -> usize {
        let names: Vec<&str> = self.names().collect();
        visit_all(value, &names, visit)
    }
}

fn step<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Map(map) => map.get(name),
        Value::Array(elements) => elements.get(array_index(name)?),
        _ => None,
    }
}

/// The position in an array that a name selects in reads, filters and indexes: a number without a sign or leading zeros.
pub fn array_index(name: &str) -> Option<usize> {
    let plain = name == "0" || matches!(name.as_bytes().first(), Some(b'1'..=b'9'));
    name.parse().ok().filter(|_| plain)
}

/// The position in an array that a name selects in updates: a number without a sign. As in MongoDB, leading zeros are
/// ignored.
pub fn update_index(name: &str) -> Option<usize> {
    let digits = name.bytes().all(|byte| byte.is_ascii_digit());
    name.parse().ok().filter(|_| digits)
}

fn visit_all<'a>(value: &'a Value, names: &[&str], visit: &mut dyn FnMut(&'a Value)) -> usize {
    let Some((name, rest)) = names.split_first() else {
        visit(value);
        return 1;
    };
    match value {
        Value::Map(map) => map.get(name).map_or(0, |inner| visit_all(inner, rest, visit)),
        Value::Array(elements) => {
            let there =
                array_index(name).and_then(|at| elements.get(at)).map_or(0, |inner| visit_all(inner, rest, visit));
            // As in MongoDB, an array directly inside an array is not entered.
            let maps = elements.iter().filter(|element| matches!(element, Value::Map(_)));
            there + maps.map(|map| visit_all(map, names, visit)).sum::<usize>()
        }
        _ => 0,
    }
}

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        if text.split('.').any(str::is_empty) {
            return Err(PathError::EmptyName);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let names = 1 + text.bytes().filter(|byte| *byte == b'.').count();
        if names > NAMES_MAX {
            return Err(PathError::TooLong);
        }
        let mut ends = Vec::with_capacity(names);
        ends.extend(text.match_indices('.').map(|(at, _)| at));
        ends.push(text.len());
        Ok(FieldPath { text: text.into(), ends: ends.into() })
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests;
