//! Values that BSON cannot represent: finds them in a document, and replaces them by the nearest values that it can
//! represent.

use super::{BsonError, MAX_DEPTH};
use crate::value::{Code, Map, Regex, Value};

/// The first value or name of `map` that BSON cannot represent: its path, and the reason.
pub fn unfit(map: &Map) -> Option<(String, BsonError)> {
    let mut path = Vec::new();
    let error = of_map(map, MAX_DEPTH, &mut path)?;
    Some((path.join("."), error))
}

fn of_map(map: &Map, depth: usize, path: &mut Vec<String>) -> Option<BsonError> {
    let Some(depth) = depth.checked_sub(1) else { return Some(BsonError::TooDeep) };
    for (key, value) in &map.entries {
        let Value::String(name) = key else { return Some(BsonError::Key(key.type_name())) };
        let error = if name.contains('\0') { Some(BsonError::Nul) } else { of_value(value, depth, name, path) };
        if error.is_some() {
            if error == Some(BsonError::Nul) && name.contains('\0') {
                path.insert(0, name.escape_debug().to_string());
            }
            return error;
        }
    }
    None
}

/// As [`unfit`], for a value with the name `name`. If it finds an error, adds the name to the path.
fn of_value(value: &Value, depth: usize, name: &str, path: &mut Vec<String>) -> Option<BsonError> {
    let error = match value {
        Value::Decimal(decimal) if !decimal.is_decimal128() => Some(BsonError::Decimal),
        Value::Regex(regex) if regex.pattern.contains('\0') || regex.options.contains('\0') => Some(BsonError::Nul),
        Value::Map(map) => of_map(map, depth, path),
        Value::Code(code) => code.scope.as_ref().and_then(|scope| of_map(scope, depth, path)),
        Value::Array(elements) => match depth.checked_sub(1) {
            None => Some(BsonError::TooDeep),
            Some(depth) => {
                elements.iter().enumerate().find_map(|(at, element)| of_value(element, depth, &at.to_string(), path))
            }
        },
        _ => None,
    };
    if error.is_some() {
        path.insert(0, name.to_owned());
    }
    error
}

/// Replaces the values and names that BSON cannot represent by the nearest ones that it can. A decimal is rounded to
/// decimal128, half to even, as in MongoDB's arithmetic. A zero character in a name or a regular expression becomes
/// U+FFFD. A key that is not a string is unchanged.
pub fn fit(map: &mut Map) {
    for (key, value) in &mut map.entries {
        if let Value::String(name) = key
            && name.contains('\0')
        {
            *key = Value::from(without_zero(name));
        }
        fit_value(value);
    }
}

fn fit_value(value: &mut Value) {
    match value {
        Value::Decimal(decimal) if !decimal.is_decimal128() => *decimal = decimal.rounded_to_decimal128(),
        Value::Regex(regex) => {
            let Regex { pattern, options } = &mut **regex;
            for text in [pattern, options] {
                if text.contains('\0') {
                    *text = without_zero(text);
                }
            }
        }
        Value::Map(map) => fit(map),
        Value::Code(code) => {
            let Code { scope, .. } = &mut **code;
            scope.iter_mut().for_each(fit);
        }
        Value::Array(elements) => elements.iter_mut().for_each(fit_value),
        _ => {}
    }
}

fn without_zero(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests;
