//! Incoming messages.
//!
//! The first bytes of a message are read as they arrive. The rest of a large message is read after its memory was
//! charged, and has to arrive within a time limit if others wait for memory. Before a login, only small messages are
//! accepted.

use crate::memory::{Charge, Memory};
use crate::principal::Principal;
use crate::socket::Stream;
use alluvium_wire::compression::{DECLARED_BYTES, declared_length};
use alluvium_wire::{HEADER_BYTES, Header, MAX_BODY_BYTES, OpCode, WireError};
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

/// The least and the most bytes of one read. The declared length of a message is not allocated at once: a client that
/// sends a length and no further bytes therefore costs nothing.
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 1 << 20;
/// The buffer space that is kept for further messages.
const ROOM_KEPT: usize = 16 << 10;
/// The memory of messages with more bytes than this is charged before the rest of the message is read.
const LARGE: usize = 64 << 10;
/// The same limit for connections that have to log in.
const LARGE_OF_STRANGERS: usize = READ_BYTES_MIN;
/// The longest message of a connection that has to log in, and the longest message after decompression. The messages of
/// a login have less than a quarter of this length.
pub(crate) const STRANGER_BYTES_MAX: usize = 16 << 10;
/// The most time that a message waits for memory.
pub(crate) const MEMORY_WAIT: Duration = Duration::from_secs(30);
/// While other messages wait for memory, a message must arrive within this time. The time is longer by a second for
/// each `ARRIVAL_RATE` bytes.
const ARRIVAL: Duration = Duration::from_secs(10);
const ARRIVAL_RATE: u64 = 256 << 10;
/// The time between two checks whether others wait for memory.
const LOOK: Duration = Duration::from_secs(1);

/// Bytes that were read and not used yet. The buffer space after them is kept, so that it need not be cleared for each
/// read.
#[derive(Default)]
pub(crate) struct Incoming {
    room: Vec<u8>,
    count: usize,
}

/// A message whose header was read.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    /// The header.
    pub header: Header,
    /// The length after decompression; the length of the message if it is not compressed.
    pub expanded: usize,
}

impl Head {
    /// True if a client that has to log in may send this message.
    pub(crate) fn is_for_strangers(&self) -> bool {
        self.header.length.max(self.expanded) <= STRANGER_BYTES_MAX
    }

    /// The bytes of the message that are read before its memory is charged; `None` if the whole message is read without
    /// a charge.
    fn before_charge(&self, is_stranger: bool) -> Option<usize> {
        let large = if is_stranger { LARGE_OF_STRANGERS } else { LARGE };
        (self.header.length.max(self.expanded) > large).then(|| large.min(self.header.length))
    }

    /// The memory that the message uses until it is decoded: the message, the decompressed message, and a copy of the
    /// body.
    pub fn bytes(&self) -> usize {
        let packed = if self.header.op_code == OpCode::Compressed { self.header.length } else { 0 };
        packed + self.expanded + self.expanded.min(MAX_BODY_BYTES)
    }
}

/// The principal whose account is charged for a message.
#[derive(Clone)]
pub(crate) struct Payer<'a> {
    /// The memory account.
    pub memory: &'a Memory,
    /// The principal that the memory is charged to.
    pub principal: Principal,
    /// True for a connection that has to log in.
    pub is_stranger: bool,
}

impl Payer<'_> {
    /// Charges memory when it is free. Returns `None` if the memory does not become free in time, or the message needs
    /// more than the account has.
    pub(crate) async fn charge(&self, bytes: usize) -> Option<Charge> {
        self.memory.charge(&self.principal, bytes, MEMORY_WAIT).await
    }
}

/// The reason why a message is not read.
pub(crate) enum NotRead {
    /// The memory did not become free in time.
    NoMemory,
    /// The connection has ended, or cannot be used any more.
    Ended(io::Error),
}

impl Incoming {
    fn bytes(&self) -> &[u8] {
        self.room.get(..self.count).unwrap_or_default()
    }

    /// Reads the header of the next message; `None` if the client has closed the connection between two messages.
    pub(crate) async fn head(&mut self, stream: &mut impl Stream) -> io::Result<Option<Head>> {
        loop {
            let header = self.bytes().first_chunk::<HEADER_BYTES>().map(Header::parse).transpose().map_err(invalid)?;
            let missing = match header {
                Some(header) if header.op_code != OpCode::Compressed => {
                    return Ok(Some(Head { header, expanded: header.length }));
                }
                Some(header) if self.count >= DECLARED_BYTES => {
                    let expanded = declared_length(self.bytes()).ok_or_else(|| invalid(WireError::Compression))?;
                    return Ok(Some(Head { header, expanded }));
                }
                // The message is shorter than the beginning of a compressed message.
                Some(header) if header.length < DECLARED_BYTES => return Err(invalid(WireError::Truncated)),
                _ => READ_BYTES_MIN,
            };
            if !self.read(stream, missing).await? {
                return Ok(None);
            }
        }
    }

    /// Reads the rest of a message. The memory of a large message is charged first.
    pub(crate) async fn rest(
        &mut self,
        stream: &mut impl Stream,
        head: &Head,
        payer: &Payer<'_>,
    ) -> Result<Option<Charge>, NotRead> {
        let length = head.header.length;
        let free = head.before_charge(payer.is_stranger);
        while self.count < free.unwrap_or(length) {
            let missing = free.unwrap_or(length) - self.count;
            if !self.read(stream, missing).await.map_err(NotRead::Ended)? {
                return Err(NotRead::Ended(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        if free.is_none() {
            return Ok(None);
        }
        let charge = payer.charge(head.bytes()).await.ok_or(NotRead::NoMemory)?;
        self.room.reserve_exact(length.saturating_sub(self.room.len()));
        let limit = ARRIVAL + Duration::from_secs(length as u64 / ARRIVAL_RATE);
        let began = Instant::now();
        while self.count < length {
            match tokio::time::timeout(LOOK, self.read(stream, length - self.count)).await {
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return Err(NotRead::Ended(io::ErrorKind::UnexpectedEof.into())),
                Ok(Err(error)) => return Err(NotRead::Ended(error)),
                Err(_) => {}
            }
            if began.elapsed() > limit && self.count < length && payer.memory.is_short() {
                let message = "its message arrives slowly, and others wait for the memory";
                return Err(NotRead::Ended(io::Error::new(io::ErrorKind::TimedOut, message)));
            }
        }
        Ok(Some(charge))
    }

    /// Reads bytes, of which at least `missing` are needed. Returns false at the end of the connection.
    async fn read(&mut self, stream: &mut impl Stream, missing: usize) -> io::Result<bool> {
        let room = self.count + missing.clamp(READ_BYTES_MIN, READ_BYTES_MAX);
        if self.room.len() < room {
            self.room.resize(room, 0);
        }
        match stream.read(self.room.get_mut(self.count..).unwrap_or_default()).await? {
            0 if self.count == 0 => Ok(false),
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.count += read;
                Ok(true)
            }
        }
    }

    /// The message that was read. It stays valid until it is [consumed](Incoming::consume).
    pub(crate) fn message(&self, length: usize) -> &[u8] {
        self.bytes().get(..length).unwrap_or_default()
    }

    /// Removes a message.
    pub(crate) fn consume(&mut self, length: usize) {
        self.room.copy_within(length..self.count, 0);
        self.count -= length;
        if self.room.len() > ROOM_KEPT {
            self.room.truncate(self.count);
            self.room.shrink_to_fit();
        }
    }

    /// Removes a message and returns it. The returned vector keeps the buffer. The bytes after the message are copied
    /// to a new buffer.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.room.get(length..self.count).unwrap_or_default().to_vec();
        self.count = rest.len();
        let mut message = std::mem::replace(&mut self.room, rest);
        message.truncate(length);
        message
    }

    /// Reads the rest of a message and discards the whole message. The client reads the reply only after it has sent
    /// the whole request.
    pub(crate) async fn discard(&mut self, stream: &mut impl Stream, head: &Head) -> io::Result<()> {
        if self.count >= head.header.length {
            self.consume(head.header.length);
            return Ok(());
        }
        let mut missing = head.header.length.saturating_sub(self.count);
        (self.room, self.count) = (vec![0; READ_BYTES_MIN], 0);
        let rest = async {
            while missing > 0 {
                let room = missing.min(READ_BYTES_MIN);
                match stream.read(self.room.get_mut(..room).unwrap_or_default()).await? {
                    0 => break,
                    read => missing -= read,
                }
            }
            Ok(())
        };
        tokio::time::timeout(ARRIVAL, rest).await?
    }
}

pub(crate) fn invalid(error: WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}
