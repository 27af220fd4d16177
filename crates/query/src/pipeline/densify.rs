//! `$densify`: adds documents for values that are missing in a sequence.

use super::error::{PipelineError, refuse};
use super::offset::offset;
use super::options::Options;
use super::record::Record;
use crate::code::ErrorCode;
use crate::collation::{Collation, encode_by};
use alluvium_document::compare::compare;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use std::sync::Arc;

type Result<T> = std::result::Result<T, PipelineError>;

/// The maximum number of added documents: MongoDB's limit.
const ADDED_MAX: usize = 500_000;

/// A `$densify` stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Densify {
    field: FieldPath,
    partition: Vec<FieldPath>,
    step: Value,
    unit: Option<Box<str>>,
    bounds: Bounds,
    /// The collation that decides whether strings are in the same partition; `None` to compare their bytes.
    collation: Option<Collation>,
}

/// The range of values that are filled in.
#[derive(Debug, Clone, PartialEq)]
enum Bounds {
    /// From the least to the greatest value of all documents.
    Full,
    /// From the least to the greatest value of each partition.
    Partition,
    /// From one value to another; the second is excluded.
    Between(Value, Value),
}

const CODE: ErrorCode = ErrorCode::Location5733201;

/// Parses the operand of `$densify`.
pub(super) fn densify(operand: &Value, collation: Option<&Collation>) -> Result<Densify> {
    let options = Options::new("$densify", operand, ErrorCode::FailedToParse)?;
    options.only(&["field", "partitionByFields", "range"], ErrorCode::IDLUnknownField)?;
    let field = path(options.required_text("field", ErrorCode::IDLFailedToParse)?)?;
    let partition = match options.get("partitionByFields") {
        None => Vec::new(),
        Some(Value::Array(paths)) => {
            let one = |value: &Value| match value.as_str() {
                Some(text) => path(text),
                None => refuse(ErrorCode::TypeMismatch, "the partitionByFields of $densify must be texts"),
            };
            paths.iter().map(one).collect::<Result<_>>()?
        }
        Some(_) => return refuse(ErrorCode::TypeMismatch, "the partitionByFields of $densify must be an array"),
    };
    if partition.iter().any(|path| path.starts_with(&field) || field.starts_with(path)) {
        return refuse(ErrorCode::Location8993000, "the field of $densify cannot be one that partitions");
    }
    let range = Options::new("the range of $densify", options.required("range", ErrorCode::IDLFailedToParse)?, CODE)?;
    range.only(&["step", "unit", "bounds"], ErrorCode::IDLUnknownField)?;
    let step = range.required("step", ErrorCode::IDLFailedToParse)?;
    if step.as_f64().is_none_or(|step| step <= 0.0) {
        return refuse(ErrorCode::Location5733401, "the step of $densify must be a number above 0");
    }
    let unit = range.text("unit", ErrorCode::FailedToParse)?;
    if unit.is_some() && step.as_i64().is_none() {
        return refuse(ErrorCode::Location6586400, "the step of $densify must be a whole number of units");
    }
    let bounds = match range.required("bounds", ErrorCode::IDLFailedToParse)? {
        Value::String(text) if text.as_str() == "full" => Bounds::Full,
        Value::String(text) if text.as_str() == "partition" => {
            if partition.is_empty() {
                return refuse(ErrorCode::Location5733408, "bounds of partitions need partitionByFields");
            }
            Bounds::Partition
        }
        Value::Array(both) => between(both, unit)?,
        _ => {
            let message = "the bounds of $densify are 'full', 'partition' or an array of two values";
            let code = if let Value::String(_) = range.required("bounds", CODE)? {
                ErrorCode::Location5946802
            } else {
                ErrorCode::Location5733404
            };
            return refuse(code, message);
        }
    };
    if let Bounds::Between(low, high) = &bounds
        && unit.is_none()
        && !(same_type(low, high) && same_type(low, step))
    {
        return refuse(ErrorCode::Location5876900, "the bounds and the step of $densify must be numbers of one type");
    }
    Ok(Densify {
        field,
        partition,
        step: step.clone(),
        unit: unit.map(Into::into),
        bounds,
        collation: collation.cloned(),
    })
}

fn between(both: &[Value], unit: Option<&str>) -> Result<Bounds> {
    let [low, high] = both else {
        return refuse(ErrorCode::Location5733403, "the bounds of $densify must be an array of two values");
    };
    if compare(low, high).is_gt() {
        return refuse(ErrorCode::Location5733402, "the bounds of $densify must ascend");
    }
    let fits = |value: &Value| if unit.is_some() { matches!(value, Value::DateTime(_)) } else { value.is_number() };
    if !fits(low) || !fits(high) {
        let is_number = low.is_number() && high.is_number();
        let code = if is_number { ErrorCode::Location5733409 } else { ErrorCode::Location5946800 };
        return refuse(code, "the bounds of $densify must be two numbers, or two dates with a unit");
    }
    Ok(Bounds::Between(low.clone(), high.clone()))
}

/// True for two numbers of one type. Integers of 32 and of 64 bits count as one type.
fn same_type(a: &Value, b: &Value) -> bool {
    let kind = |value: &Value| match value {
        Value::Int32(_) | Value::Int64(_) => 0,
        Value::Double(_) => 1,
        _ => 2,
    };
    kind(a) == kind(b)
}

fn path(text: &str) -> Result<FieldPath> {
    match text.parse() {
        Ok(path) if !text.starts_with('$') => Ok(path),
        _ => refuse(ErrorCode::of_path(text), format!("{text:?} is not a path of $densify")),
    }
}

/// Counts the added documents, up to a limit.
#[derive(Default)]
struct Room {
    added: usize,
}

/// The place of a document in the sequence.
struct Place {
    partition: Vec<u8>,
    value: Value,
}

impl Densify {
    fn place(&self, record: &Record) -> Result<Option<Place>> {
        match record.value_at(&self.field)? {
            // Documents without a value have no place in the sequence.
            None | Some(Value::Null | Value::Undefined) => Ok(None),
            Some(value) => {
                self.check(&value)?;
                Ok(Some(Place { partition: self.partition_of(record)?, value }))
            }
        }
    }

    fn check(&self, value: &Value) -> Result<()> {
        match (value, &self.unit) {
            (Value::DateTime(_), Some(_)) => Ok(()),
            (number, None) if number.is_number() => Ok(()),
            (other, unit) => {
                let wanted = if unit.is_some() { "dates, as its step has a unit" } else { "numbers" };
                let code =
                    if matches!((other, unit), (Value::DateTime(_), None)) || (other.is_number() && unit.is_some()) {
                        ErrorCode::Location6053600
                    } else {
                        CODE
                    };
                refuse(code, format!("$densify fills {wanted}, and a value is of type {}", other.type_name()))
            }
        }
    }

    fn partition_of(&self, record: &Record) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for path in &self.partition {
            encode_by(self.collation.as_ref(), &record.value_at(path)?.unwrap_or_default(), &mut bytes);
        }
        Ok(bytes)
    }

    /// The fields that define a partition. Added documents get these fields.
    fn names_of(&self, record: &Record) -> Result<Map> {
        let mut map = Map::new();
        for path in &self.partition {
            if let Some(value) = record.value_at(path)? {
                path.set_in(&mut map, value);
            }
        }
        Ok(map)
    }
}

/// Executes `$densify`. First all documents are passed to it, in any order. Then they are returned in the order of
/// their keys, with the missing documents created between them.
pub struct Sequence {
    stage: Arc<Densify>,
    /// The least and the greatest value of all documents.
    ends: Option<(Value, Value)>,
    room: Room,
    current: Option<Current>,
    /// The record that is returned after the missing documents before it.
    pending: Pending,
}

enum Pending {
    Nothing,
    /// A document that has no place in the sequence.
    Apart(Record),
    Placed(Record, Place),
    End,
}

/// The partition that is being filled.
struct Current {
    partition: Vec<u8>,
    /// The fields of the partition, which added documents get.
    names: Map,
    /// The next value of the sequence.
    at: Value,
    /// True if a document has this value.
    is_met: bool,
    /// The end of the sequence; `None` for the last document of the partition.
    high: Option<Value>,
    inclusive: bool,
}

impl Current {
    /// True if no more values are filled in.
    fn is_done(&self) -> bool {
        let order = self.high.as_ref().map(|high| compare(&self.at, high));
        order.is_some_and(|order| order.is_gt() || (order.is_eq() && !self.inclusive))
    }
}

impl Sequence {
    /// A sequence without documents.
    pub fn new(stage: Arc<Densify>) -> Self {
        Self { stage, ends: None, room: Room::default(), current: None, pending: Pending::Nothing }
    }

    /// Passes a document to the sequence, and appends its sort key. Documents without a value come
    /// first; the others are sorted by partition, and then by the field.
    ///
    /// # Errors
    /// A value has the wrong type. It must be a number, or a date if the step has a unit.
    pub fn see(&mut self, record: &Record, key: &mut Vec<u8>) -> Result<()> {
        let Some(Place { partition, value }) = self.stage.place(record)? else {
            key.push(0);
            return Ok(());
        };
        key.push(1);
        key.extend_from_slice(&partition);
        encode_by(None, &value, key);
        match &mut self.ends {
            None => self.ends = Some((value.clone(), value)),
            Some((least, _)) if compare(&value, least).is_lt() => *least = value,
            Some((_, most)) if compare(&value, most).is_gt() => *most = value,
            Some(_) => {}
        }
        Ok(())
    }

    /// Adds the next document in the order of the keys. [`Sequence::next`] must have returned all documents that come
    /// before it.
    ///
    /// # Errors
    /// A value has the wrong type: it must be a number, or a date if the step has a unit. Or the document is damaged.
    pub fn push(&mut self, record: Record) -> Result<()> {
        self.pending = match self.stage.place(&record)? {
            Some(place) => Pending::Placed(record, place),
            None => Pending::Apart(record),
        };
        Ok(())
    }

    /// Ends the sequence. Like [`Sequence::push`], it must be called when [`Sequence::next`] has returned all earlier
    /// documents.
    pub fn finish(&mut self) {
        self.pending = Pending::End;
        if let Bounds::Between(low, high) = &self.stage.bounds
            && self.ends.is_none()
            && self.stage.partition.is_empty()
        {
            let (at, high) = (low.clone(), Some(high.clone()));
            let (partition, names) = (Vec::new(), Map::new());
            self.current = Some(Current { partition, names, at, is_met: false, high, inclusive: false });
        }
    }

    /// The next document: a missing document that is created, or the added document. `None` if another document must be
    /// added first.
    ///
    /// # Errors
    /// More than 500,000 documents are missing. [`PipelineError::Stopped`] if `stop` returns true.
    pub fn next(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Record>> {
        let (record, Place { partition, value }) = match std::mem::replace(&mut self.pending, Pending::Nothing) {
            Pending::Nothing => return Ok(None),
            Pending::Apart(record) => return Ok(Some(record)),
            Pending::Placed(record, place) => (record, place),
            Pending::End => {
                let missing = self.rest_of_partition(stop)?;
                if missing.is_some() {
                    self.pending = Pending::End;
                }
                return Ok(missing);
            }
        };
        let mut missing = None;
        if self.current.as_ref().is_none_or(|current| current.partition != partition) {
            missing = self.rest_of_partition(stop)?;
            if missing.is_none() {
                let (at, high, inclusive) = match (&self.stage.bounds, &self.ends) {
                    (Bounds::Between(low, high), _) => (low.clone(), Some(high.clone()), false),
                    (Bounds::Full, Some((least, most))) => (least.clone(), Some(most.clone()), true),
                    _ => (value.clone(), None, true),
                };
                let (names, partition) = (self.stage.names_of(&record)?, partition.clone());
                self.current = Some(Current { partition, names, at, is_met: false, high, inclusive });
            }
        }
        if missing.is_none() {
            missing = self.missing(Some(&value), stop)?;
        }
        if missing.is_some() {
            self.pending = Pending::Placed(record, Place { partition, value });
            return Ok(missing);
        }
        if let Some(current) = &mut self.current {
            current.is_met |= compare(&current.at, &value).is_eq();
        }
        Ok(Some(record))
    }

    /// The next missing document at the end of the partition. After the last one the partition is complete.
    fn rest_of_partition(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Record>> {
        let mut missing = None;
        if self.current.as_ref().is_some_and(|current| current.high.is_some()) {
            missing = self.missing(None, stop)?;
        }
        if missing.is_none() {
            self.current = None;
        }
        Ok(missing)
    }

    /// The next missing document, up to the value `below` or to the end of the sequence.
    fn missing(&mut self, below: Option<&Value>, stop: &dyn Fn() -> bool) -> Result<Option<Record>> {
        let Self { stage, room, current: Some(current), .. } = self else { return Ok(None) };
        while !current.is_done() && below.is_none_or(|value| compare(&current.at, value).is_lt()) {
            if stop() {
                return Err(PipelineError::Stopped);
            }
            let made = if current.is_met { None } else { Some(room.make(stage, current)?) };
            current.is_met = false;
            current.at = offset(&current.at, &stage.step, stage.unit.as_deref())?;
            if made.is_some() {
                return Ok(made);
            }
        }
        Ok(None)
    }
}

impl Room {
    /// A document for the next value of a sequence.
    fn make(&mut self, stage: &Densify, current: &Current) -> Result<Record> {
        self.added += 1;
        if self.added > ADDED_MAX {
            return refuse(
                ErrorCode::Location5897900,
                format!("$densify would add more than {ADDED_MAX} documents: choose a larger step"),
            );
        }
        let mut map = current.names.clone();
        stage.field.set_in(&mut map, current.at.clone());
        Ok(Record::Map(map))
    }
}
