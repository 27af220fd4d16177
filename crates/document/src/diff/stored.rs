//! The form in which a difference is stored; [`super::Difference::into_map`] describes it.

use super::{DifferenceError, Element, Elements, Fields, Inside, POSITION_MAX, position};
use crate::encoding::{MAP, STRING, encode, put_head, put_str};
use crate::path::array_index;
use crate::value::{Map, Text, Value};

const REMOVED: char = 'r';
const UPDATED: char = 'u';
const APPENDED: char = 'a';
const DOCUMENT: char = 'd';
const ARRAY: char = 'l';
const TRUNCATED: &str = "t";

impl Fields {
    pub(super) fn into_map(self) -> Map {
        let removed = self.removed.into_iter().map(|name| entry(REMOVED, &name, Value::Bool(true)));
        let updated = self.updated.into_iter().map(|(name, value)| entry(UPDATED, &name, value));
        let appended = self.appended.into_iter().map(|(name, value)| entry(APPENDED, &name, value));
        let inside = self.inside.into_iter().map(|(name, inside)| inside.into_entry(&name));
        Map { entries: removed.chain(updated).chain(appended).chain(inside).collect() }
    }

    /// Appends the encoding of [`Fields::into_map`].
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        let Self { removed, updated, appended, inside } = self;
        put_head(out, MAP, (removed.len() + updated.len() + appended.len() + inside.len()) as u64);
        for name in removed {
            put_key(REMOVED, name, out);
            encode(&Value::Bool(true), out);
        }
        for (letter, values) in [(UPDATED, updated), (APPENDED, appended)] {
            for (name, value) in values {
                put_key(letter, name, out);
                encode(value, out);
            }
        }
        for (name, inside) in inside {
            inside.encode_entry(name, out);
        }
    }

    /// Reads the form. `levels` is the number of levels that values inside of the map may have.
    pub(super) fn from_map(map: Map, levels: usize) -> Result<Self, DifferenceError> {
        let mut fields = Fields::default();
        let mut names = Vec::with_capacity(map.len());
        for (key, value) in map.entries {
            let (letter, key) = split(&key)?;
            let name = Text::from(&key[letter.len_utf8()..]);
            match letter {
                REMOVED if value == Value::Bool(true) => fields.removed.push(name.clone()),
                UPDATED => fields.updated.push((name.clone(), shallow(value, key, levels)?)),
                APPENDED => fields.appended.push((name.clone(), shallow(value, key, levels)?)),
                _ => fields.inside.push((name.clone(), Inside::from_entry(letter, key, value, levels)?)),
            }
            names.push(name);
        }
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(malformed(&pair[0], "a field that occurs twice")),
            None => Ok(fields),
        }
    }
}

impl Elements {
    fn into_map(self) -> Map {
        let truncated = self.truncated.map(|size| (Value::from(TRUNCATED), position(size)));
        let changes = self.changes.into_iter().map(|(at, element)| {
            let at = at.to_string();
            match element {
                Element::Set(value) => entry(UPDATED, &at, value),
                Element::Inside(inside) => inside.into_entry(&at),
            }
        });
        Map { entries: truncated.into_iter().chain(changes).collect() }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put_head(out, MAP, (usize::from(self.truncated.is_some()) + self.changes.len()) as u64);
        if let Some(size) = self.truncated {
            put_str(out, TRUNCATED);
            encode(&position(size), out);
        }
        for (at, element) in &self.changes {
            let at = at.to_string();
            match element {
                Element::Set(value) => {
                    put_key(UPDATED, &at, out);
                    encode(value, out);
                }
                Element::Inside(inside) => inside.encode_entry(&at, out),
            }
        }
    }

    fn from_map(map: Map, levels: usize) -> Result<Self, DifferenceError> {
        let mut elements = Elements::default();
        for (key, value) in map.entries {
            let (letter, key) = split(&key)?;
            if key == TRUNCATED {
                let size = if let Value::Int32(size) = value { u32::try_from(size).ok() } else { None };
                if size.is_none() || !elements.is_empty() {
                    return Err(malformed(key, "a wrong length, or one that is not the first entry"));
                }
                elements.truncated = size;
                continue;
            }
            let at = array_index(&key[letter.len_utf8()..]).and_then(|at| u32::try_from(at).ok());
            let at = at.filter(|at| *at <= POSITION_MAX && elements.truncated.is_none_or(|size| *at < size));
            let at = at.filter(|at| elements.changes.last().is_none_or(|(last, _)| last < at));
            let at = at.ok_or_else(|| malformed(key, "a wrong position"))?;
            let element = match letter {
                UPDATED => Element::Set(shallow(value, key, levels)?),
                _ => Element::Inside(Inside::from_entry(letter, key, value, levels)?),
            };
            elements.changes.push((at, element));
        }
        Ok(elements)
    }
}

impl Inside {
    fn into_entry(self, name: &str) -> (Value, Value) {
        match self {
            Inside::Document(fields) => entry(DOCUMENT, name, Value::Map(fields.into_map())),
            Inside::Array(elements) => entry(ARRAY, name, Value::Map(elements.into_map())),
        }
    }

    fn encode_entry(&self, name: &str, out: &mut Vec<u8>) {
        match self {
            Inside::Document(fields) => {
                put_key(DOCUMENT, name, out);
                fields.encode(out);
            }
            Inside::Array(elements) => {
                put_key(ARRAY, name, out);
                elements.encode(out);
            }
        }
    }

    fn from_entry(letter: char, key: &str, value: Value, levels: usize) -> Result<Self, DifferenceError> {
        let Value::Map(map) = value else { return Err(malformed(key, "a wrong letter or value")) };
        if map.is_empty() {
            return Err(malformed(key, "an empty map"));
        }
        let levels = levels.checked_sub(1).ok_or_else(|| malformed(key, "too many levels"))?;
        match letter {
            DOCUMENT => Fields::from_map(map, levels).map(Inside::Document),
            ARRAY => Elements::from_map(map, levels).map(Inside::Array),
            _ => Err(malformed(key, "a wrong letter or value")),
        }
    }
}

fn entry(letter: char, name: &str, value: Value) -> (Value, Value) {
    let mut key = Text::with_capacity(1 + name.len());
    key.push(letter);
    key.push_str(name);
    (Value::String(key), value)
}

/// Appends the name of an entry: a letter and the name of the field.
fn put_key(letter: char, name: &str, out: &mut Vec<u8>) {
    put_head(out, STRING, (letter.len_utf8() + name.len()) as u64);
    out.push(letter as u8);
    out.extend_from_slice(name.as_bytes());
}

/// The first letter of a key, and the key.
fn split(key: &Value) -> Result<(char, &str), DifferenceError> {
    let key = key.as_str().unwrap_or_default();
    let letter = key.chars().next().ok_or_else(|| malformed(key, "a name that is empty or not a string"))?;
    Ok((letter, key))
}

fn shallow(value: Value, key: &str, levels: usize) -> Result<Value, DifferenceError> {
    if value.is_deeper_than(levels) { Err(malformed(key, "too many levels")) } else { Ok(value) }
}

fn malformed(entry: &str, reason: &'static str) -> DifferenceError {
    DifferenceError::Malformed { entry: entry.to_owned(), reason }
}
