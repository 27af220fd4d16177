//! Sums and products of numbers of any type.

use document::value::Double;
use document::{Decimal, Value};

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberError {
    /// One of the two is no number.
    NotANumber,
    /// The result fits no integer, or no decimal that can be held.
    Overflow,
}

#[derive(Clone, Copy)]
pub(super) enum Operation {
    Add,
    Multiply,
}

/// The result, in MongoDB's types: two integers of 32 bits give one of 32 bits if that holds the result; otherwise integers
/// give one of 64 bits, and what that does not hold is an error; a double and integers give a double; a decimal and
/// anything a decimal.
///
/// Decimals are exact, but where decimal128 has both, the result is the nearest that it has, half to even (infinite
/// beyond its exponents, zero below them). A double beside a decimal counts as the decimal that its shortest text says
/// (MongoDB: its first 15 digits).
pub(super) fn compute(operation: Operation, a: &Value, b: &Value) -> Result<Value, NumberError> {
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

/// Zero of the number's type; null of what is none.
pub(super) fn zero_like(number: &Value) -> Value {
    match number {
        Value::Int32(_) => Value::Int32(0),
        Value::Int64(_) => Value::Int64(0),
        Value::Double(_) => Value::Double(Double(0.0)),
        Value::Decimal(_) => Value::Decimal(Decimal::from(0)),
        _ => Value::Null,
    }
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

/// The integer of 32 or 64 bits.
pub(super) fn integer(value: &Value) -> Result<i64, NumberError> {
    match value {
        Value::Int32(n) => Ok(i64::from(*n)),
        Value::Int64(n) => Ok(*n),
        _ => Err(NumberError::NotANumber),
    }
}

fn decimal(value: &Value) -> Result<Decimal, NumberError> {
    match value {
        Value::Int32(n) => Ok(Decimal::from(*n)),
        Value::Int64(n) => Ok(Decimal::from(*n)),
        Value::Double(Double(x)) => Ok(Decimal::from_f64(*x)),
        Value::Decimal(decimal) => Ok(decimal.clone()),
        _ => Err(NumberError::NotANumber),
    }
}

#[cfg(test)]
mod tests;
