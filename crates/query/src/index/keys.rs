//! The keys of a document under an index.

use super::{Definition, IndexError, MAX_KEY_BYTES, MAX_KEYS_BYTES, Order};
use alluvium_codec::{DecodeError, varint};
use alluvium_document::row::is_natural_id;
use alluvium_document::{Document, Map, Value, encoding, key};

mod expand;

use expand::{Expansion, Most};

/// An index key of a document.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct IndexKey {
    /// The parts, one behind the other: what an entry's key begins with.
    pub bytes: Vec<u8>,
    /// An entry's value: what cannot be told from the key. Mostly empty.
    pub values: Vec<u8>,
}

/// The index keys of a document, ascending, each once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// The keys.
    pub keys: Vec<IndexKey>,
    /// Bit n is set if part n has led through an array, or to one, and sees each of its elements.
    pub multikey: u32,
}

impl Definition {
    /// The names of the documents' fields that the parts lead through, and perhaps more than once.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.parts().iter().map(|part| part.path.first())
    }

    /// The keys of a document: none if the index is partial and its filter does not match.
    ///
    /// # Errors
    /// [`IndexError`]: the document cannot be indexed.
    pub fn keys(&self, document: &Map) -> Result<Keys, IndexError> {
        match self.partial_filter() {
            Some(filter) if !filter.matches_map(document) => Ok(Keys::default()),
            _ => Expansion::of(self, document, Most::NEW),
        }
    }

    /// The one key of a document in which no part leads to an array: appends its bytes to `out`,
    /// and to `values` what cannot be told from them. False, with both as they were, if there may
    /// be another number of keys, or an error: ask [`Definition::keys`] then. Makes no other
    /// memory.
    #[inline]
    pub fn plain_key(&self, document: &Map, out: &mut Vec<u8>, values: &mut Vec<u8>) -> bool {
        if self.is_sparse() || self.partial_filter().is_some() {
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
        if out.len() - start > MAX_KEY_BYTES {
            out.truncate(start);
            return false;
        }
        if missing != 0 {
            varint::put_u64(values, missing);
        }
        true
    }

    /// As [`Definition::keys`]; of the document only the fields are decoded that the parts lead through.
    ///
    /// # Errors
    /// As [`Definition::keys`]; [`IndexError::Damaged`].
    pub fn keys_of(&self, document: &Document) -> Result<Keys, IndexError> {
        self.at_most(document, Most::NEW)
    }

    /// As [`Definition::keys_of`], of a document that is stored: also of one that an earlier build
    /// has taken, which had other limits of all keys together.
    ///
    /// # Errors
    /// As [`Definition::keys_of`].
    pub fn stored_keys_of(&self, document: &Document) -> Result<Keys, IndexError> {
        self.at_most(document, Most::STORED)
    }

    fn at_most(&self, document: &Document, most: Most) -> Result<Keys, IndexError> {
        if let Some(filter) = self.partial_filter()
            && !filter.matches(document)?
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

    /// Refuses a document whose entries would have more than [`MAX_KEYS_BYTES`] together, each with
    /// the key of its `_id`, of so many bytes.
    ///
    /// # Errors
    /// [`IndexError::KeyTooLong`].
    pub fn check_entries(&self, keys: &Keys, id_bytes: usize) -> Result<(), IndexError> {
        let ids = keys.keys.len().saturating_mul(id_bytes);
        // Few keys are long only by the `_id`, which is no longer than a document then.
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

    /// The length of the index key that the key of an entry begins with; the `_id`'s key follows.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes do not begin with such a key.
    pub fn key_len(&self, entry: &[u8]) -> Result<usize, DecodeError> {
        let mut input = entry;
        for part in self.parts() {
            match part.order {
                Order::Hashed => input = input.get(8..).ok_or(DecodeError::Truncated)?,
                order => key::skip(&mut input, order == Order::Descending)?,
            }
        }
        Ok(entry.len() - input.len())
    }

    /// The values of the parts as they were stored, from an index key and an entry's value; `None` for what was
    /// missing, and for a hashed part.
    ///
    /// # Errors
    /// [`DecodeError`] if the bytes are no such key and value.
    pub fn values(&self, mut index_key: &[u8], mut value: &[u8]) -> Result<Vec<Option<Value>>, DecodeError> {
        let missing = if value.is_empty() { 0 } else { varint::get_u64(&mut value)? };
        let is_missing = |at: usize| missing >> at & 1 == 1;
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

/// Appends the bytes of one part of an index key.
pub(crate) fn put_part(value: &Value, order: Order, out: &mut Vec<u8>) {
    match order {
        Order::Ascending => key::encode(value, out),
        Order::Descending => {
            let start = out.len();
            key::encode(value, out);
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Order::Hashed => out.extend_from_slice(&key::hash(value).to_be_bytes()),
    }
}

/// True if decoding the key of the value gives the value.
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
