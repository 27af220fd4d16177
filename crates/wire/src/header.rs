//! The header of every message.

use crate::error::WireError;

/// The bytes of a header.
pub const HEADER_BYTES: usize = 16;

/// The largest message in bytes, header included, as `hello` announces it.
pub const MAX_MESSAGE_BYTES: usize = 48_000_000;

/// The type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpCode {
    /// A reply to `OP_QUERY`.
    Reply,
    /// The query of clients before MongoDB 3.6, which every client still uses for its first message.
    Query,
    /// A compressed message.
    Compressed,
    /// Every other message.
    Msg,
}

impl OpCode {
    const REPLY: i32 = 1;
    const QUERY: i32 = 2004;
    const COMPRESSED: i32 = 2012;
    const MSG: i32 = 2013;

    /// The number in the header.
    pub fn number(self) -> i32 {
        match self {
            Self::Reply => Self::REPLY,
            Self::Query => Self::QUERY,
            Self::Compressed => Self::COMPRESSED,
            Self::Msg => Self::MSG,
        }
    }

    /// Returns the operation with this number.
    ///
    /// # Errors
    /// [`WireError::OpCode`].
    pub fn parse(number: i32) -> Result<Self, WireError> {
        match number {
            Self::REPLY => Ok(Self::Reply),
            Self::QUERY => Ok(Self::Query),
            Self::COMPRESSED => Ok(Self::Compressed),
            Self::MSG => Ok(Self::Msg),
            other => Err(WireError::OpCode(other)),
        }
    }
}

/// The first 16 bytes of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The length of the message in bytes, header included: 16 to [`MAX_MESSAGE_BYTES`].
    pub length: usize,
    /// The number that the sender gave the message.
    pub request_id: i32,
    /// The number of the message that this one answers.
    pub response_to: i32,
    /// Its type.
    pub op_code: OpCode,
}

impl Header {
    /// Reads a header.
    ///
    /// # Errors
    /// [`WireError::Length`], [`WireError::OpCode`]: the connection cannot be used any more.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, WireError> {
        let word = |at: usize| {
            let chunk = bytes[at..].first_chunk().copied().unwrap_or_default();
            i32::from_le_bytes(chunk)
        };
        let length = usize::try_from(word(0)).unwrap_or(0);
        if !(HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&length) {
            return Err(WireError::Length(word(0)));
        }
        Ok(Self { length, request_id: word(4), response_to: word(8), op_code: OpCode::parse(word(12))? })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes());
    }

    /// The bytes of the header.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let length = i32::try_from(self.length).unwrap_or(i32::MAX);
        let words = [length, self.request_id, self.response_to, self.op_code.number()];
        let mut bytes = [0; HEADER_BYTES];
        for (at, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *at = word.to_le_bytes();
        }
        bytes
    }
}
