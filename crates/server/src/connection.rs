//! One connection: reads a request, executes it, and writes the reply.
//!
//! A request is executed on the thread that has read the request: a thread of the connection itself
//! ([`crate::threads`]), or a thread of the runtime. The runtime has one thread for each request that may run at a
//! time, and two more, which wait for connections ([`crate::pulse`]). While a request runs, `pulse` checks whether the
//! client has disconnected.

use crate::admission::{Lane, Own, Permit};
use crate::client::Client;
use crate::commands::Command;
use crate::dispatch::{self, Reply};
use crate::error::CommandError;
use crate::fields::Fields;
use crate::figures::Figures;
use crate::incoming::{Head, Incoming, NotRead, Payer, STRANGER_BYTES_MAX, invalid};
use crate::memory::Charge;
use crate::receiving::{Received, Refused, receive};
use crate::sending;
use crate::shared::Shared;
use crate::socket::{self, Stream};
use crate::threads::{self, Wish};
use crate::waits::{Event, Wait};
use crate::write_gate::Writing;
use alluvium::Map;
use alluvium_wire::compression::{Compressor, compress};
use alluvium_wire::reply::{Ids, MORE_TO_COME, finish};
use alluvium_wire::{Form, OpCode, Request};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// A connection is busy if each request follows the previous reply within this time.
const QUICK: Duration = Duration::from_millis(5);
/// A connection asks for a thread of its own after this number of quick requests.
const QUICK_REQUESTS: u32 = 4;

/// The time after which a write looks again whether it may be made, if no transaction of a client is in its way.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// The time between two checks whether the client of a blocked write has disconnected.
const GATE_CHECK: Duration = Duration::from_millis(100);

/// The permits that a request holds while it is executed.
type Admitted<'a> = (Permit, Option<Writing<'a>>);

/// A connection.
pub(crate) struct Connection<S> {
    stream: S,
    incoming: Incoming,
    shared: Arc<Shared>,
    client: Arc<Client>,
    /// The share of permits for its requests.
    own: Own,
    /// Changes when the server stops.
    stopping: watch::Receiver<bool>,
    /// The number of the last reply.
    last_reply: i32,
    pace: Pace,
}

/// Measures how quickly the requests of a connection follow each other.
#[derive(Default)]
struct Pace {
    wish: Wish,
    /// The number of consecutive quick requests.
    quick: u32,
    /// The time when the last reply was sent, on the server's clock.
    replied: Duration,
}

impl<S: Stream> Connection<S> {
    pub(crate) fn new(
        stream: S,
        shared: Arc<Shared>,
        client: Client,
        stopping: watch::Receiver<bool>,
        wish: Wish,
    ) -> Self {
        let pace = Pace { wish, ..Pace::default() };
        Self {
            stream,
            incoming: Incoming::default(),
            shared,
            client: Arc::new(client),
            own: Own::default(),
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

    /// Answers requests until the client disconnects, the server stops, or the client sends an invalid message.
    async fn run(&mut self) -> io::Result<()> {
        while !self.shared.stopping.load(Ordering::Relaxed) {
            let head = tokio::select! {
                biased;
                head = self.incoming.head(&mut self.stream) => head?,
                _ = self.stopping.changed() => break,
            };
            let Some(head) = head else { break };
            let shared = Arc::clone(&self.shared);
            let payer = payer(&shared, &self.client);
            if payer.is_stranger && !head.is_for_strangers() {
                return self.turn_away(&head, &payer).await;
            }
            let charge = tokio::select! {
                biased;
                charge = self.incoming.rest(&mut self.stream, &head, &payer) => charge,
                _ = self.stopping.changed() => break,
            };
            let charge = match charge {
                Ok(charge) => charge,
                Err(NotRead::Ended(error)) => return Err(error),
                Err(NotRead::NoMemory) => {
                    self.incoming.discard(&mut self.stream, &head).await?;
                    self.refuse(&head, &CommandError::no_memory(head.bytes(), payer.memory), &payer).await?;
                    continue;
                }
            };
            self.keep_pace().await;
            Figures::add(&self.shared.figures.bytes_in, head.header.length as u64);
            match receive(&mut self.incoming, &head, &payer, charge).await {
                Ok(received) => self.answer(received, &payer).await?,
                Err(Refused::Answered(error)) => self.refuse(&head, &error, &payer).await?,
                Err(Refused::Ended(error)) => return Err(invalid(error)),
            }
            if !threads::is_of_connection() {
                self.pace.replied = self.shared.env.clock.now();
            }
        }
        Ok(())
    }

    /// Refuses a large message that was sent before a login, and ends the connection.
    async fn turn_away(&mut self, head: &Head, payer: &Payer<'_>) -> io::Result<()> {
        let message = format!(
            "a message of {} bytes requires authentication: before a login it may have {STRANGER_BYTES_MAX}, also \
             expanded",
            head.header.length.max(head.expanded)
        );
        self.incoming.discard(&mut self.stream, head).await?;
        self.refuse(head, &CommandError::unauthorized(message), payer).await?;
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "a large message before a login"))
    }

    /// Sends an error as the reply to a message that is not executed.
    async fn refuse(&mut self, head: &Head, error: &CommandError, payer: &Payer<'_>) -> io::Result<()> {
        let form = if head.header.op_code == OpCode::Query { Form::Query } else { Form::Msg };
        let ids = Ids { request_id: 0, response_to: head.header.request_id };
        self.send(Outgoing { bytes: dispatch::refused(form, error), form, flags: 0, ids, compressor: None }, payer)
            .await
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

    /// Executes a request and sends its reply. A request that allows several replies may get several.
    async fn answer(&mut self, received: Received, payer: &Payer<'_>) -> io::Result<()> {
        let Received { mut request, compressor, charge } = received;
        let mut charge = charge;
        // Replies to commands with secrets, which include logins, are never compressed.
        let compressor = compressor.filter(|_| !dispatch::command_of(&request).is_some_and(Command::has_secrets));
        let (form, mut ids) = (request.form, Ids { request_id: 0, response_to: request.request_id });
        loop {
            let next = request.exhaust_allowed.then(|| request.clone());
            let _copy =
                next.as_ref().and(charge.as_ref()).map(|charge| payer.memory.note(&payer.principal, charge.bytes()));
            let Some(reply) = self.execute(request, charge.as_ref(), payer).await? else { return Ok(()) };
            let next = next.filter(|_| reply.has_more);
            charge = charge.filter(|_| next.is_some());
            let flags = if next.is_some() { MORE_TO_COME } else { 0 };
            let sent = self.send(Outgoing { bytes: reply.bytes, form, flags, ids, compressor }, payer).await;
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

    /// Executes a request. A request that waits for documents of a tailable cursor, or for a transaction, is executed
    /// again until it has a reply.
    async fn execute(
        &mut self,
        request: Request,
        charge: Option<&Charge>,
        payer: &Payer<'_>,
    ) -> io::Result<Option<Reply>> {
        let again = (is_get_more(&request) || self.may_meet_transactions(&request)).then(|| request.clone());
        self.client.waits.set_repeatable(again.is_some());
        let _copy = again.as_ref().and(charge).map(|charge| payer.memory.note(&payer.principal, charge.bytes()));
        let mut executed = self.execute_once(request, true, payer).await?;
        while let (Some(request), Some(mut wait)) = (&again, self.client.waits.take_wait()) {
            if !self.wait(&mut wait, request).await {
                return Ok(None);
            }
            self.client.waits.resume(wait.until);
            drop(wait);
            executed = self.execute_once(request.clone(), false, payer).await?;
        }
        let _unused = self.client.waits.take_resumed();
        Ok(executed)
    }

    /// True for a write outside of transactions, while there are open transactions.
    fn may_meet_transactions(&self, request: &Request) -> bool {
        self.shared.sessions.transactions.any()
            && request.body.get("autocommit").is_none()
            && dispatch::command_of(request).is_some_and(|command| command.writes(&request.body))
    }

    /// Waits until a request has to be executed again. Returns false if the client has disconnected.
    async fn wait(&mut self, wait: &mut Wait, request: &Request) -> bool {
        let time = wait.until.saturating_sub(self.shared.env.clock.now());
        match &mut wait.event {
            Event::Documents { changed, .. } => tokio::select! {
                () = changed.notified() => {}
                () = self.pause(time) => {}
            },
            Event::Transaction(ended) => {
                let stop = self.client.running.begin();
                let shared = Arc::clone(&self.shared);
                let client = Arc::clone(&self.client);
                let command = dispatch::command_of(request);
                let _listed = command.map(|it| dispatch::list_waiting(&shared, &client, it, &request.body, &stop));
                let (mut waited, part) = (Duration::ZERO, if ended.is_some() { GATE_CHECK } else { LOOK_AGAIN });
                while waited < time && !stop.load(Ordering::Relaxed) {
                    let part = part.min(time.saturating_sub(waited));
                    waited += part;
                    let Some(ended) = ended else {
                        self.pause(part).await;
                        break;
                    };
                    tokio::select! {
                        _ = ended.changed() => break,
                        () = self.pause(part) => {}
                    }
                }
                if stop.load(Ordering::Relaxed) {
                    // The next execution ends at once.
                    wait.until = Duration::ZERO;
                }
                self.client.running.finish();
            }
        }
        !self.client.running.is_gone()
    }

    /// Waits before a request without occupying a thread. Ends early when the client disconnects or the server stops.
    async fn pause(&mut self, time: Duration) {
        if time.is_zero() || self.shared.stopping.load(Ordering::Relaxed) {
            return;
        }
        tokio::select! {
            () = tokio::time::sleep(time) => {}
            () = socket::gone(&mut self.stream) => self.client.running.end(),
            _ = self.stopping.changed() => {}
        }
    }

    /// Executes a request once, after waiting for its permits. Fail points apply only to the first execution.
    async fn execute_once(&mut self, request: Request, is_first: bool, payer: &Payer<'_>) -> io::Result<Option<Reply>> {
        let form = request.form;
        let failure = if is_first { dispatch::failure(&self.shared, &self.client, &request) } else { None };
        let failure = failure.map(|failure| failure.within_limit(&request.body));
        let wait = failure.as_ref().map_or(Duration::ZERO, |failure| failure.wait);
        let command = dispatch::command_of(&request);
        let own_wait = command.map_or(Duration::ZERO, |command| (command.wait)(&self.shared, &request.body));
        self.pause(wait + own_wait).await;
        if failure.as_ref().is_some_and(|failure| failure.closes) {
            return Err(closed_by_fail_point());
        }
        let stop = self.client.running.begin();
        let shared = Arc::clone(&self.shared);
        let admitted = match admit(&shared, &self.client, &mut self.own, payer, command, &request.body, &stop).await? {
            Ok(admitted) => admitted,
            Err(error) => return Ok(Some(Reply { bytes: dispatch::refused(form, &error), has_more: false })),
        };
        // After a panic, the server continues to use only state that threads share. No panic leaves this state locked.
        let of_runtime = usize::from(!threads::is_of_connection());
        self.shared.executing.fetch_add(of_runtime, Ordering::Relaxed);
        let executed =
            catch_unwind(AssertUnwindSafe(|| dispatch::execute(&self.shared, &self.client, request, failure, stop)));
        self.shared.executing.fetch_sub(of_runtime, Ordering::Relaxed);
        self.client.running.finish();
        drop(admitted);
        let delay = self.client.peer.take_delay();
        if !delay.is_zero() {
            // Delays the reply after failed logins. The request has returned its permit, and no thread waits.
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

    async fn send(&mut self, outgoing: Outgoing, payer: &Payer<'_>) -> io::Result<()> {
        let Outgoing { bytes, form, flags, ids, compressor } = outgoing;
        self.last_reply = self.last_reply.wrapping_add(1);
        let mut message = finish(bytes, form, flags, Ids { request_id: self.last_reply, ..ids });
        if let Some(compressor) = compressor {
            message = compress(&message, compressor).map_err(io::Error::other)?;
        }
        Figures::add(&self.shared.figures.bytes_out, message.len() as u64);
        let charge = self.client.take_reply_charge();
        sending::send(&mut self.stream, message, charge, payer, self.shared.config.unread_max).await
    }
}

/// A reply to be sent.
struct Outgoing {
    bytes: Vec<u8>,
    form: Form,
    flags: u32,
    ids: Ids,
    compressor: Option<Compressor>,
}

/// The principal that currently pays for the requests of the connection.
fn payer<'a>(shared: &'a Shared, client: &Client) -> Payer<'a> {
    let (principal, is_user) = client.peer.principal();
    let is_stranger = !is_user && shared.security.is_checked(&client.peer);
    let memory = if is_stranger { &shared.strangers } else { &shared.memory };
    Payer { memory, principal, is_stranger }
}

fn closed_by_fail_point() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionAborted, "a fail point closes the connection")
}

/// Waits for the permits of a request and, if the request writes, until no `fsync` lock blocks writes. Requests before
/// a login use the control lane, because they are answered or refused at once.
async fn admit<'a>(
    shared: &'a Shared,
    client: &Arc<Client>,
    own: &mut Own,
    payer: &Payer<'_>,
    command: Option<&'static Command>,
    body: &Map,
    stop: &Arc<AtomicBool>,
) -> io::Result<Result<Admitted<'a>, CommandError>> {
    let began = shared.env.clock.now();
    // A request without a known command is only refused.
    let lane = command.filter(|_| !payer.is_stranger).map_or(Lane::Control, |command| command.lane(body));
    let writing = command.filter(|command| command.is_held_by_fsync(body));
    let mut listed = None;
    loop {
        let permit = shared.admission.admit(own, &payer.principal, lane).await.map_err(io::Error::other)?;
        let Some(command) = writing else { return Ok(Ok((permit, None))) };
        if let Some(writing) = shared.writes.enter() {
            return Ok(Ok((permit, Some(writing))));
        }
        drop(permit);
        if listed.is_none() && !payer.is_stranger {
            listed = dispatch::list_waiting(shared, client, command, body, stop);
        }
        if stop.load(Ordering::Relaxed) || shared.stopping.load(Ordering::Relaxed) {
            return Ok(Err(CommandError::new(11601, "Interrupted", "operation was interrupted")));
        }
        let limit = body.integer("maxTimeMS").and_then(|millis| u64::try_from(millis).ok());
        let waited = shared.env.clock.now().saturating_sub(began);
        if limit.is_some_and(|limit| limit > 0 && waited >= Duration::from_millis(limit)) {
            return Ok(Err(CommandError::new(50, "MaxTimeMSExpired", "operation exceeded time limit")));
        }
        shared.writes.wait(GATE_CHECK).await;
    }
}

fn is_get_more(request: &Request) -> bool {
    request.body.entries.first().is_some_and(|(name, _)| name.as_str() == Some("getMore"))
}
