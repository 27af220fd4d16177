//! Errors of messages.

use crate::limits::MAX_BODY_BYTES;
use alluvium_document::bson::BsonError;

/// The reason why bytes are not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The length in the header is below the length of a header, or above the limit.
    #[error("a message of {0} bytes: a message has 16 to 48000000 bytes")]
    Length(i32),
    /// The operation is not one that a client sends to this version of the protocol.
    #[error("the operation code {0} is not supported: use a driver that speaks OP_MSG (MongoDB 3.6 and later)")]
    OpCode(i32),
    /// The message ends within a field.
    #[error("the message ends within a field")]
    Truncated,
    /// The message has bytes after its last field.
    #[error("the message has bytes after its end")]
    Trailing,
    /// A required flag has no meaning.
    #[error("the message has unknown flags: {0:#x}")]
    Flags(u32),
    /// The checksum does not match the bytes.
    #[error("the message is damaged: its checksum does not match")]
    Checksum,
    /// A section has an unknown kind, occurs twice, or is missing.
    #[error("{0}")]
    Section(&'static str),
    /// A name is not UTF-8.
    #[error("a name in the message is not UTF-8")]
    Text,
    /// A query that is not a command.
    #[error("only commands are accepted as OP_QUERY, that is queries of a collection $cmd")]
    NotACommand,
    /// The compressed bytes are damaged, or their length differs from the declared one.
    #[error("the compressed message is damaged")]
    Compression,
    /// The compressor is unknown.
    #[error("the compressor {0} is not supported")]
    Compressor(u8),
    /// The fields of a command have more bytes than a document may have.
    #[error(
        "BSONObj size: {0} is invalid. Size must be between 0 and {MAX_BODY_BYTES}: send documents beside the fields"
    )]
    Body(usize),
    /// The message is well formed, but a document in it is not. The connection may continue.
    #[error(transparent)]
    Bson(#[from] BsonError),
}

impl WireError {
    /// Returns true if the next message can be read after this error, because the length of this message was sound.
    pub fn is_of_document(&self) -> bool {
        matches!(self, Self::Bson(_) | Self::Body(_))
    }
}
