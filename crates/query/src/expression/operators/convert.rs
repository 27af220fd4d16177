//! Types of values, and conversions between them.

use super::numbers::int_or_long;
use super::{NULL, Operand, Operator, Outcome, Parameters, exactly, given, operator, some, type_of};
use crate::code::ErrorCode;
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::expression::operand::{is_nullish, is_true};
use alluvium_document::value::{Binary, Double};
use alluvium_document::{Decimal, Value, bson, json};

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$binarySize", 1, binary_size),
    exactly("$bsonSize", 1, bson_size),
    operator("$convert", Parameters::Named(&["input!", "to!", "onError", "onNull"]), convert),
    exactly("$toBool", 1, to_type),
    exactly("$toDate", 1, to_type),
    exactly("$toDecimal", 1, to_type),
    exactly("$toDouble", 1, to_type),
    exactly("$toInt", 1, to_type),
    exactly("$toLong", 1, to_type),
    exactly("$toObjectId", 1, to_type),
    exactly("$toString", 1, to_type),
    exactly("$type", 1, type_name),
];

/// 2^63.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// A type that values are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Double,
    String,
    ObjectId,
    Bool,
    Date,
    Int,
    Long,
    Decimal,
}

impl Target {
    /// The type with this name, or BSON's number of it.
    fn of(name: &Value) -> Option<Self> {
        let number = name.as_i64();
        match (name.as_str(), number) {
            (Some("double"), _) | (_, Some(1)) => Some(Self::Double),
            (Some("string"), _) | (_, Some(2)) => Some(Self::String),
            (Some("objectId"), _) | (_, Some(7)) => Some(Self::ObjectId),
            (Some("bool"), _) | (_, Some(8)) => Some(Self::Bool),
            (Some("date"), _) | (_, Some(9)) => Some(Self::Date),
            (Some("int"), _) | (_, Some(16)) => Some(Self::Int),
            (Some("long"), _) | (_, Some(18)) => Some(Self::Long),
            (Some("decimal"), _) | (_, Some(19)) => Some(Self::Decimal),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Double => "double",
            Self::String => "string",
            Self::ObjectId => "objectId",
            Self::Bool => "bool",
            Self::Date => "date",
            Self::Int => "int",
            Self::Long => "long",
            Self::Decimal => "decimal",
        }
    }
}

fn type_name(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(type_of(values.first().and_then(Option::as_deref)))
}

fn bson_size(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    match given(values, 0) {
        None => NULL,
        Some(Value::Map(map)) => some(i32::try_from(bson::document_size(map)).unwrap_or(i32::MAX)),
        Some(other) => {
            fail(ErrorCode::Location31393, format!("$bsonSize takes a map, this is of type {}", other.type_name()))
        }
    }
}

fn binary_size(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let len = match given(values, 0) {
        None => return NULL,
        Some(Value::String(text)) => text.len(),
        Some(Value::Binary(binary)) => binary.bytes.len(),
        Some(other) => {
            let found = other.type_name();
            return fail(
                ErrorCode::Location51276,
                format!("$binarySize takes text or binary data, this is of type {found}"),
            );
        }
    };
    some(i32::try_from(len).unwrap_or(i32::MAX))
}

fn convert(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let side = |at: usize| values.get(at).and_then(Option::as_deref);
    let target = match side(1) {
        None | Some(Value::Null | Value::Undefined) => None,
        Some(name) => match Target::of(name) {
            Some(target) => Some(target),
            None => {
                return fail(
                    ErrorCode::BadValue,
                    format!("the 'to' of $convert is not a type that it converts to: {name:?}"),
                );
            }
        },
    };
    let (Some(input), Some(target)) = (given(values, 0), target) else {
        return Ok(match (given(values, 0), values.get(3)) {
            (None, Some(Some(on_null))) => Some((**on_null).clone()),
            _ => Some(Value::Null),
        });
    };
    match (converted(input, target), side(2)) {
        (Ok(value), _) => Ok(Some(value)),
        (Err(_), Some(on_error)) => Ok(Some(on_error.clone())),
        (Err(error), None) => Err(error),
    }
}

/// `$toInt` and the like.
fn to_type(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let target = match operator.name {
        "$toBool" => Target::Bool,
        "$toDate" => Target::Date,
        "$toDecimal" => Target::Decimal,
        "$toDouble" => Target::Double,
        "$toInt" => Target::Int,
        "$toLong" => Target::Long,
        "$toObjectId" => Target::ObjectId,
        _ => Target::String,
    };
    let value = values.first().and_then(Option::as_deref);
    match value {
        Some(value) if !is_nullish(Some(value)) => converted(value, target).map(Some),
        _ => NULL,
    }
}

fn converted(value: &Value, target: Target) -> Result<Value, ExpressionError> {
    match target {
        Target::Bool => Ok(Value::Bool(is_true(Some(value)))),
        Target::String => text(value).map(Value::from),
        Target::Int | Target::Long => to_integer(value, target),
        Target::Double => to_double(value),
        Target::Decimal => to_decimal(value),
        Target::Date => to_date(value),
        Target::ObjectId => match value {
            Value::ObjectId(_) => Ok(value.clone()),
            Value::String(text) => match json::parse_object_id(text) {
                Some(id) => Ok(Value::ObjectId(id)),
                None => failed(format!("'{text}' is not 24 hexadecimal digits")),
            },
            other => unsupported(other, target),
        },
    }
}

fn failed<T>(problem: impl Into<String>) -> Result<T, ExpressionError> {
    fail(ErrorCode::ConversionFailure, problem)
}

fn unsupported<T>(value: &Value, target: Target) -> Result<T, ExpressionError> {
    failed(format!("a value of type {} cannot be converted to {}", value.type_name(), target.name()))
}

fn to_integer(value: &Value, target: Target) -> Result<Value, ExpressionError> {
    let whole = match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Int32(n) => i64::from(*n),
        Value::Int64(n) => *n,
        Value::DateTime(millis) if target == Target::Long => *millis,
        Value::Double(Double(x)) => match x.trunc() {
            x if (-TWO_63..TWO_63).contains(&x) => x as i64,
            _ => return failed(format!("the number {x} does not fit {}", target.name())),
        },
        Value::Decimal(decimal) => match truncated(decimal) {
            Some(n) => n,
            None => return failed(format!("the number {decimal} does not fit {}", target.name())),
        },
        Value::String(text) => match text.parse() {
            Ok(n) => n,
            Err(_) => return failed(format!("'{text}' is not an integer")),
        },
        other => return unsupported(other, target),
    };
    match int_or_long(whole) {
        _ if target == Target::Long => Ok(Value::Int64(whole)),
        narrow @ Value::Int32(_) => Ok(narrow),
        _ => failed(format!("the number {whole} does not fit int")),
    }
}

/// The whole part of a decimal, if it fits.
fn truncated(decimal: &Decimal) -> Option<i64> {
    let (negative, digits, exponent) = decimal.parts()?;
    let keep = usize::try_from((digits.len() as i64).checked_add(exponent)?.max(0)).ok()?;
    match exponent < 0 {
        true if keep == 0 => Some(0),
        true => Decimal::from_parts(negative, &digits[..keep], 0).ok()?.to_i64(),
        false => decimal.to_i64(),
    }
}

fn to_double(value: &Value) -> Result<Value, ExpressionError> {
    match value {
        Value::Bool(flag) => Ok(Value::from(f64::from(u8::from(*flag)))),
        Value::DateTime(millis) => Ok(Value::from(*millis as f64)),
        Value::String(text) => match text.parse::<f64>() {
            Ok(x) if !text.trim().is_empty() => Ok(Value::from(x)),
            _ => failed(format!("'{text}' is not a number")),
        },
        Value::Decimal(decimal) => match decimal.to_f64() {
            x if x.is_infinite() && decimal.is_finite() => failed(format!("the number {decimal} does not fit double")),
            x => Ok(Value::from(x)),
        },
        number => match number.as_f64() {
            Some(x) => Ok(Value::from(x)),
            None => unsupported(value, Target::Double),
        },
    }
}

fn to_decimal(value: &Value) -> Result<Value, ExpressionError> {
    match value {
        Value::Bool(flag) => Ok(Value::Decimal(Decimal::from(i32::from(*flag)))),
        Value::DateTime(millis) => Ok(Value::Decimal(Decimal::from(*millis))),
        Value::String(text) => match text.parse::<Decimal>() {
            Ok(decimal) => Ok(Value::Decimal(decimal)),
            Err(_) => failed(format!("'{text}' is not a decimal")),
        },
        number => match crate::number::decimal(number) {
            Ok(decimal) => Ok(Value::Decimal(decimal)),
            Err(_) => unsupported(value, Target::Decimal),
        },
    }
}

fn to_date(value: &Value) -> Result<Value, ExpressionError> {
    match value {
        Value::DateTime(_) => Ok(value.clone()),
        Value::Int64(millis) => Ok(Value::DateTime(*millis)),
        Value::Timestamp(timestamp) => Ok(Value::DateTime(i64::from(timestamp.time) * 1000)),
        // The first four bytes are seconds since 1970.
        Value::ObjectId([a, b, c, d, ..]) => {
            Ok(Value::DateTime(i64::from(u32::from_be_bytes([*a, *b, *c, *d])) * 1000))
        }
        Value::Double(_) | Value::Decimal(_) => match to_integer(value, Target::Long)? {
            Value::Int64(millis) => Ok(Value::DateTime(millis)),
            _ => unsupported(value, Target::Date),
        },
        Value::String(text) => match json::parse_date(text) {
            Some(millis) => Ok(Value::DateTime(millis)),
            None => failed(format!("'{text}' is not an ISO 8601 date")),
        },
        other => unsupported(other, Target::Date),
    }
}

/// The value as text.
pub(super) fn text(value: &Value) -> Result<String, ExpressionError> {
    match value {
        Value::String(text) | Value::Symbol(text) => Ok(text.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Int32(n) => Ok(n.to_string()),
        Value::Int64(n) => Ok(n.to_string()),
        Value::Double(Double(x)) => Ok(double_text(*x)),
        Value::Decimal(decimal) => Ok(decimal.to_string()),
        Value::ObjectId(id) => Ok(hex(id)),
        Value::DateTime(millis) => Ok(json::date_to_iso(*millis)),
        Value::Binary(Binary { subtype: 4, bytes }) if bytes.len() == 16 => {
            let text = hex(bytes);
            Ok(format!("{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]))
        }
        other => unsupported(other, Target::String),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A double with at most 16 digits, as C's `%.16g` writes it.
fn double_text(x: f64) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    if x.is_infinite() {
        return if x < 0.0 { "-Infinity" } else { "Infinity" }.to_owned();
    }
    if x == 0.0 {
        return if x.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{x:.15e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = format!("{x:.*}", usize::try_from(15 - exponent).unwrap_or(0));
        return without_zeros(&plain).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(digits), exponent.abs())
}

/// The number without zeros at the end of its fraction.
fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}
