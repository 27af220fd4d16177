//! Computes the memory that a document takes when it is decoded.

use super::{BsonError, LEVELS_MAX, Map, Reader, Value, tag};

/// The bytes of a field in the vector of a map.
const ENTRY: usize = size_of::<(Value, Value)>();
const ELEMENT: usize = size_of::<Value>();
/// The capacity of a vector after its first allocation.
const ROOM: usize = 4;
/// The maximum number of bytes of a text that is stored inline. Longer texts are on the heap.
const INLINE: usize = 24;
/// The allocator's own bytes for each block.
const BLOCK: usize = 16;
/// The bytes of the box of a value of a rare type.
const BOXED: usize = 96;

/// The bytes of memory that a BSON document takes as a [`Map`], which may be sixty times the size of the document.
/// Nothing is decoded. A damaged document is counted up to the damage, where decoding would stop.
pub fn tree_bytes(bytes: &[u8]) -> usize {
    let mut reader = Reader::new(bytes);
    let mut total = size_of::<Map>();
    let _damaged = level(&mut reader, LEVELS_MAX, ENTRY, &mut total);
    total
}

/// Adds the values of a document or an array. Each element takes `size` bytes in its vector.
fn level(reader: &mut Reader<'_>, depth: usize, size: usize, total: &mut usize) -> Result<(), BsonError> {
    let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
    let outer = reader.enter()?;
    let (mut count, mut room) = (0, 0_usize);
    while let Some(tag) = reader.next(outer)? {
        let name = reader.cstring()?;
        if count == room {
            let larger = (room * 2).max(ROOM);
            *total += (larger - room) * size + if room == 0 { BLOCK } else { 0 };
            room = larger;
        }
        count += 1;
        if size == ENTRY {
            heap(name.len(), total);
        }
        value(reader, tag, depth, total)?;
    }
    Ok(())
}

/// Adds the heap memory of a text.
fn heap(len: usize, total: &mut usize) {
    if len > INLINE {
        *total += len + BLOCK;
    }
}

/// Adds the memory of a value outside its place in the vector.
fn value(reader: &mut Reader<'_>, tag: u8, depth: usize, total: &mut usize) -> Result<(), BsonError> {
    let skipped = match tag {
        tag::DOCUMENT => return level(reader, depth, ENTRY, total),
        tag::ARRAY => return level(reader, depth, ELEMENT, total),
        tag::STRING | tag::SYMBOL | tag::CODE => {
            let len = reader.len()?;
            heap(len, total);
            *total += if tag == tag::CODE { BOXED } else { 0 };
            len
        }
        tag::BINARY => {
            let len = reader.len()?;
            *total += len + BLOCK;
            len.saturating_add(1)
        }
        tag::BOOL => 1,
        tag::INT32 => 4,
        tag::DOUBLE | tag::DATE_TIME | tag::TIMESTAMP | tag::INT64 => 8,
        tag::OBJECT_ID => 12,
        tag::DECIMAL => {
            *total += BOXED;
            16
        }
        tag::REGEX => {
            let texts = reader.cstring()?.len() + reader.cstring()?.len();
            *total += BOXED + texts;
            0
        }
        tag::DB_POINTER => {
            let len = reader.len()?;
            *total += BOXED + len;
            len.saturating_add(12)
        }
        tag::CODE_WITH_SCOPE => {
            reader.len()?;
            let len = reader.len()?;
            *total += BOXED + len;
            reader.take(len)?;
            return level(reader, depth, ENTRY, total);
        }
        _ => 0,
    };
    reader.take(skipped).map(drop)
}

/// A field of a document, or an element of an array, as its bytes.
#[derive(Debug, Clone, Copy)]
pub struct RawField<'a> {
    /// The type.
    pub tag: u8,
    /// The name.
    pub name: &'a [u8],
    /// The bytes of the value. Those of a document or an array are complete, including the length.
    pub value: &'a [u8],
    /// Type, name and value.
    pub whole: &'a [u8],
}

impl RawField<'_> {
    /// True if the value is an array.
    pub fn is_array(&self) -> bool {
        self.tag == tag::ARRAY
    }

    /// True if the value is a document.
    pub fn is_document(&self) -> bool {
        self.tag == tag::DOCUMENT
    }
}

/// Calls `each` with the fields of a document or an array, until it returns false. Nested documents and arrays are
/// passed as a whole.
///
/// # Errors
/// [`BsonError`] for a damaged document, after `each` was called for the fields before the damage.
pub fn each_field<'a>(bytes: &'a [u8], mut each: impl FnMut(RawField<'a>) -> bool) -> Result<(), BsonError> {
    let mut reader = Reader::new(bytes);
    let outer = reader.enter()?;
    loop {
        let start = reader.at;
        let Some(tag) = reader.next(outer)? else { return Ok(()) };
        let name = reader.cstring()?;
        let from = reader.at;
        match tag {
            tag::DOCUMENT | tag::ARRAY => {
                let end = reader.enter()?;
                reader.at = std::mem::replace(&mut reader.end, end);
            }
            _ => value(&mut reader, tag, LEVELS_MAX, &mut 0)?,
        }
        let field = RawField { tag, name, value: &bytes[from..reader.at], whole: &bytes[start..reader.at] };
        if !each(field) {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests;
