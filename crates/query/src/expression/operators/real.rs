//! Roots, powers, logarithms, trigonometry.

use super::arithmetic::{decimal, is_zero, no_number, quotient};
use super::numbers::{Kind, int_or_long};
use super::{NULL, Operand, Operator, Outcome, Parameters, exactly, given, operator, some, type_of};
use crate::code::ErrorCode;
use crate::expression::error::fail;
use alluvium_document::{Decimal, Value};

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$exp", 1, real),
    exactly("$ln", 1, logarithm),
    exactly("$log", 2, log),
    exactly("$log10", 1, logarithm),
    exactly("$pow", 2, pow),
    operator("$sigmoid", Parameters::One, sigmoid),
    exactly("$sqrt", 1, real),
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

/// A function of one real number, as a double. The trigonometry of decimals is computed with doubles.
fn real(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Some(x) = value.as_f64() else { return no_number(operator, ErrorCode::Location28765, value) };
    let out_of_range = |code, range: &str| fail(code, format!("{} takes numbers {range}", operator.name));
    let result = match (operator.name, value) {
        ("$exp", Value::Decimal(decimal)) => return some(decimal.exp()),
        ("$exp", _) => x.exp(),
        ("$sqrt", _) if is_below_zero(value) => return out_of_range(ErrorCode::Location28714, "of at least 0"),
        ("$sqrt", Value::Decimal(decimal)) => return some(decimal.sqrt()),
        ("$sqrt", _) => x.sqrt(),
        ("$acos" | "$asin" | "$atanh", _) if !(-1.0..=1.0).contains(&x) && !x.is_nan() => {
            return out_of_range(ErrorCode::Location50989, "from -1 to 1");
        }
        ("$acos", _) => x.acos(),
        ("$asin", _) => x.asin(),
        ("$acosh", _) if x < 1.0 => return out_of_range(ErrorCode::Location50989, "of at least 1"),
        ("$acosh", _) => x.acosh(),
        ("$asinh", _) => x.asinh(),
        ("$atan", _) => x.atan(),
        ("$atanh", _) => x.atanh(),
        ("$cos" | "$sin" | "$tan", _) if x.is_infinite() => {
            return out_of_range(ErrorCode::Location50989, "that are not infinite");
        }
        ("$cos", _) => x.cos(),
        ("$sin", _) => x.sin(),
        ("$tan", _) => x.tan(),
        ("$cosh", _) => x.cosh(),
        ("$sinh", _) => x.sinh(),
        ("$tanh", _) => x.tanh(),
        ("$degreesToRadians", _) => x.to_radians(),
        _ => x.to_degrees(),
    };
    in_type(value, result)
}

/// `1 / (1 + e^-x)`; a decimal is rounded after each step.
fn sigmoid(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    match (value, value.as_f64()) {
        (Value::Decimal(x), _) => {
            let below = x.negated().exp().add(&Decimal::from(1));
            some(below.map_or(Decimal::NAN, |below| quotient(&Decimal::from(1), &below.rounded_to_decimal128())))
        }
        (_, Some(x)) => some(1.0 / (1.0 + (-x).exp())),
        (other, None) => no_number(operator, ErrorCode::TypeMismatch, other),
    }
}

/// The result as a decimal if the argument is a decimal, otherwise as a double.
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

/// `$ln` and `$log10`. As in MongoDB, the logarithm of a decimal NaN is a double.
fn logarithm(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(value) = given(values, 0) else { return NULL };
    let Some(x) = value.as_f64() else { return no_number(operator, ErrorCode::Location28765, value) };
    let is_natural = operator.name == "$ln";
    if is_zero(value) || is_below_zero(value) {
        let code = if is_natural { ErrorCode::Location28766 } else { ErrorCode::Location28761 };
        return fail(code, format!("{} takes numbers greater than 0", operator.name));
    }
    match value {
        Value::Decimal(decimal) if !decimal.is_nan() && is_natural => some(decimal.ln()),
        Value::Decimal(decimal) if !decimal.is_nan() => some(decimal.log10()),
        _ if is_natural => some(x.ln()),
        _ => some(x.log10()),
    }
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
    if is_zero(value) || is_below_zero(value) {
        return fail(ErrorCode::Location28758, "$log takes numbers greater than 0");
    }
    if is_zero(base) || is_below_zero(base) || decimal(base).compare(&Decimal::from(1)).is_eq() {
        return fail(ErrorCode::Location28759, "the base of $log must be greater than 0, and not 1");
    }
    let is_decimal = matches!((value, base), (Value::Decimal(_), _) | (_, Value::Decimal(_)));
    if is_decimal && !x.is_nan() && !b.is_nan() {
        return some(quotient(&decimal(value).ln(), &decimal(base).ln()));
    }
    some(x.ln() / b.ln())
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
    if is_zero(base) && is_below_zero(exponent) {
        return fail(ErrorCode::Location28764, "$pow cannot raise 0 to a negative exponent");
    }
    match (base, exponent) {
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => some(decimal_pow(&decimal(base), &decimal(exponent))),
        (Value::Double(_), _) | (_, Value::Double(_)) => some(x.powf(y)),
        _ => {
            let narrow = Kind::of(base) == Some(Kind::Int) && Kind::of(exponent) == Some(Kind::Int);
            match whole_pow(base.as_i64().unwrap_or(0), exponent.as_i64().unwrap_or(0)) {
                Some(n) if narrow => Ok(Some(int_or_long(n))),
                Some(n) => some(n),
                None => some(x.powf(y)),
            }
        }
    }
}

/// The power if it is an integer of at most 64 bits.
fn whole_pow(base: i64, exponent: i64) -> Option<i64> {
    match base {
        0 | 1 if base == 1 || exponent > 0 => Some(base),
        -1 if exponent % 2 == 0 => Some(1),
        -1 => Some(-1),
        _ => base.checked_pow(u32::try_from(exponent).ok()?),
    }
}

/// The power with all 34 digits. As in MongoDB, the smallest zero is added to the power. Therefore the result is never
/// a negative zero, and a result just within the range becomes infinite.
fn decimal_pow(base: &Decimal, exponent: &Decimal) -> Decimal {
    let power = base.pow(exponent).rounded_to_decimal128();
    if power.parts().is_some_and(|(_, digits, exponent)| exponent == 6111 && digits == "9".repeat(34)) {
        return if power.is_negative() { Decimal::NEG_INFINITY } else { Decimal::INFINITY };
    }
    let zero = Decimal::from_parts(false, "0", -6176);
    zero.and_then(|zero| power.add(&zero)).map_or(power, |sum| sum.rounded_to_decimal128())
}

/// True for a number less than zero.
fn is_below_zero(number: &Value) -> bool {
    match number {
        Value::Decimal(decimal) => decimal.is_negative() && !decimal.is_zero(),
        other => other.as_f64().is_some_and(|x| x < 0.0),
    }
}
