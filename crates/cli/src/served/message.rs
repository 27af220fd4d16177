//! The messages between visitor and host.
//!
//! The visitor sends one message: [`RUN`], the number of bytes that follow (4 bytes, little-endian), and three lists of
//! texts: facts, arguments, variables. A list consists of the number of its texts (4 bytes) and the texts; a text
//! consists of the number of its bytes (4 bytes) and the bytes. The descriptors are sent with the first byte.

use super::place::Facts;
use alluvium_server::RUN;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use std::ffi::OsString;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;

/// The command begins.
pub(super) const BEGINS: u8 = b'B';
/// The command reads the terminal.
pub(super) const READS: u8 = b'R';
/// The command has ended; the exit code follows.
pub(super) const ENDED: u8 = b'E';
/// The maximum number of descriptors in a message.
const DESCRIPTORS_MAX: usize = 8;
/// The maximum number of bytes of arguments: twice the limit of Linux for a process.
const BYTES_MAX: usize = 16 << 20;

/// A command of a visitor.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Message {
    pub facts: Facts,
    /// The arguments, beginning with the program's name.
    pub arguments: Vec<OsString>,
    /// The environment variables that commands read.
    pub variables: Vec<(String, String)>,
}

impl Message {
    /// Sends the command and its descriptors.
    pub(super) fn send(&self, stream: &UnixStream, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut body = Vec::new();
        put_list(&mut body, self.facts.texts().iter().map(String::as_bytes));
        put_list(&mut body, self.arguments.iter().map(|argument| argument.as_bytes()));
        let variables = self.variables.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        put_list(&mut body, variables);
        let mut bytes = RUN.to_vec();
        put_number(&mut bytes, body.len());
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(invalid());
        }
        let sent = rustix::net::sendmsg(stream, &[IoSlice::new(&bytes)], &mut control, SendFlags::empty())?;
        let mut stream = stream;
        stream.write_all(&bytes[sent..])?;
        stream.write_all(&body)
    }

    /// Receives a command and its descriptors.
    pub(super) fn receive(stream: &UnixStream) -> io::Result<(Self, Vec<OwnedFd>)> {
        let mut head = [0; RUN.len() + 4];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let received =
            rustix::net::recvmsg(stream, &mut [IoSliceMut::new(&mut head)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
        let mut descriptors = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        let mut stream = stream;
        stream.read_exact(&mut head[received.bytes..])?;
        let (begin, mut length) = head.split_at(RUN.len());
        let length = take_number(&mut length)?;
        if begin != RUN || length > BYTES_MAX {
            return Err(invalid());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok((Self::parse(&body)?, descriptors))
    }

    fn parse(mut body: &[u8]) -> io::Result<Self> {
        let facts = take_list(&mut body)?.into_iter().map(text).collect::<io::Result<Vec<_>>>()?;
        let arguments = take_list(&mut body)?.into_iter().map(OsString::from_vec).collect();
        let mut texts = take_list(&mut body)?.into_iter().map(text);
        let mut variables = Vec::new();
        while let (Some(name), Some(value)) = (texts.next(), texts.next()) {
            variables.push((name?, value?));
        }
        Ok(Self { facts: Facts::of(&facts).ok_or_else(invalid)?, arguments, variables })
    }
}

fn invalid() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the message is not one of this version")
}

fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| invalid())
}

/// Appends a number below 4 Gi.
fn put_number(bytes: &mut Vec<u8>, number: usize) {
    bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
}

fn put_list<'a>(bytes: &mut Vec<u8>, texts: impl Iterator<Item = &'a [u8]> + Clone) {
    put_number(bytes, texts.clone().count());
    for text in texts {
        put_number(bytes, text.len());
        bytes.extend_from_slice(text);
    }
}

fn take_number(bytes: &mut &[u8]) -> io::Result<usize> {
    let (number, rest) = bytes.split_first_chunk::<4>().ok_or_else(invalid)?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*number)).map_err(|_| invalid())
}

fn take_list(bytes: &mut &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    for _ in 0..take_number(bytes)? {
        let length = take_number(bytes)?;
        let (text, rest) = bytes.split_at_checked(length).ok_or_else(invalid)?;
        texts.push(text.to_vec());
        *bytes = rest;
    }
    Ok(texts)
}

#[cfg(test)]
mod tests;
