//! One trait for the values that filters examine: encoded in a row, or decoded.

use std::cmp::Ordering;

use alluvium_document::compare::{compare, compare_maps, type_rank};
use alluvium_document::path::array_index;
use alluvium_document::row::{ArrayIter, ValueRef};
use alluvium_document::value::{Double, Regex};
use alluvium_document::{Map, Value};

use super::error::{FilterError, MatchError};
use super::schema::Schema;
use super::types::type_code;
use crate::collation::Collation;
use crate::expression::{EvaluateError, Expression, Scope, is_true};

/// The type of a value, as far as it determines how a path continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Map,
    Array,
    Scalar,
}

/// A value that a filter examines.
pub(super) trait Node: Clone {
    /// The error of reading a damaged value, or of a pattern that takes too many steps.
    type Error: From<FilterError>;

    fn kind(&self) -> Kind;

    /// The first field of a map with this name, or the element of an array at the position that the name states.
    fn field(&self, name: &str) -> Result<Option<Self>, Self::Error>;

    /// The elements of an array; empty for any other value.
    fn elements(&self) -> impl Iterator<Item = Result<Self, Self::Error>>;

    /// The number of elements of an array.
    fn len(&self) -> Option<usize>;

    /// [`alluvium_document::compare::type_rank`].
    fn rank(&self) -> u8;

    /// [`alluvium_document::compare::compare`].
    fn compare(&self, operand: &Value) -> Result<Ordering, Self::Error>;

    /// [`Collation::compare_values`].
    fn compare_by(&self, collation: &Collation, operand: &Value) -> Result<Ordering, Self::Error>;

    /// The text of a string or symbol.
    fn text(&self) -> Option<&str>;

    /// The bytes of a binary value.
    fn bytes(&self) -> Option<&[u8]>;

    /// BSON's number for the type.
    fn type_code(&self) -> i32;

    fn is_nan(&self) -> bool;

    /// The number, if the value is a number.
    fn number(&self) -> Option<Value>;

    fn regex(&self) -> Option<&Regex>;

    /// True if an expression is true for a document.
    fn makes_true(&self, expression: &Expression) -> Result<bool, Self::Error>;

    /// True if a document obeys a schema.
    fn obeys(&self, schema: &Schema) -> Result<bool, Self::Error>;
}

impl Node for ValueRef<'_> {
    type Error = MatchError;

    #[inline]
    fn kind(&self) -> Kind {
        match self {
            Self::Map(_) => Kind::Map,
            Self::Array(_) => Kind::Array,
            _ => Kind::Scalar,
        }
    }

    #[inline]
    fn field(&self, name: &str) -> Result<Option<Self>, MatchError> {
        match self {
            Self::Map(map) => Ok(map.get(name)?),
            Self::Array(array) => match array_index(name) {
                Some(at) => Ok(array.get(at)?),
                None => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn elements(&self) -> impl Iterator<Item = Result<Self, MatchError>> {
        let elements: Option<ArrayIter<'_>> = match self {
            Self::Array(array) => Some(array.iter()),
            _ => None,
        };
        elements.into_iter().flatten().map(|element| Ok(element?))
    }

    fn len(&self) -> Option<usize> {
        match self {
            Self::Array(array) => Some(array.len()),
            _ => None,
        }
    }

    #[inline]
    fn rank(&self) -> u8 {
        self.type_rank()
    }

    #[inline]
    fn compare(&self, operand: &Value) -> Result<Ordering, MatchError> {
        Ok(ValueRef::compare(self, operand)?)
    }

    fn compare_by(&self, collation: &Collation, operand: &Value) -> Result<Ordering, MatchError> {
        Ok(match (self, operand) {
            (Self::String(text), Value::String(operand) | Value::Symbol(operand)) => collation.compare(text, operand),
            (Self::Map(_) | Self::Array(_) | Self::Other(_), operand) if self.type_rank() == type_rank(operand) => {
                collation.compare_values(&self.to_value()?, operand)
            }
            (_, operand) => ValueRef::compare(self, operand)?,
        })
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Other(value) => text_of(value),
            _ => None,
        }
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Binary(_, bytes) => Some(bytes),
            _ => None,
        }
    }

    fn type_code(&self) -> i32 {
        match self {
            Self::Null => type_code(&Value::Null),
            Self::Bool(_) => type_code(&Value::Bool(false)),
            Self::Int32(_) => type_code(&Value::Int32(0)),
            Self::Int64(_) => type_code(&Value::Int64(0)),
            Self::Double(_) => type_code(&Value::Double(Double(0.0))),
            Self::String(_) => type_code(&Value::from("")),
            Self::ObjectId(_) => type_code(&Value::ObjectId([0; 12])),
            Self::DateTime(_) => type_code(&Value::DateTime(0)),
            Self::Binary(..) => 5,
            Self::Array(_) => type_code(&Value::Array(Vec::new())),
            Self::Map(_) => type_code(&Value::Map(Map::new())),
            Self::Other(value) => type_code(value),
        }
    }

    #[inline]
    fn is_nan(&self) -> bool {
        match self {
            Self::Double(x) => x.is_nan(),
            Self::Other(value) => is_nan(value),
            _ => false,
        }
    }

    fn number(&self) -> Option<Value> {
        match self {
            Self::Int32(n) => Some(Value::Int32(*n)),
            Self::Int64(n) => Some(Value::Int64(*n)),
            Self::Double(x) => Some(Value::Double(Double(*x))),
            Self::Other(value) => Some(value).filter(|value| value.is_number()).cloned(),
            _ => None,
        }
    }

    fn regex(&self) -> Option<&Regex> {
        match self {
            Self::Other(value) => regex_of(value),
            _ => None,
        }
    }

    fn makes_true(&self, expression: &Expression) -> Result<bool, MatchError> {
        let Self::Map(map) = self else { return Ok(false) };
        match expression.evaluate(&mut Scope::of_ref(*map)) {
            Ok(value) => Ok(is_true(value.as_ref())),
            Err(EvaluateError::Damaged(error)) => Err(error.into()),
            Err(EvaluateError::Expression(error)) => Err(FilterError::from(error).into()),
        }
    }

    fn obeys(&self, schema: &Schema) -> Result<bool, MatchError> {
        let Self::Map(map) = self else { return Ok(false) };
        Ok(schema.allows(&map.to_map()?)?)
    }
}

/// A decoded value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Decoded<'a> {
    Map(&'a Map),
    /// A map with a single field. The map itself is never built.
    Named(&'a str, &'a Value),
    /// A value that is not a map.
    Value(&'a Value),
}

impl<'a> From<&'a Value> for Decoded<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Map(map) => Self::Map(map),
            value => Self::Value(value),
        }
    }
}

impl<'a> Decoded<'a> {
    fn value(&self) -> Option<&'a Value> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }
}

impl Node for Decoded<'_> {
    type Error = FilterError;

    fn kind(&self) -> Kind {
        match self {
            Self::Map(_) | Self::Named(..) => Kind::Map,
            Self::Value(Value::Array(_)) => Kind::Array,
            Self::Value(_) => Kind::Scalar,
        }
    }

    fn field(&self, name: &str) -> Result<Option<Self>, FilterError> {
        Ok(match self {
            Self::Map(map) => map.get(name).map(Self::from),
            Self::Named(only, value) => (*only == name).then(|| Self::from(*value)),
            Self::Value(Value::Array(elements)) => array_index(name).and_then(|at| elements.get(at)).map(Self::from),
            Self::Value(_) => None,
        })
    }

    fn elements(&self) -> impl Iterator<Item = Result<Self, FilterError>> {
        let elements = self.value().and_then(Value::as_array).unwrap_or_default();
        elements.iter().map(|element| Ok(Self::from(element)))
    }

    fn len(&self) -> Option<usize> {
        self.value().and_then(Value::as_array).map(<[Value]>::len)
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Value(value) => type_rank(value),
            _ => type_rank(&Value::Map(Map::new())),
        }
    }

    fn compare(&self, operand: &Value) -> Result<Ordering, FilterError> {
        Ok(match (self, operand) {
            (Self::Map(map), Value::Map(operand)) => compare_maps(map, operand),
            (Self::Named(name, value), Value::Map(operand)) => {
                compare_maps(&Map::from([(*name, (*value).clone())]), operand)
            }
            (Self::Value(value), operand) => compare(value, operand),
            (_, operand) => self.rank().cmp(&type_rank(operand)),
        })
    }

    fn compare_by(&self, collation: &Collation, operand: &Value) -> Result<Ordering, FilterError> {
        Ok(match (self, operand) {
            (Self::Map(map), Value::Map(operand)) => collation.compare_maps(map, operand),
            (Self::Named(name, value), Value::Map(operand)) => {
                collation.compare_maps(&Map::from([(*name, (*value).clone())]), operand)
            }
            (Self::Value(value), operand) => collation.compare_values(value, operand),
            (_, operand) => self.rank().cmp(&type_rank(operand)),
        })
    }

    fn text(&self) -> Option<&str> {
        self.value().and_then(text_of)
    }

    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Value(Value::Binary(binary)) => Some(&binary.bytes),
            _ => None,
        }
    }

    fn type_code(&self) -> i32 {
        match self {
            Self::Value(value) => type_code(value),
            _ => type_code(&Value::Map(Map::new())),
        }
    }

    fn is_nan(&self) -> bool {
        self.value().is_some_and(is_nan)
    }

    fn number(&self) -> Option<Value> {
        self.value().filter(|value| value.is_number()).cloned()
    }

    fn regex(&self) -> Option<&Regex> {
        self.value().and_then(regex_of)
    }

    fn makes_true(&self, expression: &Expression) -> Result<bool, FilterError> {
        let Self::Map(map) = self else { return Ok(false) };
        match expression.evaluate(&mut Scope::of_map(map)) {
            Ok(value) => Ok(is_true(value.as_ref())),
            Err(EvaluateError::Damaged(error)) => Err(FilterError::bad(error.to_string())),
            Err(EvaluateError::Expression(error)) => Err(error.into()),
        }
    }

    fn obeys(&self, schema: &Schema) -> Result<bool, FilterError> {
        let Self::Map(map) = self else { return Ok(false) };
        schema.allows(map)
    }
}

pub(super) fn is_nan(value: &Value) -> bool {
    match value {
        Value::Double(Double(x)) => x.is_nan(),
        Value::Decimal(decimal) => decimal.is_nan(),
        _ => false,
    }
}

fn text_of(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) | Value::Symbol(text) => Some(text),
        _ => None,
    }
}

fn regex_of(value: &Value) -> Option<&Regex> {
    match value {
        Value::Regex(regex) => Some(regex),
        _ => None,
    }
}
