//! `$bucketAuto`: groups of about the same number of documents.

use super::accumulator::{Accumulator, State};
use super::error::{PipelineError, refuse};
use super::record::Record;
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by};
use crate::expression::Expression;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value, bson};
use std::sync::Arc;

/// A `$bucketAuto`.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketAuto {
    pub(super) by: Expression,
    /// The most buckets.
    pub(super) buckets: usize,
    pub(super) fields: Vec<(Text, Accumulator)>,
    /// The series of preferred numbers that bounds are rounded to.
    pub(super) granularity: Option<Granularity>,
    /// The order of strings; `None` for that of their bytes.
    pub(super) collation: Option<Collation>,
}

/// A series of preferred numbers, by the exponents of which bounds are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Granularity {
    /// Mantissas from 1 to below 10.
    Series(&'static [f64]),
    PowersOfTwo,
}

/// The documents of a `$bucketAuto` so far.
#[derive(Debug)]
pub struct AutoBuckets {
    stage: Arc<BucketAuto>,
    records: Vec<(Value, Record)>,
    bytes: usize,
}

impl AutoBuckets {
    /// No documents.
    pub fn new(stage: Arc<BucketAuto>) -> Self {
        Self { stage, records: Vec::new(), bytes: 0 }
    }

    /// Adds a document.
    ///
    /// # Errors
    /// The expression does not accept a value, or the document is damaged.
    pub fn add(&mut self, record: Record) -> Result<(), PipelineError> {
        let value = self.stage.by.evaluate(&mut record.scope())?.unwrap_or_default();
        if self.stage.granularity.is_some() {
            check_preferred(&value)?;
        }
        self.bytes += record.bytes() + bson::bson_size(&value);
        self.records.push((value, record));
        Ok(())
    }

    /// About the bytes of memory that the documents take.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The buckets, ascending.
    ///
    /// # Errors
    /// An accumulator does not accept a value.
    pub fn finish(self) -> Result<Vec<Map>, PipelineError> {
        let Self { stage, mut records, .. } = self;
        let compare = |a: &Value, b: &Value| compare_by(stage.collation.as_ref(), a, b);
        records.sort_by(|(a, _), (b, _)| compare(a, b));
        let (mut buckets, mut at) = (Vec::new(), 0);
        let size = ((records.len() as f64 / stage.buckets as f64).round() as usize).max(1);
        let mut lower = match (records.first(), stage.granularity) {
            (None, _) => return Ok(buckets),
            (Some((value, _)), Some(series)) => series.below(value),
            (Some((value, _)), None) => value.clone(),
        };
        while at < records.len() {
            let is_last = buckets.len() + 1 == stage.buckets;
            let mut end = if is_last { records.len() } else { (at + size).min(records.len()) };
            let last = |end: usize| records.get(end.wrapping_sub(1)).map_or(&Value::Null, |(value, _)| value);
            let mut upper = None;
            if let Some(series) = stage.granularity
                && last(end).as_f64() == Some(0.0)
            {
                // Zero has no preferred number: all zeros are in one bucket, up to the number below the next value.
                while end < records.len() && records[end].0.as_f64() == Some(0.0) {
                    end += 1;
                }
                let next = records.get(end).map(|(value, _)| value);
                upper = Some(next.map_or_else(|| last(end).clone(), |next| series.below(next)));
            } else if let Some(series) = stage.granularity {
                let bound = series.above(last(end));
                while end < records.len() && compare(&records[end].0, &bound).is_lt() {
                    end += 1;
                }
                upper = Some(bound);
            } else {
                // Equal values are in one bucket.
                while end < records.len() && compare(&records[end].0, last(end)).is_eq() {
                    end += 1;
                }
            }
            let upper = upper.unwrap_or_else(|| records.get(end).map_or_else(|| last(end), |(value, _)| value).clone());
            buckets.push(bucket(&stage, &lower, &upper, &records[at..end])?);
            (lower, at) = (upper, end);
        }
        Ok(buckets)
    }
}

fn bucket(stage: &BucketAuto, lower: &Value, upper: &Value, records: &[(Value, Record)]) -> Result<Map, PipelineError> {
    let id = Value::Map(Map::from([("min", lower.clone()), ("max", upper.clone())]));
    let mut map = Map::new();
    for (name, accumulator) in &stage.fields {
        let mut state: State = accumulator.start(&id)?;
        for (_, record) in records {
            accumulator.add(&mut state, record.into(), &mut record.scope())?;
        }
        map.push(name.clone(), accumulator.finish(state));
    }
    map.entries.insert(0, (Value::from("_id"), id));
    Ok(map)
}

impl Granularity {
    /// The preferred number that is not above the value: below it, unless it is zero.
    fn below(self, value: &Value) -> Value {
        match value.as_f64().unwrap_or(0.0) {
            0.0 => value.clone(),
            x => self.number_below(x),
        }
    }

    /// The least preferred number above the value.
    fn above(self, value: &Value) -> Value {
        let x = value.as_f64().unwrap_or(0.0);
        if x == 0.0 {
            return Value::from(0.0);
        }
        match self {
            Self::PowersOfTwo => Value::from(2f64.powf((x.log2().floor()) + 1.0)),
            Self::Series(mantissas) => {
                let scale = 10f64.powf(x.log10().floor());
                let above = mantissas.iter().map(|mantissa| mantissa * scale).find(|number| *number > x);
                Value::from(above.unwrap_or(10.0 * scale * mantissas.first().copied().unwrap_or(1.0)))
            }
        }
    }

    fn number_below(self, x: f64) -> Value {
        match self {
            Self::PowersOfTwo => Value::from(2f64.powf(x.log2().ceil() - 1.0)),
            Self::Series(mantissas) => {
                let scale = 10f64.powf(x.log10().floor());
                let below = mantissas.iter().rev().map(|mantissa| mantissa * scale).find(|number| *number < x);
                Value::from(below.unwrap_or(scale / 10.0 * mantissas.last().copied().unwrap_or(1.0)))
            }
        }
    }
}

/// Refuses a value that has no preferred number.
fn check_preferred(value: &Value) -> Result<(), PipelineError> {
    match value.as_f64() {
        None => refuse(ErrorCode::Location40258, format!("$bucketAuto with a granularity groups numbers, not {value}")),
        Some(x) if x.is_nan() => refuse(ErrorCode::Location40259, "$bucketAuto with a granularity cannot group NaN"),
        Some(x) if x < 0.0 => refuse(
            ErrorCode::Location40260,
            format!("$bucketAuto with a granularity cannot group {value}: it is negative"),
        ),
        Some(_) => Ok(()),
    }
}
