//! `$densify`: documents for the values that are missing in a sequence.

use super::error::{PipelineError, refuse};
use super::offset::offset;
use super::options::Options;
use super::record::Record;
use crate::code::ErrorCode;
use crate::collation::{Collation, encode_by};
use alluvium_document::compare::compare;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};

type Result<T> = std::result::Result<T, PipelineError>;

/// The most documents that are added: MongoDB's limit.
const ADDED_MAX: usize = 500_000;

/// A `$densify`.
#[derive(Debug, Clone, PartialEq)]
pub struct Densify {
    field: FieldPath,
    partition: Vec<FieldPath>,
    step: Value,
    unit: Option<Box<str>>,
    bounds: Bounds,
    /// By which strings are in one partition; `None` for the equality of their bytes.
    collation: Option<Collation>,
}

/// The values that are filled in.
#[derive(Debug, Clone, PartialEq)]
enum Bounds {
    /// From the least to the greatest of all documents.
    Full,
    /// From the least to the greatest of each partition.
    Partition,
    /// From a value to another one, which is left out.
    Between(Value, Value),
}

/// The most bytes of memory of the documents that are added: MongoDB's limit of a stage.
const ADDED_BYTES_MAX: usize = 100 << 20;

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

/// True for two numbers of one type; integers of both widths are one.
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

/// What was added, which is limited.
#[derive(Default)]
struct Room {
    added: usize,
    bytes: usize,
}

/// A document with its place in the sequence.
struct Placed {
    partition: Vec<u8>,
    value: Value,
    record: Record,
}

impl Densify {
    /// The documents, with those that were missing: by partition, and in the order of the field.
    ///
    /// # Errors
    /// A value is neither a number, nor a date with a unit; more than 500,000 documents are missing, or 100 MiB of them;
    /// [`PipelineError::Stopped`] if `stop` says so.
    pub fn apply(&self, records: Vec<Record>, stop: &dyn Fn() -> bool) -> Result<Vec<Record>> {
        let (mut placed, mut out) = (Vec::with_capacity(records.len()), Vec::new());
        for record in records {
            match record.value_at(&self.field)? {
                // These have no place in the sequence.
                None | Some(Value::Null | Value::Undefined) => out.push(record),
                Some(value) => {
                    self.check(&value)?;
                    placed.push(Placed { partition: self.partition_of(&record)?, value, record });
                }
            }
        }
        placed.sort_by(|a, b| a.partition.cmp(&b.partition).then_with(|| compare(&a.value, &b.value)));
        let least = placed.iter().map(|placed| &placed.value).min_by(|a, b| compare(a, b)).cloned();
        let most = placed.iter().map(|placed| &placed.value).max_by(|a, b| compare(a, b)).cloned();
        let (mut room, mut rest) = (Room::default(), placed.into_iter().peekable());
        if rest.peek().is_none() {
            if let Bounds::Between(low, high) = &self.bounds
                && self.partition.is_empty()
            {
                self.fill(&mut Vec::new().into_iter(), &Map::new(), low, high, false, stop, &mut room, &mut out)?;
            }
            return Ok(out);
        }
        while let Some(first) = rest.peek() {
            let (partition, names) = (first.partition.clone(), self.names_of(&first.record)?);
            let mut own = Vec::new();
            while let Some(next) = rest.next_if(|next| next.partition == partition) {
                own.push(next);
            }
            let (low, high, inclusive) = match (&self.bounds, &least, &most) {
                (Bounds::Between(low, high), ..) => (low.clone(), high.clone(), false),
                (Bounds::Full, Some(least), Some(most)) => (least.clone(), most.clone(), true),
                _ => match (own.first(), own.last()) {
                    (Some(first), Some(last)) => (first.value.clone(), last.value.clone(), true),
                    _ => continue,
                },
            };
            self.fill(&mut own.into_iter(), &names, &low, &high, inclusive, stop, &mut room, &mut out)?;
        }
        Ok(out)
    }

    /// Appends the documents of one partition, and those that are missing between two values.
    #[allow(clippy::too_many_arguments, reason = "they are the state of one loop")]
    fn fill(
        &self,
        own: &mut dyn Iterator<Item = Placed>,
        names: &Map,
        low: &Value,
        high: &Value,
        inclusive: bool,
        stop: &dyn Fn() -> bool,
        room: &mut Room,
        out: &mut Vec<Record>,
    ) -> Result<()> {
        let mut own = own.peekable();
        let mut at = low.clone();
        loop {
            if stop() {
                return Err(PipelineError::Stopped);
            }
            let order = compare(&at, high);
            if order.is_gt() || (order.is_eq() && !inclusive) {
                break;
            }
            while let Some(next) = own.next_if(|next| compare(&next.value, &at).is_lt()) {
                out.push(next.record);
            }
            if own.peek().is_some_and(|next| compare(&next.value, &at).is_eq()) {
                while let Some(next) = own.next_if(|next| compare(&next.value, &at).is_eq()) {
                    out.push(next.record);
                }
                at = offset(&at, &self.step, self.unit.as_deref())?;
                continue;
            }
            room.added += 1;
            if room.added > ADDED_MAX {
                return refuse(
                    ErrorCode::Location5897900,
                    format!("$densify would add more than {ADDED_MAX} documents: choose a larger step"),
                );
            }
            let mut map = names.clone();
            self.field.set_in(&mut map, at.clone());
            let record = Record::Map(map);
            room.bytes += record.bytes();
            if room.bytes > ADDED_BYTES_MAX {
                return Err(PipelineError::too_much_memory("$densify", ADDED_BYTES_MAX));
            }
            out.push(record);
            at = offset(&at, &self.step, self.unit.as_deref())?;
        }
        out.extend(own.map(|placed| placed.record));
        Ok(())
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

    /// The fields of a partition, which documents that are added have.
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
