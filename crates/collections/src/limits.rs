//! The limits of capped collections.

use crate::error::{Error, Result};
use alluvium_document::{Map, Value};

pub use alluvium_exec::Limits;

/// The limits of a capped collection, which keeps its newest documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CappedLimits {
    /// The maximum number of bytes of its documents as BSON, at least 1. The newest document is always kept, even if it
    /// is larger.
    pub size_bytes: u64,
    /// The maximum number of documents, at least 1; `None` if only the bytes are limited.
    pub documents: Option<u64>,
}

impl CappedLimits {
    /// The limits of a collection that is not capped.
    pub(crate) const NONE: Self = Self { size_bytes: u64::MAX, documents: None };

    /// The names of the options, which are MongoDB's.
    pub(crate) const OPTIONS: [&str; 3] = ["capped", "size", "max"];

    /// Reads the limits among the options of a collection; `None` if it is not capped.
    ///
    /// # Errors
    /// [`Error::InvalidDocument`] if the size is missing or not positive.
    pub fn from_options(options: &Map) -> Result<Option<Self>> {
        if options.get("capped") != Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let number = |name: &str| options.get(name).and_then(Value::as_f64).map(|number| number as i64);
        let size_bytes = number("size").and_then(|size| u64::try_from(size).ok()).filter(|size| *size > 0);
        let Some(size_bytes) = size_bytes else {
            return Err(Error::InvalidDocument("a capped collection needs a size above 0, in bytes".to_owned()));
        };
        // As in MongoDB, a maximum that is not positive is no limit.
        let documents = number("max").and_then(|max| u64::try_from(max).ok()).filter(|max| *max > 0);
        Ok(Some(Self { size_bytes, documents }))
    }

    /// The limits by the names that [`CappedLimits::from_options`] reads.
    pub fn to_options(&self) -> Map {
        let mut options =
            Map::from([("capped", Value::Bool(true)), ("size", Value::Int64(self.size_bytes.cast_signed()))]);
        if let Some(documents) = self.documents {
            options.push("max", Value::Int64(documents.cast_signed()));
        }
        options
    }

    /// True if this count of documents, or the sum of their bytes, exceeds a limit.
    pub(crate) fn are_exceeded(&self, documents: u64, bytes: u64) -> bool {
        bytes > self.size_bytes || self.documents.is_some_and(|most| documents > most)
    }
}
