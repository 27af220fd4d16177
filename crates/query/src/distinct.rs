//! Distinct values of a field: `distinct("tags")`.
//!
//! The rules are those of MongoDB's command `distinct`. A path is followed into maps, and from an
//! array into its elements that are maps; a number after an array selects the element at that
//! position. An array at the end of the path contributes its elements, but not the elements of
//! arrays nested in it. A missing field and an empty array contribute nothing; null contributes
//! null. Numbers that are equal are one value, whatever their types. Strings that are equal by the
//! collation ([`Distinct::collated`]) are also one value. The first value encountered is kept.

use std::collections::BTreeMap;

use alluvium_document::bson::bson_size;
use alluvium_document::path::{FieldPath, array_index};
use alluvium_document::row::{MapRef, RowError, ValueRef};
use alluvium_document::{Document, Value};

use crate::code::ErrorCode;
use crate::collation::Collation;
use crate::expression::{Interruption, Memory};
use crate::memory::Held;

/// The maximum size of the distinct values, in bytes as a BSON array. MongoDB's limit.
pub const MAX_DISTINCT_BYTES: usize = 16 << 20;

/// The memory of a key in a map, in addition to its bytes.
const KEY_BYTES: usize = 64;

/// An error of collecting distinct values, with MongoDB's code for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DistinctError {
    /// The field is not a valid path. The second value is MongoDB's code.
    #[error("{0}")]
    Path(String, ErrorCode),
    /// The values are more than [`MAX_DISTINCT_BYTES`].
    #[error("the distinct values take more than {MAX_DISTINCT_BYTES} bytes: use a filter that matches fewer documents")]
    TooLarge,
    /// The memory for the queries of the database does not suffice for the values.
    #[error("distinct values: {0}")]
    Memory(Interruption),
    /// A document is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

impl DistinctError {
    /// MongoDB's code for the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Path(_, code) => *code,
            Self::TooLarge => ErrorCode::Location17217,
            Self::Memory(shortage) => shortage.code,
            Self::Damaged(_) => ErrorCode::DataCorruptionDetected,
        }
    }
}

/// Collects the distinct values at a path.
///
/// ```
/// use alluvium_document::Document;
/// use alluvium_query::distinct::Distinct;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut tags = Distinct::new("tags")?;
/// tags.add(&Document::from_json(r#"{"tags": ["b", "a"]}"#)?)?;
/// tags.add(&Document::from_json(r#"{"tags": "b"}"#)?)?;
/// assert_eq!(tags.into_values().count(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Distinct {
    path: FieldPath,
    values: BTreeMap<Box<[u8]>, Value>,
    bytes: usize,
    collation: Option<Collation>,
    /// The account of the memory of the values.
    memory: Option<Memory>,
    held: Held,
    /// A reused buffer for the key of the value that is looked up.
    key: Vec<u8>,
}

impl Distinct {
    /// An empty set of values for the field at `path`.
    ///
    /// # Errors
    /// [`DistinctError::Path`].
    pub fn new(path: &str) -> Result<Self, DistinctError> {
        let code = if path.contains('\0') { ErrorCode::Location31032 } else { ErrorCode::BadValue };
        let path = path
            .parse()
            .map_err(|error| DistinctError::Path(format!("{path:?} has no distinct values: {error}"), code))?;
        let (values, held) = (BTreeMap::new(), Held::default());
        Ok(Self { path, values, bytes: 0, collation: None, memory: None, held, key: Vec::new() })
    }

    /// Returns the set, which from now on compares strings by the collation, or by their bytes for `None`.
    #[must_use]
    pub fn collated(mut self, collation: Option<&Collation>) -> Self {
        self.collation = collation.cloned();
        self
    }

    /// Returns the set, whose memory is from now on counted in `memory`.
    #[must_use]
    pub fn counted_in(mut self, memory: &Memory) -> Self {
        self.memory = Some(memory.clone());
        self
    }

    /// The path of the values.
    pub fn path(&self) -> &FieldPath {
        &self.path
    }

    /// Adds the values that a document has at the path. Only the top-level field of the path is
    /// decoded.
    ///
    /// # Errors
    /// [`DistinctError::TooLarge`], [`DistinctError::Memory`], or [`DistinctError::Damaged`]. Some values of the
    /// document may have been added before the error.
    pub fn add(&mut self, document: &Document) -> Result<(), DistinctError> {
        let path = self.path.clone();
        visit(&document.map()?, path.as_str(), &mut |value| self.insert(value))
    }

    /// Adds a value without entering arrays, for instance the value of an index entry.
    ///
    /// # Errors
    /// [`DistinctError::TooLarge`].
    pub fn add_value(&mut self, value: &Value) -> Result<(), DistinctError> {
        self.insert(ValueRef::Other(value.clone()))
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The values, in the order of all values.
    pub fn into_values(self) -> impl Iterator<Item = Value> {
        self.values.into_values()
    }
}

impl Distinct {
    fn insert(&mut self, value: ValueRef<'_>) -> Result<(), DistinctError> {
        /// The size of an array element in BSON without its value and the digits of its position: the byte of the type
        /// and the byte that ends the name.
        const ELEMENT: usize = 2;
        let Self { values, bytes, collation, key, memory, held, .. } = self;
        key.clear();
        match collation {
            None => value.encode_key(key)?,
            Some(collation) => collation.encode_key_of(&value, key)?,
        }
        if values.contains_key(&key[..]) {
            return Ok(());
        }
        let value = value.to_value()?;
        *bytes += bson_size(&value) + ELEMENT + values.len().checked_ilog10().map_or(1, |digits| digits as usize + 1);
        if *bytes > MAX_DISTINCT_BYTES {
            return Err(DistinctError::TooLarge);
        }
        held.add(value.memory() + key.len() + KEY_BYTES, memory.as_ref()).map_err(DistinctError::Memory)?;
        values.insert(key[..].into(), value);
        Ok(())
    }
}

type Visit<'v, 'a> = dyn FnMut(ValueRef<'a>) -> Result<(), DistinctError> + 'v;

fn visit<'a>(map: &MapRef<'a>, path: &str, visit: &mut Visit<'_, 'a>) -> Result<(), DistinctError> {
    let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
    match map.get(name)? {
        Some(value) => enter(value, rest, visit),
        None => Ok(()),
    }
}

/// Follows the remaining names of the path.
fn enter<'a>(value: ValueRef<'a>, rest: Option<&str>, found: &mut Visit<'_, 'a>) -> Result<(), DistinctError> {
    match (value, rest) {
        (ValueRef::Array(array), None) => array.iter().try_for_each(|element| found(element?)),
        (value, None) => found(value),
        (ValueRef::Map(map), Some(rest)) => visit(&map, rest, found),
        (ValueRef::Array(array), Some(rest)) => {
            let (name, behind) = rest.split_once('.').map_or((rest, None), |(name, rest)| (name, Some(rest)));
            if name.bytes().all(|byte| byte.is_ascii_digit()) {
                let element = array_index(name).map_or(Ok(None), |at| array.get(at))?;
                return element.map_or(Ok(()), |element| enter(element, behind, found));
            }
            for element in array.iter() {
                if let ValueRef::Map(map) = element? {
                    visit(&map, rest, found)?;
                }
            }
            Ok(())
        }
        (_, Some(_)) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
