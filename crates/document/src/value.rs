//! The value model.

use crate::decimal::Decimal;

/// Any value that a document can hold.
///
/// `PartialEq` is identity: the same type and the same content (1 is not 1.0). The order in
/// which values sort, where 1 and 1.0 are equal, is [`crate::compare`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// An integer of 32 bits.
    Int32(i32),
    /// An integer of 64 bits; not the same type as [`Value::Int32`], though they compare by value.
    Int64(i64),
    /// A double. NaN equals NaN here.
    Double(Double),
    /// A decimal of arbitrary precision; its scale is kept.
    Decimal(Decimal),
    /// Text.
    String(String),
    /// Bytes with BSON's subtype.
    Binary(Binary),
    /// A sequence of values.
    Array(Vec<Value>),
    /// Names (or any values) and values, in order.
    Map(Map),
    /// BSON's object id.
    ObjectId([u8; 12]),
    /// Milliseconds since 1970 in UTC.
    DateTime(i64),
    /// BSON's internal timestamp.
    Timestamp(Timestamp),
    /// A regular expression.
    Regex(Regex),
    /// Below everything.
    MinKey,
    /// Above everything.
    MaxKey,
    /// BSON's undefined (deprecated there).
    Undefined,
    /// JavaScript code, with a scope or without.
    Code(String, Option<Map>),
    /// BSON's symbol (deprecated there).
    Symbol(String),
    /// BSON's pointer into another collection (deprecated there).
    DbPointer(String, [u8; 12]),
}

/// A double whose equality is identity of bits, so that NaN equals itself and -0.0 is not 0.0.
#[derive(Debug, Clone, Copy)]
pub struct Double(pub f64);

impl PartialEq for Double {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits() || (self.0.is_nan() && other.0.is_nan())
    }
}

/// A map: entries in the order in which they were written.
///
/// Keys are strings in every document that came from JSON or BSON; inside the library they may be any value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Map {
    /// The entries. A key may stand twice only in a map that came from BSON; look-up takes the first.
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

/// BSON's internal timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    /// Seconds since 1970.
    pub time: u32,
    /// A counter within the second.
    pub increment: u32,
}

/// A regular expression as stored; it is not compiled here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regex {
    /// The pattern.
    pub pattern: String,
    /// The options, sorted.
    pub options: String,
}
