//! UUIDs of the crate `uuid`.

use super::SerdeError;
use crate::value::{Binary, Value};
use ::uuid::Uuid;

/// Binary data of subtype 4.
impl From<Uuid> for Value {
    fn from(id: Uuid) -> Self {
        Value::Binary(Binary { subtype: 4, bytes: id.as_bytes().to_vec() })
    }
}

impl TryFrom<&Value> for Uuid {
    type Error = SerdeError;

    fn try_from(value: &Value) -> Result<Self, SerdeError> {
        match value {
            Value::Binary(Binary { subtype: 4, bytes }) => {
                Uuid::from_slice(bytes).map_err(|error| SerdeError(error.to_string()))
            }
            other => Err(SerdeError(format!("expected binary data of subtype 4, found {}", other.type_name()))),
        }
    }
}
