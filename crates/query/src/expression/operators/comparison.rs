//! Comparison, and logic of values.

use super::{Operand, Operator, Outcome, any_number, exactly, some};
use crate::expression::operand::is_true;
use alluvium_document::Value;
use alluvium_document::compare::compare;
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$cmp", 2, cmp),
    exactly("$eq", 2, |_, values| some(order(values).is_eq())),
    exactly("$gt", 2, |_, values| some(order(values).is_gt())),
    exactly("$gte", 2, |_, values| some(order(values).is_ge())),
    exactly("$lt", 2, |_, values| some(order(values).is_lt())),
    exactly("$lte", 2, |_, values| some(order(values).is_le())),
    exactly("$ne", 2, |_, values| some(order(values).is_ne())),
    exactly("$not", 1, not),
    any_number("$isNumber", is_number),
];

fn cmp(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(order(values) as i32)
}

/// The order of two values; a missing one is below null.
fn order(values: &[Operand<'_>]) -> Ordering {
    let side = |at: usize| values.get(at).and_then(Option::as_deref).unwrap_or(&Value::Undefined);
    compare(side(0), side(1))
}

fn not(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(!is_true(values.first().and_then(Option::as_deref)))
}

fn is_number(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(values.first().and_then(Option::as_deref).is_some_and(Value::is_number))
}
