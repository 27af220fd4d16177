//! Sorting: `{age: -1, name: 1}`.
//!
//! The rules are those of MongoDB's `find`:
//!
//! - Values sort in the order of all values ([`alluvium_document::compare`]). Strings in values
//!   sort by the collation if there is one ([`Sort::collated`]). A missing value sorts as null.
//! - An array sorts by its least element in an ascending sort, and by its greatest element in a
//!   descending sort; nested arrays are not entered. An empty array sorts below null. If the paths
//!   of several parts lead through the same array, all of these parts use the same element at a
//!   time. Two parts must not lead through different arrays ([`SortError::ParallelArrays`]).
//! - A number in a path is a field name in maps. In an array that is long enough, it is a position,
//!   and only the element there counts. A number that is both in the same array is refused
//!   ([`SortError::AmbiguousName`]). An array that a position at the end of a path selects counts
//!   as a whole.
//!
//! [`Sort::key`] encodes a document as a key of bytes. The order of keys is the order of the
//! documents. [`TopK`] collects the first documents by such keys.

use std::cmp::Ordering;

use alluvium_document::path::FieldPath;
use alluvium_document::row::MapRef;
use alluvium_document::{Document, Map, Value};

use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::dollar::is_dollar_name;

mod error;
mod key;
mod top;

pub use error::SortError;
pub use top::TopK;

/// The maximum number of parts of a sort: MongoDB's limit.
pub const MAX_PARTS: usize = 32;

/// A direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the least value to the greatest: `1`.
    Ascending,
    /// From the greatest value to the least: `-1`.
    Descending,
}

/// A part of a sort: a path with a direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortPart {
    /// The path of the values.
    pub path: FieldPath,
    /// The direction.
    pub direction: Direction,
    /// The collation of strings; `None` to compare their bytes.
    pub collation: Option<Collation>,
}

impl SortPart {
    /// True for descending order.
    pub fn is_descending(&self) -> bool {
        self.direction == Direction::Descending
    }
}

/// An order of documents: by the first part, documents with equal values by the second part, and so on.
///
/// ```
/// use alluvium_document::Document;
/// use alluvium_query::sort::Sort;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sort = Document::from_json(r#"{"age": -1, "name": 1}"#)?.to_map()?;
/// let sort = Sort::parse(&sort)?;
/// let old = Document::from_json(r#"{"name": "Ada", "age": 36}"#)?;
/// let young = Document::from_json(r#"{"name": "Bo", "age": 3}"#)?;
/// assert!(sort.key(&old)? < sort.key(&young)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sort {
    parts: Vec<SortPart>,
}

impl Sort {
    /// Parses a sort: a map from paths to 1 or -1. An empty sort treats all documents as equal.
    ///
    /// # Errors
    /// [`SortError`]: an invalid direction; a path that is malformed or occurs twice; more than
    /// [`MAX_PARTS`] paths. `$natural`, `$meta` and other expressions are not supported.
    pub fn parse(sort: &Map) -> Result<Self, SortError> {
        let mut parts: Vec<SortPart> = Vec::with_capacity(sort.len().min(MAX_PARTS));
        for (name, direction) in &sort.entries {
            let name = name.as_str().ok_or_else(|| SortError::Direction("a path in a sort is a string".to_owned()))?;
            let direction = self::direction(name, direction)?;
            if let Some(dollar) = name.split('.').find(|name| is_dollar_name(name)) {
                let message = format!("the name '{dollar}' in the path '{name}' of a sort begins with a dollar sign");
                return Err(SortError::Path(message, ErrorCode::DOLLAR));
            }
            let path = path(name)?;
            if parts.iter().any(|part| part.path == path) {
                return Err(SortError::Duplicate(format!("the sort has '{name}' twice: leave one out")));
            }
            if parts.len() == MAX_PARTS {
                return Err(SortError::TooManyParts);
            }
            parts.push(SortPart { path, direction, collation: None });
        }
        Ok(Self { parts })
    }

    /// Returns the sort with this collation for strings, or with the order of their bytes for `None`.
    #[must_use]
    pub fn collated(mut self, collation: Option<&Collation>) -> Self {
        self.parts.iter_mut().for_each(|part| part.collation = collation.cloned());
        self
    }

    /// The parts, the most significant first.
    pub fn parts(&self) -> &[SortPart] {
        &self.parts
    }

    /// True if there are no parts, and therefore no order.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The sort key of a document. Sort keys, compared as bytes, have the order of the documents.
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn key(&self, document: &Document) -> Result<Vec<u8>, SortError> {
        let mut key = Vec::with_capacity(16 * self.parts.len());
        self.put_key(document, &mut key)?;
        Ok(key)
    }

    /// Appends the sort key of a document. Only the fields in the sort are decoded.
    ///
    /// # Errors
    /// [`SortError::ParallelArrays`], [`SortError::AmbiguousName`], [`SortError::TooManyKeys`], or
    /// the document is damaged. After an error `out` is unchanged.
    pub fn put_key(&self, document: &Document, out: &mut Vec<u8>) -> Result<(), SortError> {
        self.put_key_of(document.map()?, out)
    }

    /// As [`Sort::put_key`], for an encoded document, which is not copied.
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn put_key_of(&self, row: MapRef<'_>, out: &mut Vec<u8>) -> Result<(), SortError> {
        let before = out.len();
        let result = key::put(&self.parts, row, out);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Compares two documents; `Equal` if the sort does not distinguish them.
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn compare(&self, a: &Document, b: &Document) -> Result<Ordering, SortError> {
        Ok(self.key(a)?.cmp(&self.key(b)?))
    }

    /// The sort in MongoDB's notation, for plans: `{"age": -1}`.
    pub fn to_map(&self) -> Map {
        let number = |direction| if direction == Direction::Ascending { 1 } else { -1 };
        self.parts.iter().map(|part| (part.path.as_str(), number(part.direction))).collect()
    }
}

fn direction(name: &str, value: &Value) -> Result<Direction, SortError> {
    match value {
        Value::Map(expression) => match &expression.entries[..] {
            [(key, what)] if key.as_str() == Some("$meta") => Err(meta(name, what)),
            _ => {
                let message = format!("sorting '{name}' by an expression is not possible: write 1, -1 or {{$meta: …}}");
                Err(SortError::Meta(message, ErrorCode::Location17312))
            }
        },
        value if !value.is_number() => Err(SortError::Direction(wrong_direction(name, value))),
        value => match whole(value) {
            Some(1) => Ok(Direction::Ascending),
            Some(-1) => Ok(Direction::Descending),
            _ => Err(SortError::NotADirection(wrong_direction(name, value))),
        },
    }
}

/// A direction as an integer. As in MongoDB, a decimal is rounded, and the fraction of a double is dropped.
fn whole(value: &Value) -> Option<i64> {
    match value {
        Value::Double(double) => Some(double.0.trunc() as i64),
        Value::Decimal(decimal) => Some(decimal.to_f64().round_ties_even() as i64),
        other => other.as_i64(),
    }
}

/// The error for a sort by `$meta`, which is metadata that a search computes for a document.
fn meta(name: &str, what: &Value) -> SortError {
    match what.as_str() {
        Some("textScore" | "geoNearDistance") => {
            let message = format!("sorting '{name}' needs a search of text or places, which is not supported");
            SortError::Meta(message, ErrorCode::Location40218)
        }
        Some("randVal" | "searchScore" | "vectorSearchScore" | "score") => {
            SortError::Unsupported(format!("sorting '{name}' by $meta is not supported: write 1 or -1"))
        }
        _ => SortError::Meta(format!("sorting '{name}': there is no such $meta"), ErrorCode::Location31138),
    }
}

/// The maximum length of a value in an error message.
const SHOWN_BYTES_MAX: usize = 40;

fn wrong_direction(name: &str, value: &Value) -> String {
    let text = value.to_string();
    let found = if text.len() > SHOWN_BYTES_MAX { format!("of type {}", value.type_name()) } else { text };
    format!("the sort direction of '{name}' must be 1 (ascending) or -1 (descending), not {found}")
}

fn path(name: &str) -> Result<FieldPath, SortError> {
    name.parse().map_err(|error| {
        SortError::Path(format!("{name:?} is not a path to sort by: {error}"), ErrorCode::of_path(name))
    })
}

#[cfg(test)]
mod tests;
