//! Messages as they arrive.
//!
//! The first bytes of a message are read as they come. The rest of a large one is read once its memory is charged, within a
//! time if others wait for memory. Until a connection has logged in, its messages are small.

use crate::memory::{Charge, Memory};
use crate::principal::Principal;
use crate::socket::Stream;
use alluvium_wire::compression::{DECLARED_BYTES, declared_length};
use alluvium_wire::{HEADER_BYTES, Header, MAX_BODY_BYTES, OpCode, WireError};
use std::io;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

/// The least and the most bytes that are read at once. The declared length of a message is not reserved at once: a
/// client that sends a length and no bytes costs nothing.
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 1 << 20;
/// The room that is kept for further messages.
const ROOM_KEPT: usize = 16 << 10;
/// A message of more bytes is charged before the rest of it is read.
const LARGE: usize = 64 << 10;
/// The same for connections that have to log in.
const LARGE_OF_STRANGERS: usize = READ_BYTES_MIN;
/// The longest message of a connection that has to log in, and the longest that it expands to. Those that log in are
/// shorter than a quarter of this.
pub(crate) const STRANGER_BYTES_MAX: usize = 16 << 10;
/// How long a message waits for its memory.
pub(crate) const MEMORY_WAIT: Duration = Duration::from_secs(30);
/// While other messages wait for memory, a message must arrive within this time, and one more second for each of these
/// bytes.
const ARRIVAL: Duration = Duration::from_secs(10);
const ARRIVAL_RATE: u64 = 256 << 10;
/// The time between two looks whether others wait.
const LOOK: Duration = Duration::from_secs(1);

/// Bytes that were read and not yet used. The room after them is kept, so that it is not cleared for each read.
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
    /// Its length once it is expanded; that of the message, if it is not compressed.
    pub expanded: usize,
}

impl Head {
    /// True if a client that has to log in may send it.
    pub(crate) fn is_for_strangers(&self) -> bool {
        self.header.length.max(self.expanded) <= STRANGER_BYTES_MAX
    }

    /// The bytes of it that are read before its memory is charged; `None` if all of it is.
    fn before_charge(&self, is_stranger: bool) -> Option<usize> {
        let large = if is_stranger { LARGE_OF_STRANGERS } else { LARGE };
        (self.header.length.max(self.expanded) > large).then(|| large.min(self.header.length))
    }

    /// The memory that it takes until it is decoded: itself, what it expands to, and the copy of a body.
    pub fn bytes(&self) -> usize {
        let packed = if self.header.op_code == OpCode::Compressed { self.header.length } else { 0 };
        packed + self.expanded + self.expanded.min(MAX_BODY_BYTES)
    }
}

/// The principal whose account is charged for a message.
#[derive(Clone)]
pub(crate) struct Payer<'a> {
    /// The account.
    pub memory: &'a Memory,
    /// Whom it is charged to.
    pub principal: Principal,
    /// True for a connection that has to log in.
    pub is_stranger: bool,
}

impl Payer<'_> {
    /// Charges memory when it is free; `None` if it is not for some time, or the message needs too much.
    pub(crate) async fn charge(&self, bytes: usize) -> Option<Charge> {
        self.memory.charge(&self.principal, bytes, MEMORY_WAIT).await
    }
}

/// Why a message is not read.
pub(crate) enum NotRead {
    /// Its memory was not free for some time.
    NoMemory,
    /// The connection has ended, or is of no use any more.
    Ended(io::Error),
}

impl Incoming {
    fn bytes(&self) -> &[u8] {
        self.room.get(..self.count).unwrap_or_default()
    }

    /// The header of the next message; `None` if the client has ended the connection between two messages.
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
                // It has no room for what a compressed message begins with.
                Some(header) if header.length < DECLARED_BYTES => return Err(invalid(WireError::Truncated)),
                _ => READ_BYTES_MIN,
            };
            if !self.read(stream, missing).await? {
                return Ok(None);
            }
        }
    }

    /// Reads the rest of a message. A large one has its memory charged first.
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

    /// Reads bytes, of which `missing` are still needed. False at the end of the connection.
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

    /// A message that was read. It is used until it is [consumed](Incoming::consume).
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

    /// Removes a message and returns it. The returned vector keeps the buffer; the bytes after the message move to a
    /// new one.
    pub(crate) fn take(&mut self, length: usize) -> Vec<u8> {
        let rest = self.room.get(length..self.count).unwrap_or_default().to_vec();
        self.count = rest.len();
        let mut message = std::mem::replace(&mut self.room, rest);
        message.truncate(length);
        message
    }

    /// Reads the rest of a message and drops all of it: a client gets its reply after it has sent the request.
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
