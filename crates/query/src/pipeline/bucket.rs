//! `$bucketAuto`: groups with about the same number of documents each.

use super::accumulator::{Accumulator, State};
use super::error::{PipelineError, refuse};
use super::record::Record;
use crate::code::ErrorCode;
use crate::collation::{Collation, compare_by, encode_by};
use crate::expression::Expression;
use alluvium_document::value::Text;
use alluvium_document::{Map, Value};
use std::sync::Arc;

/// A `$bucketAuto` stage.
#[derive(Debug, Clone, PartialEq)]
pub struct BucketAuto {
    pub(super) by: Expression,
    /// The maximum number of buckets.
    pub(super) buckets: usize,
    pub(super) fields: Vec<(Text, Accumulator)>,
    /// The series of preferred numbers to which bounds are rounded.
    pub(super) granularity: Option<Granularity>,
    /// The collation of strings; `None` to compare their bytes.
    pub(super) collation: Option<Collation>,
}

/// A series of preferred numbers, defined by mantissas or by powers of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Granularity {
    /// Mantissas from 1 to below 10.
    Series(&'static [f64]),
    PowersOfTwo,
}

impl BucketAuto {
    /// Replaces a document by the parts that the stage needs, and appends the key by which it is sorted.
    ///
    /// # Errors
    /// An expression does not accept a value, or the document is damaged.
    pub fn compact(&self, record: &mut Record, key: &mut Vec<u8>) -> Result<(), PipelineError> {
        let mut scope = record.scope();
        let value = self.by.evaluate(&mut scope)?.unwrap_or_default();
        if self.granularity.is_some() {
            check_preferred(&value)?;
        }
        let mut kept = Vec::with_capacity(1 + self.fields.len());
        encode_by(self.collation.as_ref(), &value, key);
        kept.push(value);
        for (_, accumulator) in &self.fields {
            kept.push(accumulator.input((&*record).into(), &mut scope)?);
        }
        drop(scope);
        *record = Record::Map(Map::from([(KEPT, Value::Array(kept))]));
        Ok(())
    }
}

/// The field of a compact document.
const KEPT: &str = "kept";

/// A compact document: its value, and the inputs of the accumulators.
struct Compact {
    value: Value,
    inputs: std::vec::IntoIter<Value>,
}

impl Compact {
    fn of(record: Record) -> Result<Self, PipelineError> {
        let Some(Value::Array(kept)) = record.into_map()?.remove(KEPT) else {
            return Err(PipelineError::damaged_file());
        };
        let mut inputs = kept.into_iter();
        let value = inputs.next().ok_or_else(PipelineError::damaged_file)?;
        Ok(Self { value, inputs })
    }
}

/// Makes the buckets of compact documents, one after the other. The documents must be in the order of their keys.
pub struct AutoBuckets {
    stage: Arc<BucketAuto>,
    /// The number of documents of a bucket, before documents with equal values are added.
    size: usize,
    made: usize,
    next: Option<Compact>,
    /// The lower bound of the next bucket; `None` before the first bucket.
    lower: Option<Value>,
}

/// A field of the current bucket.
enum Field {
    Started(State),
    /// The inputs of an accumulator whose state depends on the bounds.
    Inputs(Vec<Value>),
}

/// Reads the next compact document.
pub type ReadCompact<'r, E> = &'r mut dyn FnMut() -> Result<Option<Record>, E>;

/// Called with the bytes of memory that are held.
pub type Hold<'h> = &'h mut dyn FnMut(usize) -> Result<(), PipelineError>;

impl AutoBuckets {
    /// The buckets for this number of documents.
    pub fn new(stage: Arc<BucketAuto>, count: usize) -> Self {
        let size = ((count as f64 / stage.buckets as f64).round() as usize).max(1);
        Self { stage, size, made: 0, next: None, lower: None }
    }

    /// The next bucket; `None` at the end.
    ///
    /// # Errors
    /// An accumulator does not accept a value, or `read` or `hold` fails.
    pub fn next<E: From<PipelineError>>(&mut self, read: ReadCompact<'_, E>, hold: Hold<'_>) -> Result<Option<Map>, E> {
        let stage = self.stage.clone();
        let compare = |a: &Value, b: &Value| compare_by(stage.collation.as_ref(), a, b);
        let lower = match self.lower.take() {
            Some(lower) => lower,
            None => {
                self.next = read()?.map(Compact::of).transpose()?;
                match (&self.next, stage.granularity) {
                    (None, _) => return Ok(None),
                    (Some(first), Some(series)) => series.below(&first.value),
                    (Some(first), None) => first.value.clone(),
                }
            }
        };
        let Some(first) = self.next.take() else {
            self.lower = Some(lower);
            return Ok(None);
        };
        self.made += 1;
        let most = if self.made == stage.buckets { usize::MAX } else { self.size };
        let mut bucket = Bucket::new(&stage)?;
        let mut last = first.value.clone();
        bucket.add(first, hold)?;
        let mut count = 1;
        // The upper bound that follows from the last document. Further documents below it join the bucket.
        let mut bound: Option<Value> = None;
        loop {
            self.next = read()?.map(Compact::of).transpose()?;
            let Some(next) = &self.next else { break };
            let joins = count < most
                || match stage.granularity {
                    // Equal values are in the same bucket. Zero is treated separately, because it has no preferred
                    // number.
                    None => compare(&next.value, &last).is_eq(),
                    Some(_) if last.as_f64() == Some(0.0) => next.value.as_f64() == Some(0.0),
                    Some(series) => compare(&next.value, bound.get_or_insert_with(|| series.above(&last))).is_lt(),
                };
            if !joins {
                break;
            }
            let Some(next) = self.next.take() else { break };
            if bound.is_none() {
                last = next.value.clone();
            }
            count += 1;
            bucket.add(next, hold)?;
        }
        let upper = match (stage.granularity, &self.next) {
            (None, Some(next)) => next.value.clone(),
            // A bucket of zeros ends at the preferred number below the next value.
            (Some(series), Some(next)) if last.as_f64() == Some(0.0) => series.below(&next.value),
            (Some(series), _) if last.as_f64() != Some(0.0) => bound.unwrap_or_else(|| series.above(&last)),
            _ => last,
        };
        self.lower = Some(upper.clone());
        Ok(Some(bucket.finish(&lower, &upper)?))
    }
}

/// A bucket under construction.
struct Bucket<'s> {
    stage: &'s BucketAuto,
    fields: Vec<Field>,
    bytes: usize,
}

impl<'s> Bucket<'s> {
    fn new(stage: &'s BucketAuto) -> Result<Self, PipelineError> {
        let field = |(_, accumulator): &(Text, Accumulator)| match accumulator.needs_id() {
            true => Ok(Field::Inputs(Vec::new())),
            false => accumulator.start(&Value::Null).map(Field::Started),
        };
        Ok(Self { stage, fields: stage.fields.iter().map(field).collect::<Result<_, _>>()?, bytes: 0 })
    }

    fn add(&mut self, compact: Compact, hold: Hold<'_>) -> Result<(), PipelineError> {
        let mut inputs = compact.inputs;
        for ((_, accumulator), field) in self.stage.fields.iter().zip(&mut self.fields) {
            let input = inputs.next().ok_or_else(PipelineError::damaged_file)?;
            self.bytes += match field {
                Field::Started(state) => accumulator.add_input(state, input)?,
                Field::Inputs(inputs) => {
                    let grown = 2 * input.memory();
                    inputs.push(input);
                    grown
                }
            };
        }
        hold(self.bytes)
    }

    fn finish(self, lower: &Value, upper: &Value) -> Result<Map, PipelineError> {
        let id = Value::Map(Map::from([("min", lower.clone()), ("max", upper.clone())]));
        let mut map = Map::new();
        for ((name, accumulator), field) in self.stage.fields.iter().zip(self.fields) {
            let state = match field {
                Field::Started(state) => state,
                Field::Inputs(inputs) => {
                    let mut state = accumulator.start(&id)?;
                    for input in inputs {
                        accumulator.add_input(&mut state, input)?;
                    }
                    state
                }
            };
            map.push(name.clone(), accumulator.finish(state));
        }
        map.entries.insert(0, (Value::from("_id"), id));
        Ok(map)
    }
}

impl Granularity {
    /// The greatest preferred number below the value, or the value itself if it is zero.
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
