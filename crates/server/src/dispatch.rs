//! Executes a request and makes its reply.

mod concerns;
mod gates;
mod incoming;
mod profiling;
mod replies;
mod transactions;

use crate::body::Body;
use crate::call::Call;
use crate::client::Client;
use crate::collection_uuid;
use crate::commands::{self, Command};
use crate::concern::WriteConcern;
use crate::error::{CommandError, CommandResult};
use crate::fail_points::{Candidate, Failure};
use crate::fields::Fields;
use crate::figures::Figures;
use crate::operations::{Listed, Operation};
use crate::retries::Retry;
use crate::security::action::Action;
use crate::security::privilege::Need;
use crate::sessions::{CheckedOut, End, SessionId};
use crate::shared::Shared;
use alluvium::{Map, Timestamp, Value};
use alluvium_document::BsonBuilder;
use alluvium_wire::Request;
use incoming::Incoming;
pub(crate) use replies::refused;
use replies::{Labels, cluster_time, complete, describe, failed, put_concern_error};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A reply.
pub(crate) struct Reply {
    /// The bytes of the message; its header is not complete yet.
    pub bytes: Vec<u8>,
    /// True if another reply follows without a request: the same request is executed again.
    pub has_more: bool,
}

impl Reply {
    /// A reply that is not followed by another one.
    fn last(bytes: Vec<u8>) -> Self {
        Self { bytes, has_more: false }
    }
}

/// Executes a request. Returns no reply if the client expects none.
pub(crate) fn execute(
    shared: &Shared,
    client: &Arc<Client>,
    mut request: Request,
    failure: Option<Failure>,
    stop: Arc<AtomicBool>,
) -> Option<Reply> {
    Figures::add(&shared.figures.requests, 1);
    let (form, silent) = (request.form, request.more_to_come);
    let name = name_of(&request.body);
    let Some(command) = find(shared, name) else {
        let error = CommandError::command_not_found(format!("no such command: '{name}'"));
        return (!silent).then(|| Reply::last(failed(form, &error, cluster_time(shared))));
    };
    if name != command.name
        && let Some((name, _)) = request.body.entries.first_mut()
    {
        // Replaces an alias by the name of the command, which fields, privileges and listings use.
        *name = Value::from(command.name);
    }
    let body = Body::new(std::mem::take(&mut request.body));
    let labels = Labels::new(command, &body, failure.as_ref().and_then(|it| it.labels.clone()));
    let concern = WriteConcern::parse(&body, shared.config.replica_set.is_some());
    // The reply to a write has the error of its write concern, even if the write fails.
    let unsatisfiable = concern.as_ref().ok().filter(|_| command.may_write()).and_then(|it| it.unsatisfiable.clone());
    let began = shared.env.clock.now();
    let outcome = run(Order { shared, client, command, body, request, failure, concern, labels: &labels, stop });
    let outcome = outcome.map_err(|error| ended_by_shutdown(shared, error));
    let time = shared.env.clock.now().saturating_sub(began);
    shared.figures.note(command.name, time, outcome.is_err());
    if silent {
        return None;
    }
    let finished = outcome
        .and_then(|done| Ok(Reply { bytes: complete(shared, done.builder, done.written)?, has_more: done.has_more }));
    Some(finished.unwrap_or_else(|error| {
        let mut fields = labels.of(&error);
        fields.entries.extend(unsatisfiable.map(|error| ("writeConcernError".into(), Value::Map(describe(&error)))));
        fields.entries.extend(cluster_time(shared).entries);
        Reply::last(failed(form, &error, fields))
    }))
}

/// The error of a command, which the end of the server may have interrupted. Clients repeat such a command elsewhere.
fn ended_by_shutdown(shared: &Shared, error: CommandError) -> CommandError {
    match error.name == "Interrupted" && shared.stopping.load(Ordering::Relaxed) {
        true => {
            let shutdown = CommandError::new(11600, "InterruptedAtShutdown", "interrupted at shutdown");
            CommandError { is_of_stream: error.is_of_stream, ..shutdown }
        }
        false => error,
    }
}

/// The command of a request; `None` if it is unknown.
pub(crate) fn command_of(request: &Request) -> Option<&'static Command> {
    commands::find(name_of(&request.body))
}

/// Lists a request that a lock of `fsync` blocks, so that `currentOp` shows the request and `killOp` can end it.
pub(crate) fn list_waiting<'a>(
    shared: &'a Shared,
    client: &Arc<Client>,
    command: &Command,
    body: &Map,
    stop: &Arc<AtomicBool>,
) -> Option<Listed<'a>> {
    let namespace = (command.namespace)(&database_of(body, command).ok()?, body);
    Some(shared.operations.begin(Operation {
        op: command.op,
        namespace: namespace.into(),
        shown: command.shown(&Arc::new(command.without_statements(body))),
        session: SessionId::of_command(body, client.user()).ok().flatten(),
        client: Arc::clone(client),
        began: shared.env.clock.now(),
        stop: Arc::clone(stop),
        waits_for_lock: true,
    }))
}

/// The name of the command, as the client has written it.
fn name_of(body: &Map) -> &str {
    body.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default()
}

/// The command with a name, if this server accepts the command.
fn find(shared: &Shared, name: &str) -> Option<&'static Command> {
    commands::find(name).filter(|command| !command.is_for_tests || shared.config.test_commands)
}

/// The failure that a fail point sets for a request.
pub(crate) fn failure(shared: &Shared, client: &Client, request: &Request) -> Option<Failure> {
    if !shared.fail_points.are_on() {
        return None;
    }
    let command = find(shared, name_of(&request.body)).filter(|command| !command.is_for_tests)?;
    let application = || client.application(&request.body);
    let resolve = |name: &str| commands::find(name).map(|command| command.name);
    let candidate = Candidate { name: command.name, body: &request.body, resolve, application: &application };
    shared.fail_points.on_command(&candidate)
}

/// Releases the state for further replies to a request.
pub(crate) fn abandon(shared: &Shared, client: &Client, request: &Request) {
    if let Some(command) = find(shared, name_of(&request.body)) {
        (command.abandon)(shared, client, &request.body);
    }
}

/// A command to be run.
struct Order<'a> {
    shared: &'a Shared,
    client: &'a Arc<Client>,
    command: &'static Command,
    body: Body,
    /// The request, without its body.
    request: Request,
    failure: Option<Failure>,
    concern: CommandResult<WriteConcern>,
    labels: &'a Labels,
    stop: Arc<AtomicBool>,
}

/// The result of a command that has succeeded.
struct Done {
    builder: BsonBuilder,
    /// True if another reply follows.
    has_more: bool,
    /// The number of the last write of the command, if it has written.
    written: Option<u64>,
}

/// Runs a command.
fn run(order: Order<'_>) -> CommandResult<Done> {
    let Order { shared, client, command, body, request, failure, concern, labels, stop } = order;
    let time = client_time(shared, &body);
    let db = database_of(&body, command)?;
    let namespace: Arc<str> = (command.namespace)(&db, &body).into();
    gates::pass(&Incoming {
        shared,
        client,
        command,
        db: &db,
        body: &body,
        sequences: &request.sequences,
        failure: failure.as_ref(),
        write_concern: &concern,
        cluster_time: &time,
        namespace: &namespace,
    })?;
    let write_concern = concerns::write_concern(shared, command, &body, concern?);
    advance_time(shared, client, time?)?;
    // Each of the following steps has an effect that lasts until the command ends. The session is noted first, so that
    // a waiting client keeps its session.
    let session = session_of(shared, client, &body)?;
    // Lists the command before steps that may wait, so that `killOp` can end them.
    let (body, statements) = command.set_apart(body);
    let listed = shared.operations.begin(Operation {
        op: command.op,
        namespace: Arc::clone(&namespace),
        shown: command.shown(body.shared()),
        session: session.clone(),
        client: Arc::clone(client),
        began: shared.env.clock.now(),
        stop: Arc::clone(&stop),
        waits_for_lock: false,
    });
    // Pins the snapshot before the session's write begins, because the write may wait for an earlier write.
    let snapshot = concerns::read_concern(shared, client, command, &body)?;
    check_uuid(shared, command, &db, &body)?;
    // Begins the session's write last, because the session is locked for other writes from here on.
    let (_checked_out, retry) = begin_retry(shared, command, &body, session.as_ref(), &stop)?.unzip();
    let transaction = transactions::join(shared, command, &body, session.as_ref(), &stop)?;
    let mut call = Call {
        shared,
        client,
        name: command.name,
        access: command.access,
        is_query: command.is_query(),
        db,
        body,
        statements,
        sequences: request.sequences,
        session,
        stop,
        operation: listed.number,
        form: request.form,
        write_concern,
        retry,
        transaction,
        patience: client.waits.is_repeatable().then(|| Arc::new(shared.patience())),
        transaction_end: Cell::new(End::None),
        snapshot,
        began: shared.env.clock.now(),
        exhaust_allowed: request.exhaust_allowed,
        has_more: Cell::new(false),
        plan: RefCell::new(None),
        counts: RefCell::default(),
        carried_out: RefCell::default(),
        is_durable: Cell::new(false),
    };
    let (mut builder, written) = execute_numbered(command, &mut call, &namespace)?;
    if let Some(error) = concern_error(command, &call, failure) {
        put_concern_error(&mut builder, error, labels)?;
    }
    Ok(Done { builder, has_more: call.has_more.get(), written })
}

/// The cluster time that a client has sent. A server without a replica set has no cluster time, and ignores the field.
fn client_time(shared: &Shared, body: &Body) -> CommandResult<Option<Timestamp>> {
    let given = body.document("$clusterTime").filter(|_| shared.config.replica_set.is_some());
    given.map(|given| shared.cluster_time.check(given)).transpose()
}

/// Advances the cluster time to the time that a client has seen. The client may have seen it on this server before the
/// server lost writes. If logins are required, only members of a cluster can move the time beyond the clock.
fn advance_time(shared: &Shared, client: &Client, time: Option<Timestamp>) -> CommandResult<()> {
    let (times, Some(time)) = (&shared.cluster_time, time) else { return Ok(()) };
    if times.is_ahead(time, &shared.writes)
        && (times.is_reached(time) || shared.security.may(&client.peer, &Need::server(Action::Internal))?)
    {
        times.advance(time, &shared.writes);
    }
    Ok(())
}

/// The session of a request. It is used from now on.
fn session_of(shared: &Shared, client: &Client, body: &Body) -> CommandResult<Option<SessionId>> {
    let session = SessionId::of_command(body, client.user())?;
    session.iter().try_for_each(|id| shared.sessions.touch(id))?;
    Ok(session)
}

/// The error of the write concern, for the reply of a command that has succeeded.
fn concern_error(command: &Command, call: &Call<'_>, failure: Option<Failure>) -> Option<Map> {
    let failed = failure.and_then(|failure| failure.write_concern_error).filter(|_| command.may_write());
    failed.or_else(|| call.write_concern.unsatisfiable.as_ref().map(describe))
}

/// Executes a command. Returns the number of its last write, too, if it writes.
fn execute_numbered(
    command: &Command,
    call: &mut Call<'_>,
    namespace: &str,
) -> CommandResult<(BsonBuilder, Option<u64>)> {
    let store = call.shared.db.store();
    // The clock of the cluster may have written on this thread before.
    let _of_before = store.take_number_of_thread();
    let builder = execute_joined(command, call, namespace)?;
    Ok((builder, store.take_number_of_thread().filter(|_| command.may_write())))
}

/// Executes a command, and ends its part in a transaction. A write that meets the transaction of others begins to wait.
fn execute_joined(command: &Command, call: &mut Call<'_>, namespace: &str) -> CommandResult<BsonBuilder> {
    let mut result = execute_noted(command, call, namespace);
    if let (Some(mut joined), Some(session)) = (call.transaction.take(), &call.session) {
        result = transactions::finish(call.shared, session, &mut joined, call.transaction_end.get(), result);
    }
    if let Err(error) = &result
        && call.waits_for_transaction(error)
    {
        transactions::wait(call, error.waits_for)?;
    }
    result
}

/// Executes a command, and records it in the counters, the audit log and the profiler.
fn execute_noted(command: &Command, call: &mut Call<'_>, namespace: &str) -> CommandResult<BsonBuilder> {
    let shared = call.shared;
    if !command.counts_itself {
        Figures::add(&shared.figures.commands, 1);
    }
    let result = match command.audited_namespace(&call.db, &call.body, namespace) {
        Some(changed) => shared.security.recorded(&call.client.peer, command.name, &changed, || (command.run)(call)),
        None => (command.run)(call),
    };
    let result = call.wait_for_disk(result);
    if namespace.len() > call.db.len() {
        let time = shared.env.clock.now().saturating_sub(call.began);
        shared.latencies.note(namespace, command.usage, time);
    }
    profiling::note_slow(command, call, namespace, result.as_ref().err());
    result
}

/// Checks the UUID of the collection, if the client sent one. Commands for `admin` name collections of other databases,
/// and check the UUID themselves.
fn check_uuid(shared: &Shared, command: &Command, db: &str, body: &Body) -> CommandResult<()> {
    let uuid = body.get("collectionUUID").filter(|uuid| !command.admin_only && **uuid != Value::Null);
    match (uuid, body.entries.first()) {
        (Some(uuid), Some((_, Value::String(name)))) => collection_uuid::check(shared, db, name, uuid).map(drop),
        _ => Ok(()),
    }
}

/// The records of a retryable write, and its session. The session is locked until the write ends.
fn begin_retry<'a>(
    shared: &'a Shared,
    command: &Command,
    body: &Body,
    session: Option<&SessionId>,
    stop: &AtomicBool,
) -> CommandResult<Option<(CheckedOut<'a>, Retry)>> {
    let is_retryable = command.retryable && !transactions::is_within(body);
    let Some(number) = body.integer("txnNumber").filter(|_| is_retryable) else { return Ok(None) };
    if shared.config.replica_set.is_none() {
        let message = "Transaction numbers are only allowed on a replica set member or mongos";
        return Err(CommandError::illegal_operation(message));
    }
    let Some(session) = session else {
        return Err(CommandError::invalid_options("Transaction number requires a session ID to also be specified"));
    };
    let checked_out = shared.sessions.check_out(session, number, stop)?;
    if checked_out.replaced {
        shared.cursors.kill_of_transaction(session);
    }
    let loaded = Retry::load(&shared.db, &checked_out, session, number);
    // The next write may be a repetition whose records have to be read: its number must not look new.
    let retry = loaded.inspect_err(|_| shared.sessions.forget_number(session))?;
    Ok(Some((checked_out, retry)))
}

fn database_of(body: &impl Fields, command: &Command) -> CommandResult<String> {
    let db = match body.field("$db") {
        Some(Value::String(db)) => db.as_str().to_owned(),
        Some(_) => return Err(CommandError::type_mismatch("the field $db must be a string")),
        None => return Err(CommandError::missing_field("OP_MSG requests require a $db argument")),
    };
    if command.admin_only && db != "admin" {
        let message = format!("{} may only be run against the admin database.", command.name);
        return Err(CommandError::unauthorized(message));
    }
    Ok(db)
}

#[cfg(test)]
pub(crate) mod tests;
