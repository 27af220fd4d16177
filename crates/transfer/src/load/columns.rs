//! CSV columns: their names, their types, and the conversion of rows to documents.

use super::{Csv, FieldType};
use ::csv::ByteRecord;
use alluvium_document::path::FieldPath;
use alluvium_document::{Decimal, Map, Value, json};

#[derive(Debug, Clone)]
pub(crate) struct Columns {
    columns: Vec<Column>,
}

#[derive(Debug, Clone)]
struct Column {
    path: FieldPath,
    kind: FieldType,
}

/// An error in a row: the field, from 1, and the reason.
pub(crate) type BadField = (usize, String);

impl Columns {
    /// Builds the columns from the names of the fields and the types of `csv`.
    ///
    /// # Errors
    /// A name that is invalid, repeated, or both a value and a map; a type for an unknown field.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, csv: &Csv) -> Result<Self, BadField> {
        let mut columns: Vec<Column> = Vec::new();
        for name in names {
            let number = columns.len() + 1;
            let path: FieldPath =
                name.parse().map_err(|error| (number, format!("the name of field {number}, {name:?}: {error}")))?;
            let kind = csv.types.iter().find(|(typed, _)| typed == name).map_or(FieldType::Auto, |(_, kind)| *kind);
            columns.push(Column { path, kind });
        }
        let columns = Self { columns };
        columns.check()?;
        for (typed, _) in &csv.types {
            if !columns.columns.iter().any(|column| column.path.as_str() == typed) {
                return Err((1, format!("a type is given for {typed:?}, but there is no such field")));
            }
        }
        Ok(columns)
    }

    /// No fields: for an empty file, which has no row of names.
    pub fn none() -> Self {
        Self { columns: Vec::new() }
    }

    /// Refuses a repeated name, and a name that is both a value and a map.
    fn check(&self) -> Result<(), BadField> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        let names = |at: usize| self.columns[at].path.names();
        order.sort_by(|a, b| names(*a).cmp(names(*b)).then(a.cmp(b)));
        // In this order, a path immediately precedes the paths that it is a prefix of.
        for pair in order.windows(2) {
            let (first, second) = (&self.columns[pair[0]].path, &self.columns[pair[1]].path);
            if first == second {
                return Err((pair[1] + 1, format!("the field {second} appears twice")));
            }
            if second.starts_with(first) {
                let what = format!("the field {first} cannot be a value and, for {second}, a map");
                return Err((pair[1] + 1, what));
            }
        }
        Ok(())
    }

    /// Converts a row to a document.
    pub fn document(&self, row: &ByteRecord) -> Result<Map, BadField> {
        if row.len() != self.columns.len() {
            let what = format!("the row has {}, but there are names for {}", fields(row.len()), self.columns.len());
            return Err((1, what));
        }
        let mut map = Map::with_capacity(row.len());
        for (at, (bytes, column)) in row.iter().zip(&self.columns).enumerate() {
            if bytes.is_empty() {
                continue;
            }
            let text = std::str::from_utf8(bytes).map_err(|_| (at + 1, "invalid UTF-8".to_owned()))?;
            let value = column.kind.value(text).ok_or_else(|| {
                let shown: String = text.chars().take(40).collect();
                (at + 1, format!("the field {} is not of type {}: {shown:?}", column.path, column.kind.name()))
            })?;
            insert(&mut map, &column.path, value);
        }
        Ok(map)
    }
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

/// Inserts a value at a path whose existing parents are all maps.
fn insert(map: &mut Map, path: &FieldPath, value: Value) {
    let mut names = path.names();
    let Some(last) = names.next_back() else { return };
    let mut inner = map;
    for name in names {
        let found = inner.entries.iter().rposition(|(key, _)| key.as_str() == Some(name));
        let at = found.unwrap_or_else(|| {
            inner.push(name, Map::new());
            inner.len() - 1
        });
        let Some((_, Value::Map(next))) = inner.entries.get_mut(at) else { return };
        inner = next;
    }
    inner.push(last, value);
}

impl FieldType {
    /// Converts a text that is not empty; `None` if it is not of this type.
    pub(crate) fn value(self, text: &str) -> Option<Value> {
        match self {
            Self::Auto => Some(infer(text)),
            Self::String => Some(Value::from(text)),
            Self::Int => {
                let n: i64 = text.parse().ok()?;
                Some(i32::try_from(n).map_or(Value::Int64(n), Value::Int32))
            }
            Self::Long => text.parse().ok().map(Value::Int64),
            Self::Double => text.parse::<f64>().ok().map(Value::from),
            Self::Decimal => text.parse::<Decimal>().ok().map(Value::Decimal),
            Self::Bool => boolean(text),
            Self::Date => json::parse_date(text).or_else(|| text.parse().ok()).map(Value::DateTime),
            Self::ObjectId => json::parse_object_id(text).map(Value::ObjectId),
            Self::Json => json::parse(text.as_bytes()).ok(),
        }
    }
}

fn boolean(text: &str) -> Option<Value> {
    match text {
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// Infers the type of a text. Numbers follow the syntax of JSON: `007` and `+1` are texts.
fn infer(text: &str) -> Value {
    let number = || match json::parse_number(text) {
        Ok((value, taken)) if taken == text.len() => Some(value),
        _ => None,
    };
    let numeric = matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
    let value = if numeric { number() } else { boolean(text) };
    value.unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests;
