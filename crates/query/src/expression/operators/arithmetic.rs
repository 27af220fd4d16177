//! `$add`, `$multiply` and the like, and rounding.

use super::numbers::{Kind, exact, int_or_long, to_long, whole};
use super::{NULL, Operand, Operator, Outcome, Parameters, any_nullish, any_number, exactly, given, operator, some};
use crate::code::ErrorCode;
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::number::{Operation, compute};
use alluvium_document::value::Double;
use alluvium_document::{Decimal, Value};
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$abs", 1, abs),
    any_number("$add", add),
    exactly("$ceil", 1, ceil),
    exactly("$divide", 2, divide),
    exactly("$floor", 1, floor),
    exactly("$mod", 2, modulo),
    any_number("$multiply", multiply),
    operator("$round", Parameters::Count(1, 2), round),
    exactly("$subtract", 2, subtract),
    operator("$trunc", Parameters::Count(1, 2), round),
];

/// The numbers are added one after the other; each sum has the widest type so far.
fn add(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (mut sum, mut date) = (Value::Int32(0), None);
    for value in values {
        match value.as_deref() {
            Some(Value::DateTime(_)) if date.is_some() => {
                return fail(ErrorCode::Location16612, "only one date is allowed in $add");
            }
            Some(Value::DateTime(millis)) => date = Some(*millis),
            Some(number) if number.is_number() => sum = combined(Operation::Add, &sum, number),
            None | Some(Value::Null | Value::Undefined) => {}
            Some(other) => {
                let found = other.type_name();
                let problem = format!("$add only supports numeric or date types, not {found}");
                return fail(ErrorCode::TypeMismatch, problem);
            }
        }
    }
    if any_nullish(values) {
        return NULL;
    }
    match date {
        None => Ok(Some(sum)),
        Some(millis) => date_plus(millis, &sum),
    }
}

/// The sum or product of two numbers. The result is a double if it does not fit 64 bits.
fn combined(operation: Operation, a: &Value, b: &Value) -> Value {
    compute(operation, a, b).unwrap_or_else(|_| {
        let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
        Value::from(match operation {
            Operation::Add => a + b,
            Operation::Multiply => a * b,
        })
    })
}

/// A date plus a number of milliseconds, which is rounded to the nearest integer.
fn date_plus(millis: i64, number: &Value) -> Outcome {
    let added = match number {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        other => other.as_f64().map(f64::round).filter(|x| x.abs() < 9.2e18).map(|x| x as i64),
    };
    match added.and_then(|added| millis.checked_add(added)) {
        Some(millis) => Ok(Some(Value::DateTime(millis))),
        None => fail(ErrorCode::Overflow, "the date overflows"),
    }
}

fn subtract(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    if any_nullish(values) {
        return NULL;
    }
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    match (a, b) {
        (Value::DateTime(a), Value::DateTime(b)) => match a.checked_sub(*b) {
            Some(millis) => some(millis),
            None => fail(ErrorCode::Overflow, "the difference of the dates overflows"),
        },
        (Value::DateTime(millis), number) if number.is_number() => {
            let negated = compute(Operation::Multiply, number, &Value::Int32(-1)).unwrap_or(Value::Null);
            date_plus(*millis, &negated)
        }
        (Value::Int32(a), Value::Int32(b)) => Ok(Some(int_or_long(i64::from(*a) - i64::from(*b)))),
        (Value::Int32(_) | Value::Int64(_), Value::Int32(_) | Value::Int64(_)) => {
            let (a, b) = (a.as_i64().unwrap_or(0), b.as_i64().unwrap_or(0));
            Ok(Some(a.checked_sub(b).map_or_else(|| Value::from(a as f64 - b as f64), Value::Int64)))
        }
        _ if a.is_number() && b.is_number() => match (Kind::of(a), Kind::of(b)) {
            (Some(Kind::Decimal), _) | (_, Some(Kind::Decimal)) => {
                let difference = decimal(a).subtract(&decimal(b));
                some(difference.map_or(Decimal::NAN, |difference| difference.rounded_to_decimal128()))
            }
            _ => some(a.as_f64().unwrap_or(f64::NAN) - b.as_f64().unwrap_or(f64::NAN)),
        },
        _ => {
            let problem = format!("can't $subtract {} from {}", b.type_name(), a.type_name());
            fail(ErrorCode::TypeMismatch, problem)
        }
    }
}

/// The first argument that is null or not a number determines the result.
fn multiply(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut product = Value::Int32(1);
    for at in 0..values.len() {
        match given(values, at) {
            None => return NULL,
            Some(number) if number.is_number() => product = combined(Operation::Multiply, &product, number),
            Some(other) => return no_number(operator, ErrorCode::TypeMismatch, other),
        }
    }
    Ok(Some(product))
}

fn divide(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    if !a.is_number() || !b.is_number() {
        let problem = format!("$divide only supports numeric types, not {} and {}", a.type_name(), b.type_name());
        return fail(ErrorCode::TypeMismatch, problem);
    }
    if is_zero(b) {
        return Err(ExpressionError::division_by_zero(ErrorCode::BadValue, "$divide"));
    }
    match (a, b) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => some(quotient(&decimal(a), &decimal(b))),
        _ => some(a.as_f64().unwrap_or(f64::NAN) / b.as_f64().unwrap_or(f64::NAN)),
    }
}

pub(super) fn quotient(a: &Decimal, b: &Decimal) -> Decimal {
    if a.is_finite() && !b.is_finite() && !b.is_nan() {
        // The zero of decimal128 with the smallest exponent.
        return Decimal::from_parts(a.is_negative() != b.is_negative(), "0", -6176).unwrap_or(Decimal::NAN);
    }
    a.divide(b).map_or(Decimal::NAN, |quotient| quotient.rounded_to_decimal128())
}

fn modulo(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    if !a.is_number() || !b.is_number() {
        let problem = format!("$mod only supports numeric types, not {} and {}", a.type_name(), b.type_name());
        return fail(ErrorCode::Location16611, problem);
    }
    let is_decimal = matches!((a, b), (Value::Decimal(_), _) | (_, Value::Decimal(_)));
    if is_zero(b) {
        let code = if is_decimal { ErrorCode::Location5733415 } else { ErrorCode::Location16610 };
        return Err(ExpressionError::division_by_zero(code, "$mod"));
    }
    match (a, b) {
        _ if is_decimal => {
            let rest = decimal(a).remainder(&decimal(b));
            some(rest.map_or(Decimal::NAN, |rest| rest.rounded_to_decimal128()))
        }
        (Value::Double(_), _) | (_, Value::Double(_)) => {
            some(a.as_f64().unwrap_or(f64::NAN) % b.as_f64().unwrap_or(f64::NAN))
        }
        (Value::Int32(a), Value::Int32(b)) => some(a.wrapping_rem(*b)),
        _ => some(a.as_i64().unwrap_or(0).wrapping_rem(b.as_i64().unwrap_or(1))),
    }
}

fn abs(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    match value {
        Value::Int32(n) => Ok(Some(int_or_long(i64::from(*n).abs()))),
        Value::Int64(n) => match n.checked_abs() {
            Some(n) => some(n),
            None => fail(ErrorCode::Location28680, "$abs cannot take the smallest 64-bit integer"),
        },
        Value::Double(Double(x)) => some(x.abs()),
        Value::Decimal(decimal) if decimal.is_negative() => some(decimal.negated()),
        Value::Decimal(decimal) => some(decimal.clone()),
        other => no_number(operator, ErrorCode::Location28765, other),
    }
}

pub(super) fn no_number(operator: &Operator, code: ErrorCode, value: &Value) -> Outcome {
    fail(code, format!("{} only supports numeric types, not {}", operator.name, value.type_name()))
}

fn ceil(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    to_whole(operator, values, f64::ceil, Rounding::Up)
}

fn floor(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    to_whole(operator, values, f64::floor, Rounding::Down)
}

fn to_whole(operator: &Operator, values: &[Operand<'_>], double: fn(f64) -> f64, mode: Rounding) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    match value {
        Value::Int32(_) | Value::Int64(_) => Ok(Some(value.clone())),
        Value::Double(Double(x)) => some(double(*x)),
        // As in MongoDB, the result is NaN if 34 digits do not reach down to the digit of ones.
        Value::Decimal(decimal) => {
            some(rounded(decimal, 0, mode).and_then(|whole| padded(&whole, 0)).unwrap_or(Decimal::NAN))
        }
        other => no_number(operator, ErrorCode::Location28765, other),
    }
}

/// The digits of a decimal128.
const DECIMAL_DIGITS: i64 = 34;

/// The decimal with trailing zeros up to `places` digits after the point; `None` if that needs more than 34 digits.
fn padded(decimal: &Decimal, places: i64) -> Option<Decimal> {
    let (negative, digits, exponent) = decimal.parts()?;
    let zeros = exponent + places;
    if zeros <= 0 {
        return Some(decimal.clone());
    }
    if digits.len() as i64 + zeros > DECIMAL_DIGITS {
        return None;
    }
    let zeros = if decimal.is_zero() { 0 } else { usize::try_from(zeros).ok()? };
    Decimal::from_parts(negative, &format!("{digits}{}", "0".repeat(zeros)), -places).ok()
}

/// The direction of rounding.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    HalfEven,
    Truncate,
    Up,
    Down,
}

/// The decimal with at most `places` digits after the point; `None` if it is infinite, NaN, or out of range.
fn rounded(decimal: &Decimal, places: i64, mode: Rounding) -> Option<Decimal> {
    let (negative, digits, exponent) = decimal.parts()?;
    let cut = -places - exponent;
    if cut <= 0 {
        return Some(decimal.clone());
    }
    let keep = (digits.len() as i64 - cut).max(0) as usize;
    let (kept, lost) = digits.split_at(keep);
    let kept = if kept.is_empty() { "0" } else { kept };
    let all_zero = lost.bytes().all(|digit| digit == b'0');
    // If all digits are cut, the first of them may be some places below the last digit that is kept.
    let half = if (digits.len() as i64) < cut { Ordering::Less } else { half_of(lost) };
    let odd = (kept.as_bytes().last()? - b'0') % 2 == 1;
    let up = match mode {
        Rounding::Truncate => false,
        Rounding::HalfEven => half == Ordering::Greater || (half == Ordering::Equal && odd),
        Rounding::Up => !negative && !all_zero,
        Rounding::Down => negative && !all_zero,
    };
    let base = Decimal::from_parts(negative, kept, -places).ok()?;
    if !up {
        return Some(base);
    }
    base.add(&Decimal::from_parts(negative, "1", -places).ok()?).ok()
}

/// How the digits that are cut compare with a half of the last place.
fn half_of(lost: &str) -> Ordering {
    let Some((first, rest)) = lost.as_bytes().split_first() else { return Ordering::Less };
    first
        .cmp(&b'5')
        .then_with(|| if rest.iter().any(|digit| *digit != b'0') { Ordering::Greater } else { Ordering::Equal })
}

/// `$round` and `$trunc`, to a place from -20 to 100.
fn round(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    if !value.is_number() {
        let problem = format!("{} takes numbers, this is of type {}", operator.name, value.type_name());
        return fail(ErrorCode::Location51081, problem);
    }
    let place = match (values.len(), given(values, 1)) {
        (2, None) => return NULL,
        (_, None) => 0,
        (_, Some(place)) => place_of(operator, place)?,
    };
    let mode = if operator.name == "$round" { Rounding::HalfEven } else { Rounding::Truncate };
    match value {
        Value::Int32(_) | Value::Int64(_) if place >= 0 => Ok(Some(value.clone())),
        Value::Int32(n) => round_integer(operator, i64::from(*n), place, mode).map(|n| Some(int_or_long(n))),
        Value::Int64(n) => round_integer(operator, *n, place, mode).map(|n| Some(Value::Int64(n))),
        Value::Double(Double(x)) if !x.is_finite() => some(*x),
        Value::Double(Double(x)) if place == 0 && mode == Rounding::HalfEven => some(x.round_ties_even()),
        Value::Double(Double(x)) if place == 0 => some(x.trunc()),
        Value::Double(Double(x)) => {
            let result = rounded(&exact(*x), place, mode).map_or(*x, |decimal| decimal.to_f64());
            some(result)
        }
        Value::Decimal(decimal) => {
            let result = rounded(decimal, place, mode).unwrap_or_else(|| decimal.clone());
            some(padded(&result, place.min(DECIMAL_DIGITS)).unwrap_or(result))
        }
        other => no_number(operator, ErrorCode::Location28765, other),
    }
}

/// The place that `$round` and `$trunc` round to.
fn place_of(operator: &Operator, place: &Value) -> Result<i64, super::ExpressionError> {
    let name = operator.name;
    match to_long(place, &format!("the place of {name}"))? {
        _ if whole(place).is_none() => {
            fail(ErrorCode::Location51082, format!("the place of {name} must be an integer"))
        }
        place @ -20..=100 => Ok(place),
        _ => fail(ErrorCode::Location51083, format!("the place of {name} must be from -20 to 100")),
    }
}

fn round_integer(operator: &Operator, n: i64, place: i64, mode: Rounding) -> Result<i64, super::ExpressionError> {
    let result = rounded(&Decimal::from(n), place, mode).and_then(|decimal| decimal.to_i64());
    match result {
        Some(n) => Ok(n),
        None => {
            fail(ErrorCode::Location51080, format!("the result of {} does not fit a 64-bit integer", operator.name))
        }
    }
}

pub(super) fn is_zero(number: &Value) -> bool {
    match number {
        Value::Decimal(decimal) => decimal.is_zero(),
        other => other.as_f64() == Some(0.0),
    }
}

/// A number as a decimal. Doubles are converted to 15 significant digits.
pub(super) fn decimal(number: &Value) -> Decimal {
    crate::number::decimal(number).unwrap_or(Decimal::NAN)
}
