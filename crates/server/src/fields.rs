//! The fields of commands: their types, and access to them.

use crate::error::{CommandError, CommandResult};
use alluvium::{Map, Value};
use std::cmp::Ordering;

/// The types that a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A value of any type.
    Any,
    /// A boolean or a number.
    Flag,
    /// A boolean, a number, or a string.
    FlagOrText,
    /// A boolean; numbers are not accepted.
    Bool,
    /// A boolean, or binary data that is a UUID.
    BoolOrUuid,
    /// A number without a fraction.
    Integer,
    /// A number; its fraction is ignored.
    Number,
    /// An integer of any numeric type; its absolute value is used.
    Limit,
    /// A number of 32 bits.
    Int32,
    /// A number of 64 bits.
    Int64,
    /// A string.
    Text,
    /// The name of a collection.
    Collection,
    /// A document.
    Document,
    /// An array of any values.
    Array,
    /// An array of documents.
    Documents,
    /// The name of an index or its keys.
    Hint,
    /// An update: a document, or an array of documents.
    Change,
    /// A string, a document, or an array.
    IndexNames,
    /// The name of a collection, or a number.
    CollectionOrNumber,
}

/// How the value of a field is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handling {
    /// No special handling.
    Plain,
    /// A password or a part of a login, which no listing, log or profile may show.
    Secret,
    /// The statements and documents of a write. They are stored separately from the other fields, so that lists of
    /// operations do not contain them.
    Apart,
}

/// A field of a command.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field {
    /// The name.
    pub name: &'static str,
    /// The types that the field may have.
    pub kind: Kind,
    /// True if a command without the field is refused.
    pub required: bool,
    /// True if null is a type error; otherwise null counts as missing.
    pub refuses_null: bool,
    /// The handling of the value.
    pub handling: Handling,
}

impl Field {
    /// Marks the field as a secret.
    pub(crate) const fn secret(self) -> Self {
        Self { handling: Handling::Secret, ..self }
    }

    /// Marks the field as the statements or documents of a write.
    pub(crate) const fn apart(self) -> Self {
        Self { handling: Handling::Apart, ..self }
    }

    /// Makes null a wrong type for the field.
    pub(crate) const fn not_null(self) -> Self {
        Self { refuses_null: true, ..self }
    }
}

/// A field that may be missing.
pub(crate) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, refuses_null: matches!(kind, Kind::Hint), handling: Handling::Plain }
}

/// A field that must be present.
pub(crate) const fn required(name: &'static str, kind: Kind) -> Field {
    let refuses_null = matches!(kind, Kind::Collection | Kind::CollectionOrNumber | Kind::Change | Kind::FlagOrText);
    Field { name, kind, required: true, refuses_null, handling: Handling::Plain }
}

/// Fields that every command accepts.
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
    optional("maxTimeMS", Kind::Number),
    optional("comment", Kind::Any),
    optional("apiVersion", Kind::Text),
    optional("apiStrict", Kind::Flag),
    optional("apiDeprecationErrors", Kind::Flag),
];

/// Fields that clients and routers add to any command. They have no effect here.
const ADDED: [&str; 16] = [
    "$audit",
    "$client",
    "$clientOperationKey",
    "$configTime",
    "$oplogQueryData",
    "$queryOptions",
    "$replData",
    "$topologyTime",
    "clientOperationKey",
    "databaseVersion",
    "help",
    "maxTimeMSOpOnly",
    "mayBypassWriteBlocking",
    "rawData",
    "serialization_context",
    "shardVersion",
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
            Self::FlagOrText => is_text || matches!(value, Value::Bool(_)) || value.is_number(),
            Self::Bool => matches!(value, Value::Bool(_)),
            Self::BoolOrUuid => matches!(value, Value::Bool(_) | Value::Binary(_)),
            Self::Integer | Self::Limit => is_integer(value),
            Self::Number => value.is_number(),
            Self::Int32 => matches!(value, Value::Int32(_)),
            Self::Int64 => matches!(value, Value::Int64(_)),
            Self::Text | Self::Collection => is_text,
            Self::Document => is_map,
            Self::Array => matches!(value, Value::Array(_)),
            Self::Documents => all(|value| matches!(value, Value::Map(_))),
            Self::Hint => is_text || is_map,
            Self::Change => is_map || all(|value| matches!(value, Value::Map(_))),
            Self::IndexNames => is_text || is_map || matches!(value, Value::Array(_)),
            Self::CollectionOrNumber => is_text || value.is_number(),
        }
    }

    /// The error for a value of another type.
    fn wrong(self, value: &Value, message: String) -> CommandError {
        match self {
            Self::Limit if value.is_number() => CommandError::failed_to_parse(message),
            Self::Limit => CommandError::bad_value(message),
            Self::Collection | Self::CollectionOrNumber => CommandError::invalid_namespace(message),
            Self::Hint | Self::Change => CommandError::failed_to_parse(message),
            _ => CommandError::type_mismatch(message),
        }
    }

    /// The names of the accepted types, for messages.
    fn names(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::Flag => "[bool, long, int, decimal, double]",
            Self::FlagOrText => "[bool, long, int, decimal, double, string]",
            Self::Bool => "bool",
            Self::BoolOrUuid => "[bool, binData]",
            Self::Int32 => "int",
            Self::Int64 => "long",
            Self::Integer | Self::Number | Self::Limit => "[long, int, decimal, double]",
            Self::Text | Self::Collection => "string",
            Self::Document => "object",
            Self::Array | Self::Documents => "array",
            Self::Hint => "[string, object]",
            Self::Change => "[object, array]",
            Self::IndexNames => "[string, object, array]",
            Self::CollectionOrNumber => "[string, long, int, decimal, double]",
        }
    }
}

/// True for a number without a fraction that fits 64 bits.
fn is_integer(value: &Value) -> bool {
    value.is_number() && integer(value).is_some()
}

/// A number without a fraction; `None` for any other value.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // Doubles are exact up to 2^53.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

/// The integer that MongoDB reads from an option. A double is truncated; a decimal is rounded, with halves to the even
/// neighbour. NaN is zero, and a number outside of 64 bits becomes the nearest 64-bit number.
pub(crate) fn truncated(value: &Value) -> Option<i64> {
    match value {
        Value::Decimal(number) if number.is_nan() => Some(0),
        Value::Decimal(number) => number.to_i64().or_else(|| {
            let floor = number.floor_f64().0.floor();
            let whole = match number.compare_f64(floor + 0.5) {
                Ordering::Less => floor,
                Ordering::Equal => (floor + 0.5).round_ties_even(),
                Ordering::Greater => floor + 1.0,
            };
            Some(whole as i64)
        }),
        // The conversion saturates; NaN becomes zero.
        value if value.is_number() => value.as_i64().or_else(|| Some(value.as_f64()? as i64)),
        _ => None,
    }
}

/// The truth of a value in a condition. Only false, zero and null are false.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Null | Value::Undefined => false,
        value if value.is_number() => value.as_f64() != Some(0.0),
        _ => true,
    }
}

/// Checks the types of the known fields of a command or of a statement. Null counts as missing.
///
/// # Errors
/// Error 14, or another error of the field's kind, for a wrong type; error 40414 for a missing field.
pub(crate) fn check(owner: &str, fields: &[Field], body: &Map) -> CommandResult<()> {
    for field in fields {
        let value = match body.get(field.name) {
            Some(Value::Null | Value::Undefined) if !field.refuses_null && field.kind != Kind::Any => None,
            value => value,
        };
        match value {
            None if field.required => {
                let message = format!("BSON field '{owner}.{}' is missing but a required field", field.name);
                return Err(CommandError::missing_field(message));
            }
            Some(value) if !field.kind.accepts(value) => {
                let found = value.type_name();
                let (name, expected) = (field.name, field.kind.names());
                let message =
                    format!("BSON field '{owner}.{name}' is the wrong type '{found}', expected types '{expected}'");
                return Err(field.kind.wrong(value, message));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A fast check: true if the fields of a command are certainly valid. All fields are known if the command is strict,
/// their types are right, and every missing required field was sent next to the body. If the result is false, [`check`]
/// and [`refuse_unknown`] find the error.
pub(crate) fn are_right(known: &[Field], is_strict: bool, body: &Map, is_sent_beside: impl Fn(&str) -> bool) -> bool {
    let is_right = |(at, (name, value)): (usize, &(Value, Value))| {
        let Some(name) = name.as_str() else { return false };
        match known.iter().chain(COMMON).find(|field| field.name == name) {
            Some(field) => field.kind.accepts(value),
            None => !is_strict || at == 0 || ADDED.contains(&name),
        }
    };
    let is_there = |field: &Field| body.contains(field.name) || is_sent_beside(field.name);
    body.entries.iter().enumerate().all(is_right) && known.iter().filter(|field| field.required).all(is_there)
}

/// Refuses unknown fields. The caller leaves out the first field of a command, which is its name.
///
/// # Errors
/// Error 40415.
pub(crate) fn refuse_unknown<'a>(
    owner: &str,
    known: &[Field],
    names: impl IntoIterator<Item = &'a Value>,
) -> CommandResult<()> {
    let mut names = names.into_iter().filter_map(Value::as_str);
    let is_known = |name: &str| known.iter().any(|field| field.name == name);
    match names.find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(CommandError::unknown_field(format!("BSON field '{owner}.{name}' is an unknown field."))),
    }
}

/// True if any command may have the field.
pub(crate) fn is_common(name: &str) -> bool {
    COMMON.iter().any(|field| field.name == name) || ADDED.contains(&name)
}

/// Access to fields whose types have been checked. A field of another type counts as missing.
pub(crate) trait Fields {
    /// The value of a field.
    fn field(&self, name: &str) -> Option<&Value>;

    /// The text of a field.
    fn text(&self, name: &str) -> Option<&str> {
        self.field(name)?.as_str()
    }

    /// The document in a field.
    fn document(&self, name: &str) -> Option<&Map> {
        self.field(name)?.as_map()
    }

    /// The elements of an array field.
    fn elements(&self, name: &str) -> Option<&[Value]> {
        self.field(name)?.as_array()
    }

    /// The number in a field.
    fn integer(&self, name: &str) -> Option<i64> {
        integer(self.field(name)?)
    }

    /// The number in a field without its fraction. A double is truncated; a decimal is rounded, with halves to the even
    /// neighbour. NaN is 0, and a number out of range becomes the nearest 64-bit number.
    fn coerced(&self, name: &str) -> Option<i64> {
        let value = self.field(name).filter(|value| value.is_number())?;
        value.as_i64().or_else(|| {
            let number = value.as_f64()?;
            let is_decimal = matches!(value, Value::Decimal(_));
            Some(if is_decimal { number.round_ties_even() } else { number.trunc() } as i64)
        })
    }

    /// The number in a field, truncated; `None` for another type.
    fn truncated(&self, name: &str) -> Option<i64> {
        truncated(self.field(name)?)
    }

    /// The truth of a field; false if the field is missing.
    fn flag(&self, name: &str) -> bool {
        match self.field(name) {
            Some(Value::Bool(flag)) => *flag,
            // A nonzero decimal may be smaller than every nonzero double.
            Some(Value::Decimal(number)) => !number.is_zero(),
            Some(value) if value.is_number() => value.as_f64() != Some(0.0),
            _ => false,
        }
    }

    /// The count in a field.
    ///
    /// # Errors
    /// Error 2 for a negative number.
    fn count(&self, name: &str) -> CommandResult<Option<u64>> {
        let Some(number) = self.truncated(name) else { return Ok(None) };
        u64::try_from(number).map(Some).map_err(|_| {
            let message = format!("BSON field '{name}' value must be >= 0, actual value '{number}'");
            CommandError::bad_value(message)
        })
    }
}

impl Fields for Map {
    fn field(&self, name: &str) -> Option<&Value> {
        self.get(name)
    }
}

#[cfg(test)]
mod tests;
