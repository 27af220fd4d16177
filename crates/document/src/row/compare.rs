//! Comparison of values inside rows, which decodes only the necessary parts.

use std::cmp::Ordering;

use super::{ArrayRef, MapRef, RowError, ValueRef};
use crate::compare::{compare, rank, type_rank};
use crate::value::{Binary, Double, Map, Value};

impl ValueRef<'_> {
    /// As [`type_rank`].
    #[inline]
    pub fn type_rank(&self) -> u8 {
        match self {
            Self::Null => rank::NULL,
            Self::Bool(_) => rank::BOOL,
            Self::Int32(_) | Self::Int64(_) | Self::Double(_) => rank::NUMBER,
            Self::String(_) => rank::STRING,
            Self::ObjectId(_) => rank::OBJECT_ID,
            Self::DateTime(_) => rank::DATE_TIME,
            Self::Binary(..) => rank::BINARY,
            Self::Array(_) => rank::ARRAY,
            Self::Map(_) => rank::MAP,
            Self::Other(value) => type_rank(value),
        }
    }

    /// Compares with a value like [`compare`], without allocating. Arrays and maps are decoded only
    /// up to the first difference.
    ///
    /// # Errors
    /// [`RowError`] if the decoded part is damaged.
    #[inline]
    pub fn compare(&self, other: &Value) -> Result<Ordering, RowError> {
        let scalar = match self {
            Self::String(text) => match other {
                Value::String(other) | Value::Symbol(other) => return Ok(text.as_bytes().cmp(other.as_bytes())),
                _ => return Ok(rank::STRING.cmp(&type_rank(other))),
            },
            Self::Int32(n) => Value::Int32(*n),
            Self::Int64(n) => Value::Int64(*n),
            Self::Double(x) => Value::Double(Double(*x)),
            Self::Null => Value::Null,
            Self::Bool(flag) => Value::Bool(*flag),
            Self::ObjectId(id) => Value::ObjectId(*id),
            Self::DateTime(millis) => Value::DateTime(*millis),
            Self::Other(value) => return Ok(compare(value, other)),
            Self::Binary(..) | Self::Array(_) | Self::Map(_) => return self.compare_long(other),
        };
        Ok(compare(&scalar, other))
    }

    fn compare_long(&self, other: &Value) -> Result<Ordering, RowError> {
        match (self, other) {
            (Self::Binary(subtype, bytes), Value::Binary(Binary { subtype: other_subtype, bytes: other })) => {
                let order = (bytes.len(), *subtype).cmp(&(other.len(), *other_subtype));
                Ok(order.then_with(|| (*bytes).cmp(&other[..])))
            }
            (Self::Array(array), Value::Array(other)) => compare_arrays(array, other),
            (Self::Map(map), Value::Map(other)) => compare_maps(map, other),
            _ => Ok(self.type_rank().cmp(&type_rank(other))),
        }
    }
}

fn compare_arrays(array: &ArrayRef<'_>, other: &[Value]) -> Result<Ordering, RowError> {
    for (element, other) in array.iter().zip(other) {
        let order = element?.compare(other)?;
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(array.len().cmp(&other.len()))
}

fn compare_maps(map: &MapRef<'_>, other: &Map) -> Result<Ordering, RowError> {
    for (field, (other_key, other)) in map.iter().zip(&other.entries) {
        let (key, value) = field?;
        let mut order = value.type_rank().cmp(&type_rank(other));
        if order.is_eq() {
            order = key.compare(other_key)?;
        }
        if order.is_eq() {
            order = value.compare(other)?;
        }
        if order.is_ne() {
            return Ok(order);
        }
    }
    Ok(map.len().cmp(&other.len()))
}

#[cfg(test)]
mod tests;
