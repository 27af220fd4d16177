//! Limits of messages.

/// The most bytes of the fields of a command, as in MongoDB: a document, and 16 KiB more.
pub const MAX_BODY_BYTES: usize = (16 << 20) + (16 << 10);
