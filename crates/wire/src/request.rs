//! Requests: `OP_MSG`, and `OP_QUERY` for the first message of a connection.

use crate::cursor::Cursor;
use crate::error::WireError;
use crate::header::{HEADER_BYTES, Header, OpCode};
use alluvium_document::bson::take_document;
use alluvium_document::{Map, Value};

/// The message has a checksum at its end.
const CHECKSUM_PRESENT: u32 = 1;
/// No reply is expected.
const MORE_TO_COME: u32 = 1 << 1;
/// The client accepts several replies.
const EXHAUST_ALLOWED: u32 = 1 << 16;
/// The flags that must be understood.
const REQUIRED: u32 = 0xffff;

/// The bytes of a checksum.
const CHECKSUM_BYTES: usize = 4;

/// The form of a request, and so of its reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `OP_MSG`.
    Msg,
    /// `OP_QUERY`, answered by `OP_REPLY`.
    Query,
}

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The number of the message, which the reply repeats.
    pub request_id: i32,
    /// The form.
    pub form: Form,
    /// The fields; the first one names the command. In `OP_QUERY`, `$db` is added.
    pub body: Map,
    /// Arrays of documents that are sent beside the body.
    pub sequences: Vec<Sequence>,
    /// True if the client waits for no reply.
    pub more_to_come: bool,
    /// True if the client accepts several replies to this request.
    pub exhaust_allowed: bool,
}

/// An array field whose elements are sent one after the other, beside the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// The name of the field.
    pub name: String,
    /// The BSON documents back to back. They are checked when they are decoded.
    pub documents: Vec<u8>,
}

impl Request {
    /// Reads a request from a whole message.
    ///
    /// # Errors
    /// [`WireError`]. After one that [`WireError::is_of_document`] the connection may continue.
    pub fn parse(header: &Header, message: &[u8]) -> Result<Self, WireError> {
        let payload = message.get(HEADER_BYTES..).ok_or(WireError::Truncated)?;
        match header.op_code {
            OpCode::Msg => msg(header, message, payload),
            OpCode::Query => query(header, payload),
            other => Err(WireError::OpCode(other.number())),
        }
    }
}

impl Sequence {
    /// The documents, each as its bytes. After an error the iterator ends.
    pub fn iter(&self) -> impl Iterator<Item = Result<&[u8], WireError>> {
        let mut rest = Cursor::new(&self.documents);
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let document = take_raw(&mut rest);
            if document.is_err() {
                rest = Cursor::new(&[]);
            }
            Some(document)
        })
    }
}

/// The bytes of the next document, by its length.
fn take_raw<'a>(rest: &mut Cursor<'a>) -> Result<&'a [u8], WireError> {
    let length = Cursor::new(rest.rest()).i32()?;
    match usize::try_from(length) {
        Ok(length) if length >= 5 => rest.take(length),
        _ => Err(WireError::Truncated),
    }
}

fn take_map(rest: &mut Cursor<'_>) -> Result<Map, WireError> {
    let bytes = take_raw(rest)?;
    let (map, _) = take_document(bytes)?;
    Ok(map)
}

fn msg(header: &Header, message: &[u8], payload: &[u8]) -> Result<Request, WireError> {
    let mut rest = Cursor::new(payload);
    let flags = rest.u32()?;
    let unknown = flags & REQUIRED & !(CHECKSUM_PRESENT | MORE_TO_COME);
    if unknown != 0 {
        return Err(WireError::Flags(unknown));
    }
    if flags & CHECKSUM_PRESENT != 0 {
        let (before, checksum) = message.split_last_chunk::<CHECKSUM_BYTES>().ok_or(WireError::Truncated)?;
        let sections = rest.rest().len().checked_sub(CHECKSUM_BYTES).ok_or(WireError::Truncated)?;
        if crc32c::crc32c(before) != u32::from_le_bytes(*checksum) {
            return Err(WireError::Checksum);
        }
        rest = Cursor::new(rest.take(sections)?);
    }
    let (mut body, mut sequences) = (None, Vec::<Sequence>::new());
    while !rest.is_empty() {
        match rest.byte()? {
            0 if body.is_some() => return Err(WireError::Section("a message has one body, and this one has two")),
            0 => body = Some(take_raw(&mut rest)?),
            1 => {
                let sequence = sequence(&mut rest)?;
                if sequences.iter().any(|other| other.name == sequence.name) {
                    return Err(WireError::Section("a message has two sections with the same name"));
                }
                sequences.push(sequence);
            }
            _ => return Err(WireError::Section("a message has a section of an unknown kind")),
        }
    }
    let mut bytes = Cursor::new(body.ok_or(WireError::Section("a message has no body"))?);
    let body = take_map(&mut bytes)?;
    if sequences.iter().any(|sequence| body.get(&sequence.name).is_some()) {
        return Err(WireError::Section("a field is both in the body of a message and beside it"));
    }
    Ok(Request {
        request_id: header.request_id,
        form: Form::Msg,
        body,
        sequences,
        more_to_come: flags & MORE_TO_COME != 0,
        exhaust_allowed: flags & EXHAUST_ALLOWED != 0,
    })
}

fn sequence(rest: &mut Cursor<'_>) -> Result<Sequence, WireError> {
    let length = Cursor::new(rest.rest()).i32()?;
    let mut section = Cursor::new(rest.take(usize::try_from(length).map_err(|_| WireError::Truncated)?)?);
    section.i32()?;
    let name = section.cstring()?.to_owned();
    Ok(Sequence { name, documents: section.rest().to_vec() })
}

/// A command as `OP_QUERY`: flags, `database.$cmd`, skip, count, the command.
fn query(header: &Header, payload: &[u8]) -> Result<Request, WireError> {
    let mut rest = Cursor::new(payload);
    rest.i32()?;
    let database = rest.cstring()?.strip_suffix(".$cmd").ok_or(WireError::NotACommand)?.to_owned();
    rest.take(8)?;
    let mut body = take_map(&mut rest)?;
    if !rest.is_empty() {
        // A projection, which commands do not have.
        take_map(&mut rest)?;
    }
    if !rest.is_empty() {
        return Err(WireError::Trailing);
    }
    // Old drivers wrap a command to add read preferences.
    for wrapper in ["$query", "query"] {
        if let Some(Value::Map(inner)) = body.get(wrapper) {
            body = inner.clone();
            break;
        }
    }
    if body.get("$db").is_none() {
        body.push("$db", database);
    }
    let request_id = header.request_id;
    Ok(Request {
        request_id,
        form: Form::Query,
        body,
        sequences: Vec::new(),
        more_to_come: false,
        exhaust_allowed: false,
    })
}

#[cfg(test)]
mod tests;
