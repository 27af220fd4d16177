//! Notes about a filter that found nothing because it compares values of different types: a date
//! with a text that looks like one, a number with a text of digits.

use super::{Noted, SAMPLE};
use crate::text;
use alluvium::{Map, Value};
use alluvium_document::compare::type_rank;

/// The operators whose operand is compared with values of its own type only.
const COMPARISONS: [&str; 5] = ["$eq", "$gt", "$gte", "$lt", "$lte"];

/// A comparison in a filter.
struct Comparison<'f> {
    path: String,
    operand: &'f Value,
}

/// Notes about the comparisons of a filter with no value of the same type among the first
/// documents.
pub(super) fn notes(collection: &impl Noted, filter: &Map) -> Vec<String> {
    let mut comparisons = Vec::new();
    walk(filter, &mut comparisons);
    if comparisons.is_empty() {
        return Vec::new();
    }
    let sample = collection
        .documents()
        .limit(SAMPLE)
        .run()
        .map(|cursor| cursor.filter_map(|document| document.ok()?.to_map().ok()).collect::<Vec<Map>>());
    let sample = sample.unwrap_or_default();
    comparisons.iter().filter_map(|comparison| comparison.note(&sample)).collect()
}

impl Comparison<'_> {
    fn note(&self, sample: &[Map]) -> Option<String> {
        let mut values = Vec::new();
        for document in sample {
            collect(document, &self.path, &mut values);
        }
        let known = values.first()?;
        // A pattern is for strings.
        let rank = match self.operand {
            Value::Regex(_) => type_rank(&Value::from("")),
            other => type_rank(other),
        };
        if values.iter().any(|value| type_rank(value) == rank) {
            return None;
        }
        let hint = match (known, self.operand) {
            (Value::DateTime(_), Value::String(_)) => ": a date is written {\"$date\": \"2026-01-31T00:00:00Z\"}",
            (Value::Int32(_) | Value::Int64(_) | Value::Double(_), Value::String(_)) => ": a number has no quotes",
            (Value::String(_), Value::Int32(_) | Value::Int64(_) | Value::Double(_)) => ": a string has quotes",
            (Value::ObjectId(_), Value::String(_)) => ": an ObjectId is written {\"$oid\": \"...\"}",
            _ => "",
        };
        let path = text::plain(&self.path);
        Some(format!(
            "{path} is compared with a value of type {}, and has values of type {}{hint}",
            self.operand.type_name(),
            known.type_name()
        ))
    }
}

fn walk<'f>(filter: &'f Map, found: &mut Vec<Comparison<'f>>) {
    for (name, value) in filter.iter() {
        let Some(name) = name.as_str() else { continue };
        match value {
            Value::Array(filters) if matches!(name, "$and" | "$or") => {
                filters.iter().filter_map(Value::as_map).for_each(|filter| walk(filter, found));
            }
            _ if name.starts_with('$') => {}
            Value::Map(operators) => {
                let operands = COMPARISONS.iter().filter_map(|operator| operators.get(operator));
                found.extend(operands.filter(is_scalar).map(|operand| Comparison { path: name.to_owned(), operand }));
            }
            operand if is_scalar(&operand) => found.push(Comparison { path: name.to_owned(), operand }),
            _ => {}
        }
    }
}

fn is_scalar(value: &&Value) -> bool {
    !matches!(value, Value::Null | Value::Map(_) | Value::Array(_))
}

/// The scalars at a path, also those in arrays; null is not one.
fn collect(map: &Map, path: &str, values: &mut Vec<Value>) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    let Some(value) = map.get(name) else { return };
    collect_in(value, rest, values);
}

fn collect_in(value: &Value, rest: Option<&str>, values: &mut Vec<Value>) {
    match (value, rest) {
        (Value::Array(elements), rest) => elements.iter().for_each(|element| collect_in(element, rest, values)),
        (Value::Map(map), Some(rest)) => collect(map, rest, values),
        (value, None) if is_scalar(&value) => values.push(value.clone()),
        _ => {}
    }
}
