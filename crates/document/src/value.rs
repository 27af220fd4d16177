//! The value model.

use crate::decimal::Decimal;

mod convert;
mod memory;
pub(crate) use memory::block;

/// The text of a value: a string that needs no allocation if it is at most 24 bytes long. It
/// dereferences to `str`; `into_string` and `String::from` make a `String`.
pub use compact_str::CompactString as Text;

/// The maximum nesting of arrays and maps: `[]` has 1 level, `[[]]` has 2. It is MongoDB's limit for stored documents;
/// the document itself counts as a level.
///
/// Parsers refuse deeper values, and decoders those deeper than [`LEVELS_MAX`]. Code that builds values itself calls
/// [`Value::is_too_deep`] before it stores a value.
pub const MAX_DEPTH: usize = alluvium_codec::key::MAX_DEPTH;

/// The maximum nesting of BSON and of the results of queries, which is MongoDB's limit. It is higher than [`MAX_DEPTH`],
/// because messages, change events and results contain documents below a few levels of their own.
pub const LEVELS_MAX: usize = MAX_DEPTH + 20;

/// Any value that a document can contain.
///
/// `PartialEq` is identity: the same type and the same content (1 is not 1.0). [`crate::compare`]
/// is the sort order, in which 1 and 1.0 are equal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Value {
    /// Null.
    #[default]
    Null,
    /// True or false.
    Bool(bool),
    /// An integer of 32 bits.
    Int32(i32),
    /// An integer of 64 bits; a different type from [`Value::Int32`], although both compare by
    /// value.
    Int64(i64),
    /// A double. NaN equals NaN here.
    Double(Double),
    /// A decimal of arbitrary precision; its scale is kept.
    Decimal(Decimal),
    /// A string.
    String(Text),
    /// Bytes with BSON's subtype.
    Binary(Binary),
    /// A sequence of values.
    Array(Vec<Value>),
    /// Keys (usually strings) and values, in order.
    Map(Map),
    /// BSON's object id.
    ObjectId([u8; 12]),
    /// Milliseconds since 1970 in UTC.
    DateTime(i64),
    /// BSON's internal timestamp.
    Timestamp(Timestamp),
    /// A regular expression.
    Regex(Box<Regex>),
    /// Less than all other values.
    MinKey,
    /// Greater than all other values.
    MaxKey,
    /// BSON's undefined (deprecated there).
    Undefined,
    /// JavaScript code, optionally with a scope.
    Code(Box<Code>),
    /// BSON's symbol (deprecated there).
    Symbol(Text),
    /// BSON's pointer into another collection (deprecated there).
    DbPointer(Box<DbPointer>),
}

/// A double that is compared by its bits: NaN equals itself, and -0.0 does not equal 0.0.
#[derive(Debug, Clone, Copy)]
pub struct Double(pub f64);

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits() || (self.0.is_nan() && other.0.is_nan())
    }
}

impl Eq for Double {}

/// A map: entries in the order in which they were added.
///
/// Keys are strings in every document from JSON or BSON; inside the library they may be any value.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Map {
    /// The entries. A key occurs twice only in a map from BSON; look-ups return the first.
    pub entries: Vec<(Value, Value)>,
}

/// Bytes with a subtype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// BSON's subtype; 0 is generic.
    pub subtype: u8,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Binary {
    /// The subtype of UUIDs.
    pub const UUID: u8 = 4;

    /// A UUID of version 8, made of the first 16 bytes of any content.
    ///
    /// ```
    /// use alluvium_document::Binary;
    ///
    /// let uuid = Binary::uuid(b"a name");
    /// assert_eq!((uuid.subtype, uuid.bytes.len(), uuid.bytes[6]), (Binary::UUID, 16, 0x80));
    /// ```
    pub fn uuid(content: &[u8]) -> Self {
        let mut bytes: Vec<u8> = content.iter().copied().chain(std::iter::repeat(0)).take(16).collect();
        // The version, whose content is free, and the variant of RFC 9562.
        if let Some(version) = bytes.get_mut(6) {
            *version = *version & 0x0f | 0x80;
        }
        if let Some(variant) = bytes.get_mut(8) {
            *variant = *variant & 0x3f | 0x80;
        }
        Self { subtype: Self::UUID, bytes }
    }
}

/// BSON's internal timestamp. Ordered by time, then increment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub time: u32,
    /// A counter within the second.
    pub increment: u32,
}

/// A stored regular expression; it is not compiled here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regex {
    /// The pattern.
    pub pattern: String,
    /// The options, sorted.
    pub options: String,
}

/// Stored JavaScript code; it is never run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The source text.
    pub code: String,
    /// The variables in its scope. Code without a scope has a different type from code with an empty scope.
    pub scope: Option<Map>,
}

/// A pointer into another collection, as in old BSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DbPointer {
    /// The full name of the collection.
    pub namespace: String,
    /// The `_id` of the document there.
    pub id: [u8; 12],
}

impl Value {
    /// The value as text, if it is a [`Value::String`].
    #[inline]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value as a map, if it is one.
    #[inline]
    pub fn as_map(&self) -> Option<&Map> {
        match self {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The elements, if the value is an array.
    #[inline]
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The value as a boolean, if it is one.
    #[inline]
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The value as a 64-bit integer: an integer of either width, or a double or decimal that equals such an integer.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Value::Int32(n) => Some(i64::from(*n)),
            Value::Int64(n) => Some(*n),
            Value::Double(Double(x)) => {
                let n = *x as i64;
                // 2^63 saturates to 2^63 - 1, which is 2^63 again when it is converted to a double.
                (n as f64 == *x && n != i64::MAX).then_some(n)
            }
            Value::Decimal(decimal) => decimal.to_i64(),
            _ => None,
        }
    }

    /// The value as a double, rounded to the nearest, if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Value::Int32(n) => Some(f64::from(*n)),
            Value::Int64(n) => Some(*n as f64),
            Value::Double(Double(x)) => Some(*x),
            Value::Decimal(decimal) => Some(decimal.to_f64()),
            _ => None,
        }
    }

    /// True if the value is a number of any type.
    #[inline]
    pub fn is_number(&self) -> bool {
        matches!(self, Value::Int32(_) | Value::Int64(_) | Value::Double(_) | Value::Decimal(_))
    }

    /// True if the value nests deeper than [`MAX_DEPTH`] and must not be stored.
    pub fn is_too_deep(&self) -> bool {
        exceeds(self, MAX_DEPTH)
    }

    /// True if the value nests deeper than `levels`: `[[]]` nests deeper than 1.
    pub fn is_deeper_than(&self, levels: usize) -> bool {
        exceeds(self, levels)
    }

    /// The name of the type, as in MongoDB's `$type`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int32(_) => "int",
            Value::Int64(_) => "long",
            Value::Double(_) => "double",
            Value::Decimal(_) => "decimal",
            Value::String(_) => "string",
            Value::Binary(_) => "binData",
            Value::Array(_) => "array",
            Value::Map(_) => "object",
            Value::ObjectId(_) => "objectId",
            Value::DateTime(_) => "date",
            Value::Timestamp(_) => "timestamp",
            Value::Regex(_) => "regex",
            Value::MinKey => "minKey",
            Value::MaxKey => "maxKey",
            Value::Undefined => "undefined",
            Value::Code(code) if code.scope.is_some() => "javascriptWithScope",
            Value::Code(_) => "javascript",
            Value::Symbol(_) => "symbol",
            Value::DbPointer(_) => "dbPointer",
        }
    }
}

/// True if `value` nests deeper than `levels`. The recursion is bounded by `levels`.
fn exceeds(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(elements) => levels == 0 || elements.iter().any(|e| exceeds(e, levels - 1)),
        Value::Map(map) => levels == 0 || map_exceeds(map, levels - 1),
        Value::Code(code) => match &code.scope {
            Some(scope) => levels == 0 || map_exceeds(scope, levels - 1),
            None => false,
        },
        _ => false,
    }
}

fn map_exceeds(map: &Map, levels: usize) -> bool {
    map.entries.iter().any(|(k, v)| exceeds(k, levels) || exceeds(v, levels))
}

impl Map {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty map with room for `capacity` entries.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { entries: Vec::with_capacity(capacity) }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The value of the first entry whose key is the string `name`.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.entries.iter().find(|(k, _)| k.as_str() == Some(name)).map(|(_, v)| v)
    }

    /// As [`Map::get`], for changing the value in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.entries.iter_mut().find(|(k, _)| k.as_str() == Some(name)).map(|(_, v)| v)
    }

    /// The value of the first entry whose key is identical to `key`.
    pub fn get_key(&self, key: &Value) -> Option<&Value> {
        self.entries.iter().find(|(k, _)| k == key).map(|(_, v)| v)
    }

    /// True if a key is the string `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Sets the value of `key` in its first entry; appends an entry if there is none. Returns the
    /// previous value.
    pub fn insert(&mut self, key: impl Into<Value>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().find(|(k, _)| *k == key) {
            Some((_, old)) => Some(std::mem::replace(old, value)),
            None => {
                self.entries.push((key, value));
                None
            }
        }
    }

    /// Appends an entry without checking for an existing key.
    pub fn push(&mut self, key: impl Into<Value>, value: impl Into<Value>) {
        self.entries.push((key.into(), value.into()));
    }

    /// Removes the first entry whose key is the string `name`; the remaining entries keep their
    /// order.
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(k, _)| k.as_str() == Some(name))?;
        Some(self.entries.remove(at).1)
    }

    /// The entries in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(k, v)| (k, v))
    }
}

#[cfg(test)]
mod tests;
