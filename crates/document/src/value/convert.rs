//! Conversions to values.

use super::{Binary, Code, DbPointer, Double, Map, Regex, Text, Timestamp, Value};
use crate::decimal::Decimal;

macro_rules! from {
    ($($type:ty, $name:ident => $value:expr;)*) => {
        $(impl From<$type> for Value {
            fn from($name: $type) -> Self {
                $value
            }
        })*
    };
}

from! {
    (), _nothing => Value::Null;
    bool, flag => Value::Bool(flag);
    i8, n => Value::Int32(i32::from(n));
    i16, n => Value::Int32(i32::from(n));
    i32, n => Value::Int32(n);
    i64, n => Value::Int64(n);
    u8, n => Value::Int32(i32::from(n));
    u16, n => Value::Int32(i32::from(n));
    u32, n => Value::Int64(i64::from(n));
    f32, x => Value::Double(Double(f64::from(x)));
    f64, x => Value::Double(Double(x));
    Double, x => Value::Double(x);
    Decimal, decimal => Value::Decimal(decimal);
    &str, text => Value::String(Text::from(text));
    String, text => Value::String(Text::from(text));
    &String, text => Value::String(Text::from(text.as_str()));
    std::borrow::Cow<'_, str>, text => Value::String(Text::from(text));
    char, c => Value::String(Text::from(c.encode_utf8(&mut [0; 4]) as &str));
    &Value, value => value.clone();
    &Map, map => Value::Map(map.clone());
    Text, text => Value::String(text);
    Binary, binary => Value::Binary(binary);
    Vec<Value>, elements => Value::Array(elements);
    Map, map => Value::Map(map);
    [u8; 12], id => Value::ObjectId(id);
    Timestamp, timestamp => Value::Timestamp(timestamp);
    Regex, regex => Value::Regex(Box::new(regex));
    Code, code => Value::Code(Box::new(code));
    DbPointer, pointer => Value::DbPointer(Box::new(pointer));
}

/// A number that does not fit an integer type becomes a decimal.
impl From<u64> for Value {
    fn from(n: u64) -> Self {
        match i64::try_from(n) {
            Ok(n) => Value::Int64(n),
            Err(_) => Value::Decimal(Decimal::from(n)),
        }
    }
}

/// None becomes null.
impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(option: Option<T>) -> Self {
        option.map_or(Value::Null, Into::into)
    }
}

/// The pairs are added without a check for duplicates.
impl<K: Into<Value>, V: Into<Value>> FromIterator<(K, V)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Map { entries: pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect() }
    }
}

/// An array of the elements.
impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        Value::Array(elements.into_iter().map(Into::into).collect())
    }
}

impl<K: Into<Value>, V: Into<Value>, const N: usize> From<[(K, V); N]> for Map {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}
