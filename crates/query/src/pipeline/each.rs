//! Stages that process each document separately.

use super::error::{PipelineError, refuse};
use super::record::{Record, RecordRef};
use super::stages::StageName;
use crate::code::ErrorCode;
use crate::expression::{Expression, MAX_VALUE_BYTES, Scope};
use crate::fields;
use crate::filter::Filter;
use crate::memory::Held;
use crate::projection::Projection;
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value, bson};

/// The maximum size of a document between stages, in bytes as BSON. A document that is returned has at most 16 MiB.
const RECORD_BYTES_MAX: usize = 64 << 20;

/// Copies of a value are counted only if together they have more bytes than this as BSON.
const COUNTED_BYTES: usize = 4096;

/// The size of the document is checked only if a stage adds more bytes than this.
const CHECKED_BYTES: usize = 64 << 10;

/// A stage that processes each document separately.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Each {
    /// `$project`, `$unset`: includes, computes or excludes fields. Contains the stage's name.
    Project(&'static str, Box<Projection>),
    /// `$addFields`, `$set`: computes fields and adds them. Contains the stage's name.
    Add(&'static str, Vec<(FieldPath, Expression)>),
    /// `$replaceRoot`, `$replaceWith`: replaces the document by another one. Contains the stage's name.
    Replace(&'static str, Expression),
    /// `$unwind`: yields a document for each element of an array.
    Unwind(Unwind),
    /// `$redact`: removes parts of the document.
    Redact(Expression),
}

/// The options of `$unwind`, which yields a document for each element of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwind {
    /// The path of the array.
    pub path: FieldPath,
    /// The field that gets the position of the element.
    pub position: Option<FieldPath>,
    /// True if documents without elements are also returned.
    pub keeps_empty: bool,
}

impl Each {
    /// The name of the stage, with its dollar sign.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Project(name, _) | Self::Add(name, _) | Self::Replace(name, _) => name,
            Self::Unwind(_) => StageName::Unwind.name(),
            Self::Redact(_) => StageName::Redact.name(),
        }
    }

    /// Applies the stage to a document and appends the resulting documents.
    ///
    /// # Errors
    /// [`PipelineError`]: an expression does not accept a value, or the document is damaged.
    pub fn apply(&self, record: Record, out: &mut Vec<Record>) -> Result<(), PipelineError> {
        let record = match self {
            Self::Project(_, projection) => {
                let document = record.into_document()?;
                let made = projection.apply(&document, &Filter::default());
                Record::Map(made.map_err(|error| error.of_document(document.id()))?)
            }
            Self::Add(_, added) => Record::Map(add(record, added)?),
            Self::Replace(name, expression) => Record::Map(replaced(name, expression, &record)?),
            Self::Unwind(unwind) => {
                out.extend(unwind.apply(record)?);
                return Ok(());
            }
            Self::Redact(expression) => {
                // Three copies count: the document itself, its copy as a variable, and the result.
                let mut held = Held::default();
                expression.hold(&mut held, 3 * record.memory_to_decode()?)?;
                let root = record.into_map()?;
                let mut around = vec![Some(Value::Map(root.clone()))];
                match redacted(expression, &root, &mut around)? {
                    Some(map) => Record::Map(map),
                    None => return Ok(()),
                }
            }
        };
        out.push(record);
        Ok(())
    }
}

fn add(record: Record, added: &[(FieldPath, Expression)]) -> Result<Map, PipelineError> {
    let mut values = Vec::with_capacity(added.len());
    let mut scope = record.scope();
    let mut bytes = 0;
    for (path, expression) in added {
        let value = expression.evaluate(&mut scope).map_err(|error| RecordRef::from(&record).failed(error))?;
        bytes += value.as_ref().map_or(0, bson::bson_size);
        if bytes > MAX_VALUE_BYTES {
            return Err(PipelineError::too_large("a stage"));
        }
        values.push((path, expression, value));
    }
    // The memory of the values is held until the fields are added to the document.
    let mut held = scope.into_held();
    if let Some((_, expression)) = added.first() {
        expression.hold(&mut held, record.memory_to_decode()?)?;
    }
    let mut map = record.into_map()?;
    for (path, expression, value) in values {
        let names: Vec<&str> = path.names().collect();
        if let Some(value) = &value {
            let places = fields::places(&map, &names);
            let size = bson::bson_size(value);
            bytes += size * (places - places.min(1));
            if bytes > RECORD_BYTES_MAX {
                return Err(PipelineError::too_large("a stage"));
            }
            if size * places > COUNTED_BYTES {
                expression.hold(&mut held, value.memory() * places)?;
            }
        }
        fields::set(&mut map, &names, value.as_ref());
    }
    if bytes > CHECKED_BYTES && bson::document_size(&map) > RECORD_BYTES_MAX {
        return Err(PipelineError::too_large("a stage"));
    }
    Ok(map)
}

fn replaced(name: &str, expression: &Expression, record: &Record) -> Result<Map, PipelineError> {
    match expression.evaluate(&mut record.scope()).map_err(|error| RecordRef::from(record).failed(error))? {
        Some(Value::Map(map)) => Ok(map),
        other => refuse(
            ErrorCode::Location40228,
            format!(
                "{name} needs a map for each document, this is {}: filter before, or use $ifNull",
                other.map_or_else(|| "missing".to_owned(), |value| format!("of type {}", value.type_name()))
            ),
        ),
    }
}

/// The documents that `$unwind` makes of one document.
#[derive(Debug)]
pub struct Unwound {
    unwind: Unwind,
    /// The document without the array.
    map: Map,
    elements: std::iter::Enumerate<std::vec::IntoIter<Value>>,
    /// A document that is returned unchanged.
    only: Option<Map>,
}

impl Iterator for Unwound {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        if let Some(only) = self.only.take() {
            return Some(Record::Map(only));
        }
        let (at, element) = self.elements.next()?;
        Some(Record::Map(self.unwind.with_element(&self.map, &element, at as u64)))
    }
}

impl Unwind {
    /// Returns an iterator over the documents that are made of one document.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn apply(&self, record: Record) -> Result<Unwound, PipelineError> {
        let mut map = record.into_map()?;
        let names: Vec<&str> = self.path.names().collect();
        let unwound = |map, elements: Vec<Value>, only| Unwound {
            unwind: self.clone(),
            map,
            elements: elements.into_iter().enumerate(),
            only,
        };
        let elements = match fields::find(&map, &names) {
            Some(Value::Array(elements)) if !elements.is_empty() => elements.clone(),
            None | Some(Value::Null | Value::Undefined | Value::Array(_)) if !self.keeps_empty => {
                return Ok(unwound(Map::new(), Vec::new(), None));
            }
            other => {
                if let Some(Value::Array(_)) = other {
                    fields::set(&mut map, &names, None);
                }
                self.set_position(&mut map, &Value::Null);
                return Ok(unwound(Map::new(), Vec::new(), Some(map)));
            }
        };
        // The array itself must not be copied for each of its elements.
        fields::set(&mut map, &names, Some(&Value::Null));
        Ok(unwound(map, elements, None))
    }

    /// The document for one element, whose position is `at`: a copy of `map` in which the element replaces the value at
    /// the path.
    pub fn with_element(&self, map: &Map, element: &Value, at: u64) -> Map {
        let mut copy = map.clone();
        let names: Vec<&str> = self.path.names().collect();
        fields::set(&mut copy, &names, Some(element));
        self.set_position(&mut copy, &Value::Int64(i64::try_from(at).unwrap_or(i64::MAX)));
        copy
    }

    fn set_position(&self, map: &mut Map, at: &Value) {
        if let Some(path) = &self.position {
            path.set_in(map, at.clone());
        }
    }
}

/// The variables for the possible results of the expression of `$redact`, with their values.
pub(super) const REDACTIONS: [(&str, &str); 3] = [("DESCEND", "descend"), ("PRUNE", "prune"), ("KEEP", "keep")];

/// The values of variables for the expression of `$redact`. They contain the whole document, so that it need not be
/// copied for each part.
type Around = Vec<Option<Value>>;

/// Applies `$redact` to a map. `None` if nothing of the map remains.
fn redacted(expression: &Expression, map: &Map, around: &mut Around) -> Result<Option<Map>, PipelineError> {
    let mut scope = Scope::of_map(map).with_variables(std::mem::take(around));
    let decided = expression.evaluate(&mut scope)?;
    *around = scope.into_variables();
    match decided.as_ref().and_then(Value::as_str) {
        Some("keep") => Ok(Some(map.clone())),
        Some("prune") => Ok(None),
        Some("descend") => {
            let mut left = Map::with_capacity(map.len());
            for (name, value) in map.iter() {
                if let Some(value) = redacted_value(expression, value, around)? {
                    left.push(name.clone(), value);
                }
            }
            Ok(Some(left))
        }
        _ => refuse(ErrorCode::Location17053, "the expression of $redact must give $$DESCEND, $$PRUNE or $$KEEP"),
    }
}

fn redacted_value(expression: &Expression, value: &Value, around: &mut Around) -> Result<Option<Value>, PipelineError> {
    match value {
        Value::Map(map) => Ok(redacted(expression, map, around)?.map(Value::Map)),
        Value::Array(elements) => {
            let mut left = Vec::with_capacity(elements.len());
            for element in elements {
                left.extend(redacted_value(expression, element, around)?);
            }
            Ok(Some(Value::Array(left)))
        }
        other => Ok(Some(other.clone())),
    }
}
