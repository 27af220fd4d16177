//! CSV columns: their names, their types, and the conversion of rows to documents.

use super::rows::RowField;
use super::{ColumnKind, ColumnReport, Csv, FieldType};
use alluvium_document::path::FieldPath;
use alluvium_document::{Decimal, Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

mod names;
mod sample;

use sample::Tally;

/// The columns of an input.
#[derive(Debug)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    /// The text of null.
    null: Option<String>,
}

#[derive(Debug)]
struct Column {
    path: FieldPath,
    /// The name in the header, if it cannot be the name of a field.
    header: Option<String>,
    kind: Kind,
    /// Counts of the values in the sample.
    tally: Tally,
    /// The number of values that do not have the type decided from the sample, and are stored as texts.
    others: AtomicU64,
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The type that the user declares.
    Declared(FieldType),
    /// The type decided from the sample.
    Found(ColumnKind),
}

/// An error in a row: the number of the field, from 1, and the reason.
pub(crate) type BadField = (usize, String);

impl Columns {
    /// Builds the columns from the names of the fields and the types of `csv`. If the names are from a header, names
    /// that cannot be paths of one document are replaced.
    ///
    /// # Errors
    /// A given name that is invalid, repeated, or both a value and a map; a type for an unknown field.
    pub fn new(given: &[String], is_header: bool, csv: &Csv) -> Result<Self, BadField> {
        let made = if is_header { names::made(given) } else { given.to_vec() };
        let mut columns: Vec<Column> = Vec::new();
        for (name, header) in made.iter().zip(given) {
            let number = columns.len() + 1;
            let path: FieldPath =
                name.parse().map_err(|error| (number, format!("the name of field {number}, {name:?}: {error}")))?;
            let declared = csv.types.iter().find(|(typed, _)| typed == name || typed == header);
            let kind = declared.map_or(Kind::Found(ColumnKind::Each), |(_, kind)| Kind::Declared(*kind));
            let header = Some(header.clone()).filter(|header| header != name);
            columns.push(Column { path, header, kind, tally: Tally::default(), others: AtomicU64::new(0) });
        }
        let columns = Self { columns, null: csv.null.clone() };
        columns.check()?;
        for (typed, _) in &csv.types {
            let is_of = |column: &Column| column.path.as_str() == typed || column.header.as_ref() == Some(typed);
            if !columns.columns.iter().any(is_of) {
                return Err((1, format!("a type is given for {typed:?}, but there is no such field")));
            }
        }
        Ok(columns)
    }

    /// No columns. For an empty file, which has no row of names.
    pub fn none() -> Self {
        Self { columns: Vec::new(), null: None }
    }

    /// Refuses a repeated name, and a name that is both a value and a map.
    fn check(&self) -> Result<(), BadField> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        let names = |at: usize| self.columns[at].path.names();
        order.sort_by(|a, b| names(*a).cmp(names(*b)).then(a.cmp(b)));
        // In this order, a path is immediately followed by the paths of which it is a prefix.
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

    /// Counts the values of a row of the sample.
    pub fn sample(&mut self, row: &[RowField<'_>]) {
        for (field, column) in row.iter().zip(&mut self.columns) {
            if field.text.is_empty() || is_null(self.null.as_deref(), field) {
                continue;
            }
            column.tally.add(&field.text);
        }
    }

    /// Decides the types that the user does not declare, once the whole sample is counted.
    pub fn decide(&mut self) {
        for column in &mut self.columns {
            if let Kind::Found(kind) = &mut column.kind {
                *kind = column.tally.kind();
            }
        }
    }

    /// The decision about each column.
    pub fn report(&self) -> Vec<ColumnReport> {
        let report = |column: &Column| ColumnReport {
            name: column.path.as_str().to_owned(),
            header: column.header.clone(),
            kind: match column.kind {
                Kind::Declared(_) => ColumnKind::Declared,
                Kind::Found(kind) => kind,
            },
            sampled: column.tally.values(),
            numbers: column.tally.numbers,
            booleans: column.tally.booleans,
            text: column.tally.text.clone(),
            is_only_text: column.tally.is_only_text,
            others: column.others.load(Ordering::Relaxed),
        };
        self.columns.iter().map(report).collect()
    }

    /// Converts a row to a document. With `repairs`, bytes that are not UTF-8 become U+FFFD.
    pub fn document(&self, row: &[RowField<'_>], repairs: bool) -> Result<Map, BadField> {
        let (own, more) = row.split_at_checked(self.columns.len()).unwrap_or((row, &[]));
        // Some programs write a separator after the last field of a row.
        if own.len() < self.columns.len() || more.iter().any(|field| !field.text.is_empty()) {
            let what = format!("the row has {}, but there are names for {}", fields(row.len()), self.columns.len());
            return Err((1, what));
        }
        let mut map = Map::with_capacity(row.len());
        for (at, (field, column)) in own.iter().zip(&self.columns).enumerate() {
            if field.text.is_empty() && !(field.is_quoted && column.takes_empty()) {
                continue;
            }
            if is_null(self.null.as_deref(), field) {
                insert(&mut map, &column.path, Value::Null);
                continue;
            }
            let lossy;
            let text = match std::str::from_utf8(&field.text) {
                Ok(text) => text,
                Err(_) if repairs => {
                    lossy = String::from_utf8_lossy(&field.text);
                    &lossy
                }
                Err(_) => return Err((at + 1, "invalid UTF-8".to_owned())),
            };
            insert(&mut map, &column.path, column.value(text).map_err(|reason| (at + 1, reason))?);
        }
        Ok(map)
    }
}

impl Column {
    /// True if a field that is only two quotes is an empty text. In other columns such a field is absent.
    fn takes_empty(&self) -> bool {
        let Kind::Found(kind) = self.kind else {
            return matches!(self.kind, Kind::Declared(FieldType::String | FieldType::Auto));
        };
        matches!(kind, ColumnKind::Text | ColumnKind::Each)
    }

    fn value(&self, text: &str) -> Result<Value, String> {
        let found = match self.kind {
            Kind::Declared(kind) => {
                return kind.value(text).ok_or_else(|| {
                    let shown: String = text.chars().take(40).collect();
                    format!("the field {} is not of type {}: {shown:?}", self.path, kind.name())
                });
            }
            Kind::Found(ColumnKind::Number) => number(text),
            Kind::Found(ColumnKind::Boolean) => boolean(text),
            Kind::Found(ColumnKind::Text) => return Ok(Value::from(text)),
            Kind::Found(_) => return Ok(infer(text)),
        };
        Ok(found.unwrap_or_else(|| {
            self.others.fetch_add(1, Ordering::Relaxed);
            Value::from(text)
        }))
    }
}

/// True if the field is the text of null without quotes.
fn is_null(null: Option<&str>, field: &RowField<'_>) -> bool {
    !field.is_quoted && null.is_some_and(|null| null.as_bytes() == &*field.text)
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
            _ if text.is_empty() => None,
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

/// `true` and `false`, as JSON, Python and spreadsheets write them.
fn boolean(text: &str) -> Option<Value> {
    match text {
        "true" | "True" | "TRUE" => Some(Value::Bool(true)),
        "false" | "False" | "FALSE" => Some(Value::Bool(false)),
        _ => None,
    }
}

/// A number in the syntax of JSON, or one that begins with the decimal point, such as `.097`. `007`, `+1` and numbers
/// that BSON cannot hold are texts. Digits with an exponent outside the range of a double are texts, too: they are
/// probably part of a hash.
fn number(text: &str) -> Option<Value> {
    let bare = text.strip_prefix('-').unwrap_or(text);
    let padded;
    let text = match bare.as_bytes().first()? {
        b'.' => {
            padded = format!("{}0{bare}", if bare.len() < text.len() { "-" } else { "" });
            &padded
        }
        b'0'..=b'9' => text,
        _ => return None,
    };
    let (value, taken) = json::parse_number(text).ok()?;
    let is_whole = taken == text.len();
    match &value {
        Value::Decimal(decimal) => {
            let is_double = || text.parse().is_ok_and(|x: f64| x.is_finite() && x != 0.0);
            let has_exponent = bare.contains(['e', 'E']);
            (is_whole && decimal.is_decimal128() && (!has_exponent || is_double())).then_some(value)
        }
        _ => is_whole.then_some(value),
    }
}

/// Infers the type of a value from its text alone.
fn infer(text: &str) -> Value {
    number(text).or_else(|| boolean(text)).unwrap_or_else(|| Value::from(text))
}

#[cfg(test)]
mod tests;
