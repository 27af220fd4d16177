//! Deserialization of rows, without building values first.
//!
//! Text and bytes are borrowed from the row, and fields that the type does not have are skipped. Values of rare types
//! are decoded, and deserialized as by [`super::from_value`].

use super::key::KeyDeserializer;
use super::{SerdeError, VALUE};
use crate::encoding;
use crate::row::{ArrayRef, Form, MapRef, NESTED_ID, RowError, TRAILING, ValueRef};
use crate::shape::FieldKind;
use crate::value::{MAX_DEPTH, Value};
use alluvium_codec::DecodeError;
use alluvium_codec::key::TOO_DEEP;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use std::cell::RefCell;
use std::fmt;

/// Deserializes a type from a document. Fields that the type does not read are not checked.
///
/// # Errors
/// [`RowError`] if a part that is read is damaged; the inner result has the error of the type.
pub(crate) fn from_row<T: DeserializeOwned>(map: MapRef<'_>) -> Result<Result<T, SerdeError>, RowError> {
    let damage = Damage::default();
    let document = RowValue { value: ValueRef::Map(map), levels: MAX_DEPTH, damage: &damage };
    let result = T::deserialize(document);
    // A type may ignore the error of a field, but damage is never ignored.
    match damage.0.into_inner() {
        Some(error) => Err(error),
        None => Ok(result),
    }
}

/// The first damage that was found. It is stored here because errors of serde cannot contain it.
#[derive(Default)]
struct Damage(RefCell<Option<RowError>>);

impl Damage {
    fn note<T>(&self, result: Result<T, RowError>) -> Result<T, SerdeError> {
        result.map_err(|error| {
            let text = error.to_string();
            self.0.borrow_mut().get_or_insert(error);
            SerdeError(text)
        })
    }
}

/// A value of a row.
struct RowValue<'de, 'd> {
    value: ValueRef<'de>,
    /// The number of levels that it may nest.
    levels: usize,
    damage: &'d Damage,
}

impl<'de> RowValue<'de, '_> {
    fn decode(&self) -> Result<Value, SerdeError> {
        self.damage.note(self.value.to_value())
    }

    /// The number of levels that its elements may nest.
    fn deeper(&self) -> Result<usize, SerdeError> {
        let levels = self.levels.checked_sub(1).ok_or(DecodeError::Invalid(TOO_DEEP));
        self.damage.note(levels.map_err(RowError::Damaged))
    }

    fn array<V: Visitor<'de>>(self, array: ArrayRef<'de>, visitor: V) -> Result<V::Value, SerdeError> {
        let mut elements = Elements { array, taken: 0, levels: self.deeper()?, damage: self.damage };
        let value = visitor.visit_seq(&mut elements)?;
        match elements.array.len() {
            0 => Ok(value),
            rest => Err(Error::invalid_length(elements.taken + rest, &Fewer(elements.taken, "elements in sequence"))),
        }
    }

    fn map<V: Visitor<'de>>(self, map: MapRef<'de>, visitor: V) -> Result<V::Value, SerdeError> {
        let mut fields = Fields { map, position: 0, next: Next::Key, levels: self.deeper()?, damage: self.damage };
        let value = visitor.visit_map(&mut fields)?;
        if fields.position == map.len() {
            return Ok(value);
        }
        Err(Error::invalid_length(map.len(), &Fewer(fields.position, "elements in map")))
    }
}

/// The elements of an array.
struct Elements<'de, 'd> {
    /// The remaining elements.
    array: ArrayRef<'de>,
    taken: usize,
    levels: usize,
    damage: &'d Damage,
}

impl<'de> SeqAccess<'de> for Elements<'de, '_> {
    type Error = SerdeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SerdeError> {
        let Some(element) = self.damage.note(self.array.take_first())? else { return Ok(None) };
        self.taken += 1;
        seed.deserialize(RowValue { value: element, levels: self.levels, damage: self.damage }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.array.len())
    }
}

/// The fields of a map.
struct Fields<'de, 'd> {
    /// The map, with the remaining bytes.
    map: MapRef<'de>,
    position: usize,
    next: Next<'de>,
    levels: usize,
    damage: &'d Damage,
}

/// The part that is read next.
enum Next<'de> {
    /// A name, or the end.
    Key,
    /// The value at the beginning of the remaining bytes.
    Value,
    /// The value of the document's `_id`, encoded in these bytes.
    Id(&'de [u8]),
}

impl<'de, 'd> Fields<'de, 'd> {
    /// The value of the field whose name was read.
    fn take(&mut self) -> Result<RowValue<'de, 'd>, SerdeError> {
        let value = match std::mem::replace(&mut self.next, Next::Key) {
            Next::Id(mut id) => ValueRef::take(&mut id, self.map.table),
            _ => ValueRef::take(&mut self.map.bytes, self.map.table),
        };
        Ok(RowValue { value: self.damage.note(value)?, levels: self.levels, damage: self.damage })
    }

    /// Skips the value of the field whose name was read.
    fn skip(&mut self) -> Result<(), SerdeError> {
        match std::mem::replace(&mut self.next, Next::Key) {
            Next::Id(_) => Ok(()),
            _ => self.damage.note(encoding::skip(&mut self.map.bytes).map_err(RowError::from)),
        }
    }
}

impl<'de> MapAccess<'de> for Fields<'de, '_> {
    type Error = SerdeError;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, SerdeError> {
        if self.position >= self.map.len() {
            let end = if self.map.bytes.is_empty() { Ok(None) } else { Err(TRAILING.into()) };
            return self.damage.note(end);
        }
        let position = self.position;
        self.position += 1;
        self.next = Next::Value;
        if let Form::Shaped { shape, id } = self.map.form {
            let field = &shape.fields()[position];
            if field.kind == FieldKind::IsId {
                self.next = Next::Id(self.damage.note(id.ok_or(NESTED_ID.into()))?);
            }
            return seed.deserialize(Name(&field.name)).map(Some);
        }
        match self.damage.note(ValueRef::take(&mut self.map.bytes, self.map.table))? {
            ValueRef::String(name) => seed.deserialize(Name(name)).map(Some),
            other => seed.deserialize(KeyDeserializer(self.damage.note(other.to_value())?)).map(Some),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, SerdeError> {
        match self.next {
            Next::Key => Err(SerdeError::custom("a value is asked for before its name")),
            _ => seed.deserialize(FieldValue(self)),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.map.len().saturating_sub(self.position))
    }
}

/// The value of a field. It is read only if the type has the field.
struct FieldValue<'de, 'd, 'f>(&'f mut Fields<'de, 'd>);

/// Reads the value.
macro_rules! taken {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(
            #[inline]
            fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, SerdeError> {
                self.0.take()?.$method($($name,)* visitor)
            }
        )*
    };
}

impl<'de> Deserializer<'de> for FieldValue<'de, '_, '_> {
    type Error = SerdeError;

    #[inline]
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.0.skip()?;
        visitor.visit_unit()
    }

    taken! {
        deserialize_any();
        deserialize_bool();
        deserialize_i8();
        deserialize_i16();
        deserialize_i32();
        deserialize_i64();
        deserialize_i128();
        deserialize_u8();
        deserialize_u16();
        deserialize_u32();
        deserialize_u64();
        deserialize_u128();
        deserialize_f32();
        deserialize_f64();
        deserialize_char();
        deserialize_str();
        deserialize_string();
        deserialize_bytes();
        deserialize_byte_buf();
        deserialize_option();
        deserialize_unit();
        deserialize_unit_struct(name: &'static str);
        deserialize_newtype_struct(name: &'static str);
        deserialize_seq();
        deserialize_tuple(len: usize);
        deserialize_tuple_struct(name: &'static str, len: usize);
        deserialize_map();
        deserialize_struct(name: &'static str, fields: &'static [&'static str]);
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        deserialize_identifier();
    }
}

/// Deserializes through the value.
macro_rules! decoded {
    ($($method:ident($($name:ident: $type:ty),*);)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, SerdeError> {
            self.decode()?.$method($($name,)* visitor)
        })*
    };
}

/// Deserializes through [`Value`] if the value has a rare type, otherwise as `deserialize_any`.
macro_rules! rarely_decoded {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
            match self.value {
                ValueRef::Other(value) => value.$method(visitor),
                _ => self.deserialize_any(visitor),
            }
        })*
    };
}

impl<'de> Deserializer<'de> for RowValue<'de, '_> {
    type Error = SerdeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.value {
            ValueRef::Null => visitor.visit_unit(),
            ValueRef::Bool(flag) => visitor.visit_bool(flag),
            ValueRef::Int32(n) => visitor.visit_i32(n),
            ValueRef::Int64(n) => visitor.visit_i64(n),
            ValueRef::Double(x) => visitor.visit_f64(x),
            ValueRef::String(text) => visitor.visit_borrowed_str(text),
            ValueRef::Binary(0, bytes) => visitor.visit_borrowed_bytes(bytes),
            ValueRef::Array(array) => self.array(array, visitor),
            ValueRef::Map(map) => self.map(map, visitor),
            ValueRef::Other(value) => value.deserialize_any(visitor),
            _ => self.decode()?.deserialize_any(visitor),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_unit()
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.value {
            ValueRef::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match name {
            VALUE => self.decode()?.deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match self.value {
            ValueRef::Map(map) => self.map(map, visitor),
            _ => self.decode()?.deserialize_struct(name, fields, visitor),
        }
    }

    #[inline]
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.value {
            ValueRef::String(text) => visitor.visit_borrowed_str(text),
            ValueRef::DateTime(_) | ValueRef::Binary(..) => self.decode()?.deserialize_str(visitor),
            _ => self.deserialize_any(visitor),
        }
    }

    #[inline]
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.value {
            ValueRef::Binary(_, bytes) => visitor.visit_borrowed_bytes(bytes),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_bytes(visitor)
    }

    decoded! {
        deserialize_enum(name: &'static str, variants: &'static [&'static str]);
    }

    rarely_decoded! { deserialize_f64 deserialize_u64 deserialize_i128 deserialize_u128 }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 f32 char unit unit_struct seq tuple tuple_struct map identifier
    }
}

/// The name of a field.
struct Name<'de>(&'de str);

/// Deserializes names as other types, as [`KeyDeserializer`] does.
macro_rules! interpreted {
    ($($method:ident)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
            KeyDeserializer(self.0.into()).$method(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Name<'de> {
    type Error = SerdeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_borrowed_str(self.0)
    }

    interpreted! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match name {
            VALUE => KeyDeserializer(self.0.into()).deserialize_newtype_struct(name, visitor),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        KeyDeserializer(self.0.into()).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// The expected length, for a type that reads fewer items than exist.
struct Fewer(usize, &'static str);

impl Expected for Fewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            1 => write!(f, "1 {}", self.1.replace("elements", "element")),
            n => write!(f, "{n} {}", self.1),
        }
    }
}

#[cfg(test)]
mod tests;
