//! A connection that sends one message and waits for its reply.

use alluvium::Map;
use alluvium_document::bson::{decode_document, encode_document};
use alluvium_wire::{HEADER_BYTES, Header, OpCode};
use std::io::{self, Read, Write};
use std::net::TcpStream;

/// The number of bytes before the document of a message: the header, the flags, and the kind of the
/// section.
const BEFORE: usize = HEADER_BYTES + 5;
/// The number of bytes that are read at once.
const READ_BYTES: usize = 16 << 10;

/// A connection.
pub(super) struct Connection {
    stream: TcpStream,
    reply: Vec<u8>,
}

impl Connection {
    /// Connects to a server.
    pub fn open(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, reply: vec![0; READ_BYTES] })
    }

    /// True if the server is on this machine.
    pub fn is_local(&self) -> bool {
        self.stream.peer_addr().is_ok_and(|peer| peer.ip().to_canonical().is_loopback())
    }

    /// Sends a message, and returns the reply.
    pub fn call(&mut self, message: &[u8]) -> io::Result<&[u8]> {
        self.stream.write_all(message)?;
        let mut read = 0;
        loop {
            match self.stream.read(&mut self.reply[read..])? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                more => read += more,
            }
            let Some(head) = self.reply[..read].first_chunk() else { continue };
            let length = Header::parse(head).map_err(io::Error::other)?.length;
            if read >= length {
                return Ok(&self.reply[..length]);
            }
            if self.reply.len() < length {
                self.reply.resize(length, 0);
            }
        }
    }

    /// Runs a command, and returns its reply. A reply that reports a failure is an error.
    pub fn command(&mut self, command: &Map) -> io::Result<Map> {
        let reply = document(self.call(&message(command, &[])?)?)?;
        match reply.get("ok").and_then(alluvium::Value::as_f64) {
            Some(1.0) => Ok(reply),
            _ => Err(io::Error::other(format!("the server answered {reply}"))),
        }
    }
}

/// A command as a message, with lists of documents in addition to its body.
pub(super) fn message(body: &Map, beside: &[(&str, Vec<Map>)]) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; BEFORE];
    encode_document(body, &mut bytes).map_err(io::Error::other)?;
    for (name, documents) in beside {
        let mut section = Vec::new();
        for document in documents {
            encode_document(document, &mut section).map_err(io::Error::other)?;
        }
        bytes.push(1);
        let length = i32::try_from(4 + name.len() + 1 + section.len()).map_err(io::Error::other)?;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
        bytes.push(0);
        bytes.extend_from_slice(&section);
    }
    let mut head = Vec::with_capacity(HEADER_BYTES);
    Header { length: bytes.len(), request_id: 1, response_to: 0, op_code: OpCode::Msg }.encode(&mut head);
    bytes[..HEADER_BYTES].copy_from_slice(&head);
    Ok(bytes)
}

/// The document of a reply.
pub(super) fn document(reply: &[u8]) -> io::Result<Map> {
    decode_document(reply.get(BEFORE..).unwrap_or_default()).map_err(io::Error::other)
}
