//! Requests: `OP_MSG`, and `OP_QUERY` for the first message of a connection.

use crate::cursor::Cursor;
use crate::error::WireError;
use crate::header::{HEADER_BYTES, Header, OpCode};
use crate::limits::MAX_BODY_BYTES;
use alluvium_document::bson::{each_field, take_document, tree_bytes};
use alluvium_document::{Map, Value};
use std::ops::Range;

/// A body with more bytes than this is long.
const LONG_BODY_BYTES: usize = 16 << 10;

/// The message has a checksum at its end.
const CHECKSUM_PRESENT: u32 = 1;
/// No reply is expected.
const MORE_TO_COME: u32 = 1 << 1;
/// The client accepts several replies to one request.
const EXHAUST_ALLOWED: u32 = 1 << 16;
/// The flags that a receiver must understand; it refuses a message with an unknown one.
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
    /// Arrays of documents that are sent next to the body.
    pub sequences: Vec<Sequence>,
    /// True if the client expects no reply.
    pub more_to_come: bool,
    /// True if the client accepts several replies to this request.
    pub exhaust_allowed: bool,
}

/// An array field whose elements are sent one after the other, next to the body.
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
    /// [`WireError`]. The connection may continue after an error for which [`WireError::is_of_document`] is true.
    pub fn parse(header: &Header, message: &[u8]) -> Result<Self, WireError> {
        Sealed::open(header, message, &|_| false)?.read(message)
    }
}

/// A message whose sections are located, but not decoded.
#[derive(Debug)]
pub struct Sealed {
    request_id: i32,
    form: Form,
    flags: u32,
    body: Body,
    sequences: Vec<(String, Range<usize>)>,
    /// Arrays of the body that became sequences.
    apart: Vec<Sequence>,
}

/// The fields of a command.
#[derive(Debug)]
enum Body {
    /// The fields are in the message.
    Within(Range<usize>),
    /// The fields without the arrays that became sequences.
    Rest(Vec<u8>),
    /// The fields are in an `OP_QUERY` to the database with this name.
    OfQuery(Range<usize>, String),
}

impl Sealed {
    /// Finds the sections of a whole message. In a long body, arrays of documents whose names `is_apart` accepts become
    /// sequences. They are therefore not decoded with the body.
    ///
    /// # Errors
    /// The errors of [`Request::parse`].
    pub fn open(header: &Header, message: &[u8], is_apart: &dyn Fn(&str) -> bool) -> Result<Self, WireError> {
        let payload = message.get(HEADER_BYTES..).ok_or(WireError::Truncated)?;
        let mut sealed = match header.op_code {
            OpCode::Msg => msg(header, message, payload)?,
            OpCode::Query => query(header, message, payload)?,
            other => return Err(WireError::OpCode(other.number())),
        };
        if let Body::Within(range) = &sealed.body
            && range.len() > LONG_BODY_BYTES
        {
            let bytes = &message[range.clone()];
            if let Some((rest, apart)) = take_apart(bytes, is_apart) {
                (sealed.body, sealed.apart) = (Body::Rest(rest), apart);
            }
        }
        Ok(sealed)
    }

    fn body<'a>(&'a self, message: &'a [u8]) -> &'a [u8] {
        match &self.body {
            Body::Within(range) | Body::OfQuery(range, _) => message.get(range.clone()).unwrap_or_default(),
            Body::Rest(bytes) => bytes,
        }
    }

    /// The number of bytes of the body.
    pub fn body_bytes(&self, message: &[u8]) -> usize {
        self.body(message).len()
    }

    /// The memory that [`Sealed::take`] uses in addition to the message.
    pub fn cost(&self, message: &[u8]) -> usize {
        let apart: usize = self.apart.iter().map(|sequence| sequence.documents.len()).sum();
        let rest = if let Body::Rest(bytes) = &self.body { bytes.len() } else { 0 };
        let sequences: usize = self.sequences.iter().map(|(_, range)| range.len()).sum();
        let largest = self.sequences.iter().map(|(_, range)| range.len()).max().unwrap_or_default();
        apart + rest + sequences - largest + tree_bytes(self.body(message))
    }

    /// Decodes the body.
    ///
    /// # Errors
    /// As [`Request::parse`].
    pub fn read(self, message: &[u8]) -> Result<Request, WireError> {
        let sequences = self.sequences.iter().map(|(name, range)| Sequence {
            name: name.clone(),
            documents: message.get(range.clone()).unwrap_or_default().to_vec(),
        });
        let sequences = sequences.collect();
        self.decode(message, sequences)
    }

    /// Decodes the body as [`Sealed::read`] does, without copying the longest sequence: this sequence keeps the memory
    /// of the message.
    ///
    /// # Errors
    /// As [`Request::parse`].
    pub fn take(mut self, mut message: Vec<u8>) -> Result<Request, WireError> {
        let longest = (0..self.sequences.len()).max_by_key(|at| self.sequences[*at].1.len());
        let longest = longest.map(|at| self.sequences.remove(at));
        let mut request = self.read(&message)?;
        if let Some((name, range)) = longest {
            if request.body.get(&name).is_some() {
                return Err(TWICE);
            }
            message.truncate(range.end);
            message.drain(..range.start);
            request.sequences.push(Sequence { name, documents: message });
        }
        Ok(request)
    }

    fn decode(mut self, message: &[u8], mut sequences: Vec<Sequence>) -> Result<Request, WireError> {
        let length = self.body_bytes(message);
        if length > MAX_BODY_BYTES {
            return Err(WireError::Body(length));
        }
        let mut body = take_map(&mut Cursor::new(self.body(message)))?;
        sequences.append(&mut self.apart);
        if sequences.iter().any(|sequence| body.get(&sequence.name).is_some()) {
            return Err(TWICE);
        }
        if let Body::OfQuery(_, database) = self.body {
            // Old drivers wrap a command to add read preferences.
            for wrapper in ["$query", "query"] {
                let wrapped = body.entries.iter_mut().find(|(name, _)| name.as_str() == Some(wrapper));
                if let Some((_, Value::Map(inner))) = wrapped {
                    body = std::mem::take(inner);
                    break;
                }
            }
            if body.get("$db").is_none() {
                body.push("$db", database);
            }
        }
        Ok(Request {
            request_id: self.request_id,
            form: self.form,
            body,
            sequences,
            more_to_come: self.form == Form::Msg && self.flags & MORE_TO_COME != 0,
            exhaust_allowed: self.form == Form::Msg && self.flags & EXHAUST_ALLOWED != 0,
        })
    }
}

const TWICE: WireError = WireError::Section("a field is both in the body of a message and beside it");

/// Splits a body into the fields that remain and the arrays that become sequences; returns `None` if there are no such
/// arrays. A damaged body is left to the decoder.
fn take_apart(body: &[u8], is_apart: &dyn Fn(&str) -> bool) -> Option<(Vec<u8>, Vec<Sequence>)> {
    let mut names: Vec<&[u8]> = Vec::new();
    let mut is_first = true;
    let found = each_field(body, |field| {
        // The first field names the command, and always stays.
        let is_named = !std::mem::replace(&mut is_first, false)
            && field.is_array()
            && std::str::from_utf8(field.name).is_ok_and(is_apart)
            && !names.contains(&field.name);
        let mut is_whole = is_named;
        if is_named {
            let each = each_field(field.value, |element| {
                is_whole &= element.is_document();
                is_whole
            });
            if is_whole && each.is_ok() {
                names.push(field.name);
            }
        }
        true
    });
    if found.is_err() || names.is_empty() {
        return None;
    }
    let (mut rest, mut apart) = (vec![0; 4], Vec::<Sequence>::new());
    each_field(body, |field| {
        let name = std::str::from_utf8(field.name).unwrap_or_default();
        // A second field of the same name stays in the body, and the decoder refuses it.
        let is_new = apart.iter().all(|sequence| sequence.name != name);
        if !field.is_array() || !names.contains(&field.name) || !is_new {
            rest.extend_from_slice(field.whole);
            return true;
        }
        let mut documents = Vec::with_capacity(field.value.len());
        let copied = each_field(field.value, |element| {
            documents.extend_from_slice(element.value);
            true
        });
        apart.push(Sequence { name: name.to_owned(), documents });
        copied.is_ok()
    })
    .ok()?;
    rest.push(0);
    let length = u32::try_from(rest.len()).ok()?;
    rest.get_mut(..4)?.copy_from_slice(&length.to_le_bytes());
    Some((rest, apart))
}

impl Sequence {
    /// Returns the bytes of each document. After an error the iterator ends.
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

/// Takes the bytes of the next document, as many as its length says.
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

/// The position of a part within a message.
fn place(message: &[u8], part: &[u8]) -> Range<usize> {
    // `part` is a slice of `message`; the difference of the addresses is the offset of `part`.
    let start = part.as_ptr() as usize - message.as_ptr() as usize;
    start..start + part.len()
}

fn msg(header: &Header, message: &[u8], payload: &[u8]) -> Result<Sealed, WireError> {
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
    let (mut body, mut sequences) = (None, Vec::<(String, Range<usize>)>::new());
    while !rest.is_empty() {
        match rest.byte()? {
            0 if body.is_some() => return Err(WireError::Section("a message has one body, and this one has two")),
            0 => body = Some(place(message, take_raw(&mut rest)?)),
            1 => {
                let sequence = sequence(message, &mut rest)?;
                if sequences.iter().any(|other| other.0 == sequence.0) {
                    return Err(WireError::Section("a message has two sections with the same name"));
                }
                sequences.push(sequence);
            }
            _ => return Err(WireError::Section("a message has a section of an unknown kind")),
        }
    }
    let body = Body::Within(body.ok_or(WireError::Section("a message has no body"))?);
    Ok(Sealed { request_id: header.request_id, form: Form::Msg, flags, body, sequences, apart: Vec::new() })
}

fn sequence(message: &[u8], rest: &mut Cursor<'_>) -> Result<(String, Range<usize>), WireError> {
    let length = Cursor::new(rest.rest()).i32()?;
    let mut section = Cursor::new(rest.take(usize::try_from(length).map_err(|_| WireError::Truncated)?)?);
    section.i32()?;
    let name = section.cstring()?.to_owned();
    Ok((name, place(message, section.rest())))
}

/// Reads a command in an `OP_QUERY`: flags, `database.$cmd`, skip, count, the command.
fn query(header: &Header, message: &[u8], payload: &[u8]) -> Result<Sealed, WireError> {
    let mut rest = Cursor::new(payload);
    rest.i32()?;
    let database = rest.cstring()?.strip_suffix(".$cmd").ok_or(WireError::NotACommand)?.to_owned();
    rest.take(8)?;
    let body = place(message, take_raw(&mut rest)?);
    if !rest.is_empty() {
        // The projection, which has no meaning for a command.
        take_raw(&mut rest)?;
    }
    if !rest.is_empty() {
        return Err(WireError::Trailing);
    }
    let (body, form) = (Body::OfQuery(body, database), Form::Query);
    Ok(Sealed { request_id: header.request_id, form, flags: 0, body, sequences: Vec::new(), apart: Vec::new() })
}

#[cfg(test)]
mod tests;
