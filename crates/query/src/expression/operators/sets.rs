//! Operators on arrays as sets: order and repetition are irrelevant.

use super::{NULL, Operand, Operator, Outcome, Parameters, counting, exactly, given, some, type_of};
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by};
use crate::expression::error::fail;
use crate::expression::operand::is_true;
use crate::interrupt::Interruption;
use crate::sorting::{COMPARISON_UNITS, sort_by};
use crate::work::Work;
use alluvium_document::Value;
use std::cmp::Ordering;

pub(super) const OPERATORS: &[Operator] = &[
    exactly("$allElementsTrue", 1, all_true),
    exactly("$anyElementTrue", 1, any_true),
    counting("$setDifference", Parameters::Count(2, 2), difference),
    counting("$setEquals", Parameters::Count(2, usize::MAX), equals),
    counting("$setIntersection", Parameters::Count(0, usize::MAX), intersection),
    counting("$setIsSubset", Parameters::Count(2, 2), is_subset),
    counting("$setUnion", Parameters::Count(0, usize::MAX), union).copying(),
];

/// The collation of strings; `None` to compare their bytes.
type Order<'c> = Option<&'c Collation>;

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

fn difference(operator: &Operator, values: &[Operand<'_>], collation: Order<'_>, work: &mut Work<'_>) -> Outcome {
    let (Some(a), Some(b)) = (given(values, 0), given(values, 1)) else { return NULL };
    let Value::Array(a) = a else { return no_array(ErrorCode::Location17048, operator.name, Some(a)) };
    let Value::Array(b) = b else { return no_array(ErrorCode::Location17049, operator.name, Some(b)) };
    let taken = sorted(b, collation, work)?;
    // The result has the order of the first array. Of equal elements, the first is kept.
    let mut kept: Vec<(usize, &Value)> = Vec::new();
    for (at, element) in a.iter().enumerate() {
        if !contains(&taken, element, collation, work)? {
            kept.push((at, element));
        }
    }
    sort_by(&mut kept, |(_, a), (_, b)| compare_by(collation, a, b), work)?;
    kept.dedup_by(|(_, a), (_, b)| compare_by(collation, a, b).is_eq());
    kept.sort_unstable_by_key(|(at, _)| *at);
    Ok(Some(Value::Array(kept.into_iter().map(|(_, element)| element.clone()).collect())))
}

fn equals(operator: &Operator, values: &[Operand<'_>], collation: Order<'_>, work: &mut Work<'_>) -> Outcome {
    let mut first: Option<Vec<&Value>> = None;
    let mut all_equal = true;
    for value in values {
        let Some(Value::Array(elements)) = value.as_deref() else {
            return no_array(ErrorCode::Location17044, operator.name, value.as_deref());
        };
        let set = sorted(elements, collation, work)?;
        match &first {
            Some(first) => all_equal &= same(first, &set, collation),
            None => first = Some(set),
        }
    }
    some(all_equal)
}

fn intersection(operator: &Operator, values: &[Operand<'_>], collation: Order<'_>, work: &mut Work<'_>) -> Outcome {
    let Some(sets) = arrays(ErrorCode::Location17047, operator, values)? else { return NULL };
    let mut sets = sets.into_iter();
    let Some(first) = sets.next() else { return Ok(Some(Value::Array(Vec::new()))) };
    let mut kept = sorted(first, collation, work)?;
    for elements in sets {
        let other = sorted(elements, collation, work)?;
        let mut both = Vec::new();
        for element in kept {
            if contains(&other, element, collation, work)? {
                both.push(element);
            }
        }
        kept = both;
    }
    Ok(Some(Value::Array(kept.into_iter().cloned().collect())))
}

fn union(operator: &Operator, values: &[Operand<'_>], collation: Order<'_>, work: &mut Work<'_>) -> Outcome {
    let Some(sets) = arrays(ErrorCode::Location17043, operator, values)? else { return NULL };
    let mut all: Vec<&Value> = sets.into_iter().flatten().collect();
    sort(&mut all, collation, work)?;
    Ok(Some(Value::Array(all.into_iter().cloned().collect())))
}

fn is_subset(operator: &Operator, values: &[Operand<'_>], collation: Order<'_>, work: &mut Work<'_>) -> Outcome {
    let side = |at: usize| values.get(at).and_then(Option::as_deref);
    let Some(Value::Array(a)) = side(0) else { return no_array(ErrorCode::Location17046, operator.name, side(0)) };
    let Some(Value::Array(b)) = side(1) else { return no_array(ErrorCode::Location17042, operator.name, side(1)) };
    let all = sorted(b, collation, work)?;
    for element in a {
        if !contains(&all, element, collation, work)? {
            return some(false);
        }
    }
    some(true)
}

/// The arguments as arrays. `None` if one of them is missing or null and all arguments before it are arrays.
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
            None => return Ok(None),
        }
    }
    Ok(Some(arrays))
}

/// The distinct elements, sorted.
fn sorted<'v>(
    elements: &'v [Value],
    collation: Order<'_>,
    work: &mut Work<'_>,
) -> Result<Vec<&'v Value>, Interruption> {
    let mut set: Vec<&Value> = elements.iter().collect();
    sort(&mut set, collation, work)?;
    Ok(set)
}

/// Sorts, and keeps the first of equal values.
fn sort(values: &mut Vec<&Value>, collation: Order<'_>, work: &mut Work<'_>) -> Result<(), Interruption> {
    sort_by(values, |a, b| compare_by(collation, a, b), work)?;
    values.dedup_by(|a, b| compare_by(collation, a, b) == Ordering::Equal);
    Ok(())
}

fn contains(set: &[&Value], element: &Value, collation: Order<'_>, work: &mut Work<'_>) -> Result<bool, Interruption> {
    work.add(COMPARISON_UNITS * (set.len().checked_ilog2().unwrap_or(0) as usize + 1))?;
    Ok(set.binary_search_by(|known| compare_by(collation, known, element)).is_ok())
}

fn same(a: &[&Value], b: &[&Value], collation: Order<'_>) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare_by(collation, a, b) == Ordering::Equal)
}
