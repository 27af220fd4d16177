//! One connection: a task reads requests, another executes them and writes replies.
//!
//! A request is executed on the thread of its task, so that it passes to no other thread. The threads are as many as
//! requests may run at a time, and two more, which wait for connections ([`crate::pulse`]). The task that reads notices that the
//! client is gone, and ends the request that runs.

use crate::client::Client;
use crate::dispatch::{self, Reply};
use crate::error::CommandError;
use crate::fields::Fields;
use crate::figures::Figures;
use crate::running::Running;
use crate::shared::Shared;
use crate::tailing::Wait;
use crate::write_gate::Writing;
use alluvium_wire::compression::{Compressor, compress, decompress};
use alluvium_wire::reply::{Ids, MORE_TO_COME, finish};
use alluvium_wire::{Form, HEADER_BYTES, Header, OpCode, Request, WireError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, watch};

/// The messages of a client that are read before the first is answered.
const AHEAD: usize = 1;
/// The least and the most bytes that are read at once. The declared length of a message is not reserved at once: a
/// client that sends a length and no bytes costs nothing.
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 1 << 20;

/// The time between two looks at whether the client of a write that is held back is gone.
const GATE_CHECK: Duration = Duration::from_millis(100);

/// What a request has while it is executed.
type Admitted<'a> = (SemaphorePermit<'a>, Option<Writing<'a>>);

/// A connection.
pub(crate) struct Connection<S> {
    stream: S,
    shared: Arc<Shared>,
    client: Client,
    /// Requests that are executed at a time.
    permits: Arc<Semaphore>,
    /// Changes when the server ends.
    stopping: watch::Receiver<bool>,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    pub(crate) fn new(
        stream: S,
        shared: Arc<Shared>,
        client: Client,
        permits: Arc<Semaphore>,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        Self { stream, shared, client, permits, stopping }
    }

    /// Serves the connection until it ends. Errors of the connection end it, and are logged.
    pub(crate) async fn serve(self) {
        let Self { stream, shared, client, permits, stopping } = self;
        let (id, address) = (client.id, client.address.clone());
        let (read, write) = tokio::io::split(stream);
        let (sender, messages) = mpsc::channel(AHEAD);
        let running = Arc::clone(&client.running);
        let reader = Reader { stream: read, stopping, buffer: Vec::new(), running: Arc::clone(&running) };
        let reading = tokio::spawn(reader.run(sender));
        shared.operations.connect(id, address.clone());
        let mut executor = Executor { stream: write, shared, client, permits, running, last_reply: 0 };
        match executor.run(messages).await {
            Ok(()) => log::debug!("connection {id} from {address} ended"),
            Err(error) => log::info!("connection {id} from {address} ended: {error}"),
        }
        executor.shared.operations.disconnect(id);
        reading.abort();
    }
}

/// The task that reads messages.
struct Reader<S> {
    stream: ReadHalf<S>,
    stopping: watch::Receiver<bool>,
    /// Bytes that were read and not yet used.
    buffer: Vec<u8>,
    running: Arc<Running>,
}

impl<S: AsyncRead + AsyncWrite> Reader<S> {
    /// Reads until the client is gone, the server ends, or the client sends what is no message.
    async fn run(mut self, messages: mpsc::Sender<io::Result<Vec<u8>>>) {
        let mut stopping = self.stopping.clone();
        loop {
            let message = tokio::select! {
                message = self.next() => message,
                _ = stopping.changed() => {
                    self.running.wake();
                    return;
                }
            };
            let (message, ends) = match message {
                Ok(Some(message)) => (Ok(message), false),
                Ok(None) => {
                    self.running.end();
                    return;
                }
                Err(error) => (Err(error), true),
            };
            if ends {
                self.running.end();
            }
            if messages.send(message).await.is_err() || ends {
                return;
            }
        }
    }

    /// The next whole message; `None` if the client has ended the connection between two messages.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let length = match self.buffer.first_chunk::<HEADER_BYTES>() {
                Some(head) => Some(Header::parse(head).map_err(invalid)?.length),
                None => None,
            };
            if let Some(length) = length.filter(|length| *length <= self.buffer.len()) {
                let rest = self.buffer.split_off(length);
                return Ok(Some(std::mem::replace(&mut self.buffer, rest)));
            }
            let missing = length.unwrap_or(HEADER_BYTES) - self.buffer.len();
            self.buffer.reserve(missing.clamp(READ_BYTES_MIN, READ_BYTES_MAX));
            match self.stream.read_buf(&mut self.buffer).await? {
                0 if self.buffer.is_empty() => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                _ => {}
            }
        }
    }
}

fn invalid(error: WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// The task that executes requests and writes replies.
struct Executor<S> {
    stream: WriteHalf<S>,
    shared: Arc<Shared>,
    client: Client,
    permits: Arc<Semaphore>,
    running: Arc<Running>,
    /// The number of the last reply.
    last_reply: i32,
}

/// A request, and how its reply is sent.
struct Received {
    request: Request,
    compressor: Option<Compressor>,
}

impl<S: AsyncRead + AsyncWrite> Executor<S> {
    async fn run(&mut self, mut messages: mpsc::Receiver<io::Result<Vec<u8>>>) -> io::Result<()> {
        while let Some(message) = messages.recv().await {
            let message = message?;
            Figures::add(&self.shared.figures.bytes_in, message.len() as u64);
            match receive(&message) {
                Ok(received) => self.answer(received).await?,
                Err(Refused { error, ids: Some(ids) }) => {
                    let bytes = dispatch::refused(Form::Msg, &CommandError::invalid_bson(error.to_string()));
                    self.send(bytes, Form::Msg, 0, ids, None).await?;
                }
                Err(Refused { error, ids: None }) => return Err(invalid(error)),
            }
        }
        Ok(())
    }

    /// Executes a request and sends its reply, or its replies: to one that allows it, several are sent.
    async fn answer(&mut self, received: Received) -> io::Result<()> {
        let Received { mut request, compressor } = received;
        // Before a login, and for logins, replies are never compressed.
        let compressor = compressor.filter(|_| !is_plain(&request));
        let (form, mut ids) = (request.form, Ids { request_id: 0, response_to: request.request_id });
        loop {
            let next = request.exhaust_allowed.then(|| request.clone());
            let Some(reply) = self.execute(request).await? else { return Ok(()) };
            let next = next.filter(|_| reply.has_more);
            let flags = if next.is_some() { MORE_TO_COME } else { 0 };
            let sent = self.send(reply.bytes, form, flags, ids, compressor).await;
            match next {
                Some(next) if sent.is_ok() && !self.running.is_gone() => request = next,
                Some(next) => {
                    dispatch::abandon(&self.shared, &self.client, &next);
                    return sent;
                }
                None => return sent,
            }
            ids.response_to = self.last_reply;
        }
    }

    /// Executes a request; one that waits for documents of a tailable cursor until it replies.
    async fn execute(&mut self, request: Request) -> io::Result<Option<Reply>> {
        let again = is_get_more(&request).then(|| request.clone());
        let mut executed = self.execute_once(request, true).await?;
        while let (Some(request), Some(wait)) = (&again, self.client.tailing.take_wait()) {
            if !self.wait(&wait).await {
                return Ok(None);
            }
            self.client.tailing.resume(wait.until);
            drop(wait);
            executed = self.execute_once(request.clone(), false).await?;
        }
        Ok(executed)
    }

    /// Waits until a request for documents of a tailable cursor is to be executed again; false if the client is gone.
    async fn wait(&mut self, wait: &Wait) -> bool {
        let time = wait.until.saturating_sub(self.shared.env.clock.now());
        tokio::select! {
            () = wait.changed.notified() => {}
            () = self.running.wait(&self.shared.stopping, time) => {}
        }
        !self.running.is_gone()
    }

    /// Executes a request, when as few others run as the server allows. Fail points are for its first time.
    async fn execute_once(&mut self, request: Request, is_first: bool) -> io::Result<Option<Reply>> {
        let form = request.form;
        let failure = if is_first { dispatch::failure(&self.shared, &self.client, &request) } else { None };
        let failure = failure.map(|failure| failure.within_limit(&request.body));
        let wait = failure.as_ref().map_or(Duration::ZERO, |failure| failure.wait);
        self.running.wait(&self.shared.stopping, wait + dispatch::wait(&self.shared, &request)).await;
        if failure.as_ref().is_some_and(|failure| failure.closes) {
            return Err(closed_by_fail_point());
        }
        let stop = self.running.begin();
        let (permits, shared) = (Arc::clone(&self.permits), Arc::clone(&self.shared));
        let admitted = match admit(&permits, &shared, &request, &stop).await? {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Some(Reply { bytes: dispatch::refused(form, &error), has_more: false })),
        };
        // Nothing of the server is used after a panic but what is shared by threads, which no panic leaves locked.
        self.shared.executing.fetch_add(1, Ordering::Relaxed);
        let executed =
            catch_unwind(AssertUnwindSafe(|| dispatch::execute(&self.shared, &self.client, request, failure, stop)));
        self.shared.executing.fetch_sub(1, Ordering::Relaxed);
        self.running.finish();
        drop(admitted);
        let delay = self.client.peer.take_delay();
        if !delay.is_zero() {
            // After logins that failed. The request has given its permit back, and no thread waits.
            tokio::time::sleep(delay).await;
        }
        if self.client.is_closed() {
            return Err(closed_by_fail_point());
        }
        Ok(executed.unwrap_or_else(|_| {
            log::error!("a command failed by a fault of this program, whose message is on standard error");
            let error = CommandError::internal("the command failed by a fault of the server: see its log");
            Some(Reply { bytes: dispatch::refused(form, &error), has_more: false })
        }))
    }

    async fn send(
        &mut self,
        bytes: Vec<u8>,
        form: Form,
        flags: u32,
        ids: Ids,
        compressor: Option<Compressor>,
    ) -> io::Result<()> {
        self.last_reply = self.last_reply.wrapping_add(1);
        let message = finish(bytes, form, flags, Ids { request_id: self.last_reply, ..ids });
        let message = match compressor {
            Some(compressor) => compress(&message, compressor).map_err(io::Error::other)?,
            None => message,
        };
        Figures::add(&self.shared.figures.bytes_out, message.len() as u64);
        self.stream.write_all(&message).await?;
        self.stream.flush().await
    }
}

fn closed_by_fail_point() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "a fail point closes the connection")
}

/// Waits until a request may be executed: until fewer are executed than may be and, if it writes, until no `fsync`
/// holds writes back.
async fn admit<'a>(
    permits: &'a Semaphore,
    shared: &'a Shared,
    request: &Request,
    stop: &AtomicBool,
) -> io::Result<Result<Admitted<'a>, CommandError>> {
    let began = shared.env.clock.now();
    loop {
        let permit = permits.acquire().await.map_err(io::Error::other)?;
        if !dispatch::writes(request) {
            return Ok(Ok((permit, None)));
        }
        if let Some(writing) = shared.writes.enter() {
            return Ok(Ok((permit, Some(writing))));
        }
        drop(permit);
        if stop.load(Ordering::Relaxed) || shared.stopping.load(Ordering::Relaxed) {
            return Ok(Err(CommandError::new(11601, "Interrupted", "operation was interrupted")));
        }
        let limit = request.body.integer("maxTimeMS").and_then(|millis| u64::try_from(millis).ok());
        let waited = shared.env.clock.now().saturating_sub(began);
        if limit.is_some_and(|limit| limit > 0 && waited >= Duration::from_millis(limit)) {
            return Ok(Err(CommandError::new(50, "MaxTimeMSExpired", "operation exceeded time limit")));
        }
        shared.writes.wait(GATE_CHECK).await;
    }
}

/// A message that is no request.
struct Refused {
    error: WireError,
    /// Its numbers, if only a document in it is damaged and the connection may continue.
    ids: Option<Ids>,
}

/// Reads a request.
fn receive(message: &[u8]) -> Result<Received, Refused> {
    let of_connection = |error: WireError| Refused { error, ids: None };
    let head = message.first_chunk::<HEADER_BYTES>().ok_or(of_connection(WireError::Truncated))?;
    let header = Header::parse(head).map_err(of_connection)?;
    let ids = Ids { request_id: 0, response_to: header.request_id };
    let parse = |header: &Header, bytes: &[u8]| {
        Request::parse(header, bytes).map_err(|error| Refused { error, ids: error.is_of_document().then_some(ids) })
    };
    if header.op_code == OpCode::Compressed {
        let (inner, bytes, compressor) = decompress(&header, message).map_err(of_connection)?;
        return Ok(Received { request: parse(&inner, &bytes)?, compressor: Some(compressor) });
    }
    Ok(Received { request: parse(&header, message)?, compressor: None })
}

fn is_get_more(request: &Request) -> bool {
    request.body.entries.first().is_some_and(|(name, _)| name.as_str() == Some("getMore"))
}

/// True for commands whose replies are never compressed.
fn is_plain(request: &Request) -> bool {
    const PLAIN: [&str; 4] = ["hello", "ismaster", "saslstart", "saslcontinue"];
    let name = request.body.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
    PLAIN.iter().any(|plain| name.eq_ignore_ascii_case(plain))
}
