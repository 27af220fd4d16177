//! Conversions from and to values of `serde_json`, which represent Extended JSON as maps.

use super::{SerdeError, extended};
use crate::json::{PrintError, interpret, parse_number};
use crate::value::{Double, MAX_DEPTH, Map, Value};
use serde::de::Error;
use serde_json::Value as Json;

/// Extended JSON becomes the value that it represents. Fails if it is malformed or nests too deep.
impl TryFrom<Json> for Value {
    type Error = SerdeError;

    fn try_from(json: Json) -> Result<Self, SerdeError> {
        from_json(json, MAX_DEPTH)
    }
}

fn from_json(json: Json, depth: usize) -> Result<Value, SerdeError> {
    let deeper = || depth.checked_sub(1).ok_or_else(|| SerdeError::custom("nested too deep"));
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(flag) => Value::Bool(flag),
        Json::Number(number) => match parse_number(&number.to_string()) {
            Ok((value, _)) => value,
            Err((_, reason)) => return Err(SerdeError::custom(reason)),
        },
        Json::String(text) => Value::from(text),
        Json::Array(elements) => {
            let depth = deeper()?;
            Value::Array(elements.into_iter().map(|element| from_json(element, depth)).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => {
            let depth = deeper()?;
            let mut map = Map::with_capacity(object.len());
            for (name, json) in object {
                map.push(name, from_json(json, depth)?);
            }
            interpret(map).map_err(SerdeError::custom)?
        }
    })
}

/// Numbers are plain if `serde_json` can represent them; rare types become canonical Extended JSON.
/// If a field occurs twice, the first value is kept. Fails for keys that are not strings.
impl TryFrom<&Value> for Json {
    type Error = PrintError;

    fn try_from(value: &Value) -> Result<Self, PrintError> {
        Ok(match value {
            Value::Null => Json::Null,
            Value::Bool(flag) => Json::Bool(*flag),
            Value::Int32(n) => Json::from(*n),
            Value::Int64(n) => Json::from(*n),
            Value::Double(Double(x)) if x.is_finite() => Json::from(*x),
            Value::String(text) => Json::from(text.as_str()),
            Value::Array(elements) => Json::Array(elements.iter().map(Json::try_from).collect::<Result<_, _>>()?),
            Value::Map(map) => object(map)?,
            // Unsigned 64-bit integers.
            Value::Decimal(decimal) => match decimal.parts() {
                Some((false, digits, 0)) if digits.parse::<u64>().is_ok_and(|n| n > i64::MAX as u64) => {
                    Json::from(digits.parse::<u64>().unwrap_or_default())
                }
                _ => object(&extended(value).map(|(_, map)| map).unwrap_or_default())?,
            },
            _ => object(&extended(value).map(|(_, map)| map).unwrap_or_default())?,
        })
    }
}

fn object(map: &Map) -> Result<Json, PrintError> {
    let mut object = serde_json::Map::with_capacity(map.len());
    for (key, value) in &map.entries {
        let Value::String(name) = key else { return Err(PrintError::Key(key.type_name())) };
        if !object.contains_key(name.as_str()) {
            object.insert(name.to_string(), Json::try_from(value)?);
        }
    }
    Ok(Json::Object(object))
}
