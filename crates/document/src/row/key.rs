//! Keys of values inside a row.

use super::{RowError, ValueRef};
use crate::compare::rank;
use crate::key;

impl ValueRef<'_> {
    /// Appends the [key](mod@crate::key) of the value. Scalars are not copied first.
    ///
    /// # Errors
    /// [`RowError`] if the value is damaged; `out` may then have some bytes of the key.
    pub fn encode_key(&self, out: &mut Vec<u8>) -> Result<(), RowError> {
        match self {
            Self::Null => out.push(rank::NULL),
            Self::String(text) => {
                out.push(rank::STRING);
                alluvium_codec::key::put_bytes(out, text.as_bytes());
            }
            Self::Other(value) => key::encode(value, out),
            // Of the remaining types, only arrays, maps and binaries allocate memory as values.
            other => key::encode(&other.to_value()?, out),
        }
        Ok(())
    }
}
