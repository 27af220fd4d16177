//! Replies.

use crate::header::{HEADER_BYTES, Header, OpCode};
use crate::request::Form;

/// Another reply follows without a request.
pub const MORE_TO_COME: u32 = 1 << 1;

/// The flag of `OP_REPLY` that every server sets since MongoDB 1.6.
const AWAIT_CAPABLE: i32 = 8;

/// The bytes that a new reply has room for before it grows. Allocators keep blocks of up to a KiB for each thread.
const ROOM_BYTES: usize = 1000;

/// Returns a new reply with the bytes that precede its document. [`finish`] fills them in.
pub fn begin(form: Form) -> Vec<u8> {
    let head = match form {
        // Flags and the kind of the only section.
        Form::Msg => HEADER_BYTES + 5,
        // Flags, cursor, first, count.
        Form::Query => HEADER_BYTES + 20,
    };
    let mut message = Vec::with_capacity(ROOM_BYTES);
    message.resize(head, 0);
    message
}

/// Completes a reply. `message` is the result of [`begin`], followed by one BSON document.
pub fn finish(mut message: Vec<u8>, form: Form, flags: u32, ids: Ids) -> Vec<u8> {
    let op_code = match form {
        Form::Msg => OpCode::Msg,
        Form::Query => OpCode::Reply,
    };
    let length = message.len();
    let header = Header { length, request_id: ids.request_id, response_to: ids.response_to, op_code };
    message[..HEADER_BYTES].copy_from_slice(&header.bytes());
    let after = &mut message[HEADER_BYTES..];
    // The bytes that are zero were written by `begin`.
    match form {
        Form::Msg => after[..4].copy_from_slice(&flags.to_le_bytes()),
        Form::Query => {
            after[..4].copy_from_slice(&AWAIT_CAPABLE.to_le_bytes());
            after[16..20].copy_from_slice(&1_i32.to_le_bytes());
        }
    }
    message
}

/// The numbers in the header of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ids {
    /// The number of this message.
    pub request_id: i32,
    /// The number of the message that is answered.
    pub response_to: i32,
}
