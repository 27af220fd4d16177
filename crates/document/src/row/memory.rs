//! Estimates of the memory that the values of a row take when they are decoded.

use super::{ArrayRef, MapRef, RowError, ValueRef};
use crate::value::{Text, Value, block};

/// The maximum length of a text that is stored without a heap allocation.
const INLINE_TEXT: usize = size_of::<Text>();

fn text_of(len: usize) -> usize {
    if len > INLINE_TEXT { block(len) } else { 0 }
}

impl ValueRef<'_> {
    /// The approximate bytes of memory that the value takes when it is decoded, including the value itself.
    ///
    /// # Errors
    /// [`RowError`] if the value is damaged.
    pub fn memory(&self) -> Result<usize, RowError> {
        Ok(size_of::<Value>() + self.memory_beside()?)
    }

    fn memory_beside(&self) -> Result<usize, RowError> {
        Ok(match self {
            Self::String(text) => text_of(text.len()),
            Self::Binary(_, bytes) => block(bytes.len()),
            Self::Array(array) => array.memory()?,
            Self::Map(map) => map.memory()?,
            Self::Other(value) => value.memory_beside(),
            _ => 0,
        })
    }
}

impl ArrayRef<'_> {
    fn memory(&self) -> Result<usize, RowError> {
        let mut bytes = block(self.len() * size_of::<Value>());
        for element in self.iter() {
            bytes += element?.memory_beside()?;
        }
        Ok(bytes)
    }
}

impl MapRef<'_> {
    /// An estimate of the bytes of memory that the fields take when they are decoded.
    ///
    /// # Errors
    /// [`RowError`] if the map is damaged.
    pub fn memory(&self) -> Result<usize, RowError> {
        let mut bytes = block(self.len() * 2 * size_of::<Value>());
        for field in self.iter() {
            let (name, value) = field?;
            bytes += name.memory_beside()? + value.memory_beside()?;
        }
        Ok(bytes)
    }

    /// The number of bytes of the stored map.
    pub fn stored_bytes(&self) -> usize {
        self.bytes.len()
    }
}
