//! Converts types to documents, like [`super::to_value`]; but a string at the top level is parsed as JSON.

use super::SerdeError;
use super::ser::{ListBuilder, MapBuilder, ToValue};
use crate::json::JsonError;
use crate::value::{Map, Value};
use serde::ser::{Error, Serialize, Serializer};

/// The reason why an input is not a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The text is not JSON.
    #[error(transparent)]
    Json(JsonError),
    /// The input is not a map, contains a value that cannot be stored, or is damaged.
    #[error("{0}")]
    Invalid(String),
}

/// A document in the form in which the caller passed it.
#[derive(Debug, Clone, PartialEq)]
pub enum Given {
    /// The fields of the document.
    Fields(Map),
    /// JSON text, which may be malformed.
    Json(String),
    /// BSON, which may be damaged.
    Bson(Vec<u8>),
}

impl Given {
    /// The document's fields.
    ///
    /// # Errors
    /// [`InputError`].
    pub fn into_fields(self) -> Result<Map, InputError> {
        match self {
            Self::Fields(map) => Ok(map),
            Self::Json(text) => Self::parse(&text),
            Self::Bson(bytes) => {
                crate::bson::decode_document(&bytes).map_err(|error| InputError::Invalid(error.to_string()))
            }
        }
    }

    /// The fields of a document that is given as JSON text.
    ///
    /// # Errors
    /// [`InputError`].
    pub fn parse(text: &str) -> Result<Map, InputError> {
        to_map(&text)
    }
}

/// The fields of a document, given as a value of any type or as JSON text.
pub(crate) fn to_map<T: Serialize>(value: &T) -> Result<Map, InputError> {
    let mut refused = None;
    let made = value.serialize(Top { inner: serializer_of::<T>(), refused: &mut refused, text: None });
    map_of(made, refused)
}

/// A value, given as a value of any type or as JSON text. The elements of an array may also be given as JSON text.
pub(crate) fn to_any_value<T: Serialize>(value: &T) -> Result<Value, InputError> {
    let mut refused = None;
    let made = value.serialize(Top { inner: serializer_of::<T>(), refused: &mut refused, text: None });
    match made {
        Ok(Value::Array(elements)) => {
            let element = |element| match element {
                Value::String(text) => crate::json::parse(text.as_bytes()).map_err(InputError::Json),
                element => Ok(element),
            };
            Ok(Value::Array(elements.into_iter().map(element).collect::<Result<_, _>>()?))
        }
        Ok(other) => Ok(other),
        Err(error) => Err(refused.unwrap_or_else(|| InputError::Invalid(error.to_string()))),
    }
}

/// A document, given as a value of any type or as JSON text, which is not parsed.
pub(crate) fn to_given<T: Serialize>(value: &T) -> Result<Given, InputError> {
    let (mut refused, mut text) = (None, None);
    let made = value.serialize(Top { inner: serializer_of::<T>(), refused: &mut refused, text: Some(&mut text) });
    match text {
        Some(text) => Ok(Given::Json(text)),
        None => map_of(made, refused).map(Given::Fields),
    }
}

fn map_of(made: Result<Value, SerdeError>, refused: Option<InputError>) -> Result<Map, InputError> {
    match made {
        Ok(Value::Map(map)) => Ok(map),
        Ok(other) => Err(InputError::Invalid(format!("it is of type {}, not a map", other.type_name()))),
        Err(error) => Err(refused.unwrap_or_else(|| InputError::Invalid(error.to_string()))),
    }
}

/// `serde_json::Value` is interpreted like the same JSON text. Serde cannot distinguish it from other maps, and a trait
/// that is implemented for all types of serde cannot have another implementation for it. Therefore it is recognized by
/// the name of its type. If the name changes, it is treated like any other map.
fn serializer_of<T>() -> ToValue {
    match std::any::type_name::<T>().trim_start_matches('&') {
        "serde_json::value::Value" | "serde_json::map::Map<alloc::string::String, serde_json::value::Value>" => {
            ToValue::of_json()
        }
        _ => ToValue::new(),
    }
}

struct Top<'a> {
    inner: ToValue,
    /// Receives the reason why text is not a document.
    refused: &'a mut Option<InputError>,
    /// Receives text that is not to be parsed.
    text: Option<&'a mut Option<String>>,
}

macro_rules! forward {
    ($($method:ident($($name:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $method(self, $($name: $type),*) -> Result<$result, SerdeError> {
            self.inner.$method($($name),*)
        })*
    };
}

impl Serializer for Top<'_> {
    type Ok = Value;
    type Error = SerdeError;
    type SerializeSeq = ListBuilder;
    type SerializeTuple = ListBuilder;
    type SerializeTupleStruct = ListBuilder;
    type SerializeTupleVariant = ListBuilder;
    type SerializeMap = MapBuilder;
    type SerializeStruct = MapBuilder;
    type SerializeStructVariant = MapBuilder;

    fn serialize_str(self, text: &str) -> Result<Value, SerdeError> {
        if let Some(kept) = self.text {
            *kept = Some(text.to_owned());
            return Ok(Value::Null);
        }
        crate::json::parse(text.as_bytes()).map_err(|error| {
            let message = SerdeError::custom(&error);
            *self.refused = Some(InputError::Json(error));
            message
        })
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, SerdeError> {
        value.serialize(self)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, SerdeError> {
        match name {
            super::VALUE => ToValue::of_value().serialize_newtype_struct(name, value),
            _ => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, SerdeError> {
        self.inner.serialize_newtype_variant(name, index, variant, value)
    }

    forward! {
        serialize_bool(flag: bool) -> Value;
        serialize_i8(n: i8) -> Value;
        serialize_i16(n: i16) -> Value;
        serialize_i32(n: i32) -> Value;
        serialize_i64(n: i64) -> Value;
        serialize_i128(n: i128) -> Value;
        serialize_u8(n: u8) -> Value;
        serialize_u16(n: u16) -> Value;
        serialize_u32(n: u32) -> Value;
        serialize_u64(n: u64) -> Value;
        serialize_u128(n: u128) -> Value;
        serialize_f32(x: f32) -> Value;
        serialize_f64(x: f64) -> Value;
        serialize_char(c: char) -> Value;
        serialize_bytes(bytes: &[u8]) -> Value;
        serialize_none() -> Value;
        serialize_unit() -> Value;
        serialize_unit_struct(name: &'static str) -> Value;
        serialize_unit_variant(name: &'static str, index: u32, variant: &'static str) -> Value;
        serialize_seq(len: Option<usize>) -> ListBuilder;
        serialize_tuple(len: usize) -> ListBuilder;
        serialize_tuple_struct(name: &'static str, len: usize) -> ListBuilder;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> ListBuilder;
        serialize_map(len: Option<usize>) -> MapBuilder;
        serialize_struct(name: &'static str, len: usize) -> MapBuilder;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, len: usize) -> MapBuilder;
    }
}
