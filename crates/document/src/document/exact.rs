//! Checks whether Extended JSON represents a document exactly.

use std::collections::HashSet;

use super::DocumentError;
use crate::json::is_extended;
use crate::row::{Form, MapRef, RowError, ValueRef};
use crate::value::{LEVELS_MAX, Map, Value};

/// The reason why a document's text would be parsed as a different document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InexactError {
    /// JSON's field names are strings.
    #[error("a map has a key of type {0}, and JSON's field names are strings")]
    Key(&'static str),
    /// The map would be parsed as a value of another type.
    #[error("a field has the name {0:?}, which Extended JSON reads as another value")]
    Name(String),
    /// Parsers refuse a map with two such fields, or keep only one of them.
    #[error("the field {0:?} occurs twice in a map")]
    Twice(String),
}

pub(super) fn check_json(map: &MapRef<'_>) -> Result<(), DocumentError> {
    check_map(map, LEVELS_MAX - 1)
}

fn check_map(map: &MapRef<'_>, levels: usize) -> Result<(), DocumentError> {
    // The names of a shape are unique.
    let mut seen = match map.form {
        Form::Shaped { .. } => None,
        Form::Plain { .. } => Some(HashSet::new()),
    };
    for entry in map.iter() {
        let (key, value) = entry?;
        let Some(name) = key.as_str() else { return Err(InexactError::Key(key.to_value()?.type_name()).into()) };
        check_name(name)?;
        if seen.as_mut().is_some_and(|seen| !seen.insert(name)) {
            return Err(InexactError::Twice(name.to_owned()).into());
        }
        check_value(&value, levels)?;
    }
    Ok(())
}

fn check_value(value: &ValueRef<'_>, levels: usize) -> Result<(), DocumentError> {
    let deeper = || levels.checked_sub(1).ok_or(RowError::TooDeep);
    match value {
        ValueRef::Map(map) => check_map(map, deeper()?),
        ValueRef::Array(array) => {
            let levels = deeper()?;
            array.iter().try_for_each(|element| check_value(&element?, levels))
        }
        ValueRef::Other(Value::Code(code)) => code.scope.as_ref().map_or(Ok(()), |scope| Ok(check_scope(scope)?)),
        _ => Ok(()),
    }
}

fn check_name(name: &str) -> Result<(), InexactError> {
    if is_extended(name) { Err(InexactError::Name(name.to_owned())) } else { Ok(()) }
}

/// Checks a decoded map, which is the scope of code. Its depth was checked when it was decoded.
fn check_scope(map: &Map) -> Result<(), InexactError> {
    let mut seen = HashSet::with_capacity(map.len());
    for (key, value) in map.iter() {
        let name = key.as_str().ok_or(InexactError::Key(key.type_name()))?;
        check_name(name)?;
        if !seen.insert(name) {
            return Err(InexactError::Twice(name.to_owned()));
        }
        check_decoded(value)?;
    }
    Ok(())
}

fn check_decoded(value: &Value) -> Result<(), InexactError> {
    match value {
        Value::Map(map) => check_scope(map),
        Value::Array(elements) => elements.iter().try_for_each(check_decoded),
        Value::Code(code) => code.scope.as_ref().map_or(Ok(()), check_scope),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
