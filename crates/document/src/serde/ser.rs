//! Serialization: converts values to other formats, and types to values.

use super::foreign::{self, uuid};
use super::{SYSTEM_TIME, SerdeError, VALUE, extended};
use crate::decimal::Decimal;
use crate::json::interpret;
use crate::value::{Binary, Double, MAX_DEPTH, Map, Value};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::cell::Cell;

/// Serializes a type to a value.
///
/// Integers beyond signed 64 bits become decimals. Structs with the names of Extended JSON (the types of the crate
/// `bson`) become the values that they represent; maps never do. [`crate::serde`] has the complete table.
///
/// # Errors
/// [`SerdeError`] that the type returns; for keys of maps that are not strings, integers, booleans or characters; for
/// more than [`MAX_DEPTH`] levels.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, SerdeError> {
    ToValue::new().value(value)
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int32(n) => serializer.serialize_i32(*n),
            Value::Int64(n) => serializer.serialize_i64(*n),
            Value::String(text) => serializer.serialize_str(text),
            Value::Map(map) => map.serialize(serializer),
            _ => serializer.serialize_newtype_struct(VALUE, &Content::Value(self)),
        }
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(VALUE, &Content::Map(self))
    }
}

thread_local! {
    /// Passes a value from [`Content`] to [`ToValue`] unchanged, because serde cannot identify a type of this crate.
    static HANDOVER: Cell<Handover> = const { Cell::new(Handover::Idle) };
}

enum Handover {
    Idle,
    /// [`ToValue`] calls [`Content`] and expects the value here instead of its serialization.
    Requested,
    Given(Value),
}

/// The content of the newtype [`VALUE`].
enum Content<'a> {
    Value(&'a Value),
    Map(&'a Map),
}

impl Content<'_> {
    fn to_value(&self) -> Value {
        match self {
            Content::Value(value) => (*value).clone(),
            Content::Map(map) => Value::Map((*map).clone()),
        }
    }
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Handover::Requested = HANDOVER.replace(Handover::Idle) {
            HANDOVER.set(Handover::Given(self.to_value()));
            return serializer.serialize_unit();
        }
        let value = match self {
            Content::Map(map) => return serializer.collect_map(map.iter()),
            Content::Value(value) => *value,
        };
        match value {
            Value::Double(Double(x)) if x.is_finite() || !serializer.is_human_readable() => {
                serializer.serialize_f64(*x)
            }
            Value::Array(elements) => serializer.collect_seq(elements),
            #[cfg(feature = "bson")]
            Value::Decimal(decimal) if !serializer.is_human_readable() => match decimal.to_decimal128() {
                Ok(bytes) => ::bson::Decimal128::from_bytes(bytes).serialize(serializer),
                Err(error) => Err(S::Error::custom(error)),
            },
            value => match extended(value) {
                Some((name, map)) => serialize_extended(name, &map, serializer),
                None => value.serialize(serializer),
            },
        }
    }
}

/// Serialized as a struct, so that formats that know the name (such as the crate `bson`) recognize
/// the type.
fn serialize_extended<S: Serializer>(name: &'static str, map: &Map, serializer: S) -> Result<S::Ok, S::Error> {
    let scope = map.get("$scope");
    let name_with_scope = if scope.is_some() { "$codeWithScope" } else { name };
    let mut fields = serializer.serialize_struct(name_with_scope, map.len())?;
    fields.serialize_field(name, &map.get(name))?;
    if let Some(scope) = scope {
        fields.serialize_field("$scope", scope)?;
    }
    fields.end()
}

/// Builds a value; containers may nest `depth` more levels.
#[derive(Clone, Copy)]
pub(super) struct ToValue {
    depth: usize,
    /// True for values of `serde_json`: integers get the smallest type that can represent them, and
    /// maps are Extended JSON.
    json: bool,
}

impl ToValue {
    pub(super) fn new() -> Self {
        ToValue { depth: MAX_DEPTH, json: false }
    }

    /// A serializer for an existing value of any depth. The depth is checked when the value is used.
    pub(super) fn of_value() -> Self {
        ToValue { depth: usize::MAX, json: false }
    }

    pub(super) fn of_json() -> Self {
        ToValue { depth: MAX_DEPTH, json: true }
    }

    /// Serializes a part that has its own type.
    fn value<T: Serialize + ?Sized>(self, part: &T) -> Result<Value, SerdeError> {
        Ok(foreign::stored::<T>(part.serialize(self)?))
    }

    fn deeper(self) -> Result<ToValue, SerdeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(ToValue { depth, ..self }),
            None => Err(too_deep()),
        }
    }

    fn list(self, variant: Option<&'static str>, len: Option<usize>) -> Result<ListBuilder, SerdeError> {
        // A length is only a hint of the type, so memory is reserved for small lengths only.
        let elements = Vec::with_capacity(len.unwrap_or(0).min(1024));
        let outer = if variant.is_some() { self.deeper()? } else { self };
        Ok(ListBuilder { variant, elements, inner: outer.deeper()? })
    }

    fn map(self, variant: Option<&'static str>, len: usize) -> Result<MapBuilder, SerdeError> {
        let outer = if variant.is_some() { self.deeper()? } else { self };
        let map = Map::with_capacity(len.min(1024));
        Ok(MapBuilder { variant, map, key: None, is_system_time: false, inner: outer.deeper()? })
    }

    fn integer(self, n: i64) -> Value {
        match i32::try_from(n) {
            Ok(n) if self.json => Value::Int32(n),
            _ => Value::Int64(n),
        }
    }
}

pub(super) struct ListBuilder {
    variant: Option<&'static str>,
    elements: Vec<Value>,
    inner: ToValue,
}

pub(super) struct MapBuilder {
    variant: Option<&'static str>,
    map: Map,
    key: Option<Value>,
    /// True if the struct has the name of `std::time::SystemTime`.
    is_system_time: bool,
    inner: ToValue,
}

/// `bson::Uuid` is serialized as a newtype struct with this name.
const BSON_UUID: &str = "$__bson_private_uuid";

fn too_deep() -> SerdeError {
    SerdeError::custom(format_args!("nested deeper than {MAX_DEPTH} levels"))
}

/// Wraps the content of an enum's variant in a map with one entry.
fn under(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(name) => Value::Map(Map::from([(name, value)])),
        None => value,
    }
}

fn wide_integer(n: impl Into<Decimal>) -> Value {
    let decimal: Decimal = n.into();
    decimal.to_i64().map_or(Value::Decimal(decimal), Value::Int64)
}

macro_rules! scalars {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Result<Value, SerdeError> {
            Ok(Value::from(value))
        })*
    };
}

impl Serializer for ToValue {
    type Ok = Value;
    type Error = SerdeError;
    type SerializeSeq = ListBuilder;
    type SerializeTuple = ListBuilder;
    type SerializeTupleStruct = ListBuilder;
    type SerializeTupleVariant = ListBuilder;
    type SerializeMap = MapBuilder;
    type SerializeStruct = MapBuilder;
    type SerializeStructVariant = MapBuilder;

    scalars!(
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_u8: u8,
        serialize_u16: u16, serialize_u32: u32, serialize_f32: f32, serialize_f64: f64, serialize_str: &str
    );

    fn serialize_i64(self, n: i64) -> Result<Value, SerdeError> {
        Ok(self.integer(n))
    }

    fn serialize_u64(self, n: u64) -> Result<Value, SerdeError> {
        Ok(i64::try_from(n).map_or_else(|_| Value::from(n), |n| self.integer(n)))
    }

    fn serialize_i128(self, n: i128) -> Result<Value, SerdeError> {
        Ok(wide_integer(n))
    }

    fn serialize_u128(self, n: u128) -> Result<Value, SerdeError> {
        Ok(wide_integer(n))
    }

    fn serialize_char(self, c: char) -> Result<Value, SerdeError> {
        Ok(Value::from(c.encode_utf8(&mut [0; 4]) as &str))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, SerdeError> {
        Ok(Value::Binary(Binary { subtype: 0, bytes: bytes.to_vec() }))
    }

    fn serialize_none(self) -> Result<Value, SerdeError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, SerdeError> {
        self.value(value)
    }

    fn serialize_unit(self) -> Result<Value, SerdeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Value, SerdeError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, SerdeError> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Value, SerdeError> {
        match name {
            VALUE => {}
            BSON_UUID => return Ok(uuid(value.serialize(self)?)),
            _ => return self.value(value),
        }
        HANDOVER.set(Handover::Requested);
        // The type may not be the one of this module, because serde's own buffers repeat the name of a newtype.
        let serialized = value.serialize(self);
        match HANDOVER.replace(Handover::Idle) {
            Handover::Given(value) if value.is_deeper_than(self.depth) => Err(too_deep()),
            Handover::Given(value) => Ok(value),
            Handover::Requested | Handover::Idle => serialized,
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, SerdeError> {
        Ok(under(Some(variant), self.deeper()?.value(value)?))
    }

    fn serialize_seq(self, len: Option<usize>) -> Result<ListBuilder, SerdeError> {
        self.list(None, len)
    }

    fn serialize_tuple(self, len: usize) -> Result<ListBuilder, SerdeError> {
        self.list(None, Some(len))
    }

    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<ListBuilder, SerdeError> {
        self.list(None, Some(len))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<ListBuilder, SerdeError> {
        self.list(Some(variant), Some(len))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<MapBuilder, SerdeError> {
        self.map(None, len.unwrap_or(0))
    }

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<MapBuilder, SerdeError> {
        Ok(MapBuilder { is_system_time: name == SYSTEM_TIME, ..self.map(None, len)? })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        len: usize,
    ) -> Result<MapBuilder, SerdeError> {
        self.map(Some(variant), len)
    }
}

macro_rules! list {
    ($($trait:ident :: $method:ident),*) => {
        $(impl $trait for ListBuilder {
            type Ok = Value;
            type Error = SerdeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                self.elements.push(self.inner.value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, SerdeError> {
                Ok(under(self.variant, Value::Array(self.elements)))
            }
        })*
    };
}

list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// The key of a map as a string, because documents in JSON and BSON have no other keys.
fn text_key(key: Value) -> Result<Value, SerdeError> {
    match key {
        Value::String(_) => Ok(key),
        Value::Int32(n) => Ok(n.to_string().into()),
        Value::Int64(n) => Ok(n.to_string().into()),
        Value::Decimal(n) if n.parts().is_some_and(|(_, _, exponent)| exponent == 0) => Ok(n.to_string().into()),
        Value::Bool(flag) => Ok(flag.to_string().into()),
        other => Err(SerdeError::custom(format_args!(
            "the key of a map is of type {}: keys must be text, integers, booleans or characters",
            other.type_name()
        ))),
    }
}

impl SerializeMap for MapBuilder {
    type Ok = Value;
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.key = Some(text_key(key.serialize(ToValue::new())?)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let key = self.key.take().ok_or_else(|| SerdeError::custom("a value without a key"))?;
        self.map.entries.push((key, self.inner.value(value)?));
        Ok(())
    }

    fn end(self) -> Result<Value, SerdeError> {
        if self.inner.json { interpret(self.map).map_err(SerdeError::custom) } else { Ok(Value::Map(self.map)) }
    }
}

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl $trait for MapBuilder {
            type Ok = Value;
            type Error = SerdeError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), SerdeError> {
                self.map.push(name, self.inner.value(value)?);
                Ok(())
            }

            fn end(self) -> Result<Value, SerdeError> {
                if self.is_system_time && let Some(date) = super::system_time::from_fields(&self.map) {
                    return Ok(date);
                }
                // These names come from the type, not from data.
                Ok(under(self.variant, interpret(self.map).map_err(SerdeError::custom)?))
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
