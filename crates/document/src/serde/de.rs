//! Deserialization: converts other formats to values, and values to types.

use super::foreign;
use super::key::KeyDeserializer;
use super::{SYSTEM_TIME, SerdeError, VALUE, extended, system_time};
use crate::decimal::Decimal;
use crate::encoding;
use crate::json::interpret;
use crate::value::{Binary, Double, MAX_DEPTH, Map, Value};
use serde::Deserialize;
use serde::de::value::{BytesDeserializer, MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, MapAccess, SeqAccess,
    VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use std::fmt;

/// Deserializes a type from a value.
///
/// Values of rare types are passed as canonical Extended JSON, which the types of the crate `bson` understand. Binary
/// data of subtype 0 is passed as bytes. [`Value`] itself is unchanged.
///
/// # Errors
/// [`SerdeError`] that the type returns.
pub fn from_value<T: DeserializeOwned>(value: Value) -> Result<T, SerdeError> {
    T::deserialize(value)
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(VALUE, ValueVisitor)
    }
}

/// Deserializes a map from any format. A map that represents another value is an error.
impl<'de> Deserialize<'de> for Map {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Map(map) => Ok(map),
            other => Err(D::Error::custom(format_args!("expected a map, found {}", other.type_name()))),
        }
    }
}

struct ValueVisitor;

macro_rules! visit {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E: Error>(self, value: $type) -> Result<Value, E> {
            Ok(Value::from(value))
        })*
    };
}

/// The integer in the smallest type that can represent it, because other formats do not distinguish the same widths.
fn natural(n: impl Into<Decimal>) -> Value {
    let decimal: Decimal = n.into();
    match decimal.to_i64() {
        Some(n) => i32::try_from(n).map_or(Value::Int64(n), Value::Int32),
        None => Value::Decimal(decimal),
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    visit!(visit_bool: bool, visit_i32: i32, visit_f32: f32, visit_f64: f64, visit_str: &str, visit_string: String);

    fn visit_i64<E: Error>(self, n: i64) -> Result<Value, E> {
        Ok(i32::try_from(n).map_or(Value::Int64(n), Value::Int32))
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<Value, E> {
        Ok(natural(n))
    }

    fn visit_i128<E: Error>(self, n: i128) -> Result<Value, E> {
        Ok(natural(n))
    }

    fn visit_u128<E: Error>(self, n: u128) -> Result<Value, E> {
        Ok(natural(n))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::Binary(Binary { subtype: 0, bytes: bytes.to_vec() }))
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Value::deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = access.next_element()? {
            elements.push(element);
        }
        checked(Value::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(entry) = access.next_entry::<Value, Value>()? {
            map.entries.push(entry);
        }
        // The form in which the crate bson serializes a decimal within a document.
        if let [(Value::String(name), Value::Binary(binary))] = &map.entries[..]
            && name == "$numberDecimalBytes"
            && let Ok(bytes) = <[u8; 16]>::try_from(&binary.bytes[..])
        {
            return Ok(Value::Decimal(Decimal::from_decimal128(bytes)));
        }
        checked(interpret(map).map_err(A::Error::custom)?)
    }

    /// The deserializer of this crate passes the encoded value, so that it is unchanged.
    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Value, A::Error> {
        let (Encoded(value), variant) = access.variant()?;
        variant.unit_variant()?;
        Ok(value)
    }
}

/// Checks that the value can be stored, because the format may allow other values.
fn checked<E: Error>(value: Value) -> Result<Value, E> {
    if value.is_too_deep() { Err(E::custom(format_args!("nested deeper than {MAX_DEPTH} levels"))) } else { Ok(value) }
}

struct Encoded(Value);

impl<'de> Deserialize<'de> for Encoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EncodedVisitor;
        impl Visitor<'_> for EncodedVisitor {
            type Value = Encoded;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value and no enum")
            }

            fn visit_bytes<E: Error>(self, mut bytes: &[u8]) -> Result<Encoded, E> {
                encoding::decode(&mut bytes).map(Encoded).map_err(E::custom)
            }
        }
        deserializer.deserialize_bytes(EncodedVisitor)
    }
}

/// Passes an encoded value to [`Encoded`].
struct Handover(Vec<u8>);

impl<'de> EnumAccess<'de> for Handover {
    type Error = SerdeError;
    type Variant = Nothing;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Nothing), SerdeError> {
        Ok((seed.deserialize(BytesDeserializer::new(&self.0))?, Nothing))
    }
}

struct Nothing;

impl<'de> VariantAccess<'de> for Nothing {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, SerdeError> {
        Err(SerdeError::custom("expected a variant without content"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, SerdeError> {
        Err(SerdeError::custom("expected a variant without content"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, SerdeError> {
        Err(SerdeError::custom("expected a variant without content"))
    }
}

impl<'de> IntoDeserializer<'de, SerdeError> for Value {
    type Deserializer = Value;

    fn into_deserializer(self) -> Value {
        self
    }
}

impl Value {
    /// The value of a whole decimal, for target types that are wider than 64 bits or unsigned.
    fn wide(&self) -> Option<i128> {
        match self {
            Value::Decimal(decimal) => match decimal.normalized_parts()? {
                (negative, digits, exponent @ 0..40) => {
                    let text = format!("{}{digits}{}", if negative { "-" } else { "" }, "0".repeat(exponent as usize));
                    text.parse().ok()
                }
                _ => None,
            },
            _ => None,
        }
    }
}

type Entries<'de> = std::iter::Map<std::vec::IntoIter<(Value, Value)>, fn((Value, Value)) -> (KeyDeserializer, Value)>;

fn map_deserializer<'de>(map: Map) -> MapDeserializer<'de, Entries<'de>, SerdeError> {
    MapDeserializer::new(map.entries.into_iter().map(|(key, value)| (KeyDeserializer(key), value)))
}

impl<'de> Deserializer<'de> for Value {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(flag),
            Value::Int32(n) => visitor.visit_i32(n),
            Value::Int64(n) => visitor.visit_i64(n),
            Value::Double(Double(x)) => visitor.visit_f64(x),
            Value::String(text) => visitor.visit_string(text.into()),
            Value::Array(elements) => SeqDeserializer::new(elements.into_iter()).deserialize_any(visitor),
            Value::Map(map) => map_deserializer(map).deserialize_any(visitor),
            Value::Binary(Binary { subtype: 0, bytes }) => visitor.visit_byte_buf(bytes),
            _ => match extended(&self) {
                Some((_, map)) => map_deserializer(map).deserialize_any(visitor),
                None => visitor.visit_unit(),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        if name == VALUE {
            let mut bytes = Vec::new();
            encoding::encode(&self, &mut bytes);
            return visitor.visit_enum(Handover(bytes));
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self {
            Value::DateTime(millis) if name == SYSTEM_TIME => {
                map_deserializer(system_time::to_fields(millis)?).deserialize_any(visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self {
            Value::String(text) => {
                let text: StringDeserializer<SerdeError> = text.into_string().into_deserializer();
                text.deserialize_enum(name, variants, visitor)
            }
            Value::Map(map) if map.len() == 1 => match map.entries.into_iter().next() {
                Some((variant, content)) => visitor.visit_enum(VariantOf { variant, content }),
                None => Err(SerdeError::custom("expected the name of a variant")),
            },
            _ => Err(SerdeError::custom("expected the name of a variant, or a map of one entry")),
        }
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match &self {
            Value::Decimal(decimal) => visitor.visit_f64(decimal.to_f64()),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.wide().map(u64::try_from) {
            Some(Ok(n)) => visitor.visit_u64(n),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.wide() {
            Some(n) => visitor.visit_i128(n),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.wide().map(u128::try_from) {
            Some(Ok(n)) => visitor.visit_u128(n),
            _ => self.deserialize_any(visitor),
        }
    }

    /// Types of other crates request text, although a date or a UUID is stored.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Value::DateTime(millis) => match foreign::date_text::<V>(millis) {
                Some(text) => visitor.visit_string(text),
                None => self.deserialize_any(visitor),
            },
            Value::Binary(binary) if foreign::takes_bytes::<V>(binary.subtype) => visitor.visit_byte_buf(binary.bytes),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self {
            Value::Binary(binary) => visitor.visit_byte_buf(binary.bytes),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_bytes(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 f32 char unit unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

/// A variant with content: a map with one entry.
struct VariantOf {
    variant: Value,
    content: Value,
}

struct Content(Value);

impl<'de> EnumAccess<'de> for VariantOf {
    type Error = SerdeError;
    type Variant = Content;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content), SerdeError> {
        Ok((seed.deserialize(self.variant)?, Content(self.content)))
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        <()>::deserialize(self.0)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, SerdeError> {
        seed.deserialize(self.0)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        self.0.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], visitor: V) -> Result<V::Value, SerdeError> {
        self.0.deserialize_any(visitor)
    }
}
