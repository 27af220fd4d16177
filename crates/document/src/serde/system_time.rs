//! `std::time::SystemTime` as serde writes it: a struct of seconds and nanoseconds since 1970.

use super::SerdeError;
use crate::value::{Map, Value};
use serde::de::Error;

const SECONDS: &str = "secs_since_epoch";
const NANOS: &str = "nanos_since_epoch";

/// The date, cut to milliseconds; none if the fields are those of another struct, or the date is beyond the range.
pub(super) fn from_fields(map: &Map) -> Option<Value> {
    let (seconds, nanos) = (map.get(SECONDS)?.as_i64()?, map.get(NANOS)?.as_i64()?);
    if map.len() != 2 {
        return None;
    }
    Some(Value::DateTime(seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000)?))
}

pub(super) fn to_fields(millis: i64) -> Result<Map, SerdeError> {
    if millis < 0 {
        return Err(SerdeError::custom("serde cannot read a SystemTime before 1970"));
    }
    Ok(Map::from([(SECONDS, millis / 1000), (NANOS, millis % 1000 * 1_000_000)]))
}
