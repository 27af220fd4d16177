//! The fields of a document as the cells of a row: nested fields under their paths (`a.b`), arrays
//! as JSON.

use alluvium::{Map, Value};
use alluvium_document::json::{self, Format, PrintError};

/// The kind of the text of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The document does not have the field.
    Missing,
    Null,
    Number,
    /// Anything else.
    Text,
}

/// One cell of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub kind: Kind,
    /// Empty for null and for a missing field.
    pub text: String,
}

impl Cell {
    /// The cell of a field that the document does not have.
    pub(super) const MISSING: Self = Self { kind: Kind::Missing, text: String::new() };

    /// A cell with this text.
    pub(super) fn text(text: String) -> Self {
        Self { kind: Kind::Text, text }
    }

    /// The cell of a value.
    ///
    /// # Errors
    /// The value cannot be represented in JSON.
    pub(super) fn of(value: &Value) -> Result<Self, PrintError> {
        let kind = match value {
            Value::Null => Kind::Null,
            value if value.is_number() => Kind::Number,
            _ => Kind::Text,
        };
        Ok(Self { kind, text: plain(value)? })
    }
}

impl AsRef<Self> for Cell {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// A value as text without quotes; extended JSON for values that have no plain text.
fn plain(value: &Value) -> Result<String, PrintError> {
    Ok(match value {
        Value::Null => String::new(),
        Value::String(text) => text.to_string(),
        Value::Double(x) if x.0.is_nan() => "NaN".to_owned(),
        Value::Double(x) if x.0.is_infinite() => if x.0 > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        Value::Decimal(decimal) => decimal.to_string(),
        Value::ObjectId(id) => id.iter().map(|byte| format!("{byte:02x}")).collect(),
        Value::DateTime(millis) => json::date_to_iso(*millis),
        other => json::to_string(other, Format::RELAXED)?,
    })
}

/// The fields of a map with their paths. The fields of a nested map take the place of that map; an empty map is a
/// value.
///
/// # Errors
/// A name is not a string.
pub(super) fn fields(map: &Map) -> Result<Vec<(String, &Value)>, PrintError> {
    let mut found = Vec::with_capacity(map.len());
    add(map, "", &mut found)?;
    Ok(found)
}

fn add<'m>(map: &'m Map, above: &str, found: &mut Vec<(String, &'m Value)>) -> Result<(), PrintError> {
    for (name, value) in map.iter() {
        let name = name.as_str().ok_or(PrintError::Key(name.type_name()))?;
        let path = if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") };
        match value {
            Value::Map(below) if !below.is_empty() => add(below, &path, found)?,
            value => found.push((path, value)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
