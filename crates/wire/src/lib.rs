//! MongoDB's wire protocol: messages from bytes and to bytes, without any I/O.
//!
//! A server reads a [`Header`], then the rest of the message, and passes the whole message to [`Request::parse`]. A
//! message of `OP_COMPRESSED` is first given to [`compression::decompress`]. Replies are encoded by [`reply`].
//!
//! The format follows "MongoDB Wire Protocol" in MongoDB's manual, and "OP_MSG" in the specifications of its drivers.

#![deny(missing_docs)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod compression;
mod cursor;
mod error;
mod header;
mod limits;
pub mod reply;
mod request;
pub mod scram;

pub use error::WireError;
pub use header::{HEADER_BYTES, Header, MAX_MESSAGE_BYTES, OpCode};
pub use limits::MAX_BODY_BYTES;
pub use request::{Form, Request, Sealed, Sequence};
