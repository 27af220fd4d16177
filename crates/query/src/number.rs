//! Sums and products of numbers of all types.

use alluvium_document::compare::equal;
use alluvium_document::value::Double;
use alluvium_document::{Decimal, Value};

/// The reason why there is no numeric result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberError {
    /// One of the operands is not a number.
    NotANumber,
    /// The result does not fit an integer, or a decimal.
    Overflow,
}

#[derive(Clone, Copy)]
pub(crate) enum Operation {
    Add,
    Multiply,
}

/// Computes the result, by MongoDB's rules for types. Two 32-bit integers give a 32-bit integer if
/// the result fits. Other integers give a 64-bit integer, or an error if the result does not fit. A
/// double and an integer give a double. A decimal and any number give a decimal.
///
/// Decimal results are exact up to the precision of decimal128, and rounded to the nearest, half to
/// even. Results beyond its range of exponents are infinite, results below it zero. In an operation
/// with a decimal, a double is converted to 15 significant digits, including zeros, as in MongoDB:
/// 0.1 is 0.100000000000000.
pub(crate) fn compute(operation: Operation, a: &Value, b: &Value) -> Result<Value, NumberError> {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => {
            let wide = integers(operation, i64::from(*a), i64::from(*b))?;
            Ok(i32::try_from(wide).map_or(Value::Int64(wide), Value::Int32))
        }
        (Value::Int32(_) | Value::Int64(_), Value::Int32(_) | Value::Int64(_)) => {
            integers(operation, integer(a)?, integer(b)?).map(Value::Int64)
        }
        (Value::Decimal(_), _) | (_, Value::Decimal(_)) => decimals(operation, &decimal(a)?, &decimal(b)?),
        _ => {
            let (a, b) = (a.as_f64().ok_or(NumberError::NotANumber)?, b.as_f64().ok_or(NumberError::NotANumber)?);
            Ok(Value::Double(Double(match operation {
                Operation::Add => a + b,
                Operation::Multiply => a * b,
            })))
        }
    }
}

/// True if a result counts as no change of the value. By MongoDB's rule this is the case if both
/// have the same type and are equal as numbers. Then the old value is kept, including the sign of a
/// zero and the number of digits of a decimal.
pub(crate) fn is_no_change(before: &Value, result: &Value) -> bool {
    std::mem::discriminant(before) == std::mem::discriminant(result) && equal(before, result)
}

/// The result of `$mul` on a missing value: the product of the operand and the integer 0. It has
/// the type and the sign of the operand and, for a decimal, its exponent. Null if the operand is
/// not a number.
pub(crate) fn zero_like(number: &Value) -> Value {
    compute(Operation::Multiply, number, &Value::Int32(0)).unwrap_or(Value::Null)
}

fn integers(operation: Operation, a: i64, b: i64) -> Result<i64, NumberError> {
    let result = match operation {
        Operation::Add => a.checked_add(b),
        Operation::Multiply => a.checked_mul(b),
    };
    result.ok_or(NumberError::Overflow)
}

fn decimals(operation: Operation, a: &Decimal, b: &Decimal) -> Result<Value, NumberError> {
    let result = match operation {
        Operation::Add => a.add(b),
        Operation::Multiply => a.multiply(b),
    };
    let as_decimal128 = a.is_decimal128() && b.is_decimal128();
    let result = result.map_err(|_| NumberError::Overflow)?;
    Ok(Value::Decimal(if as_decimal128 { result.rounded_to_decimal128() } else { result }))
}

/// The value as a 32- or 64-bit integer.
pub(crate) fn integer(value: &Value) -> Result<i64, NumberError> {
    match value {
        Value::Int32(n) => Ok(i64::from(*n)),
        Value::Int64(n) => Ok(*n),
        _ => Err(NumberError::NotANumber),
    }
}

/// A number as a decimal. A double is converted to 15 significant digits.
pub(crate) fn decimal(value: &Value) -> Result<Decimal, NumberError> {
    match value {
        Value::Int32(n) => Ok(Decimal::from(*n)),
        Value::Int64(n) => Ok(Decimal::from(*n)),
        Value::Double(Double(x)) => Ok(first_digits(*x)),
        Value::Decimal(decimal) => Ok(decimal.clone()),
        _ => Err(NumberError::NotANumber),
    }
}

/// The double rounded to 15 digits, half to even. Zero, infinities and NaN are unchanged.
fn first_digits(x: f64) -> Decimal {
    let whole = || Decimal::from_f64(x);
    if x == 0.0 || !x.is_finite() {
        return whole();
    }
    let text = format!("{:.14e}", x.abs());
    let parts = text.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i64>().ok()?)));
    let rounded =
        parts.and_then(|(digits, exponent)| Decimal::from_parts(x < 0.0, &digits.replace('.', ""), exponent - 14).ok());
    rounded.unwrap_or_else(whole)
}

#[cfg(test)]
mod tests;
