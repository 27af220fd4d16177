//! Operators on arrays.

use super::numbers::{whole, whole_32};
use super::prepared::Codes;
use super::{
    NULL, Operand, Operator, Outcome, Parameters, any_nullish, any_number, comparing, counting, exactly, given, making,
    operator, some, type_of,
};
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by};
use crate::expression::MAX_VALUE_BYTES;
use crate::expression::error::fail;
use crate::expression::operand::is_nullish;
use crate::interrupt::Interruption;
use crate::sorting::{COMPARISON_UNITS, sort_by};
use crate::work::Work;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$arrayElemAt", 2, element_at).constant(),
    any_number("$concatArrays", concat).copying(),
    exactly("$first", 1, first_or_last).constant(),
    operator("$firstN", Parameters::Named(&["input!", "n!"], SOME_OF), some_of),
    comparing("$in", Parameters::Count(2, 2), is_in),
    comparing("$indexOfArray", Parameters::Count(2, 4), index_of),
    exactly("$isArray", 1, is_array).constant(),
    exactly("$last", 1, first_or_last).constant(),
    operator("$lastN", Parameters::Named(&["input!", "n!"], SOME_OF), some_of),
    counting("$maxN", Parameters::Named(&["input!", "n!"], SOME_OF), some_of_ordered),
    counting("$minN", Parameters::Named(&["input!", "n!"], SOME_OF), some_of_ordered),
    // A few bytes of arguments can produce a large array. Therefore `$range` is not evaluated during parsing, where an
    // expression with many calls would keep all results.
    Operator { is_constant: false, ..making("$range", Parameters::Count(2, 3), range) },
    exactly("$reverseArray", 1, reverse).copying(),
    exactly("$size", 1, size).constant(),
    operator("$slice", Parameters::Count(2, 3), slice),
    counting("$sortArray", Parameters::Named(&["input!", "sortBy=!"], SORT), sort).copying(),
    making("$zip", Parameters::Named(&["inputs!", "useLongestLength", "defaults"], ZIP), zip),
];

const SOME_OF: Codes = Codes::new(
    ErrorCode::Location5787801,
    ErrorCode::Location5787901,
    &[ErrorCode::Location5787907, ErrorCode::Location5787906],
);

const SORT: Codes = Codes::new(
    ErrorCode::Location2942500,
    ErrorCode::Location2942501,
    &[ErrorCode::Location2942502, ErrorCode::Location2942503],
);

const ZIP: Codes = Codes::new(ErrorCode::Location34460, ErrorCode::Location34464, &[ErrorCode::Location34465]);

fn first<'v>(values: &'v [Operand<'_>]) -> Option<&'v Value> {
    values.first().and_then(Option::as_deref)
}

fn is_array(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    some(matches!(first(values), Some(Value::Array(_))))
}

fn size(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    match first(values) {
        Some(Value::Array(elements)) => some(i32::try_from(elements.len()).unwrap_or(i32::MAX)),
        other => fail(
            ErrorCode::Location17124,
            format!("The argument to $size must be an array, but was of type: {}", type_of(other)),
        ),
    }
}

fn element_at(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(array), Some(at)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Value::Array(elements) = array else {
        return fail(
            ErrorCode::Location28689,
            format!("$arrayElemAt's first argument must be an array, but is {}", array.type_name()),
        );
    };
    if !at.is_number() {
        return fail(
            ErrorCode::Location28690,
            format!("$arrayElemAt's second argument must be a numeric value, but is {}", at.type_name()),
        );
    }
    let Some(at) = whole_32(at) else {
        return fail(ErrorCode::Location28691, "the position of $arrayElemAt must be an integer of 32 bits");
    };
    Ok(position(elements.len(), at).and_then(|at| elements.get(at)).cloned())
}

/// The position in an array of this length. A negative position counts from the end.
fn position(len: usize, at: i32) -> Option<usize> {
    match usize::try_from(at) {
        Ok(at) => Some(at),
        Err(_) => len.checked_sub(at.unsigned_abs() as usize),
    }
}

fn first_or_last(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(array) = given(values, 0) else { return NULL };
    let Value::Array(elements) = array else {
        return fail(
            ErrorCode::Location28689,
            format!("{}'s argument must be an array, but is {}", operator.name, array.type_name()),
        );
    };
    Ok(if operator.name == "$first" { elements.first() } else { elements.last() }.cloned())
}

/// `$firstN`, `$lastN`, `$minN`, `$maxN`.
fn some_of(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    some_of_ordered(operator, values, None, &mut Work::default())
}

fn some_of_ordered(
    operator: &Operator,
    values: &[Operand<'_>],
    collation: Option<&Collation>,
    work: &mut Work<'_>,
) -> Outcome {
    let count = values.get(1).and_then(Option::as_deref);
    let n = match count.and_then(whole) {
        Some(n @ 1..) => usize::try_from(n).unwrap_or(usize::MAX),
        Some(_) => {
            return fail(ErrorCode::Location5787908, format!("the n of {} must be greater than 0", operator.name));
        }
        None => {
            return fail(
                ErrorCode::Location5787902,
                format!("the n of {} must be an integer, this is of type {}", operator.name, type_of(count)),
            );
        }
    };
    let Some(Value::Array(elements)) = first(values) else {
        let found = type_of(first(values));
        return fail(
            ErrorCode::Location5788200,
            format!("the input of {} must be an array, this is of type {found}", operator.name),
        );
    };
    let take = n.min(elements.len());
    let found = match operator.name {
        "$firstN" => elements[..take].to_vec(),
        "$lastN" => elements[elements.len() - take..].to_vec(),
        name => {
            let mut sorted: Vec<&Value> = elements.iter().filter(|value| !is_nullish(Some(value))).collect();
            let compare = |a: &Value, b: &Value| compare_by(collation, a, b);
            sort_by(&mut sorted, |a, b| if name == "$minN" { compare(a, b) } else { compare(b, a) }, work)?;
            sorted.into_iter().take(take).cloned().collect()
        }
    };
    Ok(Some(Value::Array(found)))
}

fn concat(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let len = values.iter().flatten().filter_map(|value| value.as_array()).map(<[Value]>::len).sum();
    let mut all = Vec::with_capacity(len);
    for at in 0..values.len() {
        match given(values, at) {
            None => return NULL,
            Some(Value::Array(elements)) => all.extend_from_slice(elements),
            Some(other) => {
                return fail(
                    ErrorCode::Location28664,
                    format!("$concatArrays only supports arrays, not {}", other.type_name()),
                );
            }
        }
    }
    Ok(Some(Value::Array(all)))
}

fn is_in(_: &Operator, values: &[Operand<'_>], collation: Option<&Collation>) -> Outcome {
    let array = values.get(1).and_then(Option::as_deref);
    let Some(Value::Array(elements)) = array else {
        return fail(
            ErrorCode::Location40081,
            format!("$in requires an array as a second argument, found: {}", type_of(array)),
        );
    };
    let wanted = first(values).unwrap_or(&Value::Undefined);
    some(elements.iter().any(|element| compare_by(collation, element, wanted).is_eq()))
}

fn index_of(_: &Operator, values: &[Operand<'_>], collation: Option<&Collation>) -> Outcome {
    let Some(array) = given(values, 0) else { return NULL };
    let Value::Array(elements) = array else {
        return fail(
            ErrorCode::Location40090,
            format!("$indexOfArray requires an array as a first argument, found: {}", array.type_name()),
        );
    };
    let (start, end) =
        bounds("$indexOfArray", values, elements.len(), ErrorCode::Location9711600, ErrorCode::Location9711601)?;
    let wanted = values.get(1).and_then(Option::as_deref).unwrap_or(&Value::Undefined);
    let is_wanted = |element: &Value| compare_by(collation, element, wanted).is_eq();
    let found = elements.get(start..end).and_then(|part| part.iter().position(is_wanted));
    some(found.map_or(-1, |at| i32::try_from(start + at).unwrap_or(i32::MAX)))
}

/// The start and end of a search from the third and fourth arguments. The end is at most `len` and
/// may be before the start.
pub(super) fn bounds(
    operator: &str,
    values: &[Operand<'_>],
    len: usize,
    no_integer: ErrorCode,
    negative: ErrorCode,
) -> Result<(usize, usize), super::ExpressionError> {
    let mut places = [0, len];
    for (place, value) in places.iter_mut().zip(values.iter().skip(2)) {
        let Some(n) = value.as_deref().and_then(whole_32) else {
            return fail(no_integer, format!("the positions of {operator} must be integers of 32 bits"));
        };
        let Ok(n) = usize::try_from(n) else {
            return fail(negative, format!("the positions of {operator} must be at least 0"));
        };
        *place = n;
    }
    Ok((places[0], places[1].min(len)))
}

fn range(_: &Operator, values: &[Operand<'_>], work: &mut Work<'_>) -> Outcome {
    let mut parts = [0i32, 0, 1];
    let errors = [
        ("starting", ErrorCode::Location34443, ErrorCode::Location34444),
        ("ending", ErrorCode::Location34445, ErrorCode::Location34446),
        ("step", ErrorCode::Location34447, ErrorCode::Location34448),
    ];
    for ((at, part), (what, no_number, no_integer)) in parts.iter_mut().enumerate().zip(errors) {
        let Some(value) = values.get(at) else { continue };
        let Some(number) = value.as_deref().filter(|value| value.is_number()) else {
            let found = type_of(value.as_deref());
            return fail(no_number, format!("$range requires a numeric {what} value, found value of type:{found}"));
        };
        let Some(n) = whole_32(number) else {
            let article = if what == "ending" { "an" } else { "a" };
            let wanted = format!("{article} {what} value that can be represented as a 32-bit integer");
            return fail(no_integer, format!("$range requires {wanted}, found value: {number}"));
        };
        *part = n;
    }
    let [start, end, step] = parts.map(i64::from);
    if step == 0 {
        return fail(ErrorCode::Location34449, "$range requires a non-zero step value");
    }
    let count = ((end - start) as f64 / step as f64).ceil().max(0.0) as usize;
    // An element has at least seven bytes in BSON.
    if count > MAX_VALUE_BYTES / 7 {
        return fail(ErrorCode::ExceededMemoryLimit, format!("$range makes {count} numbers, more than fit a document"));
    }
    work.make(count * size_of::<Value>())?;
    let number = |at: usize| Value::Int32((start + at as i64 * step) as i32);
    Ok(Some(Value::Array((0..count).map(number).collect())))
}

fn reverse(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    match given(values, 0) {
        None => NULL,
        Some(Value::Array(elements)) => Ok(Some(Value::Array(elements.iter().rev().cloned().collect()))),
        Some(other) => fail(
            ErrorCode::Location34435,
            format!("The argument to $reverseArray must be an array, but was of type: {}", other.type_name()),
        ),
    }
}

fn slice(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    if any_nullish(values) {
        return NULL;
    }
    let (Some(array), Some(second)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Value::Array(elements) = array else {
        return fail(
            ErrorCode::Location28724,
            format!("First argument to $slice must be an array, but is of type: {}", array.type_name()),
        );
    };
    let integer = |value: &Value, what: &str, no_number, no_integer| match whole_32(value) {
        Some(n) => Ok(n),
        None if value.is_number() => {
            fail(no_integer, format!("the {what} argument of $slice must be an integer of 32 bits"))
        }
        None => fail(
            no_number,
            format!("the {what} argument of $slice must be a number, this is of type {}", value.type_name()),
        ),
    };
    let n = integer(second, "second", ErrorCode::Location28725, ErrorCode::Location28726)?;
    let len = elements.len();
    let (start, end) = match given(values, 2) {
        None if n >= 0 => (0, n as usize),
        None => (len.saturating_sub(n.unsigned_abs() as usize), len),
        Some(third) => {
            let count = integer(third, "third", ErrorCode::Location28727, ErrorCode::Location28728)?;
            if count <= 0 {
                return fail(ErrorCode::Location28729, "the third argument of $slice must be greater than 0");
            }
            let start = position(len, n).unwrap_or(0).min(len);
            (start, start + count as usize)
        }
    };
    Ok(Some(Value::Array(elements[start.min(len)..end.min(len)].to_vec())))
}

fn sort(_: &Operator, values: &[Operand<'_>], collation: Option<&Collation>, work: &mut Work<'_>) -> Outcome {
    let Some(input) = given(values, 0) else { return NULL };
    let Value::Array(elements) = input else {
        return fail(
            ErrorCode::Location2942504,
            format!("the input of $sortArray must be an array, this is of type {}", input.type_name()),
        );
    };
    let compare = |a: &Value, b: &Value| compare_by(collation, a, b);
    let mut sorted: Vec<&Value> = elements.iter().collect();
    match values.get(1).and_then(Option::as_deref) {
        Some(Value::Map(fields)) => sort_by_fields(&mut sorted, &sort_fields(fields)?, compare, work)?,
        Some(direction) if direction.is_number() => match whole(direction) {
            Some(1) => sort_by(&mut sorted, |a, b| compare(a, b), work)?,
            Some(-1) => sort_by(&mut sorted, |a, b| compare(b, a), work)?,
            _ => return fail(ErrorCode::Location2942506, "the sortBy of $sortArray must be 1, -1, or a map of fields"),
        },
        _ => return fail(ErrorCode::Location2942507, "the sortBy of $sortArray must be 1, -1, or a map of fields"),
    }
    Ok(Some(Value::Array(sorted.into_iter().cloned().collect())))
}

/// The paths to sort by; true for descending order.
fn sort_fields(fields: &Map) -> Result<Vec<(FieldPath, bool)>, super::ExpressionError> {
    let direction = |value: &Value| match whole(value) {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => fail(ErrorCode::Location2942505, "a direction in the sortBy of $sortArray must be 1 or -1"),
    };
    if fields.is_empty() {
        return fail(ErrorCode::Location2942505, "the sortBy of $sortArray has no fields");
    }
    let mut paths = Vec::with_capacity(fields.len());
    for (name, value) in fields.iter() {
        let name = name.as_str().unwrap_or_default();
        let Ok(path) = name.parse() else {
            return fail(ErrorCode::of_path(name), format!("'{name}' in the sortBy of $sortArray is not a path"));
        };
        paths.push((path, direction(value)?));
    }
    Ok(paths)
}

/// Sorts by fields of maps. A missing field is null. Arrays are compared as a whole. A value that is not a map is
/// treated as a map without fields.
fn sort_by_fields(
    values: &mut Vec<&Value>,
    fields: &[(FieldPath, bool)],
    compare: impl Fn(&Value, &Value) -> Ordering,
    work: &mut Work<'_>,
) -> Result<(), Interruption> {
    // The memory of the keys of each element, of the elements with their keys, and of a second copy for the sort.
    work.make(values.len() * (fields.len() * size_of::<&Value>() + 2 * size_of::<(&[&Value], &Value)>()))?;
    let mut keys = Vec::with_capacity(values.len() * fields.len());
    for value in values.iter() {
        for (path, _) in fields {
            work.add(COMPARISON_UNITS + value.as_map().map_or(0, Map::len))?;
            keys.push(in_maps(value, path).unwrap_or(&Value::Null));
        }
    }
    let mut keyed: Vec<(&[&Value], &Value)> = keys.chunks(fields.len()).zip(values.iter().copied()).collect();
    let order = |(a, _): &(&[&Value], &Value), (b, _): &(&[&Value], &Value)| {
        let mut orders = fields.iter().zip(a.iter().zip(b.iter())).map(|((_, is_descending), (a, b))| {
            let order = compare(a, b);
            if *is_descending { order.reverse() } else { order }
        });
        orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    sort_by(&mut keyed, order, work)?;
    *values = keyed.into_iter().map(|(_, value)| value).collect();
    Ok(())
}

/// The value at a path that leads only through maps.
fn in_maps<'v>(value: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    (0..path.depth()).try_fold(value, |value, at| value.as_map()?.get(path.name(at)?))
}

// long: each argument has its own checks and errors
fn zip(_: &Operator, values: &[Operand<'_>], work: &mut Work<'_>) -> Outcome {
    let side = |at: usize| values.get(at).and_then(Option::as_deref);
    let inputs = match side(0) {
        None | Some(Value::Null | Value::Undefined) => return NULL,
        Some(Value::Array(inputs)) if inputs.is_empty() => {
            return fail(ErrorCode::Location34465, "$zip needs at least one input");
        }
        Some(Value::Array(inputs)) => inputs,
        other => {
            return fail(
                ErrorCode::Location34461,
                format!("the inputs of $zip must be an array, this is of type {}", type_of(other)),
            );
        }
    };
    let longest = match side(1) {
        None => false,
        Some(Value::Bool(longest)) => *longest,
        other => {
            return fail(
                ErrorCode::Location34463,
                format!("the useLongestLength of $zip must be true or false, this is of type {}", type_of(other)),
            );
        }
    };
    let defaults = match side(2) {
        None | Some(Value::Null | Value::Undefined) => None,
        Some(Value::Array(_)) if !longest => {
            return fail(ErrorCode::Location34466, "$zip has defaults without useLongestLength: true");
        }
        Some(Value::Array(defaults)) if defaults.len() != inputs.len() => {
            return fail(ErrorCode::Location34467, "$zip needs as many defaults as inputs");
        }
        Some(Value::Array(defaults)) => Some(defaults),
        other => {
            return fail(
                ErrorCode::Location34462,
                format!("the defaults of $zip must be an array, this is of type {}", type_of(other)),
            );
        }
    };
    let mut arrays = Vec::with_capacity(inputs.len());
    for input in inputs {
        match input {
            Value::Null | Value::Undefined => return NULL,
            Value::Array(elements) => arrays.push(elements),
            other => {
                return fail(
                    ErrorCode::Location34468,
                    format!("$zip takes arrays, an input is of type {}", other.type_name()),
                );
            }
        }
    }
    let lengths = arrays.iter().map(|elements| elements.len());
    let len = if longest { lengths.max() } else { lengths.min() }.unwrap_or(0);
    // A value has at least three bytes in BSON.
    if len.saturating_mul(arrays.len()) > MAX_VALUE_BYTES / 3 {
        return fail(ErrorCode::BSONObjectTooLarge, "$zip makes more values than fit a document");
    }
    let default = |at: usize| defaults.and_then(|defaults| defaults.get(at)).cloned().unwrap_or_default();
    let mut bytes = len * size_of::<Value>();
    let row = |at: usize| {
        let cell =
            |(which, elements): (usize, &&Vec<Value>)| elements.get(at).cloned().unwrap_or_else(|| default(which));
        let row = Value::Array(arrays.iter().enumerate().map(cell).collect());
        bytes += row.memory();
        work.make(bytes)?;
        Ok(row)
    };
    Ok(Some(Value::Array((0..len).map(row).collect::<Result<_, super::ExpressionError>>()?)))
}
