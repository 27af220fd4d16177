//! Fields of a projection that are computed.

use super::{Projection, ProjectionError};
use crate::code::ErrorCode;
use crate::expression::{ExpressionError, MAX_VALUE_BYTES, Scope};
use alluvium_document::{Document, Map, Value, bson};

/// Adds the computed fields to what a projection includes.
pub(super) fn add(projection: &Projection, document: &Document, projected: &mut Map) -> Result<(), ProjectionError> {
    if projection.computed.is_empty() {
        return Ok(());
    }
    let mut scope = Scope::of(document);
    let mut bytes = 0;
    for (path, expression) in &projection.computed {
        let value = expression.evaluate(&mut scope)?;
        bytes += value.as_ref().map_or(0, bson::bson_size);
        if bytes > MAX_VALUE_BYTES {
            let message = "the computed fields of a projection have more than 16 MiB";
            return Err(ExpressionError::new(ErrorCode::BSONObjectTooLarge, message).into());
        }
        let names: Vec<&str> = path.names().collect();
        put(projected, &names, value.as_ref());
    }
    Ok(())
}

/// Sets the value at the names, if there is one; what is on the way and no map is replaced by one.
fn put(map: &mut Map, names: &[&str], value: Option<&Value>) {
    match names {
        [] => {}
        [name] => drop(value.map(|value| map.insert(*name, value.clone()))),
        [name, rest @ ..] => {
            if map.get(name).is_none() {
                map.push(*name, Map::new());
            }
            if let Some(inner) = map.get_mut(name) {
                put_into(inner, rest, value);
            }
        }
    }
}

fn put_into(target: &mut Value, names: &[&str], value: Option<&Value>) {
    match target {
        Value::Map(map) => put(map, names, value),
        Value::Array(elements) => elements.iter_mut().for_each(|element| put_into(element, names, value)),
        other => {
            let mut map = Map::new();
            put(&mut map, names, value);
            *other = Value::Map(map);
        }
    }
}
