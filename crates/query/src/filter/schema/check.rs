//! Checks of documents against schemas.

use super::super::error::FilterError;
use super::super::types::type_code;
use super::{Arrays, Dependency, Items, Maps, Numbers, Others, Schema, Texts};
use crate::expression::Expression;
use crate::number;
use alluvium_document::compare::{compare, equal};
use alluvium_document::{Map, Value, key};
use std::collections::HashSet;

type Result<T> = std::result::Result<T, FilterError>;

/// True if a document obeys a schema.
pub(super) fn map_obeys(schema: &Schema, map: &Map) -> Result<bool> {
    // A document is of the type of maps.
    obeys(schema, &Value::Map(map.clone()))
}

fn obeys(schema: &Schema, value: &Value) -> Result<bool> {
    let Schema { types, values, all_of, any_of, one_of, not, numbers, texts, arrays, maps } = schema;
    if types.is_some_and(|types| !types.contains(type_code(value))) {
        return Ok(false);
    }
    if values.as_ref().is_some_and(|values| !is_among(value, values)) {
        return Ok(false);
    }
    let typed = match value {
        Value::String(text) => text_obeys(texts, text)?,
        Value::Array(elements) => array_obeys(arrays, elements)?,
        Value::Map(map) => fields_obey(maps, map)?,
        number if number.is_number() => number_obeys(numbers, number),
        _ => true,
    };
    if !typed {
        return Ok(false);
    }
    for one in all_of {
        if !obeys(one, value)? {
            return Ok(false);
        }
    }
    if !any_of.is_empty() && count(any_of, value, 1)? == 0 {
        return Ok(false);
    }
    if !one_of.is_empty() && count(one_of, value, 2)? != 1 {
        return Ok(false);
    }
    match not {
        Some(not) => Ok(!obeys(not, value)?),
        None => Ok(true),
    }
}

/// True if a value equals one of several, whatever the order of the fields of maps.
fn is_among(value: &Value, values: &[Value]) -> bool {
    let value = in_order(value);
    values.iter().any(|one| equal(&in_order(one), &value))
}

/// The value, with the fields of its maps in the order of their names.
fn in_order(value: &Value) -> Value {
    match value {
        Value::Array(elements) => Value::Array(elements.iter().map(in_order).collect()),
        Value::Map(map) => {
            let mut entries: Vec<(Value, Value)> =
                map.iter().map(|(name, value)| (name.clone(), in_order(value))).collect();
            entries.sort_by(|(a, _), (b, _)| compare(a, b));
            Value::Map(Map { entries })
        }
        other => other.clone(),
    }
}

/// The number of schemas that a value obeys, at most `most`.
fn count(schemas: &[Schema], value: &Value, most: usize) -> Result<usize> {
    let mut count = 0;
    for schema in schemas {
        count += usize::from(obeys(schema, value)?);
        if count == most {
            break;
        }
    }
    Ok(count)
}

fn number_obeys(numbers: &Numbers, number: &Value) -> bool {
    let above = numbers.minimum.as_ref().is_none_or(|(minimum, excluded)| {
        let order = compare(number, minimum);
        order.is_gt() || (order.is_eq() && !excluded)
    });
    let below = numbers.maximum.as_ref().is_none_or(|(maximum, excluded)| {
        let order = compare(number, maximum);
        order.is_lt() || (order.is_eq() && !excluded)
    });
    above && below && numbers.multiple_of.as_ref().is_none_or(|divisor| is_multiple(number, divisor))
}

/// By decimals, so that 0.3 is a multiple of 0.1.
fn is_multiple(number: &Value, divisor: &Value) -> bool {
    let decimal = |value: &Value| number::decimal(value).ok().map(Value::Decimal);
    let (Some(number), Some(divisor)) = (decimal(number), decimal(divisor)) else { return false };
    let pair = Value::Array(vec![number, divisor]);
    let rest = Expression::parse(&Value::Map(Map::from([("$mod", pair)])));
    let rest = rest.ok().and_then(|rest| rest.as_constant().cloned());
    rest.and_then(|rest| rest.as_f64()).is_some_and(|rest| rest == 0.0)
}

fn text_obeys(texts: &Texts, text: &str) -> Result<bool> {
    let length = text.chars().count() as u64;
    if texts.min_length.is_some_and(|least| length < least) || texts.max_length.is_some_and(|most| length > most) {
        return Ok(false);
    }
    match &texts.pattern {
        Some(pattern) => Ok(pattern.is_match(text)?),
        None => Ok(true),
    }
}

fn array_obeys(arrays: &Arrays, elements: &[Value]) -> Result<bool> {
    let length = elements.len() as u64;
    if arrays.min_items.is_some_and(|least| length < least) || arrays.max_items.is_some_and(|most| length > most) {
        return Ok(false);
    }
    if arrays.unique {
        let mut seen = HashSet::new();
        for element in elements {
            let mut bytes = Vec::new();
            key::encode(element, &mut bytes);
            if !seen.insert(bytes) {
                return Ok(false);
            }
        }
    }
    match &arrays.items {
        Items::Any => Ok(true),
        Items::Each(schema) => all(elements, |element| obeys(schema, element)),
        Items::Listed(schemas) => {
            for (schema, element) in schemas.iter().zip(elements) {
                if !obeys(schema, element)? {
                    return Ok(false);
                }
            }
            let rest = elements.get(schemas.len()..).unwrap_or_default();
            all(rest, |element| obeys_others(&arrays.additional, element))
        }
    }
}

fn obeys_others(others: &Others, value: &Value) -> Result<bool> {
    match others {
        Others::Allowed => Ok(true),
        Others::Refused => Ok(false),
        Others::Obey(schema) => obeys(schema, value),
    }
}

fn all(values: &[Value], mut check: impl FnMut(&Value) -> Result<bool>) -> Result<bool> {
    for value in values {
        if !check(value)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fields_obey(maps: &Maps, map: &Map) -> Result<bool> {
    let length = map.len() as u64;
    if maps.min_properties.is_some_and(|least| length < least)
        || maps.max_properties.is_some_and(|most| length > most)
        || !maps.required.iter().all(|name| map.contains(name))
    {
        return Ok(false);
    }
    for (name, value) in map.iter() {
        if !field_obeys(maps, name.as_str().unwrap_or_default(), value)? {
            return Ok(false);
        }
    }
    for (name, dependency) in &maps.dependencies {
        if !map.contains(name) {
            continue;
        }
        let obeyed = match dependency {
            Dependency::Fields(names) => names.iter().all(|name| map.contains(name)),
            Dependency::Schema(schema) => map_obeys(schema, map)?,
        };
        if !obeyed {
            return Ok(false);
        }
    }
    Ok(true)
}

fn field_obeys(maps: &Maps, name: &str, value: &Value) -> Result<bool> {
    let mut is_named = false;
    if let Some((_, schema)) = maps.properties.iter().find(|(known, _)| **known == *name) {
        is_named = true;
        if !obeys(schema, value)? {
            return Ok(false);
        }
    }
    for (pattern, schema) in &maps.patterns {
        if pattern.is_match(name)? {
            is_named = true;
            if !obeys(schema, value)? {
                return Ok(false);
            }
        }
    }
    if is_named { Ok(true) } else { obeys_others(&maps.additional, value) }
}
