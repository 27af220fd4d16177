//! Keys of documents; usual keys need no allocation.

use std::fmt;
use std::ops::Deref;

/// Keys up to this length are stored in place: keys of numbers, object ids and UUIDs as text.
const IN_PLACE: usize = 38;

/// The key of an `_id` ([`alluvium_document::key`]).
#[derive(Clone)]
pub struct Key(Bytes);

#[derive(Clone)]
enum Bytes {
    InPlace { len: u8, bytes: [u8; IN_PLACE] },
    Long(Box<[u8]>),
}

impl Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::InPlace { len, bytes } => &bytes[..usize::from(*len)],
            Bytes::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Key {
    #[inline]
    fn from(key: &[u8]) -> Self {
        if key.len() > IN_PLACE {
            return Self(Bytes::Long(key.into()));
        }
        let mut bytes = [0; IN_PLACE];
        bytes[..key.len()].copy_from_slice(key);
        Self(Bytes::InPlace { len: key.len() as u8, bytes })
    }
}

impl Default for Key {
    fn default() -> Self {
        Self(Bytes::InPlace { len: 0, bytes: [0; IN_PLACE] })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x?}", &**self)
    }
}

#[cfg(test)]
mod tests;
