//! Notes about a filter that matched no documents because it compares values of different types: a date with a text
//! that looks like a date, or a number with a text of digits.

use super::{Noted, SAMPLE};
use crate::text;
use alluvium::{Map, TypeMismatch, Value, type_mismatches};

/// Notes about comparisons in a filter for which the field has no value of the same type among the first documents.
pub(super) fn notes(collection: &impl Noted, filter: &Map) -> Vec<String> {
    let sample = collection
        .documents()
        .limit(SAMPLE)
        .run()
        .map(|cursor| cursor.filter_map(|document| document.ok()?.to_map().ok()).collect::<Vec<Map>>());
    type_mismatches(filter, &sample.unwrap_or_default()).iter().map(note).collect()
}

fn note(mismatch: &TypeMismatch) -> String {
    let hint = match (&mismatch.stored, &mismatch.operand) {
        (Value::DateTime(_), Value::String(_)) => ": a date is written {\"$date\": \"2026-01-31T00:00:00Z\"}",
        (Value::Int32(_) | Value::Int64(_) | Value::Double(_), Value::String(_)) => ": a number has no quotes",
        (Value::String(_), Value::Int32(_) | Value::Int64(_) | Value::Double(_)) => ": a string has quotes",
        (Value::ObjectId(_), Value::String(_)) => ": an ObjectId is written {\"$oid\": \"...\"}",
        _ => "",
    };
    format!("{}{hint}", text::plain(&mismatch.to_string()))
}
