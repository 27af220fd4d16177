//! Operators on the bits of integers.

use super::{NULL, Operand, Operator, Outcome, any_nullish, any_number, exactly, given, some};
use crate::code::ErrorCode;
use crate::expression::error::fail;
use alluvium_document::Value;

pub(super) const OPERATORS: &[Operator] = &[
    any_number("$bitAnd", |operator, values| combined(operator, values, -1, |a, b| a & b)),
    exactly("$bitNot", 1, not),
    any_number("$bitOr", |operator, values| combined(operator, values, 0, |a, b| a | b)),
    any_number("$bitXor", |operator, values| combined(operator, values, 0, |a, b| a ^ b)),
];

/// Combines integers. The result has 64 bits if one of the integers has 64 bits.
fn combined(operator: &Operator, values: &[Operand<'_>], first: i64, combine: fn(i64, i64) -> i64) -> Outcome {
    let (mut bits, mut is_long) = (first, false);
    for value in values.iter().filter_map(Option::as_deref) {
        match value {
            Value::Int32(n) => bits = combine(bits, i64::from(*n)),
            Value::Int64(n) => {
                bits = combine(bits, *n);
                is_long = true;
            }
            Value::Null | Value::Undefined => {}
            other => return no_integer(operator, other),
        }
    }
    match i32::try_from(bits) {
        _ if any_nullish(values) => NULL,
        Ok(narrow) if !is_long => some(narrow),
        _ => some(bits),
    }
}

fn not(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    match given(values, 0) {
        None => NULL,
        Some(Value::Int32(n)) => some(!n),
        Some(Value::Int64(n)) => some(!n),
        Some(other) => no_integer(operator, other),
    }
}

fn no_integer(operator: &Operator, value: &Value) -> Outcome {
    let problem = format!("{} takes integers, this is of type {}", operator.name, value.type_name());
    fail(ErrorCode::TypeMismatch, problem)
}
