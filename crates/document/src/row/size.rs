//! The BSON size of a row, computed without decoding it.

use super::{ArrayRef, MapRef, RowError, ValueRef};
use crate::bson::{bson_size, decimal_digits};

/// The binary subtype whose bytes begin with a second copy of their length.
const OLD_BINARY: u8 = 2;

impl ValueRef<'_> {
    /// The size of the value in BSON in bytes, without its type byte and name; see [`bson_size`].
    pub(crate) fn bson_size(&self) -> Result<usize, RowError> {
        Ok(match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int32(_) => 4,
            Self::Int64(_) | Self::DateTime(_) | Self::Double(_) => 8,
            Self::String(text) => 5 + text.len(),
            Self::ObjectId(_) => 12,
            Self::Binary(OLD_BINARY, bytes) => 9 + bytes.len(),
            Self::Binary(_, bytes) => 5 + bytes.len(),
            Self::Array(array) => array.bson_size()?,
            Self::Map(map) => map.bson_size()?,
            Self::Other(value) => bson_size(value),
        })
    }
}

impl ArrayRef<'_> {
    fn bson_size(&self) -> Result<usize, RowError> {
        let mut size = 5;
        for (index, element) in self.iter().enumerate() {
            size += 2 + decimal_digits(index) + element?.bson_size()?;
        }
        Ok(size)
    }
}

impl MapRef<'_> {
    /// The size as a BSON document.
    pub(crate) fn bson_size(&self) -> Result<usize, RowError> {
        let mut size = 5;
        for field in self.iter() {
            let (key, value) = field?;
            let name = key.as_str().map_or_else(|| key.bson_size(), |name| Ok(name.len()))?;
            size += 2 + name + value.bson_size()?;
        }
        Ok(size)
    }
}
