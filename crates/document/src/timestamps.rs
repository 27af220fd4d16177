//! Timestamps that are filled in when a document is written.

use crate::bson::{find_zero, tag};
use crate::value::{Map, Timestamp, Value};
use std::borrow::Cow;

/// The timestamp that is replaced by the current time.
const EMPTY: Timestamp = Timestamp { time: 0, increment: 0 };

/// The number of increments per millisecond.
const INCREMENTS: u32 = 4_000_000;

/// The current time, which replaces empty timestamps in documents. As in MongoDB, only top-level fields except `_id`
/// are replaced; values within maps and arrays are unchanged.
///
/// ```
/// use alluvium_document::timestamps::Present;
/// use alluvium_document::{Timestamp, Value, doc};
///
/// let empty = Value::Timestamp(Timestamp { time: 0, increment: 0 });
/// let mut map = doc! {"_id": empty.clone(), "at": empty.clone()};
/// Present::at(1_700_000_000_002).fill(&mut map);
/// assert_eq!(map.get("_id"), Some(&empty));
/// let filled = Timestamp { time: 1_700_000_000, increment: 8_000_001 };
/// assert_eq!(map.get("at"), Some(&Value::Timestamp(filled)));
/// ```
#[derive(Debug, Clone)]
pub struct Present {
    second: u32,
    increment: u32,
}

impl Present {
    /// The time in milliseconds since 1970.
    pub fn at(unix_millis: i64) -> Self {
        let part = |n: i64| u32::try_from(n).unwrap_or(u32::MAX);
        let millis = unix_millis.max(0);
        Self { second: part(millis / 1000), increment: part(millis % 1000) * INCREMENTS }
    }

    /// The time. Each call returns a higher increment.
    fn next(&mut self) -> Timestamp {
        self.increment = self.increment.wrapping_add(1);
        Timestamp { time: self.second, increment: self.increment }
    }

    /// Replaces the empty timestamps of a document.
    pub fn fill(&mut self, map: &mut Map) {
        for (name, value) in &mut map.entries {
            if *value == Value::Timestamp(EMPTY) && name.as_str() != Some("_id") {
                *value = Value::Timestamp(self.next());
            }
        }
    }

    /// Replaces the empty timestamps of a BSON document. The document is copied only if it has one. At damage, the
    /// examination stops.
    pub fn fill_bson<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        let mut filled = Cow::Borrowed(bytes);
        let mut at = 4;
        while let Some((element, end)) = element(bytes, at) {
            let Element { tag, name, value } = element;
            if tag == tag::TIMESTAMP && bytes.get(value..end) == Some(&[0; 8]) && name != b"_id" {
                let Timestamp { time, increment } = self.next();
                let (low, high) = (increment.to_le_bytes(), time.to_le_bytes());
                let owned = filled.to_mut();
                owned[value..value + 4].copy_from_slice(&low);
                owned[value + 4..value + 8].copy_from_slice(&high);
            }
            at = end;
        }
        filled
    }
}

/// An element of a BSON document.
struct Element<'b> {
    tag: u8,
    name: &'b [u8],
    /// The position of the value.
    value: usize,
}

/// The element at a position, and its end; `None` at the end of the document, or at damage.
fn element(bytes: &[u8], at: usize) -> Option<(Element<'_>, usize)> {
    let tag = *bytes.get(at)?;
    if tag == 0 {
        return None;
    }
    let name = text(bytes, at + 1)?;
    let value = at + 1 + name.len() + 1;
    let len = |at: usize| {
        let len = i32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?);
        usize::try_from(len).ok()
    };
    let size = match tag {
        tag::UNDEFINED | tag::NULL | tag::MIN_KEY | tag::MAX_KEY => 0,
        tag::BOOL => 1,
        tag::INT32 => 4,
        tag::DOUBLE | tag::DATE_TIME | tag::TIMESTAMP | tag::INT64 => 8,
        tag::OBJECT_ID => 12,
        tag::DECIMAL => 16,
        tag::STRING | tag::CODE | tag::SYMBOL => 4usize.checked_add(len(value)?)?,
        tag::BINARY => 5usize.checked_add(len(value)?)?,
        tag::DB_POINTER => 16usize.checked_add(len(value)?)?,
        tag::DOCUMENT | tag::ARRAY | tag::CODE_WITH_SCOPE => len(value)?,
        tag::REGEX => {
            let pattern = text(bytes, value)?.len() + 1;
            pattern + text(bytes, value + pattern)?.len() + 1
        }
        _ => return None,
    };
    let end = value.checked_add(size).filter(|end| *end <= bytes.len())?;
    Some((Element { tag, name, value }, end))
}

/// The text that begins at `at` and ends before a zero.
fn text(bytes: &[u8], at: usize) -> Option<&[u8]> {
    let rest = bytes.get(at..)?;
    rest.get(..find_zero(rest)?)
}

#[cfg(test)]
mod tests;
