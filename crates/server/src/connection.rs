//! One connection: reads requests, has them executed, and writes replies.

use crate::client::Client;
use crate::dispatch;
use crate::error::CommandError;
use crate::shared::{Counters, Shared};
use alluvium_wire::compression::{Compressor, compress, decompress};
use alluvium_wire::reply::{Ids, finish};
use alluvium_wire::{Form, HEADER_BYTES, Header, OpCode, Request, WireError};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Semaphore, watch};

/// A client that sends requests without reading replies is not read beyond this many bytes.
const AHEAD_BYTES_MAX: usize = 1 << 16;

/// A connection.
pub(crate) struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    client: Arc<Client>,
    /// Requests that are executed at a time.
    permits: Arc<Semaphore>,
    /// Changes when the server ends.
    stopping: watch::Receiver<bool>,
    /// Bytes that were read and not yet used.
    buffer: Vec<u8>,
    /// The number of the last reply.
    last_reply: i32,
}

/// A request, and how its reply is sent.
struct Received {
    request: Request,
    compressor: Option<Compressor>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(crate) fn new(
        stream: S,
        shared: Arc<Shared>,
        client: Client,
        permits: Arc<Semaphore>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self { stream, shared, client: Arc::new(client), permits, stopping, buffer: Vec::new(), last_reply: 0 }
    }

    /// Serves the connection until it ends. Errors of the connection end it, and are logged.
    pub(crate) async fn serve(mut self) {
        match self.run().await {
            Ok(()) => log::debug!("connection {} from {} ended", self.client.id, self.client.address),
            Err(error) => log::info!("connection {} from {} ended: {error}", self.client.id, self.client.address),
        }
    }

    async fn run(&mut self) -> io::Result<()> {
        while let Some(message) = self.next_message().await? {
            match receive(message) {
                Ok(received) => self.answer(received).await?,
                Err((error, Some(ids))) => {
                    let bytes = dispatch::refused(Form::Msg, &CommandError::invalid_bson(error.to_string()));
                    self.send(bytes, Form::Msg, ids, None).await?;
                }
                Err((error, None)) => return Err(io::Error::new(io::ErrorKind::InvalidData, error)),
            }
        }
        Ok(())
    }

    /// The next whole message; `None` if the client has ended the connection, or the server ends.
    async fn next_message(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut wanted = HEADER_BYTES;
        loop {
            if let Some(head) = self.buffer.first_chunk::<HEADER_BYTES>() {
                let header = Header::parse(head).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                wanted = header.length;
            }
            if self.buffer.len() >= wanted && wanted > HEADER_BYTES {
                break;
            }
            if wanted == HEADER_BYTES && self.buffer.len() == HEADER_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidData, WireError::Truncated));
            }
            // The declared length is not reserved at once: a client that sends a length and no bytes costs nothing.
            let read = tokio::select! {
                read = self.stream.read_buf(&mut self.buffer) => read?,
                _ = self.stopping.changed() => return Ok(None),
            };
            match (read, self.buffer.is_empty()) {
                (0, true) => return Ok(None),
                (0, false) => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
        Counters::add(&self.shared.counters.bytes_in, wanted as u64);
        if self.buffer.len() == wanted {
            return Ok(Some(std::mem::take(&mut self.buffer)));
        }
        let rest = self.buffer.split_off(wanted);
        Ok(Some(std::mem::replace(&mut self.buffer, rest)))
    }

    async fn answer(&mut self, received: Received) -> io::Result<()> {
        let Received { request, compressor } = received;
        let (form, request_id) = (request.form, request.request_id);
        // Before a login, and for logins, replies are never compressed.
        let compressor = compressor.filter(|_| !is_plain(&request));
        let stop = Arc::new(AtomicBool::new(false));
        let permit = Arc::clone(&self.permits).acquire_owned().await.map_err(io::Error::other)?;
        let (shared, client, stops) = (Arc::clone(&self.shared), Arc::clone(&self.client), Arc::clone(&stop));
        let mut job = tokio::task::spawn_blocking(move || {
            let _held = permit;
            dispatch::execute(&shared, &client, request, stops)
        });
        let reply = loop {
            if self.buffer.len() >= AHEAD_BYTES_MAX {
                break job.await;
            }
            tokio::select! {
                done = &mut job => break done,
                read = self.stream.read_buf(&mut self.buffer) => {
                    if !matches!(read, Ok(1..)) {
                        // The client is gone: its work ends.
                        stop.store(true, Ordering::Relaxed);
                        break job.await;
                    }
                }
            }
        };
        let bytes = match reply {
            Ok(None) => return Ok(()),
            Ok(Some(bytes)) => bytes,
            Err(error) => {
                log::error!("a command failed by a fault of this program: {error}");
                let error = CommandError::internal("the command failed by a fault of the server: see its log");
                dispatch::refused(form, &error)
            }
        };
        let ids = Ids { request_id: 0, response_to: request_id };
        self.send(bytes, form, ids, compressor).await
    }

    async fn send(&mut self, bytes: Vec<u8>, form: Form, ids: Ids, compressor: Option<Compressor>) -> io::Result<()> {
        self.last_reply = self.last_reply.wrapping_add(1);
        let message = finish(bytes, form, 0, Ids { request_id: self.last_reply, ..ids });
        let message = match compressor {
            Some(compressor) => compress(&message, compressor).map_err(io::Error::other)?,
            None => message,
        };
        Counters::add(&self.shared.counters.bytes_out, message.len() as u64);
        self.stream.write_all(&message).await?;
        self.stream.flush().await
    }
}

/// Reads a request. With its numbers if only a document in it is damaged, and the connection may continue.
fn receive(message: Vec<u8>) -> Result<Received, (WireError, Option<Ids>)> {
    let head = message.first_chunk::<HEADER_BYTES>().ok_or((WireError::Truncated, None))?;
    let header = Header::parse(head).map_err(|error| (error, None))?;
    let ids = Ids { request_id: 0, response_to: header.request_id };
    let parse = |header: &Header, bytes: &[u8]| {
        Request::parse(header, bytes).map_err(|error| (error, error.is_of_document().then_some(ids)))
    };
    if header.op_code == OpCode::Compressed {
        let (inner, bytes, compressor) = decompress(&header, &message).map_err(|error| (error, None))?;
        return Ok(Received { request: parse(&inner, &bytes)?, compressor: Some(compressor) });
    }
    Ok(Received { request: parse(&header, &message)?, compressor: None })
}

/// True for commands whose replies are never compressed.
fn is_plain(request: &Request) -> bool {
    const PLAIN: [&str; 4] = ["hello", "ismaster", "saslstart", "saslcontinue"];
    let name = request.body.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
    PLAIN.iter().any(|plain| name.eq_ignore_ascii_case(plain))
}
