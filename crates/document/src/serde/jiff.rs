//! Dates of the crate `jiff` in structs: `#[serde(with = "alluvium::serde::jiff")]`.
//!
//! Stored in milliseconds; smaller units are truncated.

use super::SerdeError;
use crate::value::Value;
use ::jiff::Timestamp;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes a timestamp as a date.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<S: Serializer>(date: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    Value::from(*date).serialize(serializer)
}

/// Deserializes a date.
///
/// # Errors
/// The value is not a date, or beyond the range of `jiff`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    Timestamp::try_from(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A date, truncated to milliseconds.
impl From<Timestamp> for Value {
    fn from(date: Timestamp) -> Self {
        Value::DateTime(date.as_nanosecond().div_euclid(1_000_000) as i64)
    }
}

impl TryFrom<&Value> for Timestamp {
    type Error = SerdeError;

    fn try_from(value: &Value) -> Result<Self, SerdeError> {
        let millis = super::millis(value)?;
        Timestamp::from_millisecond(millis).map_err(|_| super::out_of_range(millis))
    }
}
