//! The range and the ticks of an axis.

use crate::plan::Scale;
use serde::Serialize;

/// The maximum number of ticks of an axis.
const TICKS_MAX: usize = 9;
/// The margin before the first and after the last value, as a share of the axis.
const MARGIN: f64 = 0.04;

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Axis {
    /// The scale.
    pub(super) scale: Scale,
    /// The value at its beginning.
    pub(super) from: f64,
    /// The value at its end.
    pub(super) to: f64,
    /// Values with a tick.
    pub(super) ticks: Vec<f64>,
}

impl Axis {
    /// An axis of figures. It begins at zero, or at the smallest positive figure if the scale is
    /// logarithmic.
    pub(super) fn of_figures(scale: Scale, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let positive = values.iter().copied().filter(|value| *value > 0.0).fold(f64::MAX, f64::min);
        if scale == Scale::Linear || positive == f64::MAX {
            let least = values.iter().copied().fold(0.0, f64::min);
            let to = if most > 0.0 { most * 1.06 } else { 1.0 };
            return Self { scale: Scale::Linear, from: least, to, ticks: steps(least, to) };
        }
        let (from, to) = (positive / 1.3, most * 1.3);
        Self { scale, from, to, ticks: powers(scale, from, to) }
    }

    /// An axis of parameters. It has ticks at the values if they are few.
    pub(super) fn of_parameters(scale: Scale, values: &[f64]) -> Self {
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return Self { scale: Scale::Linear, from: 0.0, to: 1.0, ticks: Vec::new() };
        };
        if scale == Scale::Linear || *first <= 0.0 {
            let margin = if last > first { (last - first) * MARGIN } else { 0.5 };
            let (from, to) = (first - margin, last + margin);
            return Self { scale: Scale::Linear, from, to, ticks: steps(*first, to) };
        }
        let margin = if last > first { (last / first).powf(MARGIN) } else { 2.0 };
        let (from, to) = (first / margin, last * margin);
        let ticks = if values.len() <= TICKS_MAX { values.to_vec() } else { powers(scale, from, to) };
        Self { scale, from, to, ticks }
    }

    /// An axis of words, at 0, 1, 2 and so on.
    pub(super) fn of_words(count: usize) -> Self {
        let ticks = (0..count).map(|at| at as f64).collect();
        Self { scale: Scale::Linear, from: -0.5, to: count as f64 - 0.5, ticks }
    }

    /// An axis of time, or of anything else that grows from zero.
    pub(super) fn of_progress(scale: Scale, values: &[f64]) -> Self {
        match (values.first(), values.last()) {
            (Some(first), Some(last)) if scale == Scale::Linear && last > first => {
                let from = first.min(0.0);
                Self { scale, from, to: *last, ticks: steps(from, *last) }
            }
            _ => Self::of_parameters(scale, values),
        }
    }

    /// The position of a value on the axis, between 0 and 1. On a logarithmic scale, values without
    /// a logarithm are below 0.
    pub(super) fn place(&self, value: f64) -> f64 {
        let at = |value: f64| if self.scale == Scale::Linear { value } else { value.max(f64::MIN_POSITIVE).ln() };
        (at(value) - at(self.from)) / (at(self.to) - at(self.from))
    }
}

/// Round values at equal distances of 1, 2 or 5 times a power of ten.
fn steps(from: f64, to: f64) -> Vec<f64> {
    let rough = (to - from) / 6.0;
    if !rough.is_finite() || rough <= 0.0 {
        return vec![from];
    }
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let (first, last) = ((from / step - 1e-9).ceil() as i64, (to / step + 1e-9).floor() as i64);
    // A multiplication by a small step would add digits, as in 3 * 0.1. Therefore the number is
    // divided by the inverse of the step.
    let value = |n: i64| if step < 1.0 { n as f64 / (1.0 / step).round() } else { n as f64 * step };
    (first..=last).map(value).collect()
}

/// Powers of 2 or 10 within a range. If the range has few powers of ten, also 2 and 5 times these
/// powers.
fn powers(scale: Scale, from: f64, to: f64) -> Vec<f64> {
    let base: f64 = if scale == Scale::Log2 { 2.0 } else { 10.0 };
    let exponents = (from.log(base).floor() as i32)..=(to.log(base).ceil() as i32);
    let within =
        |values: Vec<f64>| -> Vec<f64> { values.into_iter().filter(|value| (from..=to).contains(value)).collect() };
    let whole = within(exponents.clone().map(|exponent| base.powi(exponent)).collect());
    let finer = |factors: &[f64]| {
        let of_one = |exponent: i32| factors.iter().map(move |factor| factor * 10_f64.powi(exponent));
        within(exponents.clone().flat_map(of_one).collect())
    };
    let ticks = match (scale, whole.len()) {
        (Scale::Log10, ..=3) => match finer(&[1.0, 2.0, 5.0]) {
            few if few.len() < 3 => finer(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0]),
            ticks => ticks,
        },
        _ => whole,
    };
    let every = ticks.len().div_ceil(TICKS_MAX + 1).max(1);
    ticks.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests;
