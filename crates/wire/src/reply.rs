//! Replies.

use crate::header::{HEADER_BYTES, Header, OpCode};
use crate::request::Form;

/// Another reply follows without a request.
pub const MORE_TO_COME: u32 = 1 << 1;

/// The flag of `OP_REPLY` that every server sets since MongoDB 1.6.
const AWAIT_CAPABLE: i32 = 8;

/// The bytes that a new reply has room for before it grows.
const ROOM_BYTES: usize = 2 << 10;

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
    let mut head = Vec::with_capacity(HEADER_BYTES + 20);
    Header { length, request_id: ids.request_id, response_to: ids.response_to, op_code }.encode(&mut head);
    match form {
        Form::Msg => {
            head.extend_from_slice(&flags.to_le_bytes());
            head.push(0);
        }
        Form::Query => {
            head.extend_from_slice(&AWAIT_CAPABLE.to_le_bytes());
            head.extend_from_slice(&[0; 12]);
            head.extend_from_slice(&1_i32.to_le_bytes());
        }
    }
    message[..head.len()].copy_from_slice(&head);
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
