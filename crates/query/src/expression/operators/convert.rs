//! Types of values, and conversions between them.

use super::numbers::{int_or_long, whole};
use super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator, constant};
use super::{NULL, Operand, Operator, Outcome, dates, exactly, given, is_nullish, some, type_of};
use crate::code::ErrorCode;
use crate::date::{DateError, ISO_UTC, Zone, parse, to_text};
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::expression::operand::is_true;
use crate::pattern::Patterns;
use alluvium_document::value::Double;
use alluvium_document::{Decimal, Map, Value, bson, json};
use binary::Format;

mod binary;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$binarySize", 1, binary_size),
    exactly("$bsonSize", 1, bson_size),
    exactly("$toBool", 1, to_type),
    exactly("$toDate", 1, to_type),
    exactly("$toDecimal", 1, to_type),
    exactly("$toDouble", 1, to_type),
    exactly("$toInt", 1, to_type),
    exactly("$toLong", 1, to_type),
    exactly("$toObjectId", 1, to_type),
    exactly("$toString", 1, to_type),
    exactly("$toUUID", 1, to_type),
    exactly("$type", 1, type_name),
];

pub(super) const PREPARED: &[PreparedOperator] = &[PreparedOperator {
    name: "$convert",
    form: Form::Named,
    names: &["input!", "to!", "format?", "onError~", "onNull~"],
    codes: Codes::PLAIN,
    prepare: check,
    function: convert,
}];

/// 2^63.
const TWO_63: f64 = 9_223_372_036_854_775_808.0;

/// A type that values are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Double,
    String,
    /// With the subtype.
    Binary(u8),
    ObjectId,
    Bool,
    Date,
    Int,
    Long,
    Decimal,
    /// A type of this name to which no value can be converted.
    Other(&'static str),
}

/// The names of all types with BSON's numbers of them.
const TYPES: [(i64, &str, Target); 22] = [
    (-1, "minKey", Target::Other("minKey")),
    (0, "missing", Target::Other("missing")),
    (1, "double", Target::Double),
    (2, "string", Target::String),
    (3, "object", Target::Other("object")),
    (4, "array", Target::Other("array")),
    (5, "binData", Target::Binary(0)),
    (6, "undefined", Target::Other("undefined")),
    (7, "objectId", Target::ObjectId),
    (8, "bool", Target::Bool),
    (9, "date", Target::Date),
    (10, "null", Target::Other("null")),
    (11, "regex", Target::Other("regex")),
    (12, "dbPointer", Target::Other("dbPointer")),
    (13, "javascript", Target::Other("javascript")),
    (14, "symbol", Target::Other("symbol")),
    (15, "javascriptWithScope", Target::Other("javascriptWithScope")),
    (16, "int", Target::Int),
    (17, "timestamp", Target::Other("timestamp")),
    (18, "long", Target::Long),
    (19, "decimal", Target::Decimal),
    (127, "maxKey", Target::Other("maxKey")),
];

impl Target {
    /// The type that the `to` of `$convert` means: a name, BSON's number, or a map of `type` and `subtype`. `None` if
    /// it is null.
    fn of(to: &Value) -> Result<Option<Self>, ExpressionError> {
        let Value::Map(map) = to else { return Self::of_type(to) };
        let known = ["type", "subtype"];
        if let Some(name) = map.iter().filter_map(|(name, _)| name.as_str()).find(|name| !known.contains(name)) {
            let problem = format!("the 'to' of $convert has no '{name}'; there are type, subtype");
            return fail(ErrorCode::FailedToParse, problem);
        }
        let Some(kind) = map.get("type") else {
            return fail(ErrorCode::FailedToParse, "the 'to' of $convert needs a type");
        };
        match (Self::of_type(kind)?, subtype(map)?) {
            (None, _) | (_, Subtype::Null) => Ok(None),
            (Some(Self::Binary(_)), Subtype::Given(subtype)) => Ok(Some(Self::Binary(subtype))),
            (target, _) => Ok(target),
        }
    }

    fn of_type(kind: &Value) -> Result<Option<Self>, ExpressionError> {
        let number = whole(kind);
        let found = match kind {
            _ if is_nullish(Some(kind)) => return Ok(None),
            Value::String(name) => TYPES.iter().find(|(_, known, _)| *known == name.as_str()),
            _ => TYPES.iter().find(|(known, ..)| Some(*known) == number),
        };
        match (found, kind) {
            (Some((.., target)), _) => Ok(Some(*target)),
            (None, Value::String(name)) => {
                fail(ErrorCode::BadValue, format!("the 'to' of $convert is not a type: \"{name}\""))
            }
            (None, kind) if kind.is_number() => {
                fail(ErrorCode::FailedToParse, "the 'to' of $convert is not BSON's number of a type")
            }
            (None, other) => {
                let problem = "the 'to' of $convert must be a name, a number, or a map of type and subtype; this is of";
                fail(ErrorCode::FailedToParse, format!("{problem} type {}", other.type_name()))
            }
        }
    }

    fn name(self) -> &'static str {
        TYPES.iter().find(|(.., target)| *target == self).map_or("binData", |(_, name, _)| *name)
    }
}

enum Subtype {
    Absent,
    Null,
    Given(u8),
}

/// The subtype in the `to` of `$convert`.
fn subtype(map: &Map) -> Result<Subtype, ExpressionError> {
    match map.get("subtype") {
        None => Ok(Subtype::Absent),
        value if is_nullish(value) => Ok(Subtype::Null),
        Some(value) if !value.is_number() => {
            let problem = format!("the subtype of $convert must be a number, this is of type {}", value.type_name());
            fail(ErrorCode::Location4341108, problem)
        }
        Some(value) => match whole(value) {
            None => fail(ErrorCode::Location4341106, "the subtype of $convert must be an integer"),
            Some(number) => match u8::try_from(number) {
                Ok(subtype @ (0..=9 | 128..)) => Ok(Subtype::Given(subtype)),
                _ => fail(ErrorCode::Location4341107, format!("the subtype {number} of $convert does not exist")),
            },
        },
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

fn check(_: &PreparedOperator, arguments: &[Argument<'_>], _: &Patterns) -> Result<Option<Prepared>, ExpressionError> {
    constant(arguments, 1).map(Target::of).transpose()?;
    constant(arguments, 2).map(Format::of).transpose()?;
    Ok(None)
}

fn convert(_: &PreparedOperator, values: &[Operand<'_>], _: Option<&Prepared>) -> Outcome {
    let target = match given(values, 1) {
        Some(to) => Target::of(to)?,
        None => None,
    };
    let format = match values.get(2).and_then(Option::as_deref) {
        None => Some(Format::Missing),
        Some(value) => Format::of(value)?,
    };
    let (Some(input), Some(target), Some(format)) = (given(values, 0), target, format) else { return NULL };
    converted(input, target, format).map(Some)
}

/// `$toInt` and the like.
fn to_type(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (target, format) = match operator.name {
        "$toBool" => (Target::Bool, Format::Missing),
        "$toDate" => (Target::Date, Format::Missing),
        "$toDecimal" => (Target::Decimal, Format::Missing),
        "$toDouble" => (Target::Double, Format::Missing),
        "$toInt" => (Target::Int, Format::Missing),
        "$toLong" => (Target::Long, Format::Missing),
        "$toObjectId" => (Target::ObjectId, Format::Missing),
        "$toUUID" => (Target::Binary(binary::UUID), Format::Uuid),
        _ => (Target::String, Format::Auto),
    };
    match given(values, 0) {
        Some(value) => converted(value, target, format).map(Some),
        None => NULL,
    }
}

/// Converts a value. The format matters only between text and binary data.
fn converted(value: &Value, target: Target, format: Format) -> Result<Value, ExpressionError> {
    match target {
        Target::Bool => Ok(Value::Bool(is_true(Some(value)))),
        Target::String => match value {
            Value::Binary(binary) => binary::to_text(binary, format).map(Value::from),
            other => text(other).map(Value::from),
        },
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
        Target::Binary(subtype) => match value {
            Value::String(text) => Ok(Value::Binary(binary::from_text(text, subtype, format)?)),
            Value::Binary(binary) if binary.subtype == subtype => Ok(value.clone()),
            Value::Binary(binary) => {
                failed(format!("binary data of the subtype {} cannot get the subtype {subtype}", binary.subtype))
            }
            other => unsupported(other, target),
        },
        Target::Other(_) => unsupported(value, target),
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
    if let Some(millis) = dates::moment(value) {
        return Ok(Value::DateTime(millis));
    }
    match value {
        Value::Int64(millis) => Ok(Value::DateTime(*millis)),
        Value::Double(_) | Value::Decimal(_) => match to_integer(value, Target::Long)? {
            Value::Int64(millis) => Ok(Value::DateTime(millis)),
            _ => unsupported(value, Target::Date),
        },
        Value::String(text) => Ok(Value::DateTime(parse(text, &Zone::Utc)?)),
        other => unsupported(other, Target::Date),
    }
}

/// A date as text, with milliseconds.
pub(super) fn date_text(millis: i64) -> Result<String, DateError> {
    to_text(millis, ISO_UTC, &Zone::Utc)
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
        Value::DateTime(millis) => Ok(date_text(*millis)?),
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
