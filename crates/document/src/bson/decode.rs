//! Decodes BSON from untrusted bytes.

use super::LEVELS_MAX;
use super::{Binary, BsonError, Code, DbPointer, Decimal, Double, Map, OLD_BINARY, Regex, Timestamp, Value};
use super::{find_zero, tag};

mod cost;

pub use cost::{RawField, each_field, tree_bytes};

/// Decodes one BSON document that fills `bytes`.
///
/// # Errors
/// [`BsonError`] with the offset of the error.
pub fn decode_document(bytes: &[u8]) -> Result<Map, BsonError> {
    let (map, taken) = take_document(bytes)?;
    if taken < bytes.len() {
        return Err(BsonError::Invalid { offset: taken, problem: "there is more behind the document" });
    }
    Ok(map)
}

/// As [`decode_document`], but replaces bytes that are not UTF-8 in names, strings and other text by U+FFFD.
///
/// # Errors
/// As [`decode_document`], except for text that is not UTF-8.
pub fn decode_document_lossy(bytes: &[u8]) -> Result<Map, BsonError> {
    let mut reader = Reader { is_lossy: true, ..Reader::new(bytes) };
    let map = reader.document(LEVELS_MAX)?;
    if reader.at < bytes.len() {
        return Err(BsonError::Invalid { offset: reader.at, problem: "there is more behind the document" });
    }
    Ok(map)
}

/// Decodes the BSON document at the start of `bytes`; also returns its length.
///
/// # Errors
/// [`BsonError`] with the offset of the error.
pub fn take_document(bytes: &[u8]) -> Result<(Map, usize), BsonError> {
    let mut reader = Reader::new(bytes);
    let map = reader.document(LEVELS_MAX)?;
    Ok((map, reader.at))
}

/// Decodes a value of the type `tag` that fills `bytes`; `levels` is the number of levels that it may nest.
///
/// # Errors
/// [`BsonError`], with offsets in `bytes`.
pub(crate) fn value_of(tag: u8, bytes: &[u8], levels: usize) -> Result<Value, BsonError> {
    let mut reader = Reader::new(bytes);
    let value = reader.value(tag, levels)?;
    match reader.at == bytes.len() {
        true => Ok(value),
        false => Err(reader.invalid("a value that ends before its length")),
    }
}

/// Invariant: `at <= end <= bytes.len()`. `end` is the end of the innermost document.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    /// True if text that is not UTF-8 is replaced instead of refused.
    is_lossy: bool,
}

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len(), is_lossy: false }
    }

    #[cold]
    fn invalid(&self, problem: &'static str) -> BsonError {
        BsonError::Invalid { offset: self.at, problem }
    }

    #[inline]
    fn take(&mut self, len: usize) -> Result<&'a [u8], BsonError> {
        let rest = &self.bytes[self.at..self.end];
        let bytes = rest.get(..len).ok_or(BsonError::Truncated)?;
        self.at += len;
        Ok(bytes)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], BsonError> {
        let bytes = self.bytes[self.at..self.end].first_chunk::<N>().ok_or(BsonError::Truncated)?;
        self.at += N;
        Ok(*bytes)
    }

    #[inline]
    fn len(&mut self) -> Result<usize, BsonError> {
        let len = i32::from_le_bytes(self.array()?);
        usize::try_from(len).map_err(|_| self.invalid("a negative length"))
    }

    #[inline]
    fn text<T: for<'t> From<&'t str>>(&mut self, bytes: &'a [u8]) -> Result<T, BsonError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Ok(text.into()),
            Err(_) if self.is_lossy => Ok(T::from(&String::from_utf8_lossy(bytes))),
            Err(_) => Err(self.invalid("a string that is not UTF-8")),
        }
    }

    #[inline]
    fn cstring(&mut self) -> Result<&'a [u8], BsonError> {
        let rest = &self.bytes[self.at..self.end];
        let len = find_zero(rest).ok_or(BsonError::Truncated)?;
        self.at += len + 1;
        Ok(&rest[..len])
    }

    #[inline]
    fn string<T: for<'t> From<&'t str>>(&mut self) -> Result<T, BsonError> {
        let len = self.len()?;
        match self.take(len)?.split_last() {
            Some((0, text)) => self.text(text),
            _ => Err(self.invalid("a string without a zero at its end")),
        }
    }

    /// Enters a document or array: checks its length, and limits the reader to it. Returns the
    /// previous end.
    fn enter(&mut self) -> Result<usize, BsonError> {
        let start = self.at;
        let len = self.len()?;
        if len < 5 {
            return Err(self.invalid("a document shorter than five bytes"));
        }
        if len > self.end - start {
            return Err(BsonError::Truncated);
        }
        Ok(std::mem::replace(&mut self.end, start + len))
    }

    /// The tag of the next element. At the end of the document, returns `None` and leaves the document.
    #[inline]
    fn next(&mut self, outer: usize) -> Result<Option<u8>, BsonError> {
        let [tag] = self.array()?;
        if tag != 0 {
            return Ok(Some(tag));
        }
        if self.at != self.end {
            return Err(self.invalid("a document that ends before its length"));
        }
        self.end = outer;
        Ok(None)
    }

    fn document(&mut self, depth: usize) -> Result<Map, BsonError> {
        let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
        let outer = self.enter()?;
        let mut map = Map::new();
        while let Some(tag) = self.next(outer)? {
            let name = self.cstring()?;
            let name = Value::String(self.text(name)?);
            map.entries.push((name, self.value(tag, depth)?));
        }
        Ok(map)
    }

    /// Decodes the elements of an array. Their names are ignored.
    fn elements(&mut self, depth: usize) -> Result<Vec<Value>, BsonError> {
        let depth = depth.checked_sub(1).ok_or(BsonError::TooDeep)?;
        let outer = self.enter()?;
        let mut elements = Vec::new();
        while let Some(tag) = self.next(outer)? {
            self.cstring()?;
            elements.push(self.value(tag, depth)?);
        }
        Ok(elements)
    }

    /// Inlined into the loops over the fields of a document and over the elements of an array.
    #[inline(always)]
    fn value(&mut self, tag: u8, depth: usize) -> Result<Value, BsonError> {
        Ok(match tag {
            tag::DOUBLE => Value::Double(Double(f64::from_le_bytes(self.array()?))),
            tag::STRING => Value::String(self.string()?),
            tag::DOCUMENT => Value::Map(self.document(depth)?),
            tag::ARRAY => Value::Array(self.elements(depth)?),
            tag::BINARY => self.binary()?,
            tag::UNDEFINED => Value::Undefined,
            tag::OBJECT_ID => Value::ObjectId(self.array()?),
            tag::BOOL => match self.array()? {
                [0] => Value::Bool(false),
                [1] => Value::Bool(true),
                _ => return Err(self.invalid("a boolean that is neither 0 nor 1")),
            },
            tag::DATE_TIME => Value::DateTime(i64::from_le_bytes(self.array()?)),
            tag::NULL => Value::Null,
            tag::INT32 => Value::Int32(i32::from_le_bytes(self.array()?)),
            tag::TIMESTAMP => {
                let increment = u32::from_le_bytes(self.array()?);
                Value::Timestamp(Timestamp { time: u32::from_le_bytes(self.array()?), increment })
            }
            tag::INT64 => Value::Int64(i64::from_le_bytes(self.array()?)),
            tag::DECIMAL => Value::Decimal(Decimal::from_decimal128(self.array()?)),
            tag::MIN_KEY => Value::MinKey,
            tag::MAX_KEY => Value::MaxKey,
            _ => self.rare(tag, depth)?,
        })
    }

    fn rare(&mut self, tag: u8, depth: usize) -> Result<Value, BsonError> {
        Ok(match tag {
            tag::REGEX => {
                let (pattern, options) = (self.cstring()?, self.cstring()?);
                let mut options: Vec<char> = self.text::<String>(options)?.chars().collect();
                options.sort_unstable();
                let options = options.into_iter().collect();
                Value::Regex(Box::new(Regex { pattern: self.text(pattern)?, options }))
            }
            tag::DB_POINTER => {
                let namespace = self.string()?;
                Value::DbPointer(Box::new(DbPointer { namespace, id: self.array()? }))
            }
            tag::CODE => Value::Code(Box::new(Code { code: self.string()?, scope: None })),
            tag::SYMBOL => Value::Symbol(self.string()?),
            tag::CODE_WITH_SCOPE => {
                let start = self.at;
                let len = self.len()?;
                let code = self.string()?;
                let scope = Some(self.document(depth)?);
                if self.at - start != len {
                    return Err(self.invalid("code with a scope of another length than it says"));
                }
                Value::Code(Box::new(Code { code, scope }))
            }
            _ => return Err(self.invalid("an unknown type")),
        })
    }

    fn binary(&mut self) -> Result<Value, BsonError> {
        let len = self.len()?;
        let [subtype] = self.array()?;
        let mut bytes = self.take(len)?;
        if subtype == OLD_BINARY {
            bytes = match bytes.split_first_chunk::<4>() {
                Some((inner, rest)) if u32::from_le_bytes(*inner) as usize == rest.len() => rest,
                _ => return Err(self.invalid("old binary data with a wrong inner length")),
            };
        }
        Ok(Value::Binary(Binary { subtype, bytes: bytes.to_vec() }))
    }
}
