//! Evaluation of `$setWindowFields` over the documents of one partition.

use super::super::accumulator::{Accumulator, Kind, State};
use super::super::error::{PipelineError, refuse};
use super::super::offset::offset;
use super::super::record::Record;
use super::covariance::covariance_of;
use super::{Bound, Caller, Function, Window, WindowFields};
use crate::code::ErrorCode;
use crate::expression::Expression;
use crate::fields;
use crate::number::{Operation, compute};
use alluvium_document::Value;
use alluvium_document::compare::compare;
use std::ops::Range;
use std::sync::Arc;

type Result<T> = std::result::Result<T, PipelineError>;

/// The documents of one partition in order, whose fields are computed one document after the other.
pub struct Partition {
    stage: Arc<WindowFields>,
    records: Vec<Record>,
    /// The state of each function.
    columns: Vec<Column>,
    /// The values that the documents are in the order of, if a function needs them.
    order: Vec<Value>,
    /// The position of the next document.
    at: usize,
    /// The memory of `columns` and `order`.
    bytes: usize,
}

/// The state of a function over the partition.
enum Column {
    /// A window, with the positions of the documents in it, and the memory of the state.
    Accumulated {
        state: State,
        known: Range<usize>,
        bytes: usize,
        /// The result for these, if it serves the next documents, too.
        last: Option<Value>,
    },
    Rank {
        rank: usize,
        distinct: usize,
        key: Vec<u8>,
    },
    /// It needs nothing but the documents.
    Direct,
    Average(Option<Value>),
    LastValue(Value),
    /// The values of all documents.
    Made(std::vec::IntoIter<Value>),
    Change {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    Covariance {
        xs: Vec<Value>,
        ys: Vec<Value>,
    },
}

/// The fields of [`Column::Accumulated`].
struct Growing<'c> {
    state: &'c mut State,
    known: &'c mut Range<usize>,
    bytes: &'c mut usize,
    last: &'c mut Option<Value>,
}

/// The number of documents that are added to windows between two checks of the caller.
const STEPS: u32 = 1024;

/// The memory is reported after it has grown by this many bytes.
const REPORTED_BYTES: usize = 16 << 10;

/// Reports the memory that is held.
struct Meter<'c> {
    caller: &'c mut dyn Caller,
    held: usize,
    reported: usize,
    steps: u32,
}

impl<'c> Meter<'c> {
    fn new(caller: &'c mut dyn Caller, held: usize) -> Self {
        Self { caller, held, reported: 0, steps: 0 }
    }

    /// Call this for each document that is added to a window.
    fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps < STEPS {
            return Ok(());
        }
        self.steps = 0;
        self.caller.check()
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        self.held += bytes;
        if self.held < self.reported + REPORTED_BYTES {
            return Ok(());
        }
        self.reported = self.held;
        self.caller.hold(self.held)
    }

    fn shrink(&mut self, bytes: usize) {
        self.held = self.held.saturating_sub(bytes);
        self.reported = self.reported.min(self.held);
    }
}

impl Partition {
    /// Begins to compute the fields of documents, which are those of one partition in order.
    ///
    /// # Errors
    /// A function does not accept a value; a document is damaged; those of the caller.
    pub fn new(stage: Arc<WindowFields>, records: Vec<Record>, caller: &mut dyn Caller) -> Result<Self> {
        let mut partition = Self { stage, records, columns: Vec::new(), order: Vec::new(), at: 0, bytes: 0 };
        let mut meter = Meter::new(caller, 0);
        let stage = partition.stage.clone();
        for (_, function) in &stage.outputs {
            let column = partition.column(function, &mut meter)?;
            partition.columns.push(column);
        }
        partition.bytes = meter.held;
        Ok(partition)
    }

    /// The next document with its fields; `None` at the end.
    ///
    /// # Errors
    /// As [`Partition::new`].
    pub fn next(&mut self, caller: &mut dyn Caller) -> Result<Option<Record>> {
        let Some(record) = self.records.get(self.at) else { return Ok(None) };
        let mut meter = Meter::new(caller, self.bytes);
        let mut made = record.memory_to_decode()?;
        meter.grow(made)?;
        let mut map = match record {
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

    /// The state of a function before the first document.
    fn column(&mut self, function: &Function, meter: &mut Meter<'_>) -> Result<Column> {
        Ok(match function {
            Function::Accumulated(accumulator, window) => {
                self.prepare(window, meter)?;
                Column::Accumulated { state: accumulator.start(&Value::Null)?, known: 0..0, bytes: 0, last: None }
            }
            Function::Rank { .. } => Column::Rank { rank: 0, distinct: 0, key: Vec::new() },
            Function::DocumentNumber | Function::Shift { .. } => Column::Direct,
            Function::MovingAverage { .. } => Column::Average(None),
            Function::LastValue(_) => Column::LastValue(Value::Null),
            Function::LinearFill(input) => Column::Made(self.linear_fill(input, meter)?.into_iter()),
            Function::Change { input, integral, unit_ms, window } => {
                self.prepare(window, meter)?;
                self.change(input, *integral, *unit_ms, meter)?
            }
            Function::Covariance { both, window, .. } => {
                self.prepare(window, meter)?;
                let [xs, ys] = both.as_ref();
                Column::Covariance { xs: self.numbers(xs, meter)?, ys: self.numbers(ys, meter)? }
            }
        })
    }

    /// The value of a function for the next document.
    fn value(&self, function: &Function, column: &mut Column, meter: &mut Meter<'_>) -> Result<Value> {
        let record = &self.records[self.at];
        match (function, column) {
            (Function::Accumulated(accumulator, window), Column::Accumulated { state, known, bytes, last }) => {
                let range = self.range(window, self.at)?;
                self.accumulated(accumulator, window, range, Growing { state, known, bytes, last }, meter)
            }
            (Function::Rank { dense }, Column::Rank { rank, distinct, key }) => {
                let mut next = Vec::new();
                record.put_sort_key(&self.stage.sort, &mut next)?;
                if self.at == 0 || next != *key {
                    (*rank, *distinct) = (self.at + 1, *distinct + 1);
                }
                *key = next;
                Ok(number(if *dense { *distinct } else { *rank }))
            }
            (Function::DocumentNumber, _) => Ok(number(self.at + 1)),
            (Function::Shift { output, by, default }, _) => {
                let at = i64::try_from(self.at).ok().and_then(|at| at.checked_add(*by));
                match at.and_then(|at| self.records.get(usize::try_from(at).ok()?)) {
                    Some(record) => value_of(output, record),
                    None => Ok(default.clone()),
                }
            }
            (Function::MovingAverage { input, weight }, Column::Average(average)) => {
                let value = value_of(input, record)?;
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
                let value = value_of(input, record)?;
                if !is_null(&value) {
                    meter.shrink(last.memory());
                    meter.grow(value.memory())?;
                    *last = value;
                }
                Ok(last.clone())
            }
            (Function::Change { integral, unit_ms, window, .. }, Column::Change { x, y }) => {
                let range = self.range(window, self.at)?;
                // Dates are subtracted before the unit divides, which keeps whole numbers exact.
                changed(x, y, range, *integral, unit_ms.map_or(1.0, |unit| unit as f64), meter)
            }
            (Function::Covariance { sample, window, .. }, Column::Covariance { xs, ys }) => {
                let mut pairs: Vec<(&Value, &Value)> = Vec::new();
                for at in self.range(window, self.at)? {
                    meter.step()?;
                    if xs[at].is_number() && ys[at].is_number() {
                        pairs.push((&xs[at], &ys[at]));
                    }
                }
                let bytes = pairs.capacity() * size_of::<(&Value, &Value)>();
                meter.grow(bytes)?;
                meter.shrink(bytes);
                Ok(covariance_of(&pairs, *sample))
            }
            (_, Column::Made(values)) => Ok(values.next().unwrap_or_default()),
            (_, Column::Direct | Column::Accumulated { .. } | Column::Rank { .. } | Column::Average(_))
            | (_, Column::LastValue(_) | Column::Change { .. } | Column::Covariance { .. }) => Ok(Value::Null),
        }
    }

    fn accumulated(
        &self,
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
        // A window that begins where the last one did only grows.
        if range.start != known.start || range.end < known.end {
            meter.shrink(std::mem::take(bytes));
            (*state, *known) = (accumulator.start(&Value::Null)?, range.start..range.start);
        }
        for at in known.end..range.end {
            meter.step()?;
            let record = &self.records[at];
            let grown = accumulator.add(state, record.into(), &mut record.scope())?;
            *bytes += grown;
            meter.grow(grown)?;
        }
        *known = range;
        meter.shrink(last.take().map_or(0, |last| last.memory()));
        let is_fixed = matches!(
            window,
            Window::Documents(Bound::Unbounded, Bound::Unbounded)
                | Window::Range(Bound::Unbounded, Bound::Unbounded, _)
        );
        let result = match removable_deviation(accumulator, window, known, self)? {
            Some(deviation) => deviation,
            // No other document comes to the window.
            None if is_fixed => {
                meter.shrink(std::mem::take(bytes));
                accumulator.finish(std::mem::replace(state, accumulator.start(&Value::Null)?))
            }
            None => {
                // A copy of the state.
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

    /// The values of an expression that are numbers; null for the others.
    fn numbers(&self, expression: &Expression, meter: &mut Meter<'_>) -> Result<Vec<Value>> {
        let mut numbers = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let value = value_of(expression, record)?;
            let number = if value.is_number() { value } else { Value::Null };
            meter.step()?;
            meter.grow(number.memory())?;
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// Reads the values that the documents are in the order of.
    fn read_order(&mut self, meter: &mut Meter<'_>) -> Result<()> {
        let Some(part) = self.stage.sort.parts().first() else { return Ok(()) };
        if !self.order.is_empty() {
            return Ok(());
        }
        for record in &self.records {
            let value = record.value_at(&part.path)?.unwrap_or_default();
            meter.grow(value.memory())?;
            self.order.push(value);
        }
        Ok(())
    }

    fn linear_fill(&mut self, input: &Expression, meter: &mut Meter<'_>) -> Result<Vec<Value>> {
        self.read_order(meter)?;
        let order = &self.order;
        if order.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_eq()) {
            return refuse(
                ErrorCode::Location6050106,
                "$linearFill needs a sortBy without equal values in a partition",
            );
        }
        let mut values = Vec::with_capacity(self.records.len());
        for record in &self.records {
            let value = value_of(input, record)?;
            if !is_null(&value) && !value.is_number() {
                let found = value.type_name();
                return refuse(ErrorCode::TypeMismatch, format!("$linearFill fills numbers, this is of type {found}"));
            }
            meter.grow(value.memory())?;
            values.push(value);
        }
        let mut last: Option<usize> = None;
        for at in 0..values.len() {
            if is_null(&values[at]) {
                values[at] = Value::Null;
                continue;
            }
            if let Some(before) = last
                && at > before + 1
            {
                let x = |at: usize| position(&order[at]);
                let y = |at: usize| values[at].as_f64().unwrap_or_default();
                let (x0, x1, y0, y1) = (x(before)?, x(at)?, y(before), y(at));
                for missing in before + 1..at {
                    values[missing] = Value::from(y0 + (position(&order[missing])? - x0) * ((y1 - y0) / (x1 - x0)));
                }
            }
            last = Some(at);
        }
        Ok(values)
    }

    fn change(
        &mut self,
        input: &Expression,
        integral: bool,
        unit_ms: Option<i64>,
        meter: &mut Meter<'_>,
    ) -> Result<Column> {
        self.read_order(meter)?;
        let codes = if integral {
            [ErrorCode::Location5423900, ErrorCode::Location5423901, ErrorCode::Location5423902]
        } else {
            [ErrorCode::Location5624903, ErrorCode::Location5624900, ErrorCode::Location5624901]
        };
        let name = if integral { "$integral" } else { "$derivative" };
        meter.grow(2 * size_of::<f64>() * self.records.len())?;
        let (mut x, mut y) = (Vec::with_capacity(self.order.len()), Vec::with_capacity(self.order.len()));
        for (value, record) in self.order.iter().zip(&self.records) {
            match (value, unit_ms) {
                (Value::DateTime(ms), Some(_)) => x.push(*ms as f64),
                (number, None) if number.is_number() => x.push(number.as_f64().unwrap_or_default()),
                (Value::DateTime(_), None) => {
                    return refuse(codes[2], format!("{name} over dates needs a unit"));
                }
                (other, _) => {
                    let (found, wanted) = (other.type_name(), if unit_ms.is_some() { "dates" } else { "numbers" });
                    return refuse(
                        codes[1],
                        format!("{name} needs a sortBy of {wanted}, and a value is of type {found}"),
                    );
                }
            }
            let input = value_of(input, record)?;
            match input.as_f64() {
                Some(input) => y.push(input),
                None => {
                    let found = input.type_name();
                    return refuse(codes[0], format!("the input of {name} must be a number, this is of type {found}"));
                }
            }
        }
        Ok(Column::Change { x, y })
    }

    /// Reads and checks what the ranges of a window need.
    fn prepare(&mut self, window: &Window, meter: &mut Meter<'_>) -> Result<()> {
        let Window::Range(_, _, unit) = window else { return Ok(()) };
        self.read_order(meter)?;
        for value in &self.order {
            let fits = if unit.is_some() { matches!(value, Value::DateTime(_)) } else { value.is_number() };
            if !fits {
                let wanted = if unit.is_some() { "dates" } else { "numbers" };
                let found = value.type_name();
                let code = match (value, unit) {
                    (Value::DateTime(_), None) => ErrorCode::Location5429413,
                    (_, Some(_)) => ErrorCode::Location5429513,
                    _ => ErrorCode::Location5429414,
                };
                return refuse(
                    code,
                    format!("a window of a range needs a sortBy of {wanted}, and a value is of type {found}"),
                );
            }
        }
        Ok(())
    }

    /// The positions of the documents in the window of a document.
    fn range(&self, window: &Window, at: usize) -> Result<Range<usize>> {
        match window {
            Window::Documents(low, high) => Ok(self.document_range(low, high, at)),
            Window::Range(low, high, unit) => self.value_range(low, high, unit.as_deref(), at),
        }
    }

    fn document_range(&self, low: &Bound, high: &Bound, at: usize) -> Range<usize> {
        let len = self.records.len();
        let place = |bound: &Bound| match bound {
            Bound::Unbounded => None,
            Bound::Current => Some(at as i64),
            Bound::At(n) => Some((at as i64).saturating_add(n.as_i64().unwrap_or(0))),
        };
        let start = place(low).map_or(0, |start| start.clamp(0, len as i64) as usize);
        let end = place(high).map_or(len, |end| end.saturating_add(1).clamp(0, len as i64) as usize);
        start.min(end)..end
    }

    fn value_range(&self, low: &Bound, high: &Bound, unit: Option<&str>, at: usize) -> Result<Range<usize>> {
        let order = &self.order;
        let Some(value) = order.get(at) else { return Ok(0..0) };
        let start = match low {
            Bound::Unbounded => 0,
            // The document itself, not those with an equal value.
            Bound::Current => at,
            Bound::At(n) => {
                let least = offset(value, n, unit)?;
                order.partition_point(|other| compare(other, &least).is_lt())
            }
        };
        let end = match high {
            Bound::Unbounded => order.len(),
            Bound::Current => at + 1,
            Bound::At(n) => {
                let most = offset(value, n, unit)?;
                order.partition_point(|other| compare(other, &most).is_le())
            }
        };
        Ok(start.min(end)..end)
    }
}

/// The value of an expression; null if missing.
fn value_of(expression: &Expression, record: &Record) -> Result<Value> {
    Ok(expression.evaluate(&mut record.scope())?.unwrap_or_default())
}

/// The derivative or the integral over a window.
fn changed(
    x: &[f64],
    y: &[f64],
    range: Range<usize>,
    integral: bool,
    unit: f64,
    meter: &mut Meter<'_>,
) -> Result<Value> {
    if integral && !range.is_empty() {
        let mut sum = 0.0;
        for at in range.start + 1..range.end {
            meter.step()?;
            sum += (y[at - 1] + y[at]) / 2.0 * (x[at] - x[at - 1]);
        }
        return Ok(Value::from(sum / unit));
    }
    if let Some(last) = range.end.checked_sub(1).filter(|last| *last > range.start) {
        let distance = x[last] - x[range.start];
        if distance != 0.0 {
            return Ok(Value::from((y[last] - y[range.start]) / distance * unit));
        }
    }
    Ok(Value::Null)
}

/// The standard deviation in a window whose beginning moves, where it is not that of a group: as in MongoDB, it is
/// null if a number is not finite, and a whole zero for one number.
fn removable_deviation(
    accumulator: &Accumulator,
    window: &Window,
    range: &Range<usize>,
    partition: &Partition,
) -> Result<Option<Value>> {
    let Kind::Deviation { sample } = accumulator.kind else { return Ok(None) };
    if matches!(window, Window::Documents(Bound::Unbounded, _) | Window::Range(Bound::Unbounded, ..)) {
        return Ok(None);
    }
    let mut numbers = 0;
    for record in &partition.records[range.clone()] {
        let value = accumulator.argument.evaluate(&mut record.scope())?;
        let Some(number) = value.filter(Value::is_number) else { continue };
        if !number.as_f64().is_some_and(f64::is_finite) {
            return Ok(Some(Value::Null));
        }
        numbers += 1;
    }
    Ok((numbers == 1 && !sample).then_some(Value::Int32(0)))
}

/// A value with a weight, and another one with the rest: a decimal if one of them is.
fn weighted(value: &Value, weight: f64, other: &Value) -> Value {
    let times = |value: &Value, weight: f64| compute(Operation::Multiply, value, &Value::from(weight));
    let sum = times(value, weight).and_then(|a| compute(Operation::Add, &a, &times(other, 1.0 - weight)?));
    sum.unwrap_or_default()
}

/// A value of the order as a number.
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

fn is_null(value: &Value) -> bool {
    matches!(value, Value::Null | Value::Undefined)
}

fn number(n: usize) -> Value {
    match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}
