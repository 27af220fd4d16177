//! Evaluation of `$setWindowFields` over the documents of one partition.

use super::super::accumulator::{Accumulator, Kind, State};
use super::super::error::PipelineError;
use super::super::record::Record;
use super::bounds::Positions;
use super::change::{Curve, Integral, Pairs};
use super::fill::Filling;
use super::meter::{Meter, is_null};
use super::{Bound, Caller, Function, Window, WindowFields};
use crate::fields;
use crate::number::{Operation, compute};
use alluvium_document::Value;
use std::ops::Range;
use std::sync::Arc;

type Result<T> = std::result::Result<T, PipelineError>;

/// Computes the fields of the documents of one partition, one document after the other, in order. The caller holds the
/// documents.
pub struct Partition {
    stage: Arc<WindowFields>,
    /// The number of documents.
    len: usize,
    /// The state of each function.
    columns: Vec<Column>,
    /// The position of the next document.
    at: usize,
    /// The memory of `columns`.
    bytes: usize,
}

/// The state of a function over the partition.
enum Column {
    /// The state over a window, the positions of the documents in the window, and the memory of the state.
    Accumulated {
        state: State,
        known: Range<usize>,
        bytes: usize,
        /// The result for the current window, kept if the next documents can have the same window.
        last: Option<Value>,
    },
    Rank {
        rank: usize,
        distinct: usize,
        key: Vec<u8>,
    },
    /// The function has no state; it only reads documents.
    Direct,
    Average(Option<Value>),
    LastValue(Value),
    LinearFill(Filling),
    /// The last window.
    Derivative(Range<usize>),
    Integral(Integral),
    Covariance(Pairs),
}

/// The fields of [`Column::Accumulated`].
struct Growing<'c> {
    state: &'c mut State,
    known: &'c mut Range<usize>,
    bytes: &'c mut usize,
    last: &'c mut Option<Value>,
}

impl Partition {
    /// Begins with the first document of a partition of `len` documents.
    ///
    /// # Errors
    /// An accumulator does not accept its argument.
    pub fn new(stage: Arc<WindowFields>, len: usize) -> Result<Self> {
        let columns = stage.outputs.iter().map(|(_, function)| column(function)).collect::<Result<Vec<_>>>()?;
        Ok(Self { stage, len, columns, at: 0, bytes: 0 })
    }

    /// The next document with its fields; `None` at the end.
    ///
    /// # Errors
    /// A function does not accept a value, a document is damaged, or the caller fails.
    pub fn next(&mut self, caller: &mut dyn Caller) -> Result<Option<Record>> {
        if self.at == self.len {
            return Ok(None);
        }
        let mut meter = Meter::new(caller, self.bytes);
        let mut made = meter.document(self.at)?.memory_to_decode()?;
        meter.grow(made)?;
        let mut map = match meter.document(self.at)? {
            Record::Row(document) => document.to_map()?,
            Record::Map(map) => map.clone(),
        };
        let mut columns = std::mem::take(&mut self.columns);
        let stage = self.stage.clone();
        for ((path, function), column) in stage.outputs.iter().zip(&mut columns) {
            let value = self.value(function, column, &mut meter)?;
            let bytes = value.memory();
            made += bytes;
            meter.grow(bytes)?;
            let mut names = path.names();
            match (names.next(), names.next()) {
                (Some(name), None) => drop(map.insert(name, value)),
                _ => {
                    let names: Vec<&str> = path.names().collect();
                    let copies = bytes * fields::places(&map, &names);
                    made += copies;
                    meter.grow(copies)?;
                    fields::set(&mut map, &names, Some(&value));
                }
            }
        }
        meter.shrink(made);
        (self.columns, self.bytes) = (columns, meter.held);
        self.at += 1;
        Ok(Some(Record::Map(map)))
    }

    /// The value of a function for the next document.
    fn value(&self, function: &Function, column: &mut Column, meter: &mut Meter<'_>) -> Result<Value> {
        let (at, positions) = (self.at, &Positions { stage: &self.stage, len: self.len });
        match (function, column) {
            (Function::Accumulated(accumulator, window), Column::Accumulated { state, known, bytes, last }) => {
                let range = positions.range(window, at, known, meter)?;
                accumulated(accumulator, window, range, Growing { state, known, bytes, last }, meter)
            }
            (Function::Rank { dense }, Column::Rank { rank, distinct, key }) => {
                let mut next = Vec::new();
                meter.document(at)?.put_sort_key(&self.stage.sort, &mut next)?;
                if at == 0 || next != *key {
                    (*rank, *distinct) = (at + 1, *distinct + 1);
                }
                *key = next;
                Ok(number(if *dense { *distinct } else { *rank }))
            }
            (Function::DocumentNumber, _) => Ok(number(at + 1)),
            (Function::Shift { output, by, default }, _) => {
                let shifted = i64::try_from(at).ok().and_then(|at| usize::try_from(at.checked_add(*by)?).ok());
                match shifted.filter(|shifted| *shifted < self.len) {
                    Some(shifted) => meter.value(output, shifted),
                    None => Ok(default.clone()),
                }
            }
            (Function::MovingAverage { input, weight }, Column::Average(average)) => {
                let value = meter.value(input, at)?;
                if value.is_number() {
                    *average = Some(match average.take() {
                        None if matches!(value, Value::Decimal(_)) => value,
                        None => Value::from(value.as_f64().unwrap_or_default()),
                        Some(average) => weighted(&value, f64::from_bits(*weight), &average),
                    });
                }
                Ok(average.clone().unwrap_or_default())
            }
            (Function::LastValue(input), Column::LastValue(last)) => {
                let value = meter.value(input, at)?;
                if !is_null(&value) {
                    meter.shrink(last.memory());
                    meter.grow(value.memory())?;
                    *last = value;
                }
                Ok(last.clone())
            }
            (Function::LinearFill(input), Column::LinearFill(filling)) => filling.value(input, at, positions, meter),
            (Function::Change { input, integral, unit_ms, window }, column) => {
                let curve = Curve { input, integral: *integral, unit_ms: *unit_ms };
                changed(curve, window, at, positions, column, meter)
            }
            (Function::Covariance { both, sample, window }, Column::Covariance(pairs)) => {
                let range = positions.range(window, at, pairs.known(), meter)?;
                pairs.covariance(both, *sample, range, meter)
            }
            (_, Column::Direct | Column::Accumulated { .. } | Column::Rank { .. } | Column::Average(_))
            | (_, Column::LastValue(_) | Column::LinearFill(_) | Column::Derivative(_))
            | (_, Column::Integral(_) | Column::Covariance(_)) => Ok(Value::Null),
        }
    }
}

/// The state of a function before the first document.
fn column(function: &Function) -> Result<Column> {
    Ok(match function {
        Function::Accumulated(accumulator, _) => {
            Column::Accumulated { state: accumulator.start(&Value::Null)?, known: 0..0, bytes: 0, last: None }
        }
        Function::Rank { .. } => Column::Rank { rank: 0, distinct: 0, key: Vec::new() },
        Function::DocumentNumber | Function::Shift { .. } => Column::Direct,
        Function::MovingAverage { .. } => Column::Average(None),
        Function::LastValue(_) => Column::LastValue(Value::Null),
        Function::LinearFill(_) => Column::LinearFill(Filling::default()),
        Function::Change { integral: false, .. } => Column::Derivative(0..0),
        Function::Change { integral: true, .. } => Column::Integral(Integral::default()),
        Function::Covariance { .. } => Column::Covariance(Pairs::default()),
    })
}

fn accumulated(
    accumulator: &Accumulator,
    window: &Window,
    range: Range<usize>,
    column: Growing<'_>,
    meter: &mut Meter<'_>,
) -> Result<Value> {
    let Growing { state, known, bytes, last } = column;
    if let Some(last) = last.as_ref().filter(|_| *known == range) {
        return Ok(last.clone());
    }
    // If the next window has the same start, only the documents at its end are added. Otherwise the state is computed
    // again.
    if range.start != known.start || range.end < known.end {
        meter.shrink(std::mem::take(bytes));
        (*state, *known) = (accumulator.start(&Value::Null)?, range.start..range.start);
    }
    for at in known.end..range.end {
        meter.step()?;
        let record = meter.document(at)?;
        let grown = accumulator.add(state, record.into(), &mut record.scope(), 1)?;
        *bytes += grown;
        meter.grow(grown)?;
    }
    *known = range;
    meter.shrink(last.take().map_or(0, |last| last.memory()));
    let is_fixed = matches!(
        window,
        Window::Documents(Bound::Unbounded, Bound::Unbounded) | Window::Range(Bound::Unbounded, Bound::Unbounded, _)
    );
    let result = match removable_deviation(accumulator, window, known, meter)? {
        Some(deviation) => deviation,
        // All windows are the same, so the state is not needed for further documents.
        None if is_fixed => {
            meter.shrink(std::mem::take(bytes));
            accumulator.finish(std::mem::replace(state, accumulator.start(&Value::Null)?))
        }
        None => {
            // Counts the copy of the state.
            meter.grow(*bytes)?;
            meter.shrink(*bytes);
            accumulator.finish(state.clone())
        }
    };
    let memory = result.memory();
    if is_fixed || memory <= size_of::<Value>() {
        meter.grow(memory)?;
        *last = Some(result.clone());
    }
    Ok(result)
}

/// The derivative or the integral over the window of the document at a position.
fn changed(
    curve: Curve<'_>,
    window: &Window,
    at: usize,
    positions: &Positions<'_>,
    column: &mut Column,
    meter: &mut Meter<'_>,
) -> Result<Value> {
    match column {
        Column::Derivative(known) => {
            *known = positions.range(window, at, known, meter)?;
            curve.derivative(known, at, positions, meter)
        }
        Column::Integral(integral) => {
            let range = positions.range(window, at, integral.known(), meter)?;
            integral.value(curve, range, at, window.starts_at_first(), positions, meter)
        }
        _ => Ok(Value::Null),
    }
}

/// The standard deviation over a window with a moving start, where it differs from the deviation of a group. As in
/// MongoDB, it is null if a number is not finite, and an integer zero for a single number.
fn removable_deviation(
    accumulator: &Accumulator,
    window: &Window,
    range: &Range<usize>,
    meter: &mut Meter<'_>,
) -> Result<Option<Value>> {
    let Kind::Deviation { sample } = accumulator.kind else { return Ok(None) };
    if window.starts_at_first() {
        return Ok(None);
    }
    let mut numbers = 0;
    for at in range.clone() {
        meter.step()?;
        let value = accumulator.argument.evaluate(&mut meter.document(at)?.scope())?;
        let Some(number) = value.filter(Value::is_number) else { continue };
        if !number.as_f64().is_some_and(f64::is_finite) {
            return Ok(Some(Value::Null));
        }
        numbers += 1;
    }
    Ok((numbers == 1 && !sample).then_some(Value::Int32(0)))
}

/// A weighted mean: `value` has the weight, `other` the rest. The result is a decimal if one of the values is a
/// decimal.
fn weighted(value: &Value, weight: f64, other: &Value) -> Value {
    let times = |value: &Value, weight: f64| compute(Operation::Multiply, value, &Value::from(weight));
    let sum = times(value, weight).and_then(|a| compute(Operation::Add, &a, &times(other, 1.0 - weight)?));
    sum.unwrap_or_default()
}

fn number(n: usize) -> Value {
    match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}
