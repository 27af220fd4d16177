//! Arrays as sets: order and repetition do not count.

use super::{
    NULL, Operand, Operator, Outcome, Parameters, any_nullish, any_number, exactly, given, operator, some, type_of,
};
use crate::code::ErrorCode;
use crate::expression::error::fail;
use crate::expression::operand::is_true;
use alluvium_document::Value;
use alluvium_document::compare::compare;
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$allElementsTrue", 1, all_true),
    exactly("$anyElementTrue", 1, any_true),
    exactly("$setDifference", 2, difference),
    operator("$setEquals", Parameters::Count(2, usize::MAX), equals),
    any_number("$setIntersection", intersection),
    exactly("$setIsSubset", 2, is_subset),
    any_number("$setUnion", union),
];

fn all_true(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    match values.first().and_then(Option::as_deref) {
        Some(Value::Array(elements)) => some(elements.iter().all(|element| is_true(Some(element)))),
        other => no_array(ErrorCode::Location17040, "$allElementsTrue", other),
    }
}

fn any_true(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    match values.first().and_then(Option::as_deref) {
        Some(Value::Array(elements)) => some(elements.iter().any(|element| is_true(Some(element)))),
        other => no_array(ErrorCode::Location17041, "$anyElementTrue", other),
    }
}

fn no_array(code: ErrorCode, operator: &str, value: Option<&Value>) -> Outcome {
    fail(code, format!("{operator} takes arrays, this is of type {}", type_of(value)))
}

fn difference(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Value::Array(a) = a else { return no_array(ErrorCode::Location17048, operator.name, Some(a)) };
    let Value::Array(b) = b else { return no_array(ErrorCode::Location17049, operator.name, Some(b)) };
    let taken = sorted(b);
    let mut kept: Vec<Value> = Vec::new();
    let mut seen: Vec<&Value> = Vec::new();
    for element in a {
        if contains(&taken, element) {
            continue;
        }
        // In the order of the first array.
        if let Err(at) = seen.binary_search_by(|known| compare(known, element)) {
            seen.insert(at, element);
            kept.push(element.clone());
        }
    }
    Ok(Some(Value::Array(kept)))
}

fn equals(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut first: Option<Vec<&Value>> = None;
    let mut all_equal = true;
    for value in values {
        let Some(Value::Array(elements)) = value.as_deref() else {
            return no_array(ErrorCode::Location17044, operator.name, value.as_deref());
        };
        let set = sorted(elements);
        match &first {
            Some(first) => all_equal &= same(first, &set),
            None => first = Some(set),
        }
    }
    some(all_equal)
}

fn intersection(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(sets) = arrays(ErrorCode::Location17047, operator, values)? else { return NULL };
    let mut sets = sets.into_iter();
    let Some(mut kept) = sets.next().map(|elements| sorted(elements)) else {
        return Ok(Some(Value::Array(Vec::new())));
    };
    for elements in sets {
        let other = sorted(elements);
        kept.retain(|element| contains(&other, element));
    }
    Ok(Some(Value::Array(kept.into_iter().cloned().collect())))
}

fn union(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let Some(sets) = arrays(ErrorCode::Location17043, operator, values)? else { return NULL };
    let mut all: Vec<&Value> = sets.into_iter().flatten().collect();
    sort(&mut all);
    Ok(Some(Value::Array(all.into_iter().cloned().collect())))
}

fn is_subset(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let side = |at: usize| values.get(at).and_then(Option::as_deref);
    let Some(Value::Array(a)) = side(0) else { return no_array(ErrorCode::Location17046, operator.name, side(0)) };
    let Some(Value::Array(b)) = side(1) else { return no_array(ErrorCode::Location17042, operator.name, side(1)) };
    let all = sorted(b);
    some(a.iter().all(|element| contains(&all, element)))
}

/// The arrays; `None` if one is missing or null.
fn arrays<'v>(
    code: ErrorCode,
    operator: &Operator,
    values: &'v [Operand<'_>],
) -> Result<Option<Vec<&'v Vec<Value>>>, super::ExpressionError> {
    let mut arrays = Vec::with_capacity(values.len());
    for at in 0..values.len() {
        match given(values, at) {
            Some(Value::Array(elements)) => arrays.push(elements),
            Some(other) => {
                return fail(code, format!("{} takes arrays, this is of type {}", operator.name, other.type_name()));
            }
            None => {}
        }
    }
    Ok((!any_nullish(values)).then_some(arrays))
}

/// The different elements in their order.
fn sorted(elements: &[Value]) -> Vec<&Value> {
    let mut set: Vec<&Value> = elements.iter().collect();
    sort(&mut set);
    set
}

/// Sorts, and keeps the first of equal values.
fn sort(values: &mut Vec<&Value>) {
    values.sort_by(|a, b| compare(a, b));
    values.dedup_by(|a, b| compare(a, b) == Ordering::Equal);
}

fn contains(set: &[&Value], element: &Value) -> bool {
    set.binary_search_by(|known| compare(known, element)).is_ok()
}

fn same(a: &[&Value], b: &[&Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare(a, b) == Ordering::Equal)
}
