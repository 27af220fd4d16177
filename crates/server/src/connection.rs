//! One connection: reads a request, executes it, writes the reply.
//!
//! A request is executed on the thread that has read it: one of the connection itself ([`crate::threads`]), or one of the
//! runtime. Those are as many as requests may run at a time, and two more, which wait for connections
//! ([`crate::pulse`]). While a request runs, `pulse` looks whether the client is gone.

use crate::client::Client;
use crate::dispatch::{self, Reply};
use crate::error::CommandError;
use crate::fields::Fields;
use crate::figures::Figures;
use crate::shared::Shared;
use crate::socket::Stream;
use crate::tailing::Wait;
use crate::threads::{self, Wish};
use crate::write_gate::Writing;
use alluvium_wire::compression::{Compressor, compress, decompress};
use alluvium_wire::reply::{Ids, MORE_TO_COME, finish};
use alluvium_wire::{Form, HEADER_BYTES, Header, OpCode, Request, WireError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// The least and the most bytes that are read at once. The declared length of a message is not reserved at once: a
/// client that sends a length and no bytes costs nothing.
const READ_BYTES_MIN: usize = 4 << 10;
const READ_BYTES_MAX: usize = 1 << 20;

/// A connection is busy whose requests follow the replies to those before them within this time.
const QUICK: Duration = Duration::from_millis(5);
/// After this number of quick requests it asks for a thread.
const QUICK_REQUESTS: u32 = 4;

/// The time between two looks at whether the client of a write that is held back is gone.
const GATE_CHECK: Duration = Duration::from_millis(100);

/// What a request has while it is executed.
type Admitted<'a> = (SemaphorePermit<'a>, Option<Writing<'a>>);

/// A connection.
pub(crate) struct Connection<S> {
    stream: S,
    incoming: Incoming,
    shared: Arc<Shared>,
    client: Arc<Client>,
    /// Requests that are executed at a time.
    permits: Arc<Semaphore>,
    /// Changes when the server ends.
    stopping: watch::Receiver<bool>,
    /// The number of the last reply.
    last_reply: i32,
    pace: Pace,
}

/// Bytes that were read and not yet used. The room after them is kept, so that it is not cleared for each read.
#[derive(Default)]
struct Incoming {
    room: Vec<u8>,
    count: usize,
}

/// How soon the requests of a connection follow each other.
#[derive(Default)]
struct Pace {
    wish: Wish,
    /// The number of quick requests one after the other.
    quick: u32,
    /// When the last reply was sent, on the server's clock.
    replied: Duration,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(
        stream: S,
        shared: Arc<Shared>,
        client: Client,
        permits: Arc<Semaphore>,
        stopping: watch::Receiver<bool>,
        wish: Wish,
    ) -> Self {
        let pace = Pace { wish, ..Pace::default() };
        Self {
            stream,
            incoming: Incoming::default(),
            shared,
            client: Arc::new(client),
            permits,
            stopping,
            last_reply: 0,
            pace,
        }
    }

    /// Serves the connection until it ends. Errors of the connection end it, and are logged.
    pub(crate) async fn serve(mut self) {
        let (id, address) = (self.client.id, self.client.address.clone());
        self.shared.operations.connect(id, address.clone());
        match self.run().await {
            Ok(()) => log::debug!("connection {id} from {address} ended"),
            Err(error) => log::info!("connection {id} from {address} ended: {error}"),
        }
        self.shared.operations.disconnect(id);
    }

    /// Answers requests until the client is gone, the server ends, or the client sends what is no message.
    async fn run(&mut self) -> io::Result<()> {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            let length = tokio::select! {
                biased;
                length = self.incoming.next(&mut self.stream) => length?,
                _ = self.stopping.changed() => break,
            };
            let Some(length) = length else { break };
            self.keep_pace().await;
            Figures::add(&self.shared.figures.bytes_in, length as u64);
            let received = receive(self.incoming.bytes().get(..length).unwrap_or_default());
            self.incoming.consume(length);
            match received {
                Ok(received) => self.answer(received).await?,
                Err(Refused { error, ids: Some(ids) }) => {
                    let bytes = dispatch::refused(Form::Msg, &CommandError::invalid_bson(error.to_string()));
                    self.send(bytes, Form::Msg, 0, ids, None).await?;
                }
                Err(Refused { error, ids: None }) => return Err(invalid(error)),
            }
            if !threads::is_of_connection() {
                self.pace.replied = self.shared.env.clock.now();
            }
        }
        Ok(())
    }

    /// Asks for a thread if the connection is busy.
    async fn keep_pace(&mut self) {
        if threads::is_of_connection() {
            return;
        }
        let pause = self.shared.env.clock.now().saturating_sub(self.pace.replied);
        self.pace.quick = if pause < QUICK { self.pace.quick + 1 } else { 0 };
        if self.pace.quick >= QUICK_REQUESTS {
            self.pace.quick = 0;
            self.pace.wish.be_granted().await;
        }
    }

    /// Executes a request and sends its reply, or its replies: to one that allows it, several are sent.
    async fn answer(&mut self, received: Received) -> io::Result<()> {
        let Received { mut request, compressor } = received;
        // Before a login, and for logins, replies are never compressed.
        let compressor = compressor.filter(|_| !dispatch::has_secrets(&request));
        let (form, mut ids) = (request.form, Ids { request_id: 0, response_to: request.request_id });
        loop {
            let next = request.exhaust_allowed.then(|| request.clone());
            let Some(reply) = self.execute(request).await? else { return Ok(()) };
            let next = next.filter(|_| reply.has_more);
            let flags = if next.is_some() { MORE_TO_COME } else { 0 };
            let sent = self.send(reply.bytes, form, flags, ids, compressor).await;
            match next {
                Some(next) if sent.is_ok() && !self.client.running.is_gone() => request = next,
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
            () = self.pause(time) => {}
        }
        !self.client.running.is_gone()
    }

    /// Waits before a request, without a thread. Ends early when the client is gone, or the server ends.
    async fn pause(&mut self, time: Duration) {
        if time.is_zero() || self.shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = self.stream.socket().gone() => self.client.running.end(),
            _ = self.stopping.changed() => {}
        }
    }

    /// Executes a request, when as few others run as the server allows. Fail points are for its first time.
    async fn execute_once(&mut self, request: Request, is_first: bool) -> io::Result<Option<Reply>> {
        let form = request.form;
        let failure = if is_first { dispatch::failure(&self.shared, &self.client, &request) } else { None };
        let failure = failure.map(|failure| failure.within_limit(&request.body));
        let wait = failure.as_ref().map_or(Duration::ZERO, |failure| failure.wait);
        self.pause(wait + dispatch::wait(&self.shared, &request)).await;
        if failure.as_ref().is_some_and(|failure| failure.closes) {
            return Err(closed_by_fail_point());
        }
        let stop = self.client.running.begin();
        let (permits, shared) = (Arc::clone(&self.permits), Arc::clone(&self.shared));
        let admitted = match admit(&permits, &shared, &request, &stop).await? {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Some(Reply { bytes: dispatch::refused(form, &error), has_more: false })),
        };
        // Nothing of the server is used after a panic but what is shared by threads, which no panic leaves locked.
        let of_runtime = usize::from(!threads::is_of_connection());
        self.shared.executing.fetch_add(of_runtime, Ordering::Relaxed);
        let executed =
            catch_unwind(AssertUnwindSafe(|| dispatch::execute(&self.shared, &self.client, request, failure, stop)));
        self.shared.executing.fetch_sub(of_runtime, Ordering::Relaxed);
        self.client.running.finish();
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

impl Incoming {
    fn bytes(&self) -> &[u8] {
        self.room.get(..self.count).unwrap_or_default()
    }

    /// The length of the next whole message; `None` if the client has ended the connection between two messages.
    async fn next(&mut self, stream: &mut impl Stream) -> io::Result<Option<usize>> {
        loop {
            let length = match self.bytes().first_chunk::<HEADER_BYTES>() {
                Some(head) => Some(Header::parse(head).map_err(invalid)?.length),
                None => None,
            };
            if let Some(length) = length.filter(|length| *length <= self.count) {
                return Ok(Some(length));
            }
            let missing = length.unwrap_or(HEADER_BYTES) - self.count;
            let room = self.count + missing.clamp(READ_BYTES_MIN, READ_BYTES_MAX);
            if self.room.len() < room {
                self.room.resize(room, 0);
            }
            match stream.read(self.room.get_mut(self.count..).unwrap_or_default()).await? {
                0 if self.count == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.count += read,
            }
        }
    }

    /// Removes a message, and the room of a long one.
    fn consume(&mut self, length: usize) {
        self.room.copy_within(length..self.count, 0);
        self.count -= length;
        if self.room.len() > READ_BYTES_MAX {
            self.room.truncate(self.count);
            self.room.shrink_to_fit();
        }
    }
}

fn invalid(error: WireError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// A request, and how its reply is sent.
struct Received {
    request: Request,
    compressor: Option<Compressor>,
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
