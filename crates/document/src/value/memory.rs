//! The memory that values take.

use super::{Map, Text, Value};

/// The bytes that an allocator needs for each block, in addition to those requested.
const BLOCK_BYTES: usize = 16;

/// The approximate bytes of memory of a decimal, in addition to the value itself.
const DECIMAL_BYTES: usize = 64;

/// The memory of a block with this number of bytes; 0 for an empty block.
pub(crate) fn block(bytes: usize) -> usize {
    if bytes == 0 { 0 } else { bytes + BLOCK_BYTES }
}

fn text(text: &Text) -> usize {
    if text.is_heap_allocated() { block(text.capacity()) } else { 0 }
}

impl Value {
    /// The approximate bytes of memory that the value takes, including the value itself.
    ///
    /// ```
    /// use alluvium_document::Value;
    /// let numbers: Value = (0..1000).collect();
    /// assert!(numbers.memory() >= 1000 * size_of::<Value>());
    /// ```
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.memory_beside()
    }

    /// The bytes of memory that the value uses in addition to its own size.
    pub(crate) fn memory_beside(&self) -> usize {
        match self {
            Self::Null
            | Self::Bool(_)
            | Self::Int32(_)
            | Self::Int64(_)
            | Self::Double(_)
            | Self::ObjectId(_)
            | Self::DateTime(_)
            | Self::Timestamp(_)
            | Self::MinKey
            | Self::MaxKey
            | Self::Undefined => 0,
            Self::Decimal(_) => DECIMAL_BYTES,
            Self::String(string) | Self::Symbol(string) => text(string),
            Self::Binary(binary) => block(binary.bytes.capacity()),
            Self::Array(elements) => {
                let beside: usize = elements.iter().map(Self::memory_beside).sum();
                block(elements.capacity() * size_of::<Self>()) + beside
            }
            Self::Map(map) => map.memory(),
            Self::Regex(regex) => block(size_of_val(&**regex)) + regex.pattern.len() + regex.options.len(),
            Self::Code(code) => {
                block(size_of_val(&**code)) + code.code.len() + code.scope.as_ref().map_or(0, Map::memory)
            }
            Self::DbPointer(pointer) => block(size_of_val(&**pointer)) + pointer.namespace.len(),
        }
    }
}

impl Map {
    /// The approximate bytes of memory that the fields take.
    ///
    /// ```
    /// use alluvium_document::{Map, Value};
    /// assert!(Map::from([("n", 1)]).memory() >= 2 * size_of::<Value>());
    /// assert_eq!(Map::new().memory(), 0);
    /// ```
    pub fn memory(&self) -> usize {
        let beside = |(name, value): &(Value, Value)| name.memory_beside() + value.memory_beside();
        block(self.entries.capacity() * 2 * size_of::<Value>()) + self.entries.iter().map(beside).sum::<usize>()
    }
}
