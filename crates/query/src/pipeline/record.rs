//! The documents that pass through a pipeline.

use super::error::PipelineError;
use crate::expression::{EvaluateError, Scope};
use crate::filter::{Filter, FilterError, MatchError};
use crate::sort::Sort;
use alluvium_document::path::FieldPath;
use alluvium_document::row::{ID, MapRef, RowError};
use alluvium_document::{Document, Map, Value};

/// A document in a pipeline. It remains a stored row until a stage changes it.
#[derive(Debug, Clone)]
pub enum Record {
    /// A stored document, whose fields are decoded on demand.
    Row(Document),
    /// Decoded fields, which a stage made.
    Map(Map),
}

/// A borrowed record.
#[derive(Debug, Clone, Copy)]
pub enum RecordRef<'a> {
    /// A stored document.
    Row(&'a Document),
    /// An encoded document that is borrowed from storage.
    View(MapRef<'a>),
    /// Decoded fields, which a stage made.
    Map(&'a Map),
}

impl<'a> From<&'a Record> for RecordRef<'a> {
    fn from(record: &'a Record) -> Self {
        match record {
            Record::Row(document) => Self::Row(document),
            Record::Map(map) => Self::Map(map),
        }
    }
}

impl<'a> RecordRef<'a> {
    /// The record as the input of expressions.
    pub fn scope(self) -> Scope<'a> {
        match self {
            Self::Row(document) => Scope::of(document),
            Self::View(row) => Scope::of_ref(row),
            Self::Map(map) => Scope::of_map(map),
        }
    }

    /// The `_id`, if it exists and can be read.
    pub(super) fn id(self) -> Option<Value> {
        match self {
            Self::Row(document) => Some(document.id().clone()),
            Self::View(row) => row.get(ID).ok().flatten().and_then(|id| id.to_value().ok()),
            Self::Map(map) => map.get(ID).cloned(),
        }
    }

    /// The error of an expression for this record, with the record's `_id`.
    #[cold]
    pub(super) fn failed(self, error: EvaluateError) -> PipelineError {
        match (error, self.id()) {
            (EvaluateError::Expression(error), Some(id)) => PipelineError::Refused(error.of_document(&id)),
            (error, _) => error.into(),
        }
    }

    /// As [`Record::put_sort_key`].
    ///
    /// # Errors
    /// As [`Record::put_sort_key`].
    pub fn put_sort_key(self, sort: &Sort, out: &mut Vec<u8>) -> Result<(), PipelineError> {
        match self {
            Self::Row(document) => Ok(sort.put_key(document, out)?),
            Self::View(row) => Ok(sort.put_key_of(row, out)?),
            Self::Map(map) => Ok(sort.put_key(&Document::of_result(map)?, out)?),
        }
    }
}

impl Record {
    /// The record as the input of expressions.
    pub fn scope(&self) -> Scope<'_> {
        match self {
            Self::Row(document) => Scope::of(document),
            Self::Map(map) => Scope::of_map(map),
        }
    }

    /// All fields.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn into_map(self) -> Result<Map, RowError> {
        match self {
            Self::Row(document) => document.to_map(),
            Self::Map(map) => Ok(map),
        }
    }

    /// The record as a document.
    ///
    /// # Errors
    /// The record nests deeper than results may.
    pub fn into_document(self) -> Result<Document, RowError> {
        match self {
            Self::Row(document) => Ok(document),
            Self::Map(map) => Document::of_result(&map),
        }
    }

    /// The value of a top-level field.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn field(&self, name: &str) -> Result<Option<Value>, RowError> {
        match self {
            Self::Row(document) => document.get(name)?.map(|value| value.to_value()).transpose(),
            Self::Map(map) => Ok(map.get(name).cloned()),
        }
    }

    /// The value at a path, by the rules of expressions: if the path leads through an array, the result is an array.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn value_at(&self, path: &FieldPath) -> Result<Option<Value>, PipelineError> {
        Ok(self.scope().value_at(path)?)
    }

    /// The values at a path by which a `$lookup` joins. Through an array the path leads to all elements, and also to
    /// the element at a position if a name is a number. An array at the end of the path contributes its elements.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn values_at(&self, path: &FieldPath) -> Result<Vec<Value>, PipelineError> {
        let Some(first) = self.field(path.first())? else { return Ok(Vec::new()) };
        let mut values = Vec::new();
        let root = Value::Map(Map::from([(path.first(), first)]));
        path.visit(&root, &mut |value| match value {
            Value::Array(elements) => values.extend(elements.iter().cloned()),
            other => values.push(other.clone()),
        });
        Ok(values)
    }

    /// True if the record matches.
    ///
    /// # Errors
    /// The document is damaged, or a pattern takes too many steps.
    pub fn matches(&self, filter: &Filter) -> Result<bool, PipelineError> {
        let failed = |error: FilterError| match RecordRef::from(self).id() {
            Some(id) => PipelineError::from(error.of_document(&id)),
            None => error.into(),
        };
        match self {
            Self::Row(document) => filter.matches(document).map_err(|error| match error {
                MatchError::Filter(error) => failed(error),
                damaged => damaged.into(),
            }),
            Self::Map(map) => filter.matches_map(map).map_err(failed),
        }
    }

    /// Appends the sort key, see [`Sort::put_key`].
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn put_sort_key(&self, sort: &Sort, out: &mut Vec<u8>) -> Result<(), PipelineError> {
        RecordRef::from(self).put_sort_key(sort, out)
    }

    /// The approximate memory that the fields of a stored document take when they are decoded, in bytes; 0 if the
    /// document is small.
    ///
    /// # Errors
    /// The document is damaged.
    pub fn memory_to_decode(&self) -> Result<usize, RowError> {
        match self {
            Self::Row(document) if document.row_len() >= LARGE_BYTES => document.map()?.memory(),
            _ => Ok(0),
        }
    }

    /// The approximate memory of the record in bytes.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Row(document) => document.row_len() + RECORD_BYTES,
            Self::Map(map) => map.memory() + RECORD_BYTES,
        }
    }
}

/// The decoding of a stored document that is smaller than this is not counted.
const LARGE_BYTES: usize = 64 << 10;

/// The memory of a record, in addition to its bytes.
const RECORD_BYTES: usize = 160;
