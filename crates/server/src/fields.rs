//! The fields of commands: their types, and access to them.

use crate::error::{CommandError, CommandResult};
use alluvium::{Map, Value};

/// The types that a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anything.
    Any,
    /// A boolean, or a number in its place.
    Flag,
    /// A number.
    Number,
    /// A number without a fraction.
    Integer,
    /// A string.
    Text,
    /// A document.
    Document,
    /// An array of any values.
    Array,
    /// An array of documents.
    Documents,
    /// A string or a document.
    TextOrDocument,
    /// A document, or an array of documents.
    DocumentOrArray,
    /// A string, a document, or an array.
    IndexNames,
    /// A number, or a string.
    TextOrInteger,
}

/// A field of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// The name.
    pub name: &'static str,
    /// Its types.
    pub kind: Kind,
    /// True if a command without it is refused.
    pub required: bool,
}

/// A field that may be missing.
pub(crate) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false }
}

/// A field that must be there.
pub(crate) const fn required(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: true }
}

/// Fields that every command has.
pub(crate) const COMMON: &[Field] = &[
    optional("$db", Kind::Text),
    optional("$readPreference", Kind::Document),
    optional("$clusterTime", Kind::Document),
    optional("lsid", Kind::Document),
    optional("txnNumber", Kind::Integer),
    optional("autocommit", Kind::Flag),
    optional("startTransaction", Kind::Flag),
    optional("readConcern", Kind::Document),
    optional("writeConcern", Kind::Document),
    optional("maxTimeMS", Kind::Integer),
    optional("comment", Kind::Any),
    optional("apiVersion", Kind::Text),
    optional("apiStrict", Kind::Flag),
    optional("apiDeprecationErrors", Kind::Flag),
];

impl Kind {
    /// True if a value has one of the types.
    pub(crate) fn accepts(self, value: &Value) -> bool {
        let is_text = matches!(value, Value::String(_));
        let is_map = matches!(value, Value::Map(_));
        let all = |accepts: fn(&Value) -> bool| value.as_array().is_some_and(|values| values.iter().all(accepts));
        match self {
            Self::Any => true,
            Self::Flag => matches!(value, Value::Bool(_)) || value.is_number(),
            Self::Number => value.is_number(),
            Self::Integer => is_integer(value),
            Self::Text => is_text,
            Self::Document => is_map,
            Self::Array => matches!(value, Value::Array(_)),
            Self::Documents => all(|value| matches!(value, Value::Map(_))),
            Self::TextOrDocument => is_text || is_map,
            Self::DocumentOrArray => is_map || all(|value| matches!(value, Value::Map(_))),
            Self::IndexNames => is_text || is_map || matches!(value, Value::Array(_)),
            Self::TextOrInteger => is_text || is_integer(value),
        }
    }

    /// The types in words.
    fn names(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Flag => "[bool, long, int, decimal, double]",
            Self::Number | Self::Integer => "[long, int, decimal, double]",
            Self::Text => "string",
            Self::Document => "object",
            Self::Array | Self::Documents => "array",
            Self::TextOrDocument => "[string, object]",
            Self::DocumentOrArray => "[object, array]",
            Self::IndexNames => "[string, object, array]",
            Self::TextOrInteger => "[string, long, int, decimal, double]",
        }
    }
}

/// True for a number without a fraction that fits 64 bits.
fn is_integer(value: &Value) -> bool {
    value.is_number() && integer(value).is_some()
}

/// A number without a fraction.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // Exact in this range: 2^53.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

/// Checks the types of the known fields of a command or of one of its statements; null counts as missing. Unknown
/// fields are accepted, because clients add fields with each version.
///
/// # Errors
/// Error 14 for a type, error 40414 for a field that is missing.
pub(crate) fn check(owner: &str, fields: &[Field], body: &Map) -> CommandResult<()> {
    for field in fields {
        match body.get(field.name) {
            None if field.required => {
                let message = format!("BSON field '{owner}.{}' is missing but a required field", field.name);
                return Err(CommandError::missing_field(message));
            }
            None | Some(Value::Null | Value::Undefined) if !field.required => {}
            Some(value) if field.kind.accepts(value) => {}
            Some(value) => {
                let found = value.type_name();
                let (name, expected) = (field.name, field.kind.names());
                let message =
                    format!("BSON field '{owner}.{name}' is the wrong type '{found}', expected types '{expected}'");
                return Err(CommandError::type_mismatch(message));
            }
            None => {}
        }
    }
    Ok(())
}

/// Access to fields whose types were checked; another type counts as missing.
pub(crate) trait Fields {
    /// The text of a field.
    fn text(&self, name: &str) -> Option<&str>;
    /// The document of a field.
    fn document(&self, name: &str) -> Option<&Map>;
    /// The elements of a field.
    fn elements(&self, name: &str) -> Option<&[Value]>;
    /// The number of a field.
    fn integer(&self, name: &str) -> Option<i64>;
    /// The number of a field without its fraction: a double is truncated, a decimal rounded to the even neighbour; NaN
    /// is 0, and what is out of range the nearest number.
    fn coerced(&self, name: &str) -> Option<i64>;
    /// The truth of a field; false if it is missing.
    fn flag(&self, name: &str) -> bool;
    /// A count; negative ones are refused.
    ///
    /// # Errors
    /// Error 51024 for a negative number.
    fn count(&self, name: &str) -> CommandResult<Option<u64>>;
}

impl Fields for Map {
    fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    fn document(&self, name: &str) -> Option<&Map> {
        self.get(name)?.as_map()
    }

    fn elements(&self, name: &str) -> Option<&[Value]> {
        self.get(name)?.as_array()
    }

    fn integer(&self, name: &str) -> Option<i64> {
        integer(self.get(name)?)
    }

    fn coerced(&self, name: &str) -> Option<i64> {
        let value = self.get(name).filter(|value| value.is_number())?;
        value.as_i64().or_else(|| {
            let number = value.as_f64()?;
            let is_decimal = matches!(value, Value::Decimal(_));
            Some(if is_decimal { number.round_ties_even() } else { number.trunc() } as i64)
        })
    }

    fn flag(&self, name: &str) -> bool {
        match self.get(name) {
            Some(Value::Bool(flag)) => *flag,
            Some(value) if value.is_number() => value.as_f64() != Some(0.0),
            _ => false,
        }
    }

    fn count(&self, name: &str) -> CommandResult<Option<u64>> {
        let Some(number) = self.integer(name) else { return Ok(None) };
        u64::try_from(number).map(Some).map_err(|_| {
            let message = format!("BSON field '{name}' value must be >= 0, actual value '{number}'");
            CommandError::new(51024, "Location51024", message)
        })
    }
}

#[cfg(test)]
mod tests;
