//! Accumulators as expressions. They apply to their arguments, or to the elements of a single argument that is an
//! array.

use super::numbers::Sum;
use super::prepared::{Argument, Codes, Form, Prepared, PreparedOperator};
use super::{Operand, Operator, Outcome, Parameters, any_number, comparing, some};
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by};
use crate::expression::ExpressionError;
use crate::expression::error::fail;
use crate::expression::operand::is_nullish;
use crate::pattern::Patterns;
use crate::sorting::sort_by;
use crate::work::Work;
use alluvium_document::{Decimal, Value};

pub(super) const OPERATORS: &[Operator] = &[
    any_number("$avg", avg),
    comparing("$max", Parameters::Count(0, usize::MAX), extreme),
    comparing("$min", Parameters::Count(0, usize::MAX), extreme),
    any_number("$stdDevPop", deviation),
    any_number("$stdDevSamp", deviation),
    any_number("$sum", sum),
];

pub(super) const PREPARED: &[PreparedOperator] = &[
    PreparedOperator {
        name: "$median",
        form: Form::Named,
        names: &["input!", "method!"],
        codes: Codes::new(ErrorCode::Location7436201, ErrorCode::IDLUnknownField, &[ErrorCode::IDLFailedToParse]),
        prepare: check_quantiles,
        function: quantiles,
    },
    PreparedOperator {
        name: "$percentile",
        form: Form::Named,
        names: &["input!", "method!", "p!"],
        codes: Codes::new(ErrorCode::Location7436200, ErrorCode::IDLUnknownField, &[ErrorCode::IDLFailedToParse]),
        prepare: check_quantiles,
        function: quantiles,
    },
];

/// The values: the elements of a single argument that is an array, otherwise the arguments.
fn each<'v>(values: &'v [Operand<'_>]) -> Box<dyn Iterator<Item = &'v Value> + 'v> {
    match values {
        [Some(only)] if matches!(**only, Value::Array(_)) => match &**only {
            Value::Array(elements) => Box::new(elements.iter()),
            other => Box::new(std::iter::once(other)),
        },
        all => Box::new(all.iter().filter_map(Option::as_deref)),
    }
}

fn sum(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let mut sum = Sum::default();
    each(values).for_each(|value| sum.add(value));
    Ok(Some(sum.value()))
}

fn avg(_: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (mut sum, mut count) = (Sum::default(), 0u32);
    for value in each(values).filter(|value| value.is_number()) {
        sum.add(value);
        count += 1;
    }
    match count {
        0 => some(Value::Null),
        _ if sum.is_decimal() => {
            let quotient = sum.decimal().divide(&Decimal::from(i64::from(count)));
            some(quotient.map_or(Decimal::NAN, |quotient| quotient.rounded_to_decimal128()))
        }
        _ => some(sum.to_f64() / f64::from(count)),
    }
}

fn extreme(operator: &Operator, values: &[Operand<'_>], collation: Option<&Collation>) -> Outcome {
    let compare = |a: &Value, b: &Value| compare_by(collation, a, b);
    let present = each(values).filter(|value| !is_nullish(Some(value)));
    let found = match operator.name {
        // Of equal values, the first is the result.
        "$max" => present.reduce(|best, value| if compare(value, best).is_gt() { value } else { best }),
        _ => present.reduce(|best, value| if compare(value, best).is_lt() { value } else { best }),
    };
    Ok(Some(found.cloned().unwrap_or_default()))
}

/// The method is the updating formula of B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and
/// Products", Technometrics 4 (1962).
fn deviation(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    for x in each(values).filter_map(Value::as_f64) {
        count += 1.0;
        let delta = x - mean;
        mean += delta / count;
        squares += delta * (x - mean);
    }
    let degrees = if operator.name == "$stdDevPop" { count } else { count - 1.0 };
    if degrees <= 0.0 { some(Value::Null) } else { some((squares / degrees).sqrt()) }
}

/// Checks the method, and the `p` of `$percentile`: an array of constants from 0 to 1.
fn check_quantiles(
    operator: &PreparedOperator,
    arguments: &[Argument<'_>],
    _: &Patterns,
) -> Result<Option<Prepared>, ExpressionError> {
    let name = operator.name;
    match arguments.get(1) {
        Some(Argument::Constant(Value::String(method))) if method == "approximate" => {}
        Some(Argument::Constant(other)) if other.as_str().is_none() => {
            let found = other.type_name();
            return fail(
                ErrorCode::TypeMismatch,
                format!("the method of {name} must be text, this is of type {found}"),
            );
        }
        _ => return fail(ErrorCode::BadValue, format!("the method of {name} must be \"approximate\"")),
    }
    let range = "an array of numbers from 0 to 1";
    match arguments.get(2) {
        None => Ok(None),
        Some(Argument::Constant(Value::Array(list))) if !list.is_empty() => {
            for p in list {
                match p.as_f64() {
                    None => {
                        let found = p.type_name();
                        let problem = format!("the p of {name} must be {range}, one is of type {found}");
                        return fail(ErrorCode::Location7750302, problem);
                    }
                    Some(p) if !(0.0..=1.0).contains(&p) => {
                        return fail(
                            ErrorCode::Location7750303,
                            format!("the p of {name} must be {range}, one is {p}"),
                        );
                    }
                    Some(_) => {}
                }
            }
            Ok(None)
        }
        Some(Argument::Constant(_)) => {
            fail(ErrorCode::Location7750301, format!("the p of {name} must be {range}, and not empty"))
        }
        _ => fail(ErrorCode::Location7750300, format!("the p of {name} must be a constant")),
    }
}

/// `$median` and `$percentile` of a number, or of the numbers in an array. The result is always one of the numbers,
/// never a value between two of them.
fn quantiles(
    operator: &PreparedOperator,
    values: &[Operand<'_>],
    _: Option<&Prepared>,
    work: &mut Work<'_>,
) -> Outcome {
    let mut numbers: Vec<f64> = match values.first().and_then(Option::as_deref) {
        Some(Value::Array(elements)) => elements.iter().filter_map(Value::as_f64).filter(|x| !x.is_nan()).collect(),
        other => other.and_then(Value::as_f64).into_iter().collect(),
    };
    sort_by(&mut numbers, f64::total_cmp, work)?;
    let at = |p: f64| {
        let rank = (p * numbers.len() as f64).ceil() as usize;
        numbers.get(rank.saturating_sub(1)).or(numbers.last()).map_or(Value::Null, |x| Value::from(*x))
    };
    match values.get(2).and_then(Option::as_deref) {
        Some(Value::Array(list)) if operator.name == "$percentile" => {
            Ok(Some(Value::Array(list.iter().map(|p| at(p.as_f64().unwrap_or(0.5))).collect())))
        }
        _ => Ok(Some(at(0.5))),
    }
}
