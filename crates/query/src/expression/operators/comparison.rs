//! Comparison operators, and logical operators on values.

use super::{Operand, Operator, Outcome, Parameters, any_number, comparing, exactly, some};
use crate::collation::{Collation, compare_by};
use crate::expression::operand::is_true;
use alluvium_document::Value;
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    comparing("$cmp", BOTH, |_, values, collation| some(order(values, collation) as i32)),
    comparing("$eq", BOTH, |_, values, collation| some(order(values, collation).is_eq())),
    comparing("$gt", BOTH, |_, values, collation| some(order(values, collation).is_gt())),
    comparing("$gte", BOTH, |_, values, collation| some(order(values, collation).is_ge())),
    comparing("$lt", BOTH, |_, values, collation| some(order(values, collation).is_lt())),
    comparing("$lte", BOTH, |_, values, collation| some(order(values, collation).is_le())),
    comparing("$ne", BOTH, |_, values, collation| some(order(values, collation).is_ne())),
    exactly("$not", 1, not).constant(),
    any_number("$isNumber", is_number),
];

const BOTH: Parameters = Parameters::Count(2, 2);

/// The order of two values; a missing value sorts below null.
fn order(values: &[Operand<'_>], collation: Option<&Collation>) -> Ordering {
    let side = |at: usize| values.get(at).and_then(Option::as_deref).unwrap_or(&Value::Undefined);
    compare_by(collation, side(0), side(1))
}

fn not(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(!is_true(values.first().and_then(Option::as_deref)))
}

fn is_number(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(values.first().and_then(Option::as_deref).is_some_and(Value::is_number))
}
