//! From a request to its reply.

use crate::api;
use crate::call::{Call, ReadAt};
use crate::client::Client;
use crate::collection_uuid;
use crate::commands::{self, Command};
use crate::concern::{ReadConcern, ReadLevel, WriteConcern};
use crate::error::{self, CommandError, CommandResult};
use crate::fail_points::{Candidate, Failure};
use crate::fields::{self, Fields};
use crate::figures::Figures;
use crate::latencies::Use;
use crate::listing;
use crate::operations::Operation;
use crate::recent_log::Severity;
use crate::retries::Retry;
use crate::security::check::{Wanted, is_secret};
use crate::server_stages;
use crate::sessions::{CheckedOut, SessionId};
use crate::shared::Shared;
use crate::slow::Level;
use crate::snapshots::number;
use alluvium::{Binary, Map, Value};
use alluvium_document::BsonBuilder;
use alluvium_wire::{Form, Request, reply};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A reply.
pub(crate) struct Reply {
    /// The bytes, before the header is completed.
    pub bytes: Vec<u8>,
    /// Another one follows without a request: the same request is executed again.
    pub has_more: bool,
}

impl Reply {
    /// A reply that no other follows.
    fn last(bytes: Vec<u8>) -> Self {
        Self { bytes, has_more: false }
    }
}

/// Executes a request. Returns no reply if the client expects none.
pub(crate) fn execute(
    shared: &Shared,
    client: &Arc<Client>,
    request: Request,
    failure: Option<Failure>,
    stop: Arc<AtomicBool>,
) -> Option<Reply> {
    Figures::add(&shared.figures.requests, 1);
    let (form, silent) = (request.form, request.more_to_come);
    let labels = Labels {
        can_retry: request.body.contains("txnNumber"),
        given: failure.as_ref().and_then(|it| it.labels.clone()),
    };
    let name = name_of(&request.body);
    let Some(command) = find(shared, name) else {
        let error = CommandError::command_not_found(format!("no such command: '{name}'"));
        return (!silent).then(|| Reply::last(failed(form, &error, cluster_time(shared))));
    };
    let concern = unsatisfiable(shared, command, &request.body);
    let began = shared.env.clock.now();
    let outcome = run(Order { shared, client, command, request, failure, labels: &labels, stop });
    let time = shared.env.clock.now().saturating_sub(began);
    shared.figures.note(command.name, time, outcome.is_err());
    if silent {
        return None;
    }
    let finished =
        outcome.and_then(|done| Ok(Reply { bytes: complete(shared, done.builder)?, has_more: done.has_more }));
    Some(finished.unwrap_or_else(|error| {
        let mut fields = labels.of(error.code);
        fields.entries.extend(concern.map(|error| ("writeConcernError".into(), Value::Map(describe(&error)))));
        fields.entries.extend(cluster_time(shared).entries);
        Reply::last(failed(form, &error, fields))
    }))
}

/// True for a request that may write, which `fsync` with a lock holds back.
pub(crate) fn writes(request: &Request) -> bool {
    let name = request.body.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
    match commands::find(name) {
        Some(command) if command.name == "aggregate" => commands::pipeline_writes(&request.body),
        Some(command) => command.writes || command.name == "compact",
        None => false,
    }
}

/// The error for a write to a database whose writes are blocked.
fn check_block(shared: &Shared, command: &Command, db: &str, body: &Map) -> CommandResult<()> {
    let writes = match command.name {
        "aggregate" => commands::pipeline_writes(body),
        "commitTransaction" | "abortTransaction" => false,
        _ => command.writes,
    };
    match (writes, command.name) {
        (false, _) => Ok(()),
        // The command is sent to `admin`, and names collections of others.
        (true, "renameCollection") => {
            let from = body.text("renameCollection").and_then(|name| name.split_once('.'));
            shared.write_block.check(from.map_or(db, |(db, _)| db))
        }
        (true, _) => shared.write_block.check(db),
    }
}

/// The fields of a command that are listed while it runs, and apart from them its statements and documents.
fn set_apart(body: Map) -> (Arc<Map>, Map) {
    const LONG: [&str; 4] = ["documents", "updates", "deletes", "ops"];
    let is_long = |name: &Value| name.as_str().is_some_and(|name| LONG.contains(&name));
    let (long, short) = match body.entries.iter().any(|(name, _)| is_long(name)) {
        true => body.entries.into_iter().partition(|(name, _)| is_long(name)),
        false => (Vec::new(), body.entries),
    };
    (Arc::new(Map { entries: short }), Map { entries: long })
}

/// The reply to a message that is no request.
pub(crate) fn refused(form: Form, error: &CommandError) -> Vec<u8> {
    failed(form, error, Map::new())
}

/// The name of a command, as the client writes it.
fn name_of(body: &Map) -> &str {
    body.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default()
}

/// The command with a name, if this server has it.
fn find(shared: &Shared, name: &str) -> Option<&'static Command> {
    commands::find(name).filter(|command| !command.is_for_tests || shared.config.test_commands)
}

/// What a fail point does to a request.
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

/// The time that a request waits before it is executed: `hello` of a client that knows what it would be answered.
pub(crate) fn wait(shared: &Shared, request: &Request) -> Duration {
    if !request.body.contains("topologyVersion") {
        return Duration::ZERO;
    }
    match find(shared, name_of(&request.body)) {
        Some(command) if ["hello", "isMaster"].contains(&command.name) => commands::hello_wait(shared, &request.body),
        _ => Duration::ZERO,
    }
}

/// Gives up what further replies to a request would have had.
pub(crate) fn abandon(shared: &Shared, client: &Client, request: &Request) {
    if let Some(id) = request.body.integer("getMore") {
        let text = |field: &str| request.body.text(field).unwrap_or_default();
        let namespace = format!("{}.{}", text("$db"), text("collection"));
        shared.cursors.kill(id, &namespace, client.user().as_deref());
    }
}

/// The labels of a reply's error, which say to clients what they may do.
struct Labels {
    /// The command is a retryable write.
    can_retry: bool,
    /// Those that a fail point has given it.
    given: Option<Vec<Value>>,
}

impl Labels {
    /// The field of the labels of an error, if it has some.
    fn of(&self, code: i32) -> Map {
        let labels = match &self.given {
            Some(given) => given.clone(),
            None if self.can_retry && error::is_worth_a_retry(code) => vec![Value::from("RetryableWriteError")],
            None => Vec::new(),
        };
        let labels = Some(labels).filter(|labels| !labels.is_empty());
        Map { entries: labels.into_iter().map(|labels| ("errorLabels".into(), Value::Array(labels))).collect() }
    }
}

/// A command that is to be run.
struct Order<'a> {
    shared: &'a Shared,
    client: &'a Arc<Client>,
    command: &'static Command,
    request: Request,
    failure: Option<Failure>,
    labels: &'a Labels,
    stop: Arc<AtomicBool>,
}

/// A command that has succeeded.
struct Done {
    builder: BsonBuilder,
    /// Another reply follows.
    has_more: bool,
}

/// Runs a command.
fn run(order: Order<'_>) -> CommandResult<Done> {
    let Order { shared, client, command, request, failure, labels, stop } = order;
    let Request { form, body, sequences, exhaust_allowed, .. } = request;
    if shared.stopping.load(Ordering::Relaxed) {
        return Err(CommandError::new(91, "ShutdownInProgress", "the server is shutting down"));
    }
    let db = database_of(&body, command)?;
    let wanted = Wanted { name: command.name, access: command.access, db: &db, body: &body, sequences: &sequences };
    shared.security.check(&client.peer, &wanted)?;
    check(command, &body, &sequences)?;
    let (failed, failed_concern) = failure.map_or((None, None), |it| (it.error, it.write_concern_error));
    if let Some(error) = failed.or_else(|| late(shared, &body)) {
        return Err(error);
    }
    let write_concern = write_concern(shared, command, &db, &body)?;
    let session = SessionId::of_command(&body, client.user())?;
    session.iter().try_for_each(|id| shared.sessions.touch(id))?;
    let listed_as: Arc<str> = namespace(&db, &body).into();
    let (body, statements) = set_apart(body);
    let listed = shared.operations.begin(Operation {
        command: command.name,
        namespace: Arc::clone(&listed_as),
        body: Arc::clone(&body),
        session: session.clone(),
        client: Arc::clone(client),
        began: shared.env.clock.now(),
        stop: Arc::clone(&stop),
    });
    let snapshot = read_concern(shared, command, &body)?;
    check_uuid(shared, &db, &body)?;
    let retry = begin_retry(shared, command, &body, session.as_ref(), &stop)?;
    let (_checked_out, retry) = retry.map_or((None, None), |(checked_out, retry)| (Some(checked_out), Some(retry)));
    let mut call = Call {
        shared,
        client,
        name: command.name,
        db,
        body,
        statements,
        sequences,
        session,
        stop,
        operation: listed.number,
        form,
        write_concern,
        retry,
        snapshot,
        began: shared.env.clock.now(),
        exhaust_allowed,
        has_more: Cell::new(false),
        plan: RefCell::new(None),
    };
    if !commands::counts_itself(command.name) {
        Figures::add(&shared.figures.commands, 1);
    }
    let result = shared.security.recorded(&client.peer, command.name, &listed_as, || (command.run)(&mut call));
    if listed_as.len() > call.db.len() {
        let time = shared.env.clock.now().saturating_sub(call.began);
        shared.latencies.note(&listed_as, Use::of(command.name, command.writes), time);
    }
    note_slow(&call, result.as_ref().err());
    let mut builder = result?;
    let error =
        failed_concern.filter(|_| command.writes).or_else(|| call.write_concern.unsatisfiable.as_ref().map(describe));
    if let Some(error) = error {
        put_concern_error(&mut builder, error, labels)?;
    }
    Ok(Done { builder, has_more: call.has_more.get() })
}

/// Adds the error of a write concern to the reply of a command that has succeeded.
fn put_concern_error(builder: &mut BsonBuilder, error: Map, labels: &Labels) -> CommandResult<()> {
    let code = error.integer("code").and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
    builder.put("writeConcernError", &Value::Map(error))?;
    for (name, value) in &labels.of(code).entries {
        builder.put(name.as_str().unwrap_or_default(), value)?;
    }
    Ok(())
}

/// The error of a command's write concern, which its reply has whether the command fails or not.
fn unsatisfiable(shared: &Shared, command: &Command, body: &Map) -> Option<CommandError> {
    let is_given = command.writes && body.contains("writeConcern");
    is_given.then(|| WriteConcern::parse(body, shared.config.replica_set.is_some()).ok()?.unsatisfiable).flatten()
}

/// The error of a write concern, as a field of a reply.
fn describe(error: &CommandError) -> Map {
    let (code, name) = (Value::from(error.code), Value::from(error.name));
    Map::from([("code", code), ("codeName", name), ("errmsg", Value::from(error.message.as_str()))])
}

/// The error of a command with a time limit that a fail point lets it exceed.
fn late(shared: &Shared, body: &Map) -> Option<CommandError> {
    let is_limited = body.integer("maxTimeMS").is_some_and(|millis| millis > 0);
    (is_limited && shared.fail_points.on_time_limit()).then(CommandError::time_limit)
}

/// Checks the UUID of the collection, if the client sent one.
fn check_uuid(shared: &Shared, db: &str, body: &Map) -> CommandResult<()> {
    // `renameCollection` names its collection with a database, and looks at the UUID itself.
    let is_here = !body.contains("renameCollection");
    let uuid = body.get("collectionUUID").filter(|uuid| is_here && **uuid != Value::Null);
    match (uuid, body.entries.first()) {
        (Some(uuid), Some((_, Value::String(name)))) => collection_uuid::check(shared, db, name, uuid),
        _ => Ok(()),
    }
}

/// Logs a command that took long, and keeps it for `system.profile`.
fn note_slow(call: &Call<'_>, error: Option<&CommandError>) {
    let slow = &call.shared.slow;
    let time = call.shared.env.clock.now().saturating_sub(call.began);
    let is_slow = slow.is_slow(time);
    let level = slow.level(&call.db);
    if !is_slow && level == Level::Off {
        return;
    }
    let namespace = namespace(&call.db, &call.body);
    let plan = call.plan.borrow_mut().take();
    if is_slow {
        let shown = plan.as_ref().map_or_else(String::new, |plan| format!(", plan {}", Value::Map(plan.clone())));
        let (milliseconds, command) = (i64::try_from(time.as_millis()).unwrap_or(i64::MAX), call.name);
        let message = format!("slow operation: {milliseconds} ms, {command} of {namespace}{shown}");
        log::info!(
            command, milliseconds, namespace = namespace.as_str(), plan = shown.trim_start_matches(", plan ");
            "{message}"
        );
        call.shared.log.note(&*call.shared.env.clock, Severity::Information, "COMMAND", &message);
    }
    let filter = slow.filter(&call.db);
    let is_kept = match (level, &filter) {
        (Level::Off, _) => false,
        (Level::All, _) | (Level::Slow, Some(_)) => true,
        // The random number is as likely in each part of its range.
        (Level::Slow, None) => is_slow && (call.shared.env.rng.next_u64() as f64) < slow.sample_rate() * 2f64.powi(64),
    };
    if !is_kept {
        return;
    }
    let entry = profiled(call, &namespace, time, plan, error);
    let matches =
        |filter| listing::filtered(call, vec![entry.clone()], Some(filter)).is_ok_and(|found| !found.is_empty());
    if filter.as_ref().filter(|_| level == Level::Slow).is_none_or(matches) {
        slow.keep(&call.db, entry);
    }
}

/// The entry of a command in `system.profile`.
fn profiled(call: &Call<'_>, namespace: &str, time: Duration, plan: Option<Map>, error: Option<&CommandError>) -> Map {
    let op = match call.name {
        "find" => "query",
        "delete" => "remove",
        "getMore" => "getmore",
        "insert" | "update" => call.name,
        _ => "command",
    };
    let mut entry = Map::from([("op", Value::from(op)), ("ns", Value::from(namespace))]);
    // Passwords are not kept.
    let shown = if is_secret(call.name) { Map::from([(call.name, Value::from(1))]) } else { Map::clone(&call.body) };
    entry.push("command", Value::Map(shown));
    entry.push("millis", i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    entry.push("ts", Value::DateTime(call.shared.env.clock.unix_millis()));
    entry.push("client", call.client.address.as_str());
    if let Some(plan) = plan {
        entry.push("execStats", Value::Map(plan));
    }
    if let Some(error) = error {
        entry.push("errCode", error.code);
        entry.push("errMsg", error.message.as_str());
    }
    entry
}

/// The records of a retryable write, and its session, which is held until the write has ended.
fn begin_retry<'a>(
    shared: &'a Shared,
    command: &Command,
    body: &Map,
    session: Option<&SessionId>,
    stop: &AtomicBool,
) -> CommandResult<Option<(CheckedOut<'a>, Retry)>> {
    let Some(number) = body.integer("txnNumber").filter(|_| command.retryable) else { return Ok(None) };
    if shared.config.replica_set.is_none() {
        let message = "Transaction numbers are only allowed on a replica set member or mongos";
        return Err(CommandError::illegal_operation(message));
    }
    let Some(session) = session else {
        return Err(CommandError::invalid_options("Transaction number requires a session ID to also be specified"));
    };
    let checked_out = shared.sessions.check_out(session, number, stop)?;
    let retry = Retry::load(&shared.db, &checked_out, session, number)?;
    Ok(Some((checked_out, retry)))
}

/// The write concern, which commands that do not write refuse, of a write that is not blocked.
fn write_concern(shared: &Shared, command: &Command, db: &str, body: &Map) -> CommandResult<WriteConcern> {
    check_block(shared, command, db, body)?;
    let mut concern = WriteConcern::parse(body, shared.config.replica_set.is_some())?;
    if command.writes && !body.contains("writeConcern") && shared.default_concerns.syncs_writes() {
        concern.synced = true;
    }
    match body.document("writeConcern").is_some() && !command.writes {
        true => Err(CommandError::invalid_options("Command does not support writeConcern")),
        false => Ok(concern),
    }
}

/// Waits for what a read has to see, and returns the snapshot that it reads at, if it asks for one.
fn read_concern(shared: &Shared, command: &Command, body: &Map) -> CommandResult<Option<ReadAt>> {
    if command.name == "getMore" {
        // Drivers repeat the read concern of the query, which its cursor has.
        return Ok(None);
    }
    let concern = ReadConcern::parse(body)?;
    if let Some(refusal) = refused_level(command, body, concern.level) {
        return Err(CommandError::invalid_options(refusal));
    }
    let in_set = shared.config.replica_set.is_some();
    if !in_set && matches!(concern.level, ReadLevel::Linearizable | ReadLevel::Snapshot) {
        let message = "node needs to be a replica set member to use read concern levels linearizable and snapshot";
        return Err(CommandError::new(123, "NotAReplicaSet", message));
    }
    if !in_set && concern.after.is_some() {
        let message = "Cannot specify afterClusterTime readConcern without a replica set";
        return Err(CommandError::illegal_operation(message));
    }
    if let Some(after) = concern.after
        && number(after) > shared.db.store().visible()
    {
        let message = "readConcern afterClusterTime value must not be greater than the current clusterTime";
        return Err(CommandError::invalid_options(message));
    }
    match concern.level {
        ReadLevel::Local if shared.default_concerns.syncs_reads() && is_without_level(command, body) => {
            shared.db.sync()?;
            Ok(None)
        }
        ReadLevel::Local | ReadLevel::Available => Ok(None),
        ReadLevel::Majority | ReadLevel::Linearizable => {
            // What was written before this could be lost in a power cut; this server is the majority.
            shared.db.sync()?;
            Ok(None)
        }
        ReadLevel::Snapshot if shared.config.replica_set.is_none() => {
            let message = "node needs to be a replica set member to use readConcern: snapshot";
            Err(CommandError::new(123, "NotAReplicaSet", message))
        }
        ReadLevel::Snapshot if command.reads_snapshots => {
            let (snapshot, time) = shared.snapshots.get(&shared.db, concern.at)?;
            shared.db.sync()?;
            Ok(Some(ReadAt { snapshot, time }))
        }
        ReadLevel::Snapshot => {
            let message = format!("the command {} does not support read concern snapshot", command.name);
            Err(CommandError::invalid_options(message))
        }
    }
}

/// True for a read whose level is the default.
fn is_without_level(command: &Command, body: &Map) -> bool {
    let is_read = ["aggregate", "count", "distinct", "find"].contains(&command.name);
    is_read && !body.document("readConcern").is_some_and(|concern| concern.contains("level"))
}

/// Why a command cannot read at a level.
fn refused_level(command: &Command, body: &Map, level: ReadLevel) -> Option<String> {
    if level == ReadLevel::Local {
        return None;
    }
    if !commands::has_read_concern(command) {
        return Some(format!("the command {} reads the latest state only: use the level local", command.name));
    }
    if level == ReadLevel::Linearizable && command.name == "aggregate" && commands::pipeline_writes(body) {
        return Some("$out and $merge cannot be used with a 'linearizable' read concern level".to_owned());
    }
    if level == ReadLevel::Snapshot && command.name == "count" {
        return Some("the command count does not support read concern snapshot".to_owned());
    }
    let first = body.elements("pipeline").and_then(|stages| stages.first()?.as_map()?.entries.first());
    let stage = first.and_then(|(name, _)| name.as_str()).filter(|_| command.name == "aggregate")?;
    let is_local = server_stages::is_local(stage);
    is_local.then(|| format!("Aggregation stage {stage} cannot run with a readConcern other than 'local'"))
}

/// The namespace that a command is listed with.
fn namespace(db: &str, body: &Map) -> String {
    let collection = match body.entries.first() {
        Some((_, Value::String(collection))) => Some(&**collection),
        // The first field of `getMore` is the number of a cursor.
        Some((name, _)) if name.as_str() == Some("getMore") => body.text("collection"),
        _ => None,
    };
    collection.map_or_else(|| db.to_owned(), |collection| format!("{db}.{collection}"))
}

fn database_of(body: &Map, command: &Command) -> CommandResult<String> {
    let db = match body.get("$db") {
        Some(Value::String(db)) => db.to_string(),
        Some(_) => return Err(CommandError::type_mismatch("the field $db must be a string")),
        None => return Err(CommandError::missing_field("OP_MSG requests require a $db argument")),
    };
    if command.admin_only && db != "admin" {
        let message = format!("{} may only be run against the admin database.", command.name);
        return Err(CommandError::unauthorized(message));
    }
    Ok(db)
}

/// Checks the fields of a command.
fn check(command: &Command, body: &Map, sequences: &[alluvium_wire::Sequence]) -> CommandResult<()> {
    for sequence in sequences {
        let is_known = |field: &fields::Field| field.name == sequence.name && field.kind == fields::Kind::Documents;
        if !command.fields.iter().any(is_known) {
            let message = format!("BSON field '{}.{}' is an unknown field.", command.name, sequence.name);
            return Err(CommandError::unknown_field(message));
        }
    }
    let is_sent_beside = |name: &str| sequences.iter().any(|sequence| sequence.name == name);
    if !fields::are_right(command.fields, command.is_strict, body, is_sent_beside) {
        let in_body = command.fields.iter().filter(|field| !is_sent_beside(field.name)).copied().collect::<Vec<_>>();
        fields::check(command.name, &in_body, body)?;
        fields::check(command.name, fields::COMMON, body)?;
        if command.is_strict {
            let others = body.entries.iter().skip(1).map(|(name, _)| name);
            let others = others.filter(|name| !name.as_str().is_some_and(fields::is_common));
            fields::refuse_unknown(command.name, &in_body, others)?;
        }
    }
    api::check(command.name, body)?;
    check_max_time(body)?;
    if body.flag("startTransaction") || body.get("autocommit").is_some() {
        let message = "Transactions are not supported yet: write each document by itself, or several by bulkWrite";
        return Err(CommandError::illegal_operation(message));
    }
    Ok(())
}

fn check_max_time(body: &Map) -> CommandResult<()> {
    let Some(given) = body.get("maxTimeMS").filter(|given| given.is_number()) else { return Ok(()) };
    match body.integer("maxTimeMS") {
        None => Err(CommandError::failed_to_parse(format!("maxTimeMS has to be a whole number, not {given}"))),
        Some(millis) if !(0..=i64::from(i32::MAX)).contains(&millis) => {
            let message = format!("{millis} value for maxTimeMS is out of range [0, 2147483647]");
            Err(CommandError::bad_value(message))
        }
        Some(_) => Ok(()),
    }
}

fn complete(shared: &Shared, mut builder: BsonBuilder) -> CommandResult<Vec<u8>> {
    builder.put("ok", &Value::from(1.0))?;
    if shared.config.replica_set.is_some() {
        let time = Value::Timestamp(shared.time());
        builder.open_document("$clusterTime")?;
        builder.put("clusterTime", &time)?;
        builder.put("signature", &NO_SIGNATURE)?;
        builder.close()?;
        builder.put("operationTime", &time)?;
    }
    Ok(builder.finish()?)
}

/// The signature of every cluster time: nothing is verified.
static NO_SIGNATURE: LazyLock<Value> = LazyLock::new(|| {
    let hash = Value::Binary(Binary { subtype: 0, bytes: vec![0; 20] });
    Value::Map(Map::from([("hash", hash), ("keyId", Value::Int64(0))]))
});

/// The fields of every reply of a member of a replica set.
fn cluster_time(shared: &Shared) -> Map {
    if shared.config.replica_set.is_none() {
        return Map::new();
    }
    let time = Value::Timestamp(shared.time());
    let cluster = Map::from([("clusterTime", time.clone()), ("signature", NO_SIGNATURE.clone())]);
    Map::from([("$clusterTime", Value::Map(cluster)), ("operationTime", time)])
}

fn failed(form: Form, error: &CommandError, more: Map) -> Vec<u8> {
    let mut fields = Map::from([("ok", Value::from(0.0))]);
    fields.push("errmsg", error.message.as_str());
    fields.push("code", error.code);
    fields.push("codeName", error.name);
    fields.entries.extend(error.fields.entries.iter().cloned());
    fields.entries.extend(more.entries);
    let mut bytes = reply::begin(form);
    // Without a name or text that BSON refuses, this cannot fail; an empty document is a reply, too.
    if alluvium_document::bson::encode_document(&fields, &mut bytes).is_err() {
        bytes.extend_from_slice(&[5, 0, 0, 0, 0]);
    }
    bytes
}

#[cfg(test)]
mod tests;
