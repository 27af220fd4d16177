//! The covariance of pairs of values.

use crate::number::decimal;
use alluvium_document::{Decimal, Value};

/// The covariance of pairs of numbers. The result is a decimal if one of the numbers is a decimal. As in MongoDB, pairs
/// with an infinity or NaN are not counted; but if there are at least two finite pairs, such pairs determine the
/// result.
pub(super) fn covariance_of(pairs: &[(&Value, &Value)], sample: bool) -> Value {
    let double = |value: &Value| value.as_f64().unwrap_or_default();
    let (mut special, mut is_decimal) = (0.0, false);
    let mut finite: Vec<(&Value, &Value)> = Vec::with_capacity(pairs.len());
    let is_finite = |value: &Value| match value {
        Value::Decimal(decimal) => decimal.is_finite(),
        other => double(other).is_finite(),
    };
    for (x, y) in pairs {
        let rest: f64 = [x, y].iter().filter(|value| !is_finite(value)).map(|value| double(value)).sum();
        if is_finite(x) && is_finite(y) {
            finite.push((x, y));
            is_decimal |= matches!(x, Value::Decimal(_)) || matches!(y, Value::Decimal(_));
        }
        special += rest;
    }
    let degrees = finite.len() - usize::from(sample && !finite.is_empty());
    match finite.len() {
        0 => return Value::Null,
        1 if sample => return Value::Null,
        1 => return Value::from(0.0),
        _ if special != 0.0 => return Value::from(special),
        _ => {}
    }
    if is_decimal {
        return decimal_covariance(&finite, degrees).map_or(Value::Null, Value::Decimal);
    }
    let n = finite.len() as f64;
    let mean_x = finite.iter().map(|pair| double(pair.0)).sum::<f64>() / n;
    let mean_y = finite.iter().map(|pair| double(pair.1)).sum::<f64>() / n;
    let together = finite.iter().map(|(x, y)| (double(x) - mean_x) * (double(y) - mean_y)).sum::<f64>();
    let made = together / degrees as f64;
    Value::from(if made.is_finite() { made } else { overflowing(&finite, double) / degrees as f64 })
}

/// The sum of the products of doubles, for sums that overflow. The steps are those of MongoDB, because they decide
/// whether the result is infinite or NaN: D. E. Knuth's updating of means, with the mean of x before a pair and the
/// mean of y after it.
fn overflowing(pairs: &[(&Value, &Value)], double: impl Fn(&Value) -> f64) -> f64 {
    let (mut sum_x, mut sum_y, mut together) = (0.0, 0.0, 0.0);
    for (at, (x, y)) in pairs.iter().enumerate() {
        let (x, y, count) = (double(x), double(y), at as f64);
        let delta = x - if at == 0 { x } else { sum_x / count };
        (sum_x, sum_y) = (sum_x + x, sum_y + y);
        if at > 0 {
            together += delta * (y - sum_y / (count + 1.0));
        }
    }
    together
}

/// The covariance of finite numbers, computed with decimals; `None` if a step has no result.
fn decimal_covariance(pairs: &[(&Value, &Value)], degrees: usize) -> Option<Decimal> {
    let whole = |n: usize| Decimal::from(i64::try_from(n).unwrap_or(i64::MAX));
    let rounded = |made: Decimal| made.rounded_to_decimal128();
    let mean = |of: fn(&(&Value, &Value)) -> Option<Decimal>| {
        let mut sum = Decimal::from(0);
        for pair in pairs {
            sum = rounded(sum.add(&of(pair)?).ok()?);
        }
        sum.divide(&whole(pairs.len())).ok().map(rounded)
    };
    let x = |pair: &(&Value, &Value)| decimal(pair.0).ok();
    let y = |pair: &(&Value, &Value)| decimal(pair.1).ok();
    let (mean_x, mean_y) = (mean(x)?, mean(y)?);
    let mut sum = Decimal::from(0);
    for pair in pairs {
        let product = x(pair)?.subtract(&mean_x).ok()?.multiply(&y(pair)?.subtract(&mean_y).ok()?).ok()?;
        sum = rounded(sum.add(&rounded(product)).ok()?);
    }
    sum.divide(&whole(degrees)).ok().map(rounded)
}
