//! The keys of a document under an index.

use super::{Definition, IndexError, MAX_KEY_BYTES, MAX_KEYS, Order};
use codec::{DecodeError, varint};
use document::path::array_index;
use document::row::is_natural_id;
use document::{Document, Map, Value, encoding, key};

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
    /// Bit n is set if part n has led through an array, or to one.
    pub multikey: u32,
}

/// Where one part stands in a document.
#[derive(Clone, Copy)]
struct At<'a> {
    /// `None`: there is nothing.
    value: Option<&'a Value>,
    /// The first name of the path that was not followed yet.
    next: usize,
    /// The value is an element of an array at the end of the path: it is taken as it is.
    element: bool,
}

const MISSING: At<'static> = At { value: None, next: usize::MAX, element: false };

struct Expansion<'d> {
    index: &'d Definition,
    /// The names of each part's path.
    names: Vec<Vec<&'d str>>,
    found: Keys,
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
            _ => self.all_keys(document),
        }
    }

    fn all_keys(&self, document: &Map) -> Result<Keys, IndexError> {
        let names = self.parts().iter().map(|part| part.path.names().collect()).collect();
        let mut expansion = Expansion { index: self, names, found: Keys::default() };
        let at: Vec<At<'_>> = expansion.names.iter().map(|names| follow(document, names)).collect();
        expansion.expand(&at)?;
        let mut found = expansion.found;
        if found.keys.len() > 1 {
            found.keys.sort_unstable();
            found.keys.dedup_by(|a, b| a.bytes == b.bytes);
        }
        Ok(found)
    }

    /// The one key of a document in which no part leads to an array: appends its bytes to `out`, and to `values` what cannot
    /// be told from them. False, with both as they were, if there may be another number of keys, or an error: ask
    /// [`Definition::keys`] then. Makes no other memory.
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
        self.all_keys(&map)
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

/// Follows names into maps, as far as that goes: to the end, to an array, or to nothing.
fn follow<'a>(map: &'a Map, names: &[&str]) -> At<'a> {
    let Some(value) = names.first().and_then(|name| map.get(name)) else { return MISSING };
    go_on(At { value: Some(value), next: 1, element: false }, names)
}

fn go_on<'a>(mut at: At<'a>, names: &[&str]) -> At<'a> {
    while let Some(name) = names.get(at.next) {
        match at.value {
            Some(Value::Map(map)) => at = At { value: map.get(name), next: at.next + 1, element: false },
            Some(Value::Array(_)) => return at,
            _ => return MISSING,
        }
    }
    at
}

impl<'d> Expansion<'d> {
    fn expand(&mut self, at: &[At<'_>]) -> Result<(), IndexError> {
        if !at.iter().any(|at| standing_at(at).is_some()) {
            return self.emit(at);
        }
        let mut at = at.to_vec();
        for (part, at) in at.iter_mut().enumerate() {
            *at = self.to_element(*at, part)?;
        }
        let mut array: Option<(usize, &Value, &[Value])> = None;
        for (part, at) in at.iter().enumerate() {
            let (Some(value), Some(elements)) = (at.value, standing_at(at)) else { continue };
            if self.index.parts()[part].order == Order::Hashed {
                let path = &self.index.parts()[part].path;
                return Err(IndexError::HashedArray(format!(
                    "a hashed index cannot be over arrays, and {path} has one"
                )));
            }
            self.found.multikey |= 1 << part;
            match array {
                Some((_, other, _)) if std::ptr::eq(other, value) => {}
                Some((first, ..)) => {
                    let (a, b) = (&self.index.parts()[first].path, &self.index.parts()[part].path);
                    return Err(IndexError::ParallelArrays(format!("cannot index parallel arrays: {a} and {b}")));
                }
                None => array = Some((part, value, elements)),
            }
        }
        let Some((.., elements)) = array else { return self.expand_or_emit(&at) };
        if elements.is_empty() {
            return self.expand_element(&at, &Value::Undefined);
        }
        elements.iter().try_for_each(|element| self.expand_element(&at, element))
    }

    /// Numbers in paths may have led to other arrays.
    fn expand_or_emit(&mut self, at: &[At<'_>]) -> Result<(), IndexError> {
        if at.iter().any(|at| standing_at(at).is_some()) { self.expand(at) } else { self.emit(at) }
    }

    /// Where a number in the path means an element of the array that it stands at, goes there.
    fn to_element<'a>(&self, mut at: At<'a>, part: usize) -> Result<At<'a>, IndexError> {
        let names = &self.names[part];
        while let (Some(elements), Some(name)) = (standing_at(&at), names.get(at.next)) {
            let Some(position) = array_index(name) else { break };
            let in_maps = elements.iter().any(|element| element.as_map().is_some_and(|map| map.contains(name)));
            match elements.get(position) {
                Some(_) if in_maps => {
                    let path = &self.index.parts()[part].path;
                    let what = format!("{name} in {path} is a position in an array and a field in its elements");
                    return Err(IndexError::AmbiguousPath(what));
                }
                None if in_maps => break,
                element => at = go_on(At { value: element, next: at.next + 1, element: false }, names),
            }
        }
        Ok(at)
    }

    fn expand_element(&mut self, at: &[At<'_>], element: &Value) -> Result<(), IndexError> {
        let inner: Vec<At<'_>> = at
            .iter()
            .enumerate()
            .map(|(part, at)| match standing_at(at) {
                None => *at,
                Some(_) if at.next >= self.names[part].len() => {
                    At { value: Some(element), next: at.next, element: true }
                }
                // Arrays directly in arrays are not entered.
                Some(_) if element.as_map().is_none() => MISSING,
                Some(_) => go_on(At { value: Some(element), next: at.next, element: false }, &self.names[part]),
            })
            .collect();
        self.expand_or_emit(&inner)
    }

    fn emit(&mut self, at: &[At<'_>]) -> Result<(), IndexError> {
        if self.index.is_sparse() && at.iter().all(|at| at.value.is_none()) {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(16 * at.len() + 16);
        let (mut missing, mut natural) = (0u64, true);
        for (n, (part, at)) in self.index.parts().iter().zip(at).enumerate() {
            missing |= u64::from(at.value.is_none()) << n;
            let value = at.value.unwrap_or(&Value::Null);
            natural &= part.order == Order::Hashed || at.value.is_none_or(is_natural);
            put_part(value, part.order, &mut bytes);
        }
        if bytes.len() > MAX_KEY_BYTES {
            let name = self.index.name();
            let what = format!("a key of the index {name} has {} bytes; the limit is {MAX_KEY_BYTES}", bytes.len());
            return Err(IndexError::KeyTooLong(what));
        }
        if self.found.keys.len() >= MAX_KEYS {
            let name = self.index.name();
            return Err(IndexError::KeyTooLong(format!(
                "a document has more than {MAX_KEYS} keys in the index {name}"
            )));
        }
        let mut values = Vec::new();
        if missing != 0 || !natural {
            varint::put_u64(&mut values, missing);
        }
        if !natural {
            self.put_exact(at, &mut values);
        }
        self.found.keys.push(IndexKey { bytes, values });
        Ok(())
    }

    /// The values of the parts as an array.
    fn put_exact(&self, at: &[At<'_>], out: &mut Vec<u8>) {
        let parts = self.index.parts().iter().zip(at);
        let exact = parts.map(|(part, at)| match at.value {
            Some(value) if part.order != Order::Hashed => value.clone(),
            _ => Value::Null,
        });
        encoding::encode(&Value::Array(exact.collect()), out);
    }
}

/// The array that a part stands at, and has to go through.
fn standing_at<'a>(at: &At<'a>) -> Option<&'a [Value]> {
    if at.element { None } else { at.value?.as_array() }
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
