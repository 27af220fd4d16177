//! Reads fields from the bytes of a message.

use crate::error::WireError;

/// The rest of a message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        let (&byte, rest) = self.rest.split_first().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(byte)
    }

    pub(crate) fn i32(&mut self) -> Result<i32, WireError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(i32::from_le_bytes(*bytes))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, WireError> {
        self.i32().map(i32::cast_unsigned)
    }

    /// Text up to a zero byte.
    pub(crate) fn cstring(&mut self) -> Result<&'a str, WireError> {
        let len = memchr::memchr(0, self.rest).ok_or(WireError::Truncated)?;
        let text = self.take(len + 1)?;
        std::str::from_utf8(&text[..len]).map_err(|_| WireError::Text)
    }
}
