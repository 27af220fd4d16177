//! `$add`, `$multiply`, rounding, powers, logarithms, trigonometry.

use super::numbers::{Kind, Sum, exact, int_or_long, whole};
use super::{
    NULL, Operand, Operator, Outcome, Parameters, any_nullish, any_number, exactly, given, operator, some, type_of,
};
use crate::code::ErrorCode;
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
    exactly("$exp", 1, real),
    exactly("$floor", 1, floor),
    exactly("$ln", 1, logarithm),
    exactly("$log", 2, log),
    exactly("$log10", 1, logarithm),
    exactly("$mod", 2, modulo),
    any_number("$multiply", multiply),
    exactly("$pow", 2, pow),
    operator("$round", Parameters::Count(1, 2), round),
    exactly("$sigmoid", 1, real),
    exactly("$sqrt", 1, real),
    exactly("$subtract", 2, subtract),
    operator("$trunc", Parameters::Count(1, 2), round),
    exactly("$acos", 1, real),
    exactly("$acosh", 1, real),
    exactly("$asin", 1, real),
    exactly("$asinh", 1, real),
    exactly("$atan", 1, real),
    exactly("$atan2", 2, atan2),
    exactly("$atanh", 1, real),
    exactly("$cos", 1, real),
    exactly("$cosh", 1, real),
    exactly("$degreesToRadians", 1, real),
    exactly("$radiansToDegrees", 1, real),
    exactly("$sin", 1, real),
    exactly("$sinh", 1, real),
    exactly("$tan", 1, real),
    exactly("$tanh", 1, real),
];

fn add(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (mut sum, mut date) = (Sum::default(), None);
    for value in values {
        match value.as_deref() {
            Some(Value::DateTime(_)) if date.is_some() => {
                return fail(ErrorCode::Location16612, "only one date is allowed in $add");
            }
            Some(Value::DateTime(millis)) => date = Some(*millis),
            Some(number) if number.is_number() => sum.add(number),
            None | Some(Value::Null | Value::Undefined) => {}
            Some(other) => {
                let found = other.type_name();
                return fail(
                    ErrorCode::Location16554,
                    format!("$add takes numbers and a date, this is of type {found}"),
                );
            }
        }
    }
    if any_nullish(values) {
        return NULL;
    }
    match date {
        None => Ok(Some(sum.value())),
        Some(millis) => date_plus(millis, &sum.value()),
    }
}

/// A date plus a number of milliseconds, which is rounded to the nearest.
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
            let problem = format!(
                "$subtract takes numbers, or a date and a number or a date, these are of types {} and {}",
                a.type_name(),
                b.type_name()
            );
            fail(ErrorCode::Location16556, problem)
        }
    }
}

fn multiply(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut product = Value::Int32(1);
    for value in values {
        match value.as_deref() {
            None | Some(Value::Null | Value::Undefined) => {}
            Some(number) if number.is_number() => {
                product = compute(Operation::Multiply, &product, number).unwrap_or_else(|_| {
                    Value::from(product.as_f64().unwrap_or(f64::NAN) * number.as_f64().unwrap_or(f64::NAN))
                });
            }
            Some(other) => {
                let found = other.type_name();
                return fail(ErrorCode::Location16555, format!("$multiply takes numbers, this is of type {found}"));
            }
        }
    }
    if any_nullish(values) { NULL } else { Ok(Some(product)) }
}

fn divide(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    if !a.is_number() || !b.is_number() {
        let problem = format!("$divide takes numbers, these are of types {} and {}", a.type_name(), b.type_name());
        return fail(ErrorCode::Location16609, problem);
    }
    if is_zero(b) {
        return fail(ErrorCode::BadValue, "$divide cannot divide by zero");
    }
    match (a, b) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => some(quotient(&decimal(a), &decimal(b))),
        _ => some(a.as_f64().unwrap_or(f64::NAN) / b.as_f64().unwrap_or(f64::NAN)),
    }
}

fn quotient(a: &Decimal, b: &Decimal) -> Decimal {
    a.divide(b).map_or(Decimal::NAN, |quotient| quotient.rounded_to_decimal128())
}

fn modulo(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    if !a.is_number() || !b.is_number() {
        let problem = format!("$mod takes numbers, these are of types {} and {}", a.type_name(), b.type_name());
        return fail(ErrorCode::Location16611, problem);
    }
    if is_zero(b) {
        return fail(ErrorCode::Location16610, "$mod cannot divide by zero");
    }
    match (a, b) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => some(remainder(&decimal(a), &decimal(b))),
        (Value::Double(_), _) | (_, Value::Double(_)) => match (whole(a), whole(b)) {
            // As in MongoDB, whole doubles give the remainder of integers.
            (Some(x), Some(y)) if a.as_f64().is_some_and(|x| x.abs() < 9e15) && y != 0 => some((x % y) as f64),
            _ => some(a.as_f64().unwrap_or(f64::NAN) % b.as_f64().unwrap_or(f64::NAN)),
        },
        (Value::Int32(a), Value::Int32(b)) => some(a.wrapping_rem(*b)),
        _ => some(a.as_i64().unwrap_or(0).wrapping_rem(b.as_i64().unwrap_or(1))),
    }
}

/// The remainder, with the sign of the dividend.
fn remainder(a: &Decimal, b: &Decimal) -> Decimal {
    if !a.is_finite() || b.is_nan() {
        return Decimal::NAN;
    }
    if !b.is_finite() {
        return a.clone();
    }
    let whole = a.divide(b).ok().and_then(|quotient| rounded(&quotient, 0, Rounding::Truncate));
    let product = whole.and_then(|whole| whole.multiply(b).ok());
    product.and_then(|product| a.subtract(&product).ok()).map_or(Decimal::NAN, |rest| rest.rounded_to_decimal128())
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
        other => no_number(operator, other),
    }
}

fn no_number(operator: &Operator, value: &Value) -> Outcome {
    let problem = format!("{} takes numbers, this is of type {}", operator.name, value.type_name());
    fail(ErrorCode::Location28765, problem)
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
        Value::Decimal(decimal) => some(rounded(decimal, 0, mode).unwrap_or_else(|| decimal.clone())),
        other => no_number(operator, other),
    }
}

/// How to round to a place.
#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    HalfEven,
    Truncate,
    Up,
    Down,
}

/// The decimal with no more digits than `places` behind the point; `None` if it is infinite, NaN, or out of range.
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
    // Digits that are all lost may lie some places below the last that is kept.
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

/// How the digits that are lost compare with a half.
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
        (_, Some(place)) => match whole(place) {
            Some(place @ -20..=100) => place,
            Some(_) => {
                return fail(
                    ErrorCode::Location51083,
                    format!("the place of {} must be from -20 to 100", operator.name),
                );
            }
            None => {
                return fail(ErrorCode::Location51082, format!("the place of {} must be an integer", operator.name));
            }
        },
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
        Value::Decimal(decimal) => some(rounded(decimal, place, mode).unwrap_or_else(|| decimal.clone())),
        other => no_number(operator, other),
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

/// A function of one real number, as a double. Decimals are computed as doubles.
fn real(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Some(x) = value.as_f64() else { return no_number(operator, value) };
    let out_of_range = |code, range: &str| fail(code, format!("{} takes numbers {range}", operator.name));
    let result = match operator.name {
        "$exp" => x.exp(),
        "$sigmoid" => 1.0 / (1.0 + (-x).exp()),
        "$sqrt" if x < 0.0 => return out_of_range(ErrorCode::Location28714, "of at least 0"),
        "$sqrt" => x.sqrt(),
        "$acos" | "$asin" if !(-1.0..=1.0).contains(&x) && !x.is_nan() => {
            return out_of_range(ErrorCode::Location50989, "from -1 to 1");
        }
        "$acos" => x.acos(),
        "$asin" => x.asin(),
        "$acosh" if x < 1.0 => return out_of_range(ErrorCode::Location50989, "of at least 1"),
        "$acosh" => x.acosh(),
        "$asinh" => x.asinh(),
        "$atan" => x.atan(),
        "$atanh" if !(-1.0..=1.0).contains(&x) && !x.is_nan() => {
            return out_of_range(ErrorCode::Location50989, "from -1 to 1");
        }
        "$atanh" => x.atanh(),
        "$cos" | "$sin" | "$tan" if x.is_infinite() => {
            return out_of_range(ErrorCode::Location50989, "that are not infinite");
        }
        "$cos" => x.cos(),
        "$sin" => x.sin(),
        "$tan" => x.tan(),
        "$cosh" => x.cosh(),
        "$sinh" => x.sinh(),
        "$tanh" => x.tanh(),
        "$degreesToRadians" => x.to_radians(),
        _ => x.to_degrees(),
    };
    in_type(value, result)
}

/// A double, or a decimal if the argument is one.
fn in_type(argument: &Value, result: f64) -> Outcome {
    match argument {
        Value::Decimal(_) => some(result.to_string().parse::<Decimal>().unwrap_or(Decimal::NAN)),
        _ => some(result),
    }
}

fn atan2(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(y), Some(x)) = (given(values, 0), given(values, 1)) else { return NULL };
    match (y.as_f64(), x.as_f64()) {
        (Some(a), Some(b)) => in_type(if matches!(x, Value::Decimal(_)) { x } else { y }, a.atan2(b)),
        _ => {
            let problem =
                format!("{} takes numbers, these are of types {} and {}", operator.name, y.type_name(), x.type_name());
            fail(ErrorCode::Location51044, problem)
        }
    }
}

/// `$ln` and `$log10`.
fn logarithm(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Some(x) = value.as_f64() else { return no_number(operator, value) };
    let (code, result) = match operator.name {
        "$ln" => (ErrorCode::Location28766, x.ln()),
        _ => (ErrorCode::Location28761, x.log10()),
    };
    if x <= 0.0 {
        return fail(code, format!("{} takes numbers greater than 0", operator.name));
    }
    in_type(value, result)
}

fn log(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(value), Some(base)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Some(x) = value.as_f64() else {
        return fail(ErrorCode::Location28756, format!("$log takes numbers, this is of type {}", type_of(Some(value))));
    };
    let Some(b) = base.as_f64() else {
        return fail(
            ErrorCode::Location28757,
            format!("the base of $log must be a number, this is of type {}", type_of(Some(base))),
        );
    };
    if x <= 0.0 {
        return fail(ErrorCode::Location28758, "$log takes numbers greater than 0");
    }
    if b <= 0.0 || b == 1.0 {
        return fail(ErrorCode::Location28759, "the base of $log must be greater than 0, and not 1");
    }
    in_type(if matches!(base, Value::Decimal(_)) { base } else { value }, x.ln() / b.ln())
}

fn pow(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(base), Some(exponent)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Some(x) = base.as_f64() else {
        return fail(
            ErrorCode::Location28762,
            format!("the base of $pow must be a number, this is of type {}", base.type_name()),
        );
    };
    let Some(y) = exponent.as_f64() else {
        return fail(
            ErrorCode::Location28763,
            format!("the exponent of $pow must be a number, this is of type {}", exponent.type_name()),
        );
    };
    if x == 0.0 && y < 0.0 {
        return fail(ErrorCode::Location28764, "$pow cannot raise 0 to a negative exponent");
    }
    match (base, exponent) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => in_type(&Value::Decimal(Decimal::NAN), x.powf(y)),
        (Value::Double(_), _) | (_, Value::Double(_)) => some(x.powf(y)),
        _ => {
            let whole = u32::try_from(exponent.as_i64().unwrap_or(0)).ok().and_then(|y| base.as_i64()?.checked_pow(y));
            let narrow = Kind::of(base) == Some(Kind::Int) && Kind::of(exponent) == Some(Kind::Int);
            match whole {
                Some(n) if narrow => Ok(Some(int_or_long(n))),
                Some(n) => some(n),
                None => some(x.powf(y)),
            }
        }
    }
}

fn is_zero(number: &Value) -> bool {
    match number {
        Value::Decimal(decimal) => decimal.is_zero(),
        other => other.as_f64() == Some(0.0),
    }
}

/// A number as a decimal; doubles as their first 15 digits.
fn decimal(number: &Value) -> Decimal {
    crate::number::decimal(number).unwrap_or(Decimal::NAN)
}
