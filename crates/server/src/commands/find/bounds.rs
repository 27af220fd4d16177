//! `min`, `max` and `returnKey` of `find`: they select the range of an index that is read, and return the index keys.
//!
//! A range becomes a filter that compares the values of a document with the bounds, in the order of the index. An array
//! is compared as a whole; MongoDB compares each of its elements.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Collection, Explanation, Map, Value};
use alluvium_document::compare::compare;
use std::cmp::Ordering;

/// The keys of the index in the hint of a command; `None` if the command has no hint, or if the hint is `$natural`.
///
/// # Errors
/// Error 2 for an index that does not exist.
pub(super) fn hinted(collection: &Collection, body: &Map) -> CommandResult<Option<Map>> {
    let is_wanted = |definition: &Map| match body.get("hint") {
        Some(Value::String(name)) => definition.text("name") == Some(name),
        Some(keys) => definition.get("key").is_some_and(|key| compare(key, keys) == Ordering::Equal),
        None => false,
    };
    let is_named = match body.get("hint") {
        None => false,
        Some(Value::Map(keys)) => !keys.is_empty() && !keys.contains("$natural"),
        Some(_) => true,
    };
    if !is_named {
        return Ok(None);
    }
    let found = collection.indexes()?.into_iter().map(|index| index.definition).find(is_wanted);
    match found.as_ref().and_then(|definition| definition.document("key")) {
        Some(keys) => Ok(Some(keys.clone())),
        None => Err(CommandError::bad_value("hint provided does not correspond to an existing index")),
    }
}

/// The range of an index between `min` and `max`.
pub(super) struct Range {
    /// The keys of the index.
    pub keys: Map,
    /// The filter for documents in the range.
    pub filter: Map,
}

impl Range {
    /// The range of a command; `None` if it has none.
    ///
    /// # Errors
    /// Error 51173 without a hint, 51174 if the fields differ from the fields of the index, 51175 if `min` is not
    /// before `max`, 51176 if the fields of `min` and `max` differ.
    pub(super) fn of(body: &Map, hinted: Option<&Map>) -> CommandResult<Option<Self>> {
        let bound = |name: &str| body.document(name).filter(|bound| !bound.is_empty());
        let (min, max) = (bound("min"), bound("max"));
        let fails = |code: i32, name: &'static str, message: &str| Err(CommandError::new(code, name, message));
        if min.is_none() && max.is_none() {
            return Ok(None);
        }
        let names = |map: &Map| map.entries.iter().map(|(name, _)| name.clone()).collect::<Vec<Value>>();
        if let (Some(min), Some(max)) = (min, max)
            && names(min) != names(max)
        {
            return fails(51_176, "Location51176", "min and max must have the same field names");
        }
        let Some(keys) = hinted else {
            let message = "When using min()/max() a hint of which index to use must be provided";
            return fails(51_173, "Location51173", message);
        };
        let is_ordered = keys.entries.iter().all(|(_, order)| order.is_number());
        let is_of_index = [min, max].into_iter().flatten().all(|bound| names(bound) == names(keys));
        if !is_of_index || !is_ordered {
            return fails(51_174, "Location51174", "The index chosen is not compatible with min/max");
        }
        if let (Some(min), Some(max)) = (min, max)
            && order(keys, min, max) != Ordering::Less
        {
            let message =
                "The value provided for min() does not come before the value provided for max() in the hinted index";
            return fails(51_175, "Location51175", message);
        }
        Ok(Some(Self { keys: keys.clone(), filter: between(keys, min, max) }))
    }

    /// A filter for documents that match another one and are in the range.
    pub(super) fn within(&self, filter: Map) -> Map {
        let both = [filter, self.filter.clone()].into_iter().map(Value::Map).collect();
        Map::from([("$and", Value::Array(both))])
    }
}

/// A filter for the documents at or after a lower bound and before an upper bound.
pub(in crate::commands) fn between(keys: &Map, min: Option<&Map>, max: Option<&Map>) -> Map {
    let lower = min.map(|min| from(keys, min, 0));
    let upper = max.map(|max| operator("$not", vec![from(keys, max, 0)]));
    Map::from([("$expr", operator("$and", lower.into_iter().chain(upper).collect()))])
}

/// True if a field of the index keys is ascending.
fn is_ascending(order: &Value) -> bool {
    order.as_f64().is_none_or(|order| order > 0.0)
}

/// The order of two keys in an index.
pub(in crate::commands) fn order(keys: &Map, a: &Map, b: &Map) -> Ordering {
    let parts = keys.entries.iter().zip(&a.entries).zip(&b.entries);
    let orders = parts.map(|(((_, order), (_, a)), (_, b))| match is_ascending(order) {
        true => compare(a, b),
        false => compare(b, a),
    });
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn operator(name: &str, arguments: Vec<Value>) -> Value {
    Value::Map(Map::from([(name, Value::Array(arguments))]))
}

/// Returns an expression that is true for documents whose key is at or after a bound. Compares only the fields of the
/// key from `part` onwards.
fn from(keys: &Map, bound: &Map, part: usize) -> Value {
    let (Some((name, order)), Some((_, value))) = (keys.entries.get(part), bound.entries.get(part)) else {
        return Value::Bool(true);
    };
    // An index stores null for a missing field.
    let path = Value::from(format!("${}", name.as_str().unwrap_or_default()));
    let own = operator("$ifNull", vec![path, Value::Null]);
    let literal = Value::Map(Map::from([("$literal", value.clone())]));
    let after = if is_ascending(order) { "$gt" } else { "$lt" };
    let equal = operator("$eq", vec![own.clone(), literal.clone()]);
    let rest = operator("$and", vec![equal, from(keys, bound, part + 1)]);
    operator("$or", vec![operator(after, vec![own, literal]), rest])
}

/// A projection of the keys of an index; without an index, a projection that returns no fields.
pub(super) fn only(keys: Option<&Map>) -> Map {
    // A projection needs at least one included field. This name is one that no field has.
    let mut projection = Map::from([("_id", Value::Int32(0)), ("\u{1}", Value::Int32(1))]);
    for (name, _) in keys.into_iter().flat_map(|keys| &keys.entries) {
        projection.insert(name.as_str().unwrap_or_default(), 1);
    }
    projection
}

/// The keys of the index in a plan.
pub(super) fn used(collection: &Collection, plan: Option<&Explanation>) -> CommandResult<Option<Map>> {
    let Some(name) = plan.and_then(|plan| index_name(&Value::Map(plan.to_map()))) else { return Ok(None) };
    let found = collection.indexes()?.into_iter().find(|index| index.definition.text("name") == Some(&name));
    Ok(found.and_then(|index| index.definition.document("key").cloned()))
}

/// The first index name in a plan.
fn index_name(plan: &Value) -> Option<String> {
    match plan {
        Value::Map(map) => match map.text("indexName") {
            Some(name) => Some(name.to_owned()),
            None => map.entries.iter().find_map(|(_, value)| index_name(value)),
        },
        Value::Array(values) => values.iter().find_map(index_name),
        _ => None,
    }
}
