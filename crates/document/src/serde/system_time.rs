//! `std::time::SystemTime` in serde's form: a struct of seconds and nanoseconds since 1970.

use super::SerdeError;
use crate::value::{Map, Value};
use serde::de::Error;
use std::time::{Duration, SystemTime};

const SECONDS: &str = "secs_since_epoch";
const NANOS: &str = "nanos_since_epoch";

/// The date, truncated to milliseconds; `None` if the fields belong to another struct, or the date
/// is out of range.
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

/// A date, truncated to milliseconds, and clamped to the range of dates.
impl From<SystemTime> for Value {
    fn from(time: SystemTime) -> Self {
        let millis = match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
            Err(before) => {
                let nanos = before.duration().as_nanos();
                i64::try_from(nanos.div_ceil(1_000_000)).map_or(i64::MIN, |millis| -millis)
            }
        };
        Value::DateTime(millis)
    }
}

impl TryFrom<&Value> for SystemTime {
    type Error = SerdeError;

    fn try_from(value: &Value) -> Result<Self, SerdeError> {
        let millis = super::millis(value)?;
        let distance = Duration::from_millis(millis.unsigned_abs());
        let time = match millis {
            0.. => SystemTime::UNIX_EPOCH.checked_add(distance),
            _ => SystemTime::UNIX_EPOCH.checked_sub(distance),
        };
        time.ok_or_else(|| super::out_of_range(millis))
    }
}
