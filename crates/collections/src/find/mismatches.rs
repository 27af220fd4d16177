//! Finds the comparisons in a filter whose operand has another type than the values in the documents, such as a date
//! compared with strings, or a number compared with strings of digits. Such a filter matches nothing and is not an
//! error.

use crate::error::Result;
use crate::read::{damaged, decode_copy};
use crate::view::CollectionView;
use alluvium_document::compare::type_rank;
use alluvium_document::{Map, Value};
use alluvium_store::Bounds;
use std::fmt;

/// The operators that compare only values of the operand's type.
const COMPARISONS: [&str; 5] = ["$eq", "$gt", "$gte", "$lt", "$lte"];
/// The number of documents whose types are compared with the operands.
const SAMPLE: usize = 100;
/// The maximum number of paths of a collection that are examined for the log.
const PATHS_MAX: usize = 64;
/// The target of log messages about queries.
const TARGET: &str = "alluvium::query";

/// A comparison whose operand differs in type from the values in all examined documents.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeMismatch {
    /// The path of the field.
    pub path: String,
    /// The value in the filter.
    pub operand: Value,
    /// A value of the field.
    pub stored: Value,
}

impl fmt::Display for TypeMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operand, stored) = (self.operand.type_name(), self.stored.type_name());
        write!(f, "{} is compared with a value of type {operand}, and has values of type {stored}", self.path)
    }
}

/// The comparisons of a filter whose operand has another type than all values at its path in these documents.
pub fn type_mismatches(filter: &Map, documents: &[Map]) -> Vec<TypeMismatch> {
    let comparisons = comparisons(filter);
    comparisons.into_iter().filter_map(|(path, operand)| mismatch(path, operand, documents)).collect()
}

fn mismatch(path: &str, operand: &Value, documents: &[Map]) -> Option<TypeMismatch> {
    let mut values = Vec::new();
    for document in documents {
        collect(document, path, &mut values);
    }
    // A regular expression matches strings.
    let rank = match operand {
        Value::Regex(_) => type_rank(&Value::from("")),
        other => type_rank(other),
    };
    if values.iter().any(|value| type_rank(value) == rank) {
        return None;
    }
    Some(TypeMismatch { path: path.to_owned(), operand: operand.clone(), stored: (*values.first()?).clone() })
}

/// The paths and operands of the comparisons of a filter with scalars.
fn comparisons(filter: &Map) -> Vec<(&str, &Value)> {
    let mut found = Vec::new();
    walk(filter, &mut found);
    found
}

fn walk<'f>(filter: &'f Map, found: &mut Vec<(&'f str, &'f Value)>) {
    for (name, value) in filter.iter() {
        let Some(name) = name.as_str() else { continue };
        match value {
            Value::Array(filters) if matches!(name, "$and" | "$or") => {
                filters.iter().filter_map(Value::as_map).for_each(|filter| walk(filter, found));
            }
            _ if name.starts_with('$') => {}
            Value::Map(operators) => {
                let operands = COMPARISONS.iter().filter_map(|operator| operators.get(operator));
                found.extend(operands.filter(|operand| is_scalar(operand)).map(|operand| (name, operand)));
            }
            operand if is_scalar(operand) => found.push((name, operand)),
            _ => {}
        }
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Map(_) | Value::Array(_))
}

/// Collects the scalars at a path, including scalars in arrays, but not null.
fn collect<'d>(map: &'d Map, path: &str, values: &mut Vec<&'d Value>) {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    if let Some(value) = map.get(name) {
        collect_in(value, rest, values);
    }
}

fn collect_in<'d>(value: &'d Value, rest: Option<&str>, values: &mut Vec<&'d Value>) {
    match (value, rest) {
        (Value::Array(elements), rest) => elements.iter().for_each(|element| collect_in(element, rest, values)),
        (Value::Map(map), Some(rest)) => collect(map, rest, values),
        (value, None) if is_scalar(value) => values.push(value),
        _ => {}
    }
}

/// True if log messages about queries are written.
pub(super) fn are_logged() -> bool {
    log::log_enabled!(target: TARGET, log::Level::Warn)
}

/// A filter of only the comparisons with dates of `filter`; `None` if it has none.
pub(super) fn of_dates(filter: &Map) -> Option<Map> {
    let dates = comparisons(filter).into_iter().filter(|(_, operand)| matches!(operand, Value::DateTime(_)));
    let dates: Map = dates.map(|(path, operand)| (path, operand.clone())).collect();
    (!dates.is_empty()).then_some(dates)
}

/// Logs a warning for each path where dates were compared with values of another type. Each path of a collection is
/// examined only once, because the examination reads documents.
pub(super) fn log(view: &CollectionView, mut dates: Map) {
    {
        let mut known = view.state.compared_dates.lock();
        dates.entries.retain(|(path, _)| {
            let path = path.as_str().unwrap_or_default();
            known.len() < PATHS_MAX && known.insert(path.to_owned())
        });
    }
    if dates.is_empty() {
        return;
    }
    // The query has succeeded. If the sample cannot be read now, nothing is logged.
    let documents = sample(view).unwrap_or_default();
    for mismatch in type_mismatches(&dates, &documents) {
        log::warn!(target: TARGET, "a query of {} found nothing: {mismatch}", view.name);
    }
}

/// Reads the first documents of the collection.
fn sample(view: &CollectionView) -> Result<Vec<Map>> {
    let mut scan = view.store().scan(view.state.documents, Bounds::all(), None)?;
    let mut documents = Vec::new();
    while let Some((key, row)) = scan.next()?.filter(|_| documents.len() < SAMPLE) {
        let document = decode_copy(&view.state.shapes, &view.name, key, row)?;
        documents.push(document.to_map().map_err(damaged(&view.name, &document))?);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests;
