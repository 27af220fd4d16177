//! Numbers in replies.

use alluvium::Value;

/// A count as MongoDB sends it: an int, or a long if it is large.
pub(crate) fn int(n: u64) -> Value {
    match i32::try_from(n) {
        Ok(n) => Value::Int32(n),
        Err(_) => Value::Int64(i64::try_from(n).unwrap_or(i64::MAX)),
    }
}
