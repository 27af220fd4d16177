//! Dates of the crate `chrono` in structs: `#[serde(with = "alluvium::serde::chrono")]`.
//!
//! Stored in milliseconds; smaller units are truncated.

use super::SerdeError;
use crate::value::Value;
use ::chrono::{DateTime, Utc};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Serializes a date as a date.
///
/// # Errors
/// Errors of the serializer.
pub fn serialize<S: Serializer>(date: &DateTime<Utc>, serializer: S) -> Result<S::Ok, S::Error> {
    Value::from(*date).serialize(serializer)
}

/// Deserializes a date.
///
/// # Errors
/// The value is not a date, or beyond the range of `chrono`.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DateTime<Utc>, D::Error> {
    DateTime::try_from(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// A date, truncated to milliseconds.
impl From<DateTime<Utc>> for Value {
    fn from(date: DateTime<Utc>) -> Self {
        Value::DateTime(date.timestamp_millis())
    }
}

impl TryFrom<&Value> for DateTime<Utc> {
    type Error = SerdeError;

    fn try_from(value: &Value) -> Result<Self, SerdeError> {
        let millis = super::millis(value)?;
        DateTime::from_timestamp_millis(millis).ok_or_else(|| super::out_of_range(millis))
    }
}
