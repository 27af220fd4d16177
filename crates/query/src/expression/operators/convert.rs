//! Types of values, and conversions between them.

use super::numbers::{TWO_63, int_or_long, whole};
use super::prepared::{Codes, Form, Prepared, PreparedOperator, constant};
use super::{NULL, Operand, Operator, Outcome, Parameters, dates, exactly, given, is_nullish, operator, some, type_of};
use crate::code::ErrorCode;
use crate::date::{Zone, parse};
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::expression::operand::is_true;
use crate::work::Work;
use alluvium_document::value::Double;
use alluvium_document::{Decimal, Value, bson, json};
use binary::{ByteOrder, Format};

mod binary;
mod text;

pub(super) use text::short_text;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$binarySize", 1, binary_size),
    exactly("$bsonSize", 1, bson_size),
    to_one("$toBool"),
    to_one("$toDate"),
    to_one("$toDecimal"),
    to_one("$toDouble"),
    to_one("$toInt"),
    to_one("$toLong"),
    to_one("$toObjectId"),
    to_one("$toString"),
    to_one("$toUUID"),
    exactly("$type", 1, type_name),
];

/// `$toInt` and the like.
const fn to_one(name: &'static str) -> Operator {
    operator(name, Parameters::Only(ErrorCode::Location50723), to_type)
}

pub(super) const PREPARED: &[PreparedOperator] = &[PreparedOperator {
    name: "$convert",
    form: Form::Named,
    names: &["input!", "to!", "format?", "byteOrder?", "onError~", "onNull~"],
    codes: Codes::PLAIN,
    prepare: |_, arguments, _| {
        constant(arguments, 1).map(Target::of).transpose()?;
        Ok(None)
    },
    function: convert,
}];

/// A type that values are converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Target {
    Double,
    String,
    /// Binary data with this subtype.
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

/// The names of all types with BSON's type numbers.
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
    /// The type that the `to` of `$convert` specifies: a name, BSON's number, or a map of `type` and `subtype`, whose
    /// other fields are ignored. The subtype is not checked. `None` if `to` is null.
    fn of(to: &Value) -> Result<Option<(Self, Option<&Value>)>, ExpressionError> {
        match to {
            _ if is_nullish(Some(to)) => Ok(None),
            Value::Map(map) => match map.get("type") {
                Some(kind) => Ok(Some((Self::of_type(kind)?, map.get("subtype")))),
                None => fail(ErrorCode::FailedToParse, "the 'to' of $convert needs a type"),
            },
            kind => Ok(Some((Self::of_type(kind)?, None))),
        }
    }

    fn of_type(kind: &Value) -> Result<Self, ExpressionError> {
        let number = whole(kind);
        let found = match kind {
            Value::String(name) => TYPES.iter().find(|(_, known, _)| *known == name.as_str()),
            _ => TYPES.iter().find(|(known, ..)| Some(*known) == number),
        };
        match (found, kind) {
            (Some((.., target)), _) => Ok(*target),
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

/// The subtype in the `to` of `$convert`.
fn subtype(value: &Value) -> Result<u8, ExpressionError> {
    if !value.is_number() {
        let problem = format!("the subtype of $convert must be a number, this is of type {}", value.type_name());
        return fail(ErrorCode::Location4341108, problem);
    }
    match whole(value) {
        None => fail(ErrorCode::Location4341106, "the subtype of $convert must be an integer"),
        Some(number) => match u8::try_from(number) {
            Ok(subtype @ (0..=9 | 128..)) => Ok(subtype),
            _ => fail(ErrorCode::Location4341107, format!("the subtype {number} of $convert does not exist")),
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

/// If the input or the type is null, the result is null, whatever the other arguments are.
fn convert(_: &PreparedOperator, values: &[Operand<'_>], _: Option<&Prepared>, _: &mut Work<'_>) -> Outcome {
    let target = given(values, 1).map_or(Ok(None), Target::of)?;
    let (Some(input), Some(target)) = (given(values, 0), target) else { return NULL };
    let target = match target {
        (Target::Binary(_), Some(given)) => Target::Binary(subtype(given)?),
        (target, _) => target,
    };
    let format = given(values, 2).map_or(Ok(Format::Missing), Format::of)?;
    let order = given(values, 3).map_or(Ok(ByteOrder::Little), ByteOrder::of)?;
    converted(input, target, format, order).map(Some)
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
        Some(value) => converted(value, target, format, ByteOrder::Little).map(Some),
        None => NULL,
    }
}

/// Converts a value. The format is used only between text and binary data. The byte order is used only between numbers
/// and binary data.
fn converted(value: &Value, target: Target, format: Format, order: ByteOrder) -> Result<Value, ExpressionError> {
    match (target, value) {
        (Target::Bool, _) => Ok(Value::Bool(is_true(Some(value)))),
        (Target::String, Value::Binary(binary)) => binary::to_text(binary, format).map(Value::from),
        (Target::String, other) => text::text(other).map(Value::from),
        (Target::Int | Target::Long, Value::Binary(binary)) => {
            let number = binary::to_integer(binary, order).filter(|_| binary::fits(binary, target == Target::Long));
            match number {
                Some(number) if target == Target::Long => Ok(Value::Int64(number)),
                Some(number) => Ok(int_or_long(number)),
                None => failed(format!("the number of bytes of binary data is not that of {}", target.name())),
            }
        }
        (Target::Int | Target::Long, _) => to_integer(value, target),
        (Target::Double, Value::Binary(binary)) => match binary::to_double(binary, order) {
            Some(x) => Ok(Value::from(x)),
            None => failed("binary data are a double if they have 4 or 8 bytes"),
        },
        (Target::Double, _) => to_double(value),
        (Target::Decimal, _) => to_decimal(value),
        (Target::Date, _) => to_date(value),
        (Target::ObjectId, Value::ObjectId(_)) => Ok(value.clone()),
        (Target::ObjectId, Value::String(text)) => match json::parse_object_id(text) {
            Some(id) => Ok(Value::ObjectId(id)),
            None => no_object_id(text),
        },
        (Target::Binary(subtype), Value::String(text)) => Ok(Value::Binary(binary::from_text(text, subtype, format)?)),
        (Target::Binary(subtype), Value::Binary(binary)) if binary.subtype == subtype => Ok(value.clone()),
        (Target::Binary(subtype), Value::Binary(binary)) => {
            failed(format!("binary data of the subtype {} cannot get the subtype {subtype}", binary.subtype))
        }
        (Target::Binary(subtype), number) => match binary::of_number(number, order) {
            // Numbers cannot be converted to UUIDs.
            Some(bytes) if subtype != binary::UUID => {
                Ok(Value::Binary(alluvium_document::value::Binary { subtype, bytes }))
            }
            _ => unsupported(number, target),
        },
        (Target::ObjectId | Target::Other(_), _) => unsupported(value, target),
    }
}

fn failed<T>(problem: impl Into<String>) -> Result<T, ExpressionError> {
    fail(ErrorCode::ConversionFailure, problem)
}

/// The end of MongoDB's messages about failed conversions. Programs search for these texts.
const NO_ERROR_VALUE: &str = "in $convert with no onError value";

fn unsupported<T>(value: &Value, target: Target) -> Result<T, ExpressionError> {
    failed(format!("Unsupported conversion from {} to {} {NO_ERROR_VALUE}", value.type_name(), target.name()))
}

/// The error for a number that does not fit its target.
fn overflow<T>(number: impl std::fmt::Display) -> Result<T, ExpressionError> {
    failed(format!("Conversion would overflow target type {NO_ERROR_VALUE}: {number}"))
}

/// The error for text that is not a number.
fn no_number<T>(text: &str, reason: &str) -> Result<T, ExpressionError> {
    failed(format!("Failed to parse number '{}' {NO_ERROR_VALUE}: {reason}", shown(text)))
}

/// The reason why text is not an integer of 64 bits.
fn no_integer(text: &str) -> &'static str {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    match digits.chars().next() {
        None if text.is_empty() => "Empty string",
        Some(first) if first.is_ascii_digit() => match digits.chars().all(|digit| digit.is_ascii_digit()) {
            true => "Overflow",
            false => "Did not consume whole string.",
        },
        _ => "Did not consume any digits",
    }
}

/// The error for text that is not an object id.
fn no_object_id<T>(text: &str) -> Result<T, ExpressionError> {
    let reason = match text.len() {
        24 => {
            let wrong = text.chars().find(|digit| !digit.is_ascii_hexdigit()).unwrap_or_default();
            format!("Invalid character found in hex string: {wrong}")
        }
        len => format!("Invalid string length for parsing to OID, expected 24 but found {len}"),
    };
    failed(format!("Failed to parse objectId '{}' {NO_ERROR_VALUE}: {reason}", shown(text)))
}

/// The error for a double or decimal whose whole part does not fit 64 bits.
fn no_whole<T>(is_nan: bool, is_finite: bool, number: impl std::fmt::Display) -> Result<T, ExpressionError> {
    match (is_nan, is_finite) {
        (true, _) => failed(format!("Attempt to convert NaN value to integer type {NO_ERROR_VALUE}")),
        (_, false) => failed(format!("Attempt to convert infinity value to integer type {NO_ERROR_VALUE}")),
        _ => overflow(number),
    }
}

fn to_integer(value: &Value, target: Target) -> Result<Value, ExpressionError> {
    let whole = match value {
        Value::Bool(flag) => i64::from(*flag),
        Value::Int32(n) => i64::from(*n),
        Value::Int64(n) => *n,
        Value::DateTime(millis) if target == Target::Long => *millis,
        Value::Double(Double(x)) => match x.trunc() {
            x if (-TWO_63..TWO_63).contains(&x) => x as i64,
            _ => return no_whole(x.is_nan(), x.is_finite(), x),
        },
        Value::Decimal(decimal) => match truncated(decimal) {
            Some(n) => n,
            None => return no_whole(decimal.is_nan(), decimal.is_finite(), decimal),
        },
        Value::String(text) => match text.parse() {
            Ok(n) => n,
            Err(_) => return no_number(text, no_integer(text)),
        },
        other => return unsupported(other, target),
    };
    match int_or_long(whole) {
        _ if target == Target::Long => Ok(Value::Int64(whole)),
        narrow @ Value::Int32(_) => Ok(narrow),
        _ => match value {
            Value::String(text) => no_number(text, "Overflow"),
            _ => overflow(whole),
        },
    }
}

/// The whole part of a decimal, if it fits 64 bits.
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
        Value::String(text) => match text::parse_double(text) {
            Some(x) => Ok(Value::from(x)),
            None if text.is_empty() => no_number(text, "Empty string"),
            None => no_number(text, "Did not consume whole string."),
        },
        Value::Decimal(decimal) => match decimal.to_f64() {
            x if x.is_infinite() && decimal.is_finite() => overflow(decimal),
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
        Value::String(text) => match text.parse::<Decimal>().map(|exact| (exact.rounded_to_decimal128(), exact)) {
            Ok((decimal, exact)) if is_near(&exact, &decimal) => Ok(Value::Decimal(decimal)),
            _ if text.is_empty() => no_number(text, "Empty string"),
            _ => no_number(text, "Failed to parse string to decimal"),
        },
        number => match crate::number::decimal(number) {
            Ok(decimal) => Ok(Value::Decimal(decimal)),
            Err(_) => unsupported(value, Target::Decimal),
        },
    }
}

/// True unless rounding has turned a finite number into infinity or a number other than zero into zero.
fn is_near(exact: &Decimal, rounded: &Decimal) -> bool {
    exact.is_finite() == rounded.is_finite() && exact.is_zero() == rounded.is_zero()
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

fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// The beginning of a text, to be shown in messages.
fn shown(text: &str) -> String {
    text.chars().take(100).collect()
}
