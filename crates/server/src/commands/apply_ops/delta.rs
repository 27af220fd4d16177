//! The changes of an update in the operation log, version 2.
//!
//! The fields of a delta are `d` (names to remove), `u` (new values of fields), `i` (new fields), and `sNAME` (a delta
//! of the field NAME). A delta of an array has `a: true`, the optional new length `l`, and `uN` and `sN` for its
//! elements.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Map, Value};

/// The most elements that one change can append to an array; the limit is the same for a `$set` of an array position.
const PADDING_MAX: usize = 1_500_000;

/// Applies a delta to a document. A delta of a field that is missing or has another type has no effect, because later
/// entries have changed the document since.
///
/// # Errors
/// Error 2 for a malformed delta.
pub(super) fn apply(document: &mut Map, delta: &Map) -> CommandResult<()> {
    for (name, change) in &delta.entries {
        let name = name.as_str().unwrap_or_default();
        match (name, change) {
            ("d", Value::Map(removed)) => {
                removed.entries.iter().filter_map(|(name, _)| name.as_str()).for_each(|name| {
                    document.remove(name);
                });
            }
            ("u", Value::Map(fields)) => {
                for (name, value) in &fields.entries {
                    document.insert(name.as_str().unwrap_or_default(), value.clone());
                }
            }
            ("i", Value::Map(fields)) => {
                for (name, value) in &fields.entries {
                    document.remove(name.as_str().unwrap_or_default());
                    document.push(name.clone(), value.clone());
                }
            }
            (_, Value::Map(inner)) if name.starts_with('s') => {
                if let Some(value) = name.get(1..).and_then(|name| document.get_mut(name)) {
                    apply_to_value(value, inner)?;
                }
            }
            _ => return Err(malformed(name)),
        }
    }
    Ok(())
}

fn malformed(name: &str) -> CommandError {
    CommandError::bad_value(format!("the field '{name}' of an update in the operation log is malformed"))
}

fn apply_to_value(value: &mut Value, delta: &Map) -> CommandResult<()> {
    match value {
        Value::Map(document) if !delta.flag("a") => apply(document, delta),
        Value::Array(values) if delta.flag("a") => apply_to_array(values, delta),
        _ => Ok(()),
    }
}

fn apply_to_array(values: &mut Vec<Value>, delta: &Map) -> CommandResult<()> {
    let length = |value: &Value| usize::try_from(value.as_i64().unwrap_or(-1)).ok();
    for (name, change) in &delta.entries {
        let name = name.as_str().unwrap_or_default();
        let position = || name.get(1..).and_then(|digits| digits.parse::<usize>().ok()).ok_or_else(|| malformed(name));
        match name {
            "a" => {}
            "l" => resize(values, length(change).ok_or_else(|| malformed(name))?)?,
            _ if name.starts_with('u') => {
                let at = position()?;
                if at >= values.len() {
                    resize(values, at.saturating_add(1))?;
                }
                if let Some(value) = values.get_mut(at) {
                    *value = change.clone();
                }
            }
            _ if name.starts_with('s') => {
                let inner = change.as_map().ok_or_else(|| malformed(name))?;
                if let Some(value) = values.get_mut(position()?) {
                    apply_to_value(value, inner)?;
                }
            }
            _ => return Err(malformed(name)),
        }
    }
    Ok(())
}

/// Truncates an array, or appends nulls to it.
fn resize(values: &mut Vec<Value>, length: usize) -> CommandResult<()> {
    if length > values.len().saturating_add(PADDING_MAX) {
        let message = format!("an array of {} elements cannot get {length} by one update", values.len());
        return Err(CommandError::bad_value(message));
    }
    values.resize(length, Value::Null);
    Ok(())
}

#[cfg(test)]
mod tests;
