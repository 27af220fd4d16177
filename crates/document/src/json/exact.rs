//! Extended JSON that represents every value exactly.
//!
//! Canonical Extended JSON keeps the types of all values and the digits of all decimals. But it cannot represent maps
//! whose keys are not strings, and cannot distinguish a map with a field `$oid` from an object id. Also, parsers refuse
//! a name that occurs twice. Maps of these kinds are replaced by `{"$alluviumMap":[key,value,key,value,…]}`; all other
//! values are in canonical form.

use super::parse::Parser;
use super::{Format, JsonError, PrintError, Reason, print_map};
use crate::value::{Code, MAX_DEPTH, Map, Value};
use std::collections::HashSet;

/// The name of the single field that represents a map.
const NAME: &str = "$alluviumMap";
/// The maximum nesting of the text: three levels for each level of a value (code whose scope is such a map), and three
/// more for the innermost value.
const LEVELS: usize = 3 * MAX_DEPTH + 3;

/// Appends a document on one line, in a form from which [`parse_exact`] restores all types and the order.
///
/// # Errors
/// [`PrintError`]; `out` is then unchanged. No document should cause this error.
pub fn print_exact(map: &Map, out: &mut Vec<u8>) -> Result<(), PrintError> {
    print_map(&wrap_map(map), Format::CANONICAL, out)
}

/// Parses the output of [`print_exact`], or canonical or relaxed Extended JSON.
///
/// # Errors
/// [`JsonError`] with line, column and reason.
pub fn parse_exact(json: &[u8]) -> Result<Value, JsonError> {
    let (value, _) = Parser::new().parse_levels(json, LEVELS)?;
    let value = unwrap(value).map_err(|problem| {
        let reason = Reason::Extended { name: NAME, problem };
        JsonError::at(json, 0, reason)
    })?;
    if value.is_too_deep() {
        return Err(JsonError::at(json, 0, Reason::TooDeep));
    }
    Ok(value)
}

fn wrap(value: &Value) -> Value {
    match value {
        Value::Map(map) => Value::Map(wrap_map(map)),
        Value::Array(elements) => Value::Array(elements.iter().map(wrap).collect()),
        Value::Code(code) => {
            let scope = code.scope.as_ref().map(wrap_map);
            Value::Code(Box::new(Code { code: code.code.clone(), scope }))
        }
        other => other.clone(),
    }
}

/// The map itself if JSON can represent its names, otherwise a map that represents it.
fn wrap_map(map: &Map) -> Map {
    let mut seen = HashSet::with_capacity(map.len());
    let plain = |name: &str| !name.starts_with('$');
    if map.entries.iter().all(|(key, _)| key.as_str().is_some_and(|name| plain(name) && seen.insert(name))) {
        return map.entries.iter().map(|(key, value)| (key.clone(), wrap(value))).collect();
    }
    let list = map.entries.iter().flat_map(|(key, value)| [wrap(key), wrap(value)]).collect();
    [(Value::from(NAME), Value::Array(list))].into_iter().collect()
}

fn unwrap(value: Value) -> Result<Value, &'static str> {
    Ok(match value {
        Value::Map(map) => Value::Map(unwrap_map(map)?),
        Value::Array(elements) => Value::Array(elements.into_iter().map(unwrap).collect::<Result<_, _>>()?),
        Value::Code(code) => {
            let scope = code.scope.map(unwrap_map).transpose()?;
            Value::Code(Box::new(Code { code: code.code, scope }))
        }
        other => other,
    })
}

fn unwrap_map(mut map: Map) -> Result<Map, &'static str> {
    if !map.contains(NAME) {
        let unwrapped = map.entries.into_iter().map(|(key, value)| Ok((key, unwrap(value)?)));
        return unwrapped.collect::<Result<_, _>>();
    }
    let list = match (map.len(), map.entries.pop()) {
        (1, Some((_, Value::Array(list)))) if list.len() % 2 == 0 => list,
        _ => return Err("it must be an array of keys and values in turn, with no other field beside it"),
    };
    let mut entries = Vec::with_capacity(list.len() / 2);
    let mut list = list.into_iter();
    while let (Some(key), Some(value)) = (list.next(), list.next()) {
        entries.push((unwrap(key)?, unwrap(value)?));
    }
    Ok(Map { entries })
}

#[cfg(test)]
mod tests;
