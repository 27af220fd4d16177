//! Serializing: values into formats, types into values.

use super::{SerdeError, extended};
use crate::decimal::Decimal;
use crate::json::interpret;
use crate::value::{Binary, Double, MAX_DEPTH, Map, Value};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// The value of anything that serde can serialize.
///
/// Unsigned integers beyond 63 bits and 128-bit integers become decimals where they must. Structs named as in Extended
/// JSON (those of the `bson` crate) become the values that they represent; maps never do.
///
/// # Errors
/// [`SerdeError`] from the type, and for more than [`MAX_DEPTH`] levels.
pub fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value, SerdeError> {
    value.serialize(ToValue { depth: MAX_DEPTH })
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(flag) => serializer.serialize_bool(*flag),
            Value::Int32(n) => serializer.serialize_i32(*n),
            Value::Int64(n) => serializer.serialize_i64(*n),
            Value::Double(Double(x)) if x.is_finite() || !serializer.is_human_readable() => {
                serializer.serialize_f64(*x)
            }
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(elements) => serializer.collect_seq(elements),
            Value::Map(map) => map.serialize(serializer),
            Value::Decimal(decimal) if !serializer.is_human_readable() => match decimal.to_decimal128() {
                Ok(bytes) => ::bson::Decimal128::from_bytes(bytes).serialize(serializer),
                Err(error) => Err(S::Error::custom(error)),
            },
            _ => match extended(self) {
                Some((name, map)) => serialize_extended(name, &map, serializer),
                None => serializer.serialize_unit(),
            },
        }
    }
}

/// As a struct, so that formats that know the name (as the `bson` crate does) take it for what it is.
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

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Builds a value; containers may nest `depth` levels more.
#[derive(Clone, Copy)]
struct ToValue {
    depth: usize,
}

impl ToValue {
    fn deeper(self) -> Result<ToValue, SerdeError> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(ToValue { depth }),
            None => Err(SerdeError::custom(format_args!("nested deeper than {MAX_DEPTH} levels"))),
        }
    }

    fn list(self, variant: Option<&'static str>, len: Option<usize>) -> Result<ListBuilder, SerdeError> {
        // Lengths are hints from the type: no more than this is believed.
        let elements = Vec::with_capacity(len.unwrap_or(0).min(1024));
        let outer = if variant.is_some() { self.deeper()? } else { self };
        Ok(ListBuilder { variant, elements, inner: outer.deeper()? })
    }

    fn map(self, variant: Option<&'static str>) -> Result<MapBuilder, SerdeError> {
        let outer = if variant.is_some() { self.deeper()? } else { self };
        Ok(MapBuilder { variant, map: Map::new(), key: None, inner: outer.deeper()? })
    }
}

struct ListBuilder {
    variant: Option<&'static str>,
    elements: Vec<Value>,
    inner: ToValue,
}

struct MapBuilder {
    variant: Option<&'static str>,
    map: Map,
    key: Option<Value>,
    inner: ToValue,
}

/// What is under the name of an enum's variant is in a map of one entry.
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
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_str: &str
    );

    fn serialize_i128(self, n: i128) -> Result<Value, SerdeError> {
        Ok(wide_integer(n))
    }

    fn serialize_u128(self, n: u128) -> Result<Value, SerdeError> {
        Ok(wide_integer(n))
    }

    fn serialize_char(self, c: char) -> Result<Value, SerdeError> {
        Ok(Value::String(c.to_string()))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, SerdeError> {
        Ok(Value::Binary(Binary { subtype: 0, bytes: bytes.to_vec() }))
    }

    fn serialize_none(self) -> Result<Value, SerdeError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Value, SerdeError> {
        value.serialize(self)
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

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Value, SerdeError> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Value, SerdeError> {
        Ok(under(Some(variant), value.serialize(self.deeper()?)?))
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

    fn serialize_map(self, _: Option<usize>) -> Result<MapBuilder, SerdeError> {
        self.map(None)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<MapBuilder, SerdeError> {
        self.map(None)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<MapBuilder, SerdeError> {
        self.map(Some(variant))
    }
}

macro_rules! list {
    ($($trait:ident :: $method:ident),*) => {
        $(impl $trait for ListBuilder {
            type Ok = Value;
            type Error = SerdeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                self.elements.push(value.serialize(self.inner)?);
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

impl SerializeMap for MapBuilder {
    type Ok = Value;
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.key = Some(key.serialize(self.inner)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let key = self.key.take().ok_or_else(|| SerdeError::custom("a value without a key"))?;
        self.map.entries.push((key, value.serialize(self.inner)?));
        Ok(())
    }

    fn end(self) -> Result<Value, SerdeError> {
        Ok(Value::Map(self.map))
    }
}

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl $trait for MapBuilder {
            type Ok = Value;
            type Error = SerdeError;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), SerdeError> {
                self.map.push(name, value.serialize(self.inner)?);
                Ok(())
            }

            fn end(self) -> Result<Value, SerdeError> {
                // The names come from the type and not from data.
                Ok(under(self.variant, interpret(self.map).map_err(SerdeError::custom)?))
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
