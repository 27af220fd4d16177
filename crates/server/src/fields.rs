//! The fields of commands: their types, and access to them.

use crate::error::{CommandError, CommandResult};
use alluvium::{Map, Value};
use std::cmp::Ordering;

/// The types that a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Anything.
    Any,
    /// A boolean, or a number in its place.
    Flag,
    /// A boolean, a number in its place, or a string.
    FlagOrText,
    /// A boolean, and nothing in its place.
    Bool,
    /// A boolean, or binary data that has to be a UUID.
    BoolOrUuid,
    /// A number without a fraction.
    Integer,
    /// A number; its fraction does not count.
    Number,
    /// An integer of any numeric type; its absolute value counts.
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
    /// As all others.
    Plain,
    /// A password or a part of a login: no listing, log or profile shows it.
    Secret,
    /// The statements and documents of a write: kept apart, so that listings do not hold them.
    Apart,
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
    /// True if null is an error of type; otherwise it counts as missing.
    pub refuses_null: bool,
    /// How its value is handled.
    pub handling: Handling,
}

impl Field {
    /// The field, as a secret.
    pub(crate) const fn secret(self) -> Self {
        Self { handling: Handling::Secret, ..self }
    }

    /// The field, as the statements or documents of a write.
    pub(crate) const fn apart(self) -> Self {
        Self { handling: Handling::Apart, ..self }
    }

    /// The field, with null as a wrong type.
    pub(crate) const fn not_null(self) -> Self {
        Self { refuses_null: true, ..self }
    }
}

/// A field that may be missing.
pub(crate) const fn optional(name: &'static str, kind: Kind) -> Field {
    Field { name, kind, required: false, refuses_null: matches!(kind, Kind::Hint), handling: Handling::Plain }
}

/// A field that must be there.
pub(crate) const fn required(name: &'static str, kind: Kind) -> Field {
    let refuses_null = matches!(kind, Kind::Collection | Kind::CollectionOrNumber | Kind::Change | Kind::FlagOrText);
    Field { name, kind, required: true, refuses_null, handling: Handling::Plain }
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
    optional("maxTimeMS", Kind::Number),
    optional("comment", Kind::Any),
    optional("apiVersion", Kind::Text),
    optional("apiStrict", Kind::Flag),
    optional("apiDeprecationErrors", Kind::Flag),
];

/// Fields that clients and routers add to any command, and that have no effect here.
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

    /// The types in words.
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

/// A number without a fraction.
fn integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| {
        let number = value.as_f64()?;
        // Exact in this range: 2^53.
        (number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0).then_some(number as i64)
    })
}

/// A number without its fraction, as MongoDB reads options: a double is cut, a decimal rounded, its half to the even
/// neighbour. NaN is zero, and a number beyond 64 bits is the nearest of these.
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
        // The conversion saturates, and NaN is zero.
        value if value.is_number() => value.as_i64().or_else(|| Some(value.as_f64()? as i64)),
        _ => None,
    }
}

/// The truth of a value, as of a condition: only false, zero and null are false.
pub(crate) fn is_true(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Null | Value::Undefined => false,
        value if value.is_number() => value.as_f64() != Some(0.0),
        _ => true,
    }
}

/// Checks the types of the known fields of a command or of one of its statements; null counts as missing.
///
/// # Errors
/// Error 14, or that of its kind, for a type; error 40414 for a field that is missing.
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

/// True if the fields of a command are certainly right: known if the command is strict, of their types, and none
/// missing but those that were sent beside the body. Otherwise [`check`] and [`refuse_unknown`] return the error.
pub(crate) fn are_right(known: &[Field], is_strict: bool, body: &Map, is_sent_beside: impl Fn(&str) -> bool) -> bool {
    let is_right = |(at, (name, value)): (usize, &(Value, Value))| {
        let Some(name) = name.as_str() else { return false };
        let (own, common) =
            (known.iter().find(|field| field.name == name), COMMON.iter().find(|field| field.name == name));
        let is_known = own.is_some() || common.is_some() || !is_strict || at == 0 || ADDED.contains(&name);
        is_known && own.into_iter().chain(common).all(|field| field.kind.accepts(value))
    };
    let is_there = |field: &Field| body.contains(field.name) || is_sent_beside(field.name);
    body.entries.iter().enumerate().all(is_right) && known.iter().filter(|field| field.required).all(is_there)
}

/// Refuses fields that are not known. The first of a command is its name.
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

/// True for a field that any command may have.
pub(crate) fn is_common(name: &str) -> bool {
    COMMON.iter().any(|field| field.name == name) || ADDED.contains(&name)
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
    /// A number without its fraction; `None` for another type.
    fn truncated(&self, name: &str) -> Option<i64>;
    /// The truth of a field; false if it is missing.
    fn flag(&self, name: &str) -> bool;
    /// A count; negative ones are refused.
    ///
    /// # Errors
    /// Error 2 for a negative number.
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
            // A decimal may be smaller than every double but zero.
            Some(Value::Decimal(number)) => !number.is_zero(),
            Some(value) if value.is_number() => value.as_f64() != Some(0.0),
            _ => false,
        }
    }

    fn truncated(&self, name: &str) -> Option<i64> {
        truncated(self.get(name)?)
    }

    fn count(&self, name: &str) -> CommandResult<Option<u64>> {
        let Some(number) = self.truncated(name) else { return Ok(None) };
        u64::try_from(number).map(Some).map_err(|_| {
            let message = format!("BSON field '{name}' value must be >= 0, actual value '{number}'");
            CommandError::bad_value(message)
        })
    }
}

#[cfg(test)]
mod tests;
