//! The model's own order of values and its own handling of paths. Both are implemented from MongoDB's rules and share
//! no code with the database, so that errors in the database's code are detected.

use alluvium::{Map, Value};
use alluvium_document::value::Double;
use std::cmp::Ordering;

/// The rank of a value's type in MongoDB's order of types.
fn rank(value: &Value) -> u8 {
    match value {
        Value::MinKey => 0,
        Value::Undefined => 1,
        Value::Null => 2,
        Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal(_) => 3,
        Value::String(_) | Value::Symbol(_) => 4,
        Value::Map(_) => 5,
        Value::Array(_) => 6,
        Value::Binary(_) => 7,
        Value::ObjectId(_) => 8,
        Value::Bool(_) => 9,
        Value::DateTime(_) => 10,
        Value::Timestamp(_) => 11,
        Value::Regex(_) => 12,
        Value::DbPointer(_) => 13,
        Value::Code(code) if code.scope.is_none() => 14,
        Value::Code(_) => 15,
        Value::MaxKey => 16,
    }
}

/// True if values have the same type; all numbers are one type.
pub(crate) fn same_type(a: &Value, b: &Value) -> bool {
    rank(a) == rank(b)
}

/// Compares two values. The result is correct for all values of the generators, but not for two different decimals that
/// are equal as doubles.
pub(crate) fn compare(a: &Value, b: &Value) -> Ordering {
    rank(a).cmp(&rank(b)).then_with(|| match (a, b) {
        (Value::String(a) | Value::Symbol(a), Value::String(b) | Value::Symbol(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Map(a), Value::Map(b)) => compare_maps(a, b),
        (Value::Array(a), Value::Array(b)) => {
            let first = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
            first.unwrap_or(a.len().cmp(&b.len()))
        }
        (Value::Binary(a), Value::Binary(b)) => {
            (a.bytes.len(), a.subtype, &a.bytes).cmp(&(b.bytes.len(), b.subtype, &b.bytes))
        }
        (Value::ObjectId(a), Value::ObjectId(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::DateTime(a), Value::DateTime(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => (a.time, a.increment).cmp(&(b.time, b.increment)),
        (Value::Regex(a), Value::Regex(b)) => (&a.pattern, &a.options).cmp(&(&b.pattern, &b.options)),
        (Value::DbPointer(a), Value::DbPointer(b)) => {
            (a.namespace.len(), &a.namespace, a.id).cmp(&(b.namespace.len(), &b.namespace, b.id))
        }
        (Value::Code(a), Value::Code(b)) => a.code.cmp(&b.code).then_with(|| match (&a.scope, &b.scope) {
            (Some(a), Some(b)) => compare_maps(a, b),
            _ => Ordering::Equal,
        }),
        _ => compare_numbers(a, b),
    })
}

fn compare_maps(a: &Map, b: &Map) -> Ordering {
    for ((name_a, a), (name_b, b)) in a.entries.iter().zip(&b.entries) {
        let order = rank(a).cmp(&rank(b)).then_with(|| compare(name_a, name_b)).then_with(|| compare(a, b));
        if order.is_ne() {
            return order;
        }
    }
    a.len().cmp(&b.len())
}

fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    let integer = |value: &Value| match value {
        Value::Int32(n) => Some(i64::from(*n)),
        Value::Int64(n) => Some(*n),
        _ => None,
    };
    match (integer(a), integer(b), a.as_f64(), b.as_f64()) {
        (Some(a), Some(b), ..) => a.cmp(&b),
        // NaN is less than all numbers.
        (_, _, Some(x), Some(y)) if x == y && x.is_finite() => match (a, b) {
            (Value::Decimal(_), Value::Double(_)) => compare_fractions(a, b, x < 0.0),
            (Value::Double(_), Value::Decimal(_)) => compare_fractions(b, a, x < 0.0).reverse(),
            _ => Ordering::Equal,
        },
        (_, _, Some(x), Some(y)) => x.partial_cmp(&y).unwrap_or_else(|| y.is_nan().cmp(&x.is_nan())),
        _ => Ordering::Equal,
    }
}

/// Compares all digits of a decimal and of the double nearest to it: the decimal 0.1 is slightly less than the double
/// 0.1.
fn compare_fractions(decimal: &Value, double: &Value, negative: bool) -> Ordering {
    let (Value::Decimal(decimal), Value::Double(Double(double))) = (decimal, double) else { return Ordering::Equal };
    let fraction = |text: &str| format!("{:0<80}", text.split_once('.').map_or("", |(_, digits)| digits));
    let order = fraction(&decimal.to_string()).cmp(&fraction(&format!("{double:.80}")));
    if negative { order.reverse() } else { order }
}

/// True for NaN.
pub(crate) fn is_nan(value: &Value) -> bool {
    match value {
        Value::Double(Double(x)) => x.is_nan(),
        Value::Decimal(decimal) => decimal.is_nan(),
        _ => false,
    }
}

/// True if `test` accepts a value that a condition on this path examines: the value at the path, the elements of an
/// array at the path, or `None` if there is no value. Names in the path lead into maps, and into maps in arrays.
pub(crate) fn any_at(map: &Map, path: &str, test: &dyn Fn(Option<&Value>) -> bool) -> bool {
    let (name, rest) = split(path);
    match (map.get(name), rest) {
        (None, _) => test(None),
        (Some(Value::Array(elements)), None) => {
            elements.iter().any(|element| test(Some(element))) || test(map.get(name))
        }
        (Some(value), None) => test(Some(value)),
        (Some(Value::Map(inner)), Some(rest)) => any_at(inner, rest, test),
        (Some(Value::Array(elements)), Some(rest)) => {
            elements.iter().filter_map(Value::as_map).any(|inner| any_at(inner, rest, test))
        }
        (Some(_), Some(_)) => test(None),
    }
}

/// The values that `distinct` returns for a document: the values at the path, and the elements of arrays at the path.
pub(crate) fn distinct_at<'a>(map: &'a Map, path: &str, found: &mut Vec<&'a Value>) {
    let (name, rest) = split(path);
    match (map.get(name), rest) {
        (Some(Value::Array(elements)), None) => found.extend(elements),
        (Some(value), None) => found.push(value),
        (Some(Value::Map(inner)), Some(rest)) => distinct_at(inner, rest, found),
        (Some(Value::Array(elements)), Some(rest)) => {
            elements.iter().filter_map(Value::as_map).for_each(|inner| distinct_at(inner, rest, found));
        }
        _ => {}
    }
}

/// The value by which a document is sorted: for an array its least element, or in descending order its greatest.
pub(crate) fn sorted_by(map: &Map, name: &str, descending: bool) -> Value {
    match map.get(name) {
        Some(Value::Array(elements)) => {
            let found = match descending {
                true => elements.iter().max_by(|a, b| compare(a, b)),
                false => elements.iter().min_by(|a, b| compare(a, b)),
            };
            found.cloned().unwrap_or(Value::Undefined)
        }
        value => value.cloned().unwrap_or(Value::Null),
    }
}

/// The first name of a path, and the rest.
pub(crate) fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)))
}
