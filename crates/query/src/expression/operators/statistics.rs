//! Accumulators as expressions: of their arguments, or of the elements of a single array.

use super::numbers::Sum;
use super::{Operand, Operator, Outcome, any_number, some};
use crate::expression::operand::is_nullish;
use alluvium_document::compare::compare;
use alluvium_document::{Decimal, Value};

pub(super) const OPERATORS: &[Operator] = &[
    any_number("$avg", avg),
    any_number("$max", extreme),
    any_number("$min", extreme),
    any_number("$stdDevPop", deviation),
    any_number("$stdDevSamp", deviation),
    any_number("$sum", sum),
];

/// The values: those of a single array, or the arguments.
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

fn extreme(operator: &Operator, values: &[Operand<'_>]) -> Outcome {
    let present = each(values).filter(|value| !is_nullish(Some(value)));
    let found = match operator.name {
        // Of equal values the first.
        "$max" => present.reduce(|best, value| if compare(value, best).is_gt() { value } else { best }),
        _ => present.reduce(|best, value| if compare(value, best).is_lt() { value } else { best }),
    };
    Ok(Some(found.cloned().unwrap_or_default()))
}

/// By the updating method of B. P. Welford, "Note on a Method for Calculating Corrected Sums of Squares and Products",
/// Technometrics 4 (1962).
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
