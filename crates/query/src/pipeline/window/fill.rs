//! `$linearFill`.

use super::super::error::{PipelineError, refuse};
use super::bounds::Positions;
use super::meter::{Meter, is_null};
use crate::code::ErrorCode;
use crate::expression::Expression;
use alluvium_document::Value;
use alluvium_document::compare::compare;

type Result<T> = std::result::Result<T, PipelineError>;

/// The state of `$linearFill` between two documents.
#[derive(Default)]
pub(super) struct Filling {
    /// The position of the last document with a value.
    before: Option<usize>,
    /// The position of the next document with a value, and the line to it.
    gap: Option<(usize, Line)>,
    /// True if no later document has a value.
    is_last: bool,
}

#[derive(Clone, Copy)]
struct Line {
    x: [f64; 2],
    y: [f64; 2],
}

impl Filling {
    /// The value for the document at a position. Positions must be passed in ascending order.
    pub fn value(
        &mut self,
        input: &Expression,
        at: usize,
        positions: &Positions<'_>,
        meter: &mut Meter<'_>,
    ) -> Result<Value> {
        let x = positions.order(at, meter)?;
        if at + 1 < positions.len && compare(&x, &positions.order(at + 1, meter)?).is_eq() {
            return refuse(
                ErrorCode::Location6050106,
                "$linearFill needs a sortBy without equal values in a partition",
            );
        }
        let value = number_or_null(input, at, meter)?;
        if !is_null(&value) {
            (self.before, self.gap) = (Some(at), None);
            return Ok(value);
        }
        let Some(before) = self.before.filter(|_| !self.is_last) else { return Ok(Value::Null) };
        let line = match self.gap {
            Some((_, line)) => line,
            None => {
                let Some((after, y)) = next_value(input, at, positions.len, meter)? else {
                    self.is_last = true;
                    return Ok(Value::Null);
                };
                let start = number_or_null(input, before, meter)?;
                let line = Line {
                    x: [position(&positions.order(before, meter)?)?, position(&positions.order(after, meter)?)?],
                    y: [start, y].map(|y| y.as_f64().unwrap_or_default()),
                };
                self.gap.insert((after, line)).1
            }
        };
        let Line { x: [x0, x1], y: [y0, y1] } = line;
        Ok(Value::from(y0 + (position(&x)? - x0) * ((y1 - y0) / (x1 - x0))))
    }
}

/// The next value after a position, with the position of its document.
fn next_value(input: &Expression, at: usize, len: usize, meter: &mut Meter<'_>) -> Result<Option<(usize, Value)>> {
    for after in at + 1..len {
        meter.step()?;
        let value = number_or_null(input, after, meter)?;
        if !is_null(&value) {
            return Ok(Some((after, value)));
        }
    }
    Ok(None)
}

fn number_or_null(input: &Expression, at: usize, meter: &mut Meter<'_>) -> Result<Value> {
    let value = meter.value(input, at)?;
    if is_null(&value) {
        return Ok(Value::Null);
    }
    if !value.is_number() {
        let found = value.type_name();
        return refuse(ErrorCode::TypeMismatch, format!("$linearFill fills numbers, this is of type {found}"));
    }
    Ok(value)
}

/// A value in the order, as a number.
fn position(value: &Value) -> Result<f64> {
    match value {
        Value::DateTime(ms) => Ok(*ms as f64),
        number if number.is_number() => Ok(number.as_f64().unwrap_or_default()),
        other => refuse(
            ErrorCode::Location605001,
            format!("$linearFill needs a sortBy of numbers or dates, and a value is of type {}", other.type_name()),
        ),
    }
}
