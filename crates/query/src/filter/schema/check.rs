//! Checks of documents against schemas.

use super::super::error::FilterError;
use super::super::types::type_code;
use super::{Arrays, Dependency, Items, Maps, Numbers, Others, Schema, Texts};
use crate::expression::{Expression, ExpressionError};
use crate::number;
use crate::work::Work;
use alluvium_document::compare::{compare, equal};
use alluvium_document::{Map, Value, bson, key};
use std::collections::HashSet;

type Result<T> = std::result::Result<T, FilterError>;

/// The work counted for checking a value, or for comparing names.
const STEP_UNITS: usize = 64;

/// Counts work before it is done.
fn count_work(work: &mut Work<'_>, units: usize) -> Result<()> {
    Ok(work.add(units).map_err(ExpressionError::from)?)
}

/// Counts the work of reading a value as a whole.
fn count_value(work: &mut Work<'_>, value: &Value) -> Result<()> {
    if work.is_counted() { count_work(work, bson::bson_size(value)) } else { Ok(()) }
}

/// True if a document obeys a schema.
pub(super) fn map_obeys(schema: &Schema, map: &Map, work: &mut Work<'_>) -> Result<bool> {
    // A document has the type of maps.
    let value = Value::Map(map.clone());
    count_value(work, &value)?;
    obeys(schema, &value, work)
}

fn obeys(schema: &Schema, value: &Value, work: &mut Work<'_>) -> Result<bool> {
    count_work(work, STEP_UNITS)?;
    let Schema { types, values, all_of, any_of, one_of, not, numbers, texts, arrays, maps, interrupt: _ } = schema;
    if types.is_some_and(|types| !types.contains(type_code(value))) {
        return Ok(false);
    }
    if let Some(values) = values
        && !is_among(value, values, work)?
    {
        return Ok(false);
    }
    let typed = match value {
        Value::String(text) => text_obeys(texts, text, work)?,
        Value::Array(elements) => array_obeys(arrays, elements, work)?,
        Value::Map(map) => fields_obey(maps, map, work)?,
        number if number.is_number() => number_obeys(numbers, number),
        _ => true,
    };
    if !typed {
        return Ok(false);
    }
    for one in all_of {
        if !obeys(one, value, work)? {
            return Ok(false);
        }
    }
    if !any_of.is_empty() && count(any_of, value, 1, work)? == 0 {
        return Ok(false);
    }
    if !one_of.is_empty() && count(one_of, value, 2, work)? != 1 {
        return Ok(false);
    }
    match not {
        Some(not) => Ok(!obeys(not, value, work)?),
        None => Ok(true),
    }
}

/// True if a value equals one of the values. The order of fields in maps is ignored.
fn is_among(value: &Value, values: &[Value], work: &mut Work<'_>) -> Result<bool> {
    count_value(work, value)?;
    let value = in_order(value);
    for one in values {
        count_value(work, one)?;
        if equal(&in_order(one), &value) {
            return Ok(true);
        }
    }
    Ok(false)
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
fn count(schemas: &[Schema], value: &Value, most: usize, work: &mut Work<'_>) -> Result<usize> {
    let mut count = 0;
    for schema in schemas {
        count += usize::from(obeys(schema, value, work)?);
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

/// Computes with decimals, so that 0.3 is a multiple of 0.1.
fn is_multiple(number: &Value, divisor: &Value) -> bool {
    let decimal = |value: &Value| number::decimal(value).ok().map(Value::Decimal);
    let (Some(number), Some(divisor)) = (decimal(number), decimal(divisor)) else { return false };
    let pair = Value::Array(vec![number, divisor]);
    let rest = Expression::parse(&Value::Map(Map::from([("$mod", pair)])));
    let rest = rest.ok().and_then(|rest| rest.as_constant().cloned());
    rest.and_then(|rest| rest.as_f64()).is_some_and(|rest| rest == 0.0)
}

fn text_obeys(texts: &Texts, text: &str, work: &mut Work<'_>) -> Result<bool> {
    count_work(work, text.len())?;
    let length = text.chars().count() as u64;
    if texts.min_length.is_some_and(|least| length < least) || texts.max_length.is_some_and(|most| length > most) {
        return Ok(false);
    }
    match &texts.pattern {
        Some(pattern) => Ok(pattern.is_match(text)?),
        None => Ok(true),
    }
}

fn array_obeys(arrays: &Arrays, elements: &[Value], work: &mut Work<'_>) -> Result<bool> {
    let length = elements.len() as u64;
    if arrays.min_items.is_some_and(|least| length < least) || arrays.max_items.is_some_and(|most| length > most) {
        return Ok(false);
    }
    if arrays.unique {
        let mut seen = HashSet::new();
        for element in elements {
            let mut bytes = Vec::new();
            key::encode(element, &mut bytes);
            count_work(work, bytes.len() + STEP_UNITS)?;
            if !seen.insert(bytes) {
                return Ok(false);
            }
        }
    }
    match &arrays.items {
        Items::Any => Ok(true),
        Items::Each(schema) => all(elements, |element| obeys(schema, element, work)),
        Items::Listed(schemas) => {
            for (schema, element) in schemas.iter().zip(elements) {
                if !obeys(schema, element, work)? {
                    return Ok(false);
                }
            }
            let rest = elements.get(schemas.len()..).unwrap_or_default();
            all(rest, |element| obeys_others(&arrays.additional, element, work))
        }
    }
}

fn obeys_others(others: &Others, value: &Value, work: &mut Work<'_>) -> Result<bool> {
    match others {
        Others::Allowed => Ok(true),
        Others::Refused => Ok(false),
        Others::Obey(schema) => obeys(schema, value, work),
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

/// True if a map has all of these fields. Each is searched for from the first field of the map.
fn has_all(map: &Map, names: &[Box<str>], work: &mut Work<'_>) -> Result<bool> {
    for name in names {
        count_work(work, map.len())?;
        if !map.contains(name) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn fields_obey(maps: &Maps, map: &Map, work: &mut Work<'_>) -> Result<bool> {
    let length = map.len() as u64;
    if maps.min_properties.is_some_and(|least| length < least)
        || maps.max_properties.is_some_and(|most| length > most)
        || !has_all(map, &maps.required, work)?
    {
        return Ok(false);
    }
    for (name, value) in map.iter() {
        if !field_obeys(maps, name.as_str().unwrap_or_default(), value, work)? {
            return Ok(false);
        }
    }
    for (name, dependency) in &maps.dependencies {
        count_work(work, map.len())?;
        if !map.contains(name) {
            continue;
        }
        let obeyed = match dependency {
            Dependency::Fields(names) => has_all(map, names, work)?,
            Dependency::Schema(schema) => map_obeys(schema, map, work)?,
        };
        if !obeyed {
            return Ok(false);
        }
    }
    Ok(true)
}

fn field_obeys(maps: &Maps, name: &str, value: &Value, work: &mut Work<'_>) -> Result<bool> {
    let mut is_named = false;
    count_work(work, maps.properties.len() + STEP_UNITS * maps.patterns.len())?;
    if let Some((_, schema)) = maps.properties.iter().find(|(known, _)| **known == *name) {
        is_named = true;
        if !obeys(schema, value, work)? {
            return Ok(false);
        }
    }
    for (pattern, schema) in &maps.patterns {
        if pattern.is_match(name)? {
            is_named = true;
            if !obeys(schema, value, work)? {
                return Ok(false);
            }
        }
    }
    if is_named { Ok(true) } else { obeys_others(&maps.additional, value, work) }
}
