//! Operands, and the rule for which of them count as true.

use alluvium_document::Value;
use alluvium_document::value::Double;
use std::borrow::Cow;

/// A value, or `None` if it is missing. Constants are borrowed from the expression.
pub(super) type Operand<'n> = Option<Cow<'n, Value>>;

/// True unless the value is missing, null, undefined, false or zero.
pub fn is_true(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Undefined | Value::Bool(false) | Value::Int32(0) | Value::Int64(0)) => false,
        Some(Value::Double(Double(x))) => *x != 0.0,
        Some(Value::Decimal(decimal)) => !decimal.is_zero(),
        Some(_) => true,
    }
}

/// True if the value is missing, null or undefined.
pub(super) fn is_nullish(value: Option<&Value>) -> bool {
    matches!(value, None | Some(Value::Null | Value::Undefined))
}
