//! Evaluation of `$setWindowFields` over the documents of one partition.

use super::super::accumulator::{Accumulator, Kind, State};
use super::super::error::{PipelineError, refuse};
use super::super::fields;
use super::super::offset::offset;
use super::super::record::Record;
use super::{Bound, Function, Window, WindowFields};
use crate::code::ErrorCode;
use crate::expression::Expression;
use crate::number::{Operation, compute, decimal};
use alluvium_document::compare::compare;
use alluvium_document::{Decimal, Map, Value, bson};
use std::cell::Cell;
use std::ops::Range;

type Result<T> = std::result::Result<T, PipelineError>;

/// Computes the fields of all documents.
pub(super) fn apply(stage: &WindowFields, records: Vec<Record>, stop: &dyn Fn() -> bool) -> Result<Vec<Record>> {
    let partition = Partition { stage, records: &records, stop, steps: Cell::new(0) };
    let mut columns = Vec::with_capacity(stage.outputs.len());
    for (_, function) in &stage.outputs {
        columns.push(partition.column(function)?.into_iter());
    }
    let mut made = Vec::with_capacity(records.len());
    for record in records {
        let mut map: Map = record.into_map()?;
        for ((path, _), column) in stage.outputs.iter().zip(&mut columns) {
            let names: Vec<&str> = path.names().collect();
            fields::set(&mut map, &names, column.next().as_ref());
        }
        made.push(Record::Map(map));
    }
    Ok(made)
}

struct Partition<'p> {
    stage: &'p WindowFields,
    records: &'p [Record],
    /// Asked after each [`STEPS`] documents that are added to windows.
    stop: &'p dyn Fn() -> bool,
    steps: Cell<u32>,
}

const STEPS: u32 = 1024;

/// The most bytes of the results of one function in a partition: MongoDB's limit of a stage.
const RESULTS_BYTES_MAX: usize = 100 << 20;

impl Partition<'_> {
    /// The values of a field, one for each document.
    fn column(&self, function: &Function) -> Result<Vec<Value>> {
        match function {
            Function::Accumulated(accumulator, window) => self.accumulated(accumulator, window),
            Function::Rank { dense } => self.ranks(*dense),
            Function::DocumentNumber => Ok((1..=self.records.len()).map(number).collect()),
            Function::Shift { output, by, default } => {
                let values = self.values(output)?;
                let shifted = |at: usize| {
                    let at = i64::try_from(at).ok()?.checked_add(*by)?;
                    values.get(usize::try_from(at).ok()?).cloned()
                };
                Ok((0..values.len()).map(|at| shifted(at).unwrap_or_else(|| default.clone())).collect())
            }
            Function::MovingAverage { input, weight } => self.moving_average(input, f64::from_bits(*weight)),
            Function::LinearFill(input) => self.linear_fill(input),
            Function::LastValue(input) => {
                let mut last = Value::Null;
                let values = self.values(input)?.into_iter();
                Ok(values
                    .map(|value| {
                        if !is_null(&value) {
                            last = value;
                        }
                        last.clone()
                    })
                    .collect())
            }
            Function::Change { input, integral, unit_ms, window } => self.change(input, *integral, *unit_ms, window),
            Function::Covariance { both, sample, window } => self.covariance(both, *sample, window),
        }
    }

    /// To be called for each document that is added to a window.
    fn step(&self) -> Result<()> {
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() < STEPS {
            return Ok(());
        }
        self.steps.set(0);
        if (self.stop)() { Err(PipelineError::Stopped) } else { Ok(()) }
    }

    /// The values of an expression; null if missing.
    fn values(&self, expression: &Expression) -> Result<Vec<Value>> {
        let value = |record: &Record| Ok(expression.evaluate(&mut record.scope())?.unwrap_or_default());
        self.records.iter().map(value).collect()
    }

    /// The values of the field that documents are in the order of.
    fn order(&self) -> Result<Vec<Value>> {
        let Some(part) = self.stage.sort.parts().first() else { return Ok(Vec::new()) };
        self.records.iter().map(|record| Ok(record.value_at(&part.path)?.unwrap_or_default())).collect()
    }

    fn accumulated(&self, accumulator: &Accumulator, window: &Window) -> Result<Vec<Value>> {
        let start = || accumulator.start(&Value::Null);
        let add = |state: &mut State, at: usize| {
            let record = &self.records[at];
            accumulator.add(state, record.into(), &mut record.scope()).map(drop)
        };
        let ranges = self.ranges(window)?;
        let mut results = Vec::with_capacity(ranges.len());
        let (mut state, mut known, mut bytes) = (start()?, 0..0, 0);
        for range in ranges {
            let is_same = known == range && !results.is_empty();
            // A window that begins where the last one did only grows.
            if range.start != known.start || range.end < known.end {
                (state, known) = (start()?, range.start..range.start);
            }
            for at in known.end..range.end {
                self.step()?;
                add(&mut state, at)?;
            }
            known = range;
            let result = match results.last() {
                Some(last) if is_same => Clone::clone(last),
                _ => match removable_deviation(accumulator, window, &known, self)? {
                    Some(deviation) => deviation,
                    None => accumulator.finish(state.clone()),
                },
            };
            if let Value::Array(_) | Value::Map(_) | Value::String(_) = result {
                bytes += bson::bson_size(&result);
                if bytes > RESULTS_BYTES_MAX {
                    return Err(PipelineError::too_much_memory("$setWindowFields", RESULTS_BYTES_MAX));
                }
            }
            results.push(result);
        }
        Ok(results)
    }

    fn ranks(&self, dense: bool) -> Result<Vec<Value>> {
        let mut keys = Vec::with_capacity(self.records.len());
        for record in self.records {
            let mut key = Vec::new();
            record.put_sort_key(&self.stage.sort, &mut key)?;
            keys.push(key);
        }
        let (mut rank, mut distinct) = (0, 0);
        let mut ranks = Vec::with_capacity(keys.len());
        for at in 0..keys.len() {
            if at == 0 || keys[at] != keys[at - 1] {
                (rank, distinct) = (at + 1, distinct + 1);
            }
            ranks.push(number(if dense { distinct } else { rank }));
        }
        Ok(ranks)
    }

    fn moving_average(&self, input: &Expression, weight: f64) -> Result<Vec<Value>> {
        let mut average: Option<Value> = None;
        let mut averages = Vec::with_capacity(self.records.len());
        for value in self.values(input)? {
            if value.is_number() {
                average = Some(match average {
                    None if matches!(value, Value::Decimal(_)) => value,
                    None => Value::from(value.as_f64().unwrap_or_default()),
                    Some(average) => weighted(&value, weight, &average),
                });
            }
            averages.push(average.clone().unwrap_or_default());
        }
        Ok(averages)
    }

    fn linear_fill(&self, input: &Expression) -> Result<Vec<Value>> {
        let order = self.order()?;
        if order.windows(2).any(|pair| compare(&pair[0], &pair[1]).is_eq()) {
            return refuse(
                ErrorCode::Location6050106,
                "$linearFill needs a sortBy without equal values in a partition",
            );
        }
        let mut values = self.values(input)?;
        let mut last: Option<usize> = None;
        for at in 0..values.len() {
            if is_null(&values[at]) {
                continue;
            }
            if !values[at].is_number() {
                let found = values[at].type_name();
                return refuse(ErrorCode::TypeMismatch, format!("$linearFill fills numbers, this is of type {found}"));
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
        Ok(values.into_iter().map(|value| if is_null(&value) { Value::Null } else { value }).collect())
    }

    fn change(&self, input: &Expression, integral: bool, unit_ms: Option<i64>, window: &Window) -> Result<Vec<Value>> {
        let (order, values) = (self.order()?, self.values(input)?);
        let codes = if integral {
            [ErrorCode::Location5423900, ErrorCode::Location5423901, ErrorCode::Location5423902]
        } else {
            [ErrorCode::Location5624903, ErrorCode::Location5624900, ErrorCode::Location5624901]
        };
        let name = if integral { "$integral" } else { "$derivative" };
        let (mut x, mut y) = (Vec::with_capacity(order.len()), Vec::with_capacity(order.len()));
        for (value, input) in order.iter().zip(&values) {
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
            match input.as_f64() {
                Some(input) => y.push(input),
                None => {
                    let found = input.type_name();
                    return refuse(codes[0], format!("the input of {name} must be a number, this is of type {found}"));
                }
            }
        }
        // Dates are subtracted before the unit divides, which keeps whole numbers exact.
        let unit = unit_ms.map_or(1.0, |unit| unit as f64);
        let mut results = Vec::with_capacity(x.len());
        for range in self.ranges(window)? {
            let mut result = Value::Null;
            if integral && !range.is_empty() {
                let mut sum = 0.0;
                for at in range.start + 1..range.end {
                    self.step()?;
                    sum += (y[at - 1] + y[at]) / 2.0 * (x[at] - x[at - 1]);
                }
                result = Value::from(sum / unit);
            } else if let Some(last) = range.end.checked_sub(1).filter(|last| *last > range.start) {
                let distance = x[last] - x[range.start];
                if distance != 0.0 {
                    result = Value::from((y[last] - y[range.start]) / distance * unit);
                }
            }
            results.push(result);
        }
        Ok(results)
    }

    fn covariance(&self, both: &[Expression; 2], sample: bool, window: &Window) -> Result<Vec<Value>> {
        let (xs, ys) = (self.values(&both[0])?, self.values(&both[1])?);
        let mut results = Vec::with_capacity(xs.len());
        for range in self.ranges(window)? {
            let mut pairs: Vec<(&Value, &Value)> = Vec::new();
            for at in range {
                self.step()?;
                if xs[at].is_number() && ys[at].is_number() {
                    pairs.push((&xs[at], &ys[at]));
                }
            }
            results.push(covariance_of(&pairs, sample));
        }
        Ok(results)
    }

    /// The positions of the documents in the window of each document.
    fn ranges(&self, window: &Window) -> Result<Vec<Range<usize>>> {
        match window {
            Window::Documents(low, high) => Ok(self.document_ranges(low, high)),
            Window::Range(low, high, unit) => self.value_ranges(low, high, unit.as_deref()),
        }
    }

    fn document_ranges(&self, low: &Bound, high: &Bound) -> Vec<Range<usize>> {
        let len = self.records.len();
        let place = |bound: &Bound, at: usize| match bound {
            Bound::Unbounded => None,
            Bound::Current => Some(at as i64),
            Bound::At(n) => Some((at as i64).saturating_add(n.as_i64().unwrap_or(0))),
        };
        let range = |at: usize| {
            let start = place(low, at).map_or(0, |start| start.clamp(0, len as i64) as usize);
            let end = place(high, at).map_or(len, |end| end.saturating_add(1).clamp(0, len as i64) as usize);
            start.min(end)..end
        };
        (0..len).map(range).collect()
    }

    fn value_ranges(&self, low: &Bound, high: &Bound, unit: Option<&str>) -> Result<Vec<Range<usize>>> {
        let order = self.order()?;
        for value in &order {
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
        let mut ranges = Vec::with_capacity(order.len());
        for (at, value) in order.iter().enumerate() {
            self.step()?;
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
            ranges.push(start.min(end)..end);
        }
        Ok(ranges)
    }
}

/// The standard deviation in a window whose beginning moves, where it is not that of a group: as in MongoDB, it is
/// null if a number is not finite, and a whole zero for one number.
fn removable_deviation(
    accumulator: &Accumulator,
    window: &Window,
    range: &Range<usize>,
    partition: &Partition<'_>,
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

/// The covariance of pairs of numbers: a decimal if one of them is. As in MongoDB, pairs that are not finite do not
/// count as pairs, and decide the result if there are at least two others.
fn covariance_of(pairs: &[(&Value, &Value)], sample: bool) -> Value {
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
    Value::from(together / degrees as f64)
}

/// The covariance of finite numbers in decimals; `None` if a step has no result.
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
