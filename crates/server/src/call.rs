//! A command that is being executed.

use crate::body::Body;
use crate::client::Client;
use crate::concern::WriteConcern;
use crate::error::{CommandError, CommandResult, is_interruption, is_transient};
use crate::fields::Fields;
use crate::funds::Funds;
use crate::host::Host;
use crate::memory::Until;
use crate::numbers::int;
use crate::oplog;
use crate::retries::Retry;
use crate::security::access::Access;
use crate::security::needs::Subject;
use crate::security::privilege::Need;
use crate::sessions::{End, Joined, SessionId};
use crate::shared::Shared;
use crate::slow::{self, Level};
use alluvium::{Collection, Cursor, Explanation, Map, Patience, Snapshot, Timestamp, Transaction, Value, Written};
use alluvium_document::BsonBuilder;
use alluvium_document::bson::{self, decode_document, tree_bytes};
use alluvium_wire::{Form, Sequence, reply};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The error code for a name that no collection can have.
const INVALID_NAMESPACE: i32 = 73;

/// The memory of documents of at most this number of bytes is not charged.
const UNCHARGED: usize = 4 << 10;

/// A command with its fields and its context.
pub(crate) struct Call<'a> {
    /// The server.
    pub shared: &'a Shared,
    /// The connection.
    pub client: &'a Client,
    /// The name of the command, as in the registry.
    pub name: &'static str,
    /// The privileges that the command needs.
    pub access: Access,
    /// True if the command returns documents that a client has stored.
    pub is_query: bool,
    /// The database that the command is sent to.
    pub db: String,
    /// The fields, without the arrays in [`Call::statements`]. The list of operations shows the fields.
    pub body: Body,
    /// The arrays of statements and documents that were sent within the body.
    pub statements: Map,
    /// The arrays of documents that were sent next to the body.
    pub sequences: Vec<Sequence>,
    /// The session.
    pub session: Option<SessionId>,
    /// Set when the client has disconnected, or the operation is killed.
    pub stop: Arc<AtomicBool>,
    /// The number of the command in the list of operations.
    pub operation: i32,
    /// The form of the request, which the reply has, too.
    pub form: Form,
    /// How writes are acknowledged.
    pub write_concern: WriteConcern,
    /// The records of a retryable write.
    pub retry: Option<Retry>,
    /// The transaction that the command belongs to.
    pub transaction: Option<Joined<'a>>,
    /// How writes wait for the transactions of others: not at all, if the connection executes the command again.
    pub patience: Option<Arc<Patience>>,
    /// How the command leaves its transaction.
    pub transaction_end: Cell<End>,
    /// The snapshot that a read has requested.
    pub snapshot: Option<ReadAt>,
    /// The time when the command began, on the server's clock.
    pub began: Duration,
    /// True if the client accepts further replies without further requests.
    pub exhaust_allowed: bool,
    /// True if another reply follows, as if the client had sent the same request again.
    pub has_more: Cell<bool>,
    /// The plan of a query that takes long.
    pub plan: RefCell<Option<Map>>,
    /// The counts of the command for the profiler.
    pub counts: RefCell<Map>,
    /// The last statements that were carried out, as profiler entries.
    pub carried_out: RefCell<VecDeque<Map>>,
    /// True if everything that the reply reports is on the disk already: see [`Call::wait_for_disk`].
    pub is_durable: Cell<bool>,
}

/// The snapshot of a command's reads, and its cluster time.
pub(crate) struct ReadAt {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// The cluster time of the snapshot.
    pub time: Timestamp,
}

impl<'c> Call<'c> {
    /// The memory budget of the command.
    pub(crate) fn funds(&self) -> Funds<'c> {
        Funds { shared: self.shared, client: self.client, stop: Arc::clone(&self.stop) }
    }
}

impl Call<'_> {
    /// The address of the server, as its client knows it.
    pub(crate) fn host(&self) -> Host {
        self.shared.replica_set.host(&self.client.peer)
    }

    /// The value of the first field; the name of this field is the name of the command.
    pub(crate) fn argument(&self) -> &Value {
        self.body.entries.first().map_or(&Value::Null, |(_, value)| value)
    }

    /// The collection that the command names.
    ///
    /// # Errors
    /// Error 73 if the argument is not a name.
    pub(crate) fn collection_name(&self) -> CommandResult<&str> {
        match self.argument() {
            Value::String(name) if !name.is_empty() => Ok(name),
            Value::String(_) => {
                let message = format!("Invalid namespace specified '{}.'", self.db);
                Err(CommandError::invalid_namespace(message))
            }
            other => {
                let message = format!("collection name has invalid type {}", other.type_name());
                Err(CommandError::bad_value(message))
            }
        }
    }

    /// `database.collection` of the command.
    ///
    /// # Errors
    /// The errors of [`Call::collection_name`].
    pub(crate) fn namespace(&self) -> CommandResult<String> {
        Ok([&self.db, ".", self.collection_name()?].concat())
    }

    /// The collection of the command, with the client's write concern.
    ///
    /// # Errors
    /// The errors of [`Call::collection_name`].
    pub(crate) fn collection(&self) -> CommandResult<Collection> {
        Ok(self.collection_called(self.collection_name()?))
    }

    /// The name of the collection that the command writes to.
    ///
    /// # Errors
    /// Error 73 if no collection can have this name; no statement runs then.
    pub(crate) fn written_name(&self) -> CommandResult<String> {
        let name = self.collection_name()?;
        self.check_name(&self.db, name)?;
        Ok(name.to_owned())
    }

    /// Checks the name of a collection that is written to.
    ///
    /// # Errors
    /// Error 73 if no collection can have this name, or it is that of the operation log.
    pub(crate) fn check_name(&self, db: &str, name: &str) -> CommandResult<()> {
        if oplog::is_shown(&self.shared.config, db, name) {
            return oplog::refuse_write(&self.shared.config, &format!("{db}.{name}"));
        }
        match self.shared.db.logical_database(db).collection(name).full_name().map_err(CommandError::from) {
            Err(error) if error.code == INVALID_NAMESPACE => Err(error),
            _ => Ok(()),
        }
    }

    /// A collection of the command's database, to be read.
    pub(crate) fn collection_to_read(&self, name: &str) -> Collection {
        let collection = self.shared.db.logical_database(&self.db).collection(name);
        match self.open_transaction() {
            None => collection,
            Some(transaction) => transaction.within(&collection),
        }
    }

    /// The open transaction that the command belongs to.
    pub(crate) fn open_transaction(&self) -> Option<&Transaction> {
        self.transaction.as_ref()?.transaction()
    }

    /// True if the command has written nothing yet, and is executed again when a transaction of others has ended.
    pub(crate) fn waits_for_transaction(&self, error: &CommandError) -> bool {
        error.waits_for.is_some() && self.patience.as_ref().is_some_and(|patience| !patience.has_written())
    }

    /// Notes that a statement of the command has failed, which aborts its transaction. Returns the error if it is that of
    /// the whole command: it was interrupted, the client may repeat its transaction, or the server executes the command
    /// again.
    ///
    /// # Errors
    /// The error.
    pub(crate) fn note_failed(&self, error: &CommandError) -> CommandResult<()> {
        if self.waits_for_transaction(error) {
            return Err(error.clone());
        }
        if self.transaction.is_none() {
            return Ok(());
        }
        self.transaction_end.set(End::Aborted);
        if is_transient(error.code, false) || is_interruption(error.code) { Err(error.clone()) } else { Ok(()) }
    }

    /// A collection of the command's database, to be written as the command says.
    pub(crate) fn collection_called(&self, name: &str) -> Collection {
        let mut collection = self.collection_to_read(name);
        if self.body.flag("bypassDocumentValidation") {
            collection = collection.without_validation();
        }
        collection = collection.with_limits(Arc::clone(&self.stop), self.max_time());
        if let Some(patience) = &self.patience {
            collection = collection.with_patience(patience);
        }
        match self.write_concern.durability() {
            Some(durability) => collection.with_durability(durability),
            None => collection,
        }
    }

    /// Returns the collection as [`Call::collection_called`] does, for the statement at a position. For a retryable
    /// write, the collection also stores the record of the statement.
    ///
    /// # Errors
    /// The error that a fail point sets.
    pub(crate) fn recording(
        &self,
        name: &str,
        at: usize,
        result: impl Fn(&Written) -> Map + Send + Sync + 'static,
    ) -> CommandResult<Collection> {
        self.note_durable(false);
        let collection = self.collection_called(name);
        let Some(retry) = &self.retry else { return Ok(collection) };
        self.fail_write()?;
        Ok(collection.with_record(retry.record(at, result)))
    }

    /// Applies the fail point for writes to a statement of a retryable write.
    ///
    /// # Errors
    /// The error that the fail point sets.
    pub(crate) fn fail_write(&self) -> CommandResult<()> {
        match self.shared.fail_points.on_write().filter(|_| self.retry.is_some()) {
            None => Ok(()),
            Some(failed) => {
                if failed.closes {
                    self.client.close();
                }
                failed.error.map_or(Ok(()), Err)
            }
        }
    }

    /// The result of the statement at a position, if an earlier attempt carried it out.
    pub(crate) fn earlier_result(&self, at: usize) -> Option<CommandResult<Map>> {
        self.retry.as_ref()?.done(at).cloned()
    }

    /// Notes that the statement at a position has ended. In a retryable write, a statement that changed something has
    /// stored its record already. The result of a statement that changed nothing is kept for the record of the next
    /// statement.
    ///
    /// # Errors
    /// The errors of any write.
    pub(crate) fn end_statement(
        &self,
        at: usize,
        changed: bool,
        result: impl FnOnce() -> CommandResult<Map>,
    ) -> CommandResult<()> {
        self.note_durable(changed);
        match &self.retry {
            None => Ok(()),
            Some(retry) if changed => {
                retry.note_recorded();
                Ok(())
            }
            Some(retry) => retry.note_unchanged(&self.shared.db, at, result()),
        }
    }

    /// The privileges that a user needs to continue a cursor of this command.
    ///
    /// # Errors
    /// The errors of [`Access::needs`].
    pub(crate) fn needs(&self) -> CommandResult<Vec<Need<'static>>> {
        let user = self.client.peer.login().map(|login| login.name);
        let (db, body, sequences) = (self.db.as_str(), &self.body, self.sequences.as_slice());
        let subject = Subject { db, body, sequences, user: user.as_ref(), exact: true };
        Ok(self.access.needs(&subject)?.into_iter().map(Need::into_owned).collect())
    }

    /// The snapshot that the command reads, if it reads one.
    pub(crate) fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref().map(|at| &at.snapshot)
    }

    /// Notes the numbers that the client gave the statements of a retryable write.
    ///
    /// # Errors
    /// Error 72.
    pub(crate) fn number_statements(&mut self, count: usize) -> CommandResult<()> {
        match &mut self.retry {
            Some(retry) => retry.number_statements(self.body.elements("stmtIds"), count),
            None => Ok(()),
        }
    }

    /// Keeps the plan of the query for the profiler, if the command is slow or the profiler keeps all commands.
    pub(crate) fn note_plan(&self, cursor: &Cursor) {
        let time = self.shared.env.clock.now().saturating_sub(self.began);
        let slow = &self.shared.slow;
        if slow.is_slow(time) || slow.level(&self.db) == Level::All {
            *self.plan.borrow_mut() = cursor.explanation().map(|plan| plan.to_map());
        }
    }

    /// True if the profiler of the database keeps all operations, including fast ones.
    pub(crate) fn is_profiled(&self) -> bool {
        self.shared.slow.level(&self.db) == Level::All
    }

    /// Notes a count for the profiler.
    pub(crate) fn note_count(&self, name: &str, count: u64) {
        if self.shared.slow.level(&self.db) != Level::Off {
            self.counts.borrow_mut().insert(name, int(count));
        }
    }

    /// Notes the plan of the command for the profiler, if it keeps all commands. `explain` is only called in this case.
    pub(crate) fn note_plan_of(&self, explain: impl FnOnce() -> CommandResult<Explanation>) {
        if self.is_profiled() {
            *self.plan.borrow_mut() = explain().ok().map(|plan| plan.to_map());
        }
    }

    /// Notes for the profiler that the command returned the stored count of the collection.
    pub(crate) fn note_fast_count(&self) {
        if self.is_profiled() {
            *self.plan.borrow_mut() = Some(slow::fast_count());
        }
    }

    /// Notes a statement of a write for the profiler as an operation of its own, with its plan and its counts. The
    /// collection is in the database of the command.
    pub(crate) fn note_statement(
        &self,
        op: &str,
        name: &str,
        collection: &Collection,
        statement: &Map,
        plan: Option<Map>,
        counts: &[(&str, u64)],
    ) {
        if self.shared.slow.level(&self.db) == Level::Off {
            return;
        }
        let mut entry = Map::from([("op", Value::from(op)), ("ns", Value::from(format!("{}.{name}", self.db)))]);
        entry.push("command", Value::Map(statement.clone()));
        slow::put_plan(&mut entry, plan, collection);
        counts.iter().for_each(|(name, count)| entry.push(*name, int(*count)));
        let mut carried_out = self.carried_out.borrow_mut();
        if carried_out.len() == slow::ENTRIES_MAX {
            carried_out.pop_front();
        }
        carried_out.push_back(slow::cut(entry));
    }

    /// The time limit of the command; zero means no limit.
    pub(crate) fn max_time(&self) -> Duration {
        let default = || if self.is_query { self.shared.read_millis_max.load(Ordering::Relaxed) } else { 0 };
        let millis = self.body.integer("maxTimeMS").and_then(|millis| u64::try_from(millis).ok());
        Duration::from_millis(millis.unwrap_or_else(default))
    }

    /// The rest of the time limit, for the next step of a command that has several steps; zero means no limit.
    ///
    /// # Errors
    /// Error 50 if the time limit has passed.
    pub(crate) fn time_left(&self) -> CommandResult<Duration> {
        let limit = self.max_time();
        let left = limit.saturating_sub(self.shared.env.clock.now().saturating_sub(self.began));
        match left.is_zero() && !limit.is_zero() {
            true => Err(CommandError::time_limit()),
            false => Ok(left),
        }
    }

    /// Takes the documents of an array field, which may be in the body or next to it.
    ///
    /// # Errors
    /// Error 22 for damaged documents, error 40414 without the field, error 14 for an element that is not a document.
    pub(crate) fn take_documents(&mut self, field: &str) -> CommandResult<Vec<Map>> {
        if let Some(sequence) = self.take_sequence(field) {
            if sequence.documents.len() > UNCHARGED {
                let cost = sequence.iter().map_while(Result::ok).map(tree_bytes).sum();
                self.client.charge_reply(self.funds().charge(cost, Until::Sent)?);
            }
            let decode = |raw: Result<&[u8], alluvium_wire::WireError>| {
                let raw = raw.map_err(|error| CommandError::invalid_bson(error.to_string()))?;
                Ok(decode_document(raw)?)
            };
            return sequence.iter().map(decode).collect();
        }
        let wrong = |found: &Value| {
            let message = format!(
                "BSON field '{}.{field}' is the wrong type '{}', expected type 'object'",
                self.name,
                found.type_name()
            );
            CommandError::type_mismatch(message)
        };
        let apart = self.statements.get_mut(field).map(std::mem::take);
        match apart.or_else(|| self.body.get(field).cloned()) {
            Some(Value::Array(values)) => {
                let document = |value| match value {
                    Value::Map(map) => Ok(map),
                    other => Err(wrong(&other)),
                };
                values.into_iter().map(document).collect()
            }
            Some(other) => Err(wrong(&other)),
            None => {
                let message = format!("BSON field '{}.{field}' is missing but a required field", self.name);
                Err(CommandError::missing_field(message))
            }
        }
    }

    /// Takes the documents of an array field as bytes, if they were sent next to the body.
    pub(crate) fn take_sequence(&mut self, field: &str) -> Option<Sequence> {
        let at = self.sequences.iter().position(|sequence| sequence.name == field)?;
        Some(self.sequences.swap_remove(at))
    }

    /// An empty reply, to which fields are added.
    pub(crate) fn reply(&self) -> BsonBuilder {
        BsonBuilder::new(reply::begin(self.form))
    }

    /// Returns a reply with these fields.
    ///
    /// # Errors
    /// Error 22 if they cannot be encoded.
    pub(crate) fn answer(&self, fields: &Map) -> CommandResult<BsonBuilder> {
        let mut builder = self.reply();
        for (name, value) in &fields.entries {
            let name = name.as_str().unwrap_or_default();
            builder.put(name, value).map_err(|error| {
                let whole = Map::from([(name, value.clone())]);
                let (path, error) = bson::unfit(&whole).unwrap_or((name.to_owned(), error));
                let what = "the reply cannot be sent, since BSON cannot hold its value at";
                CommandError::invalid_bson(format!("{what} {path}: {error}"))
            })?;
        }
        Ok(builder)
    }
}
