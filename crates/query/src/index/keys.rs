//! The keys of a document in an index.

use super::part::{put_index_part, put_part, skip_part};
use super::{CUT_HASH_BYTES, Definition, IndexError, MAX_KEYS_BYTES, MAX_PART_BYTES, Order};
use crate::collation::has_text;
use alluvium_codec::{DecodeError, varint};
use alluvium_document::row::{MapRef, is_natural_id};
use alluvium_document::{Document, Map, Value, encoding, key};
use std::borrow::Cow;

mod expand;

use expand::{Expansion, Most};

/// An index key of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexKey {
    /// The encoded parts: the prefix of an entry's key.
    pub bytes: Vec<u8>,
    /// The value of the entry: the parts that cannot be decoded from the key. In most entries it is empty.
    pub values: Vec<u8>,
}

/// The index keys of a document, sorted and unique.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// The keys.
    pub keys: Vec<IndexKey>,
    /// Bit n is set if the path of part n leads through an array or to an array, so that each element may yield a key.
    pub multikey: u32,
    /// Bit n is set if the key of part n is cut. If a key has more than [`MAX_PART_BYTES`] bytes
    /// but no cut part, the bit of its longest part is also set. Earlier versions can read neither
    /// kind of key.
    pub cut: u32,
}

impl Keys {
    /// The bits of [`Keys::multikey`] and, shifted left by 32, the bits of [`Keys::cut`].
    pub fn marks(&self) -> u64 {
        u64::from(self.cut) << 32 | u64::from(self.multikey)
    }
}

impl Definition {
    /// The top-level fields of documents that the parts lead through. A name may occur more than
    /// once.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts().iter().map(|part| part.path.first())
    }

    /// The keys of a document. There are none if the index is partial and its filter does not
    /// match.
    ///
    /// # Errors
    /// [`IndexError`] if the document cannot be indexed.
    pub fn keys(&self, document: &Map) -> Result<Keys, IndexError> {
        match self.partial_filter() {
            Some(filter) if !filter.matches_map(document).map_err(IndexError::Filter)? => Ok(Keys::default()),
            _ => Expansion::of(self, document, Most::NEW),
        }
    }

    /// Fast path for a document in which no part leads to an array, so that the document has
    /// exactly one key. Appends the bytes of the key to `out`. Appends the parts that cannot be
    /// decoded from the key to `values`. Returns false and leaves both unchanged if the document
    /// may have any other number of keys, or an error. The caller must then call
    /// [`Definition::keys`]. Allocates no other memory.
    #[inline]
    pub fn plain_key(&self, document: &Map, out: &mut Vec<u8>, values: &mut Vec<u8>) -> bool {
        if self.is_sparse() || self.partial_filter().is_some() || self.collation().is_some() {
            return false;
        }
        let start = out.len();
        let mut missing = 0u64;
        for (n, part) in self.parts().iter().enumerate() {
            let mut value = document.get(part.path.first());
            if part.path.depth() > 1 {
                for name in part.path.names().skip(1) {
                    value = match value {
                        Some(Value::Map(map)) => map.get(name),
                        Some(Value::Array(_)) => {
                            out.truncate(start);
                            return false;
                        }
                        _ => None,
                    };
                }
            }
            let plain = match value {
                Some(Value::Array(_)) => false,
                Some(value) if part.order != Order::Hashed => is_natural(value),
                _ => true,
            };
            if !plain {
                out.truncate(start);
                return false;
            }
            missing |= u64::from(value.is_none()) << n;
            put_part(value.unwrap_or(&Value::Null), part.order, out);
        }
        // A part may be so long that it must be cut.
        if out.len() - start > MAX_PART_BYTES {
            out.truncate(start);
            return false;
        }
        if missing != 0 {
            varint::put_u64(values, missing);
        }
        true
    }

    /// As [`Definition::keys`], for an encoded document. Only the fields that the parts lead
    /// through are decoded.
    ///
    /// # Errors
    /// As [`Definition::keys`], and [`IndexError::Damaged`].
    pub fn keys_of(&self, document: &Document) -> Result<Keys, IndexError> {
        self.keys_of_row(document.map()?)
    }

    /// As [`Definition::keys_of`], for a view of a document, which is not copied.
    ///
    /// # Errors
    /// As [`Definition::keys_of`].
    pub fn keys_of_row(&self, document: MapRef<'_>) -> Result<Keys, IndexError> {
        self.at_most(document, Most::NEW)
    }

    /// As [`Definition::keys_of`], for a stored document. It applies the limits of earlier
    /// versions, which accepted more keys per document.
    ///
    /// # Errors
    /// As [`Definition::keys_of`].
    pub fn stored_keys_of(&self, document: &Document) -> Result<Keys, IndexError> {
        self.at_most(document.map()?, Most::STORED)
    }

    fn at_most(&self, document: MapRef<'_>, most: Most) -> Result<Keys, IndexError> {
        if let Some(filter) = self.partial_filter()
            && !filter.matches_row(document)?
        {
            return Ok(Keys::default());
        }
        let mut fields: Vec<&str> = self.fields().collect();
        fields.sort_unstable();
        fields.dedup();
        let mut map = Map::with_capacity(fields.len());
        for (name, value) in fields.iter().zip(document.get_fields(&fields)?) {
            if let Some(value) = value {
                map.push(*name, value.to_value()?);
            }
        }
        Expansion::of(self, &map, most)
    }

    /// Refuses a document if the keys of all its entries together have more than [`MAX_KEYS_BYTES`]
    /// bytes. Each entry contains the key of the `_id`, which has `id_bytes` bytes.
    ///
    /// # Errors
    /// [`IndexError::KeyTooLong`].
    pub fn check_entries(&self, keys: &Keys, id_bytes: usize) -> Result<(), IndexError> {
        let ids = keys.keys.len().saturating_mul(id_bytes);
        // A single key can be long only because of the `_id`, whose size is limited by the size of
        // the document.
        let all = keys.keys.iter().map(|key| key.bytes.len() + key.values.len()).fold(ids, usize::saturating_add);
        if keys.keys.len() > 1 && all > MAX_KEYS_BYTES {
            let (name, count) = (self.name(), keys.keys.len());
            return Err(IndexError::KeyTooLong(format!(
                "a document has more than {MAX_KEYS_BYTES} bytes of keys in the index {name}: {count} keys, each with the \
                 {id_bytes} bytes of its _id, so give it a shorter one"
            )));
        }
        Ok(())
    }

    /// The length of the index key at the start of an entry's key. The key of the `_id` follows.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes do not begin with an index key.
    pub fn key_len(&self, entry: &[u8]) -> Result<usize, DecodeError> {
        let mut input = entry;
        for part in self.parts() {
            skip_part(&mut input, part.order)?;
        }
        Ok(entry.len() - input.len())
    }

    /// The parts whose keys are cut in an index key, as bits.
    fn cut_parts(&self, mut index_key: &[u8]) -> Result<u32, DecodeError> {
        let mut cut = 0;
        if index_key.len() > MAX_PART_BYTES {
            for (at, part) in self.parts().iter().enumerate() {
                cut |= u32::from(skip_part(&mut index_key, part.order)?) << at;
            }
        }
        Ok(cut)
    }

    /// The values of the parts, decoded from an index key and an entry's value. `None` represents a
    /// missing value, for a hashed part, and for a part whose key is cut. If the index has a
    /// collation, `None` also represents a value with strings.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are not an index key and a value.
    pub fn values(&self, index_key: &[u8], value: &[u8]) -> Result<Vec<Option<Value>>, DecodeError> {
        let mut values = self.values_or_keys(index_key, value)?;
        if self.collation().is_some() {
            values.iter_mut().filter(|value| value.as_ref().is_some_and(has_text)).for_each(|value| *value = None);
        }
        Ok(values)
    }

    /// As [`Definition::values`], but if the index has a collation, values contain collation keys instead of strings.
    fn values_or_keys(&self, mut index_key: &[u8], mut value: &[u8]) -> Result<Vec<Option<Value>>, DecodeError> {
        let missing = if value.is_empty() { 0 } else { varint::get_u64(&mut value)? };
        let cut = self.cut_parts(index_key)?;
        let is_missing = |at: usize| (missing | u64::from(cut)) >> at & 1 == 1;
        if !value.is_empty() {
            let Value::Array(exact) = encoding::decode(&mut value)? else {
                return Err(DecodeError::Invalid("the value of an index entry"));
            };
            let hashed = |at: usize| self.parts().get(at).is_none_or(|part| part.order == Order::Hashed);
            let exact = exact.into_iter().enumerate();
            return Ok(exact.map(|(at, value)| Some(value).filter(|_| !is_missing(at) && !hashed(at))).collect());
        }
        let mut values = Vec::with_capacity(self.parts().len());
        for (at, part) in self.parts().iter().enumerate() {
            let found = match part.order {
                _ if cut >> at & 1 == 1 => {
                    index_key = index_key.get(MAX_PART_BYTES + CUT_HASH_BYTES..).ok_or(DecodeError::Truncated)?;
                    None
                }
                Order::Hashed => {
                    index_key = index_key.get(8..).ok_or(DecodeError::Truncated)?;
                    None
                }
                Order::Ascending => Some(key::decode(&mut index_key)?),
                Order::Descending => {
                    let upright: Vec<u8> = index_key.iter().map(|byte| !byte).collect();
                    let mut rest = upright.as_slice();
                    let found = key::decode(&mut rest)?;
                    index_key = index_key.get(index_key.len() - rest.len()..).unwrap_or_default();
                    Some(found)
                }
            };
            values.push(found.filter(|_| !is_missing(at)));
        }
        Ok(values)
    }
}

impl Definition {
    /// If the index has a collation, the value with collation keys instead of strings; otherwise the value itself.
    fn keyed<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        self.collation().map_or(Cow::Borrowed(value), |collation| collation.keyed(value))
    }

    /// The index key of these values, one for each part.
    pub fn key_of_values<'v>(&self, values: impl IntoIterator<Item = &'v Value>) -> Vec<u8> {
        let mut key = Vec::new();
        for (part, value) in self.parts().iter().zip(values) {
            put_index_part(&self.keyed(value), part.order, &mut key);
        }
        key
    }

    /// The values of an index key, to be shown in a message. A cut key is shown as the beginning of its text, if it is
    /// text, and the hash. If the index has a collation, a string is shown as its collation key.
    pub fn values_to_show(&self, index_key: &[u8]) -> Vec<Value> {
        let mut values = self.values_or_keys(index_key, &[]).unwrap_or_default();
        if self.collation().is_some() {
            values.iter_mut().flatten().for_each(show_keys);
        }
        let mut rest = index_key;
        for (part, value) in self.parts().iter().zip(&mut values) {
            let whole = rest;
            match skip_part(&mut rest, part.order) {
                Ok(false) => {}
                Ok(true) => *value = Some(cut_text(&whole[..whole.len() - rest.len()], part.order).into()),
                Err(_) => break,
            }
        }
        values.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// Replaces collation keys by their hexadecimal digits.
pub(crate) fn show_keys(value: &mut Value) {
    match value {
        Value::String(key) => {
            let digits = key.chars().fold(String::new(), |text, byte| text + &format!("{:02x}", u32::from(byte)));
            *value = Value::from(format!("CollationKey(0x{digits})"));
        }
        Value::Array(elements) => elements.iter_mut().for_each(show_keys),
        Value::Map(map) => map.entries.iter_mut().for_each(|(_, value)| show_keys(value)),
        _ => {}
    }
}

fn cut_text(key: &[u8], order: Order) -> String {
    const SHOWN_BYTES: usize = 40;
    let (head, hash) = key.split_at(MAX_PART_BYTES.min(key.len()));
    let upright = |byte: &u8| if order == Order::Descending { !byte } else { *byte };
    let head: Vec<u8> = head.iter().take(SHOWN_BYTES).map(upright).collect();
    let text = match head.split_first() {
        Some((&alluvium_codec::key::rank::STRING, text)) => String::from_utf8_lossy(text).into_owned(),
        _ => String::new(),
    };
    let hash = hash.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    format!("{}… (long, {hash})", text.trim_end_matches(char::REPLACEMENT_CHARACTER))
}

/// True if the same value, including its type, can be decoded from its key.
fn is_natural(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::DateTime(_) => true,
        Value::Double(x) => x.0.is_finite() && x.0.fract() != 0.0,
        Value::Undefined | Value::Regex(_) => false,
        other => is_natural_id(other),
    }
}

#[cfg(test)]
mod tests;
