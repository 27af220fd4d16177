//! The total order of all values: MongoDB's comparison order.
//!
//! Values are compared first by type, then by value. All numbers count as one type, and so do strings and symbols.
//! Numbers of different types are compared exactly: 2^53 + 1 as an integer is greater than 2^53 as a double.

use crate::decimal::Decimal;
use crate::value::{DbPointer, Double, Map, Regex, Value};
pub(crate) use alluvium_codec::key::rank;
use std::cmp::Ordering;

/// The rank of the value's type in the order, never 0. Values of different ranks are ordered by rank alone.
#[inline]
pub fn type_rank(value: &Value) -> u8 {
    match value {
        Value::MinKey => rank::MIN_KEY,
        Value::Undefined => rank::UNDEFINED,
        Value::Null => rank::NULL,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal(_) => rank::NUMBER,
        Value::String(_) | Value::Symbol(_) => rank::STRING,
        Value::Map(_) => rank::MAP,
        Value::Array(_) => rank::ARRAY,
        Value::Binary(_) => rank::BINARY,
        Value::ObjectId(_) => rank::OBJECT_ID,
        Value::Bool(_) => rank::BOOL,
        Value::DateTime(_) => rank::DATE_TIME,
        Value::Timestamp(_) => rank::TIMESTAMP,
        Value::Regex(_) => rank::REGEX,
        Value::DbPointer(_) => rank::DB_POINTER,
        Value::Code(code) if code.scope.is_some() => rank::CODE_WITH_SCOPE,
        Value::Code(_) => rank::CODE,
        Value::MaxKey => rank::MAX_KEY,
    }
}

/// Compares two values.
///
/// - Numbers by exact value; NaN is equal to NaN and below all other numbers; -0 equals 0.
/// - Strings and symbols by their bytes; arrays element by element; false before true.
/// - Maps field by field: first the ranks of the two values, then the names, then the values. If one map begins with
///   all fields of the other, the shorter map is less.
/// - Binaries by length, subtype, bytes; pointers by length of the namespace, namespace, id;
///   regular expressions by pattern, then options; code by text, then scope.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int32(a), Value::Int32(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        _ => match type_rank(a).cmp(&type_rank(b)) {
            Ordering::Equal => compare_same_rank(a, b),
            order => order,
        },
    }
}

/// True if the two values are equal in the order, so that 1 equals 1.0.
pub fn equal(a: &Value, b: &Value) -> bool {
    compare(a, b) == Ordering::Equal
}

fn compare_same_rank(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::ObjectId(a), Value::ObjectId(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Map(a), Value::Map(b)) => compare_maps(a, b),
        (Value::Array(a), Value::Array(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Binary(a), Value::Binary(b)) => {
            let key = |x: &crate::value::Binary| (x.bytes.len(), x.subtype);
            key(a).cmp(&key(b)).then_with(|| a.bytes.cmp(&b.bytes))
        }
        (Value::Regex(a), Value::Regex(b)) => {
            fn key(x: &Regex) -> (&[u8], &[u8]) {
                (x.pattern.as_bytes(), x.options.as_bytes())
            }
            key(a).cmp(&key(b))
        }
        (Value::DbPointer(a), Value::DbPointer(b)) => {
            fn key(x: &DbPointer) -> (usize, &[u8], &[u8; 12]) {
                (x.namespace.len(), x.namespace.as_bytes(), &x.id)
            }
            key(a).cmp(&key(b))
        }
        (Value::Code(a), Value::Code(b)) => {
            a.code.as_bytes().cmp(b.code.as_bytes()).then_with(|| match (&a.scope, &b.scope) {
                (Some(a), Some(b)) => compare_maps(a, b),
                _ => Ordering::Equal,
            })
        }
        // Null, undefined, min key and max key have one value each. All other values that remain here are numbers.
        _ => compare_numbers(a, b),
    }
}

/// Compares two maps like [`compare`].
pub fn compare_maps(a: &Map, b: &Map) -> Ordering {
    for ((a_key, a), (b_key, b)) in a.entries.iter().zip(&b.entries) {
        let order = type_rank(a).cmp(&type_rank(b));
        let order = order.then_with(|| compare(a_key, b_key)).then_with(|| compare_same_rank(a, b));
        if order.is_ne() {
            return order;
        }
    }
    a.entries.len().cmp(&b.entries.len())
}

/// Compares two numbers; `Equal` if one of them is not a number.
fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Double(Double(a)), Value::Double(Double(b))) => compare_doubles(*a, *b),
        (Value::Decimal(a), Value::Decimal(b)) => a.compare(b),
        (Value::Decimal(a), Value::Double(Double(b))) => a.compare_f64(*b),
        (Value::Double(Double(a)), Value::Decimal(b)) => b.compare_f64(*a).reverse(),
        _ => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (Some(a), None) => compare_integer(a, b),
            (None, Some(b)) => compare_integer(b, a).reverse(),
            (None, None) => Ordering::Equal,
        },
    }
}

#[inline]
fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        _ => None,
    }
}

/// Compares an integer with a double or decimal.
fn compare_integer(n: i64, other: &Value) -> Ordering {
    match other {
        Value::Double(Double(x)) => compare_i64_f64(n, *x),
        Value::Decimal(decimal) => Decimal::from(n).compare(decimal),
        _ => Ordering::Equal,
    }
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    // `partial_cmp` has no result only for NaN, which is the lowest number.
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

fn compare_i64_f64(n: i64, x: f64) -> Ordering {
    const TWO_63: f64 = 9_223_372_036_854_775_808.0;
    if x.is_nan() || x < -TWO_63 {
        return Ordering::Greater;
    }
    if x >= TWO_63 {
        return Ordering::Less;
    }
    let whole = x.trunc();
    n.cmp(&(whole as i64)).then_with(|| compare_doubles(whole, x))
}

#[cfg(test)]
mod tests;
