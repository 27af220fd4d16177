//! Sorting: `{age: -1, name: 1}`.
//!
//! The rules are those of MongoDB's `find`:
//!
//! - Values sort in the one order of all values ([`alluvium_document::compare`]); what is missing sorts as null.
//! - An array means its elements (not the elements of those): ascending by the least, descending by the greatest.
//!   An empty array sorts below null. Parts whose paths lead through the same array see one element
//!   of it at a time. Two arrays side by side are refused ([`SortError::ParallelArrays`]).
//! - A number in a path is a name in maps, and a position in arrays that are as long; what lies
//!   there counts alone. If it is both in one array, that is refused
//!   ([`SortError::AmbiguousName`]). An array at the last
//!   position counts as a whole.
//!
//! [`Sort::key`] gives a key of bytes for a document, so that comparing keys compares documents; [`TopK`] collects the
//! first documents by it.

use std::cmp::Ordering;

use alluvium_document::path::FieldPath;
use alluvium_document::{Document, Map, Value};

use crate::code::ErrorCode;
use crate::dollar::is_dollar_name;

mod error;
mod key;
mod top;

pub use error::SortError;
pub use top::TopK;

/// The most parts of a sort. MongoDB's limit.
pub const MAX_PARTS: usize = 32;

/// A direction of a sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The least first: `1`.
    Ascending,
    /// The greatest first: `-1`.
    Descending,
}

/// What is sorted by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortPart {
    /// Where the values lie.
    pub path: FieldPath,
    /// Which come first.
    pub direction: Direction,
}

impl SortPart {
    /// From the greatest to the least.
    pub fn is_descending(&self) -> bool {
        self.direction == Direction::Descending
    }
}

/// An order of documents: by the first part, where that is equal by the second, and so on.
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
    /// Reads a sort: a map from paths to 1 or -1. Without paths it sorts nothing: all documents are equal.
    ///
    /// # Errors
    /// [`SortError`]: a wrong direction, a path that is malformed or comes twice, more than [`MAX_PARTS`] of them;
    /// `$natural`, `$meta` and other expressions are not supported.
    pub fn parse(sort: &Map) -> Result<Self, SortError> {
        let mut parts: Vec<SortPart> = Vec::with_capacity(sort.len().min(MAX_PARTS));
        for (name, direction) in &sort.entries {
            let name = name.as_str().ok_or_else(|| SortError::Direction("a path in a sort is a string".to_owned()))?;
            let direction = self::direction(name, direction)?;
            let path = path(name)?;
            if parts.iter().any(|part| part.path == path) {
                return Err(SortError::Duplicate(format!("the sort has '{name}' twice: leave one out")));
            }
            if parts.len() == MAX_PARTS {
                return Err(SortError::TooManyParts);
            }
            parts.push(SortPart { path, direction });
        }
        Ok(Self { parts })
    }

    /// The parts, the first one deciding first.
    pub fn parts(&self) -> &[SortPart] {
        &self.parts
    }

    /// True if there are no parts, and so no order.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The sort key of a document: bytes that compare as the sort does. The key of an earlier document is less.
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn key(&self, document: &Document) -> Result<Vec<u8>, SortError> {
        let mut key = Vec::with_capacity(16 * self.parts.len());
        self.put_key(document, &mut key)?;
        Ok(key)
    }

    /// Appends the sort key of a document. Only fields that it sorts by are decoded.
    ///
    /// # Errors
    /// [`SortError::ParallelArrays`], [`SortError::AmbiguousName`], [`SortError::TooManyKeys`], or the document is
    /// damaged; `out` is then as before.
    pub fn put_key(&self, document: &Document, out: &mut Vec<u8>) -> Result<(), SortError> {
        let before = out.len();
        let result = key::put(&self.parts, document, out);
        if result.is_err() {
            out.truncate(before);
        }
        result
    }

    /// Which of two documents comes first; equal if the sort does not distinguish them.
    ///
    /// # Errors
    /// As [`Sort::put_key`].
    pub fn compare(&self, a: &Document, b: &Document) -> Result<Ordering, SortError> {
        Ok(self.key(a)?.cmp(&self.key(b)?))
    }

    /// The sort as it is written, for plans: `{"age": -1}`.
    pub fn to_map(&self) -> Map {
        let number = |direction| if direction == Direction::Ascending { 1 } else { -1 };
        self.parts.iter().map(|part| (part.path.as_str(), number(part.direction))).collect()
    }
}

fn direction(name: &str, value: &Value) -> Result<Direction, SortError> {
    if name.split('.').next().is_some_and(is_dollar_name) {
        return Err(match name {
            "$natural" => SortError::Unsupported("sorting by $natural is not supported: sort by a field".to_owned()),
            _ => SortError::Path(format!("the path '{name}' in a sort begins with a dollar sign"), ErrorCode::DOLLAR),
        });
    }
    match value {
        Value::Map(expression) => {
            let inner = expression.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or("an expression");
            Err(SortError::Unsupported(format!("sorting '{name}' by {inner} is not supported: write 1 or -1")))
        }
        value if !value.is_number() => Err(SortError::Direction(wrong_direction(name, value))),
        value => match value.as_i64() {
            Some(1) => Ok(Direction::Ascending),
            Some(-1) => Ok(Direction::Descending),
            _ => Err(SortError::NotADirection(wrong_direction(name, value))),
        },
    }
}

/// Longer values are not shown in an error message.
const SHOWN_BYTES_MAX: usize = 40;

fn wrong_direction(name: &str, value: &Value) -> String {
    let text = value.to_string();
    let found = if text.len() > SHOWN_BYTES_MAX { format!("of type {}", value.type_name()) } else { text };
    format!("the sort direction of '{name}' must be 1 (ascending) or -1 (descending), not {found}")
}

fn path(name: &str) -> Result<FieldPath, SortError> {
    name.parse()
        .map_err(|error| SortError::Path(format!("{name:?} is no path to sort by: {error}"), ErrorCode::of_path(name)))
}

#[cfg(test)]
mod tests;
