//! `$derivative`, `$integral`, and the covariances: functions of points in a window.

use super::super::error::{PipelineError, refuse};
use super::bounds::Positions;
use super::covariance::covariance_of;
use super::meter::Meter;
use crate::code::ErrorCode;
use crate::expression::Expression;
use alluvium_document::Value;
use std::collections::VecDeque;
use std::ops::Range;

type Result<T> = std::result::Result<T, PipelineError>;

/// The curve whose derivative or integral is computed.
#[derive(Clone, Copy)]
pub(super) struct Curve<'c> {
    pub input: &'c Expression,
    pub integral: bool,
    pub unit_ms: Option<i64>,
}

impl Curve<'_> {
    /// The derivative over a window, for the document at a position.
    pub fn derivative(
        self,
        range: &Range<usize>,
        at: usize,
        positions: &Positions<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value> {
        let Some(last) = range.end.checked_sub(1).filter(|last| *last > range.start) else {
            self.point(at, positions, meter)?;
            return Ok(Value::Null);
        };
        let (start, end) = (self.point(range.start, positions, meter)?, self.point(last, positions, meter)?);
        if range.start != at && last != at {
            self.point(at, positions, meter)?;
        }
        let distance = end.0 - start.0;
        Ok(if distance == 0.0 { Value::Null } else { Value::from((end.1 - start.1) / distance * self.unit()) })
    }

    /// Dates are subtracted before the result is divided by the unit. That keeps integers exact.
    fn unit(self) -> f64 {
        self.unit_ms.map_or(1.0, |unit| unit as f64)
    }

    /// A point of the curve: the value in the order and the input of a document.
    fn point(self, at: usize, positions: &Positions<'_>, meter: &mut Meter<'_>) -> Result<(f64, f64)> {
        let codes = if self.integral {
            [ErrorCode::Location5423900, ErrorCode::Location5423901, ErrorCode::Location5423902]
        } else {
            [ErrorCode::Location5624903, ErrorCode::Location5624900, ErrorCode::Location5624901]
        };
        let name = if self.integral { "$integral" } else { "$derivative" };
        let x = match (positions.order(at, meter)?, self.unit_ms) {
            (Value::DateTime(ms), Some(_)) => ms as f64,
            (number, None) if number.is_number() => number.as_f64().unwrap_or_default(),
            (Value::DateTime(_), None) => return refuse(codes[2], format!("{name} over dates needs a unit")),
            (other, unit) => {
                let (found, wanted) = (other.type_name(), if unit.is_some() { "dates" } else { "numbers" });
                let message = format!("{name} needs a sortBy of {wanted}, and a value is of type {found}");
                return refuse(codes[1], message);
            }
        };
        let input = meter.value(self.input, at)?;
        match input.as_f64() {
            Some(y) => Ok((x, y)),
            None => {
                let found = input.type_name();
                refuse(codes[0], format!("the input of {name} must be a number, this is of type {found}"))
            }
        }
    }
}

/// The state of `$integral` over windows.
#[derive(Default)]
pub(super) struct Integral {
    sum: f64,
    /// The last points of the window. Earlier points may have been removed.
    points: Points<(f64, f64)>,
}

impl Integral {
    /// The last window.
    pub fn known(&self) -> &Range<usize> {
        &self.points.known
    }

    /// The integral over a window, for the document at a position. `starts_at_first` is true if all windows start at
    /// the first document.
    pub fn value(
        &mut self,
        curve: Curve<'_>,
        range: Range<usize>,
        at: usize,
        starts_at_first: bool,
        positions: &Positions<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value> {
        if !range.contains(&at) {
            curve.point(at, positions, meter)?;
        }
        let trapezoid = |before: (f64, f64), after: (f64, f64)| (before.1 + after.1) / 2.0 * (after.0 - before.0);
        let grows = self.points.begin(&range, meter);
        for at in self.points.known.end..range.end {
            meter.step()?;
            let point = curve.point(at, positions, meter)?;
            if let Some(before) = self.points.values.back().filter(|_| grows) {
                self.sum += trapezoid(*before, point);
            }
            self.points.push(point, meter)?;
            if starts_at_first {
                self.points.keep_last(meter);
            }
        }
        if !grows {
            self.sum = 0.0;
            for (before, after) in self.points.values.iter().zip(self.points.values.iter().skip(1)) {
                meter.step()?;
                self.sum += trapezoid(*before, *after);
            }
        }
        Ok(if range.is_empty() { Value::Null } else { Value::from(self.sum / curve.unit()) })
    }
}

/// The state of `$covariancePop` and `$covarianceSamp` over windows.
#[derive(Default)]
pub(super) struct Pairs {
    /// The pairs of the window, with null for values that are not numbers.
    pairs: Points<[Value; 2]>,
    last: Option<Value>,
}

impl Pairs {
    /// The last window.
    pub fn known(&self) -> &Range<usize> {
        &self.pairs.known
    }

    /// The covariance over a window.
    pub fn covariance(
        &mut self,
        both: &[Expression; 2],
        sample: bool,
        range: Range<usize>,
        meter: &mut Meter<'_>,
    ) -> Result<Value> {
        if let Some(last) = self.last.as_ref().filter(|_| self.pairs.known == range) {
            return Ok(last.clone());
        }
        self.pairs.begin(&range, meter);
        for at in self.pairs.known.end..range.end {
            meter.step()?;
            let mut pair = [Value::Null, Value::Null];
            for (number, expression) in pair.iter_mut().zip(both) {
                let value = meter.value(expression, at)?;
                if value.is_number() {
                    *number = value;
                }
            }
            self.pairs.push(pair, meter)?;
        }
        let mut pairs: Vec<(&Value, &Value)> = Vec::new();
        for [x, y] in &self.pairs.values {
            meter.step()?;
            if x.is_number() && y.is_number() {
                pairs.push((x, y));
            }
        }
        let bytes = pairs.capacity() * size_of::<(&Value, &Value)>();
        meter.grow(bytes)?;
        meter.shrink(bytes);
        let value = covariance_of(&pairs, sample);
        self.last = Some(value.clone());
        Ok(value)
    }
}

/// One value for each document of a moving window. All values have the same size in memory.
struct Points<T> {
    /// The positions in the window.
    known: Range<usize>,
    /// The values at the last positions of the window.
    values: VecDeque<T>,
}

impl<T> Default for Points<T> {
    fn default() -> Self {
        Self { known: 0..0, values: VecDeque::new() }
    }
}

impl<T> Points<T> {
    /// Removes values that are not in the next window. Returns true if the next window has the same start and is not
    /// shorter than the last one.
    fn begin(&mut self, range: &Range<usize>, meter: &mut Meter<'_>) -> bool {
        let grows = range.start == self.known.start && range.end >= self.known.end;
        if grows {
            return true;
        }
        let moves = (self.known.start..self.known.end).contains(&range.start) && range.end >= self.known.end;
        let removed = if moves { range.start - self.known.start } else { self.values.len() };
        self.known = if moves { range.start..self.known.end } else { range.start..range.start };
        let bytes = removed.min(self.values.len()) * size_of::<T>();
        self.values.drain(..removed.min(self.values.len()));
        meter.shrink(bytes);
        false
    }

    /// Adds the value of the next document in the window.
    fn push(&mut self, value: T, meter: &mut Meter<'_>) -> Result<()> {
        self.known.end += 1;
        self.values.push_back(value);
        meter.grow(size_of::<T>())
    }

    /// Removes all values except the last one.
    fn keep_last(&mut self, meter: &mut Meter<'_>) {
        while self.values.len() > 1 {
            self.values.pop_front();
            meter.shrink(size_of::<T>());
        }
    }
}
