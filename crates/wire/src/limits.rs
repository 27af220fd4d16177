//! Limits of messages.

/// The most bytes that the fields of a command may have, as in MongoDB: the limit of a document and 16 KiB more.
pub const MAX_BODY_BYTES: usize = (16 << 20) + (16 << 10);
