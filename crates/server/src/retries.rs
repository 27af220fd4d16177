//! Retryable writes: a client that gets no reply repeats a write, and the server returns the result without applying
//! the write again.
//!
//! Each statement of such a write stores a record with its result in the collection `config.transactions`. The record
//! is in the same batch as the write itself, so that a crash keeps both or neither. The `_id` of a record contains the
//! session, its user and the position of the statement; the record contains the number of the write. A session
//! therefore has as many records as its largest command had statements, and one for its last transaction, which the
//! commit puts. The records are deleted when the session ends.
//!
//! A statement that changes nothing, or fails, has no batch. Its result is stored in the record of the next statement
//! that changes something. A repetition therefore does not run the statement again, and the statement cannot see the
//! effects of later statements. Statements after the last change have no record, and run again.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::sessions::{CheckedOut, SessionId, too_old};
use alluvium::{Binary, Database, Map, Transaction, Value, WriteRecord, Written};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The collection of the records.
const RECORDS: &str = "config.transactions";
/// The binary subtype of UUIDs.
const UUID: u8 = 4;

/// The most results of unchanged statements that the record of another statement contains. Each statement encodes them
/// again until one is recorded.
const UNRECORDED_MAX: usize = 32;
/// The code name of an error that was read from a record. Replies to statements do not show the name.
const EARLIER: &str = "Earlier";

/// A write that may be a repetition.
pub(crate) struct Retry {
    session: SessionId,
    number: i64,
    /// The results of statements that an earlier attempt carried out.
    done: HashMap<i32, CommandResult<Map>>,
    /// The statement numbers, if the client sent them.
    statements: Option<Vec<i32>>,
    /// The results of statements since the last record; these statements changed nothing.
    unrecorded: RefCell<Arc<Vec<Value>>>,
}

impl Retry {
    /// Reads the records of a write, unless it is certainly the first attempt.
    ///
    /// # Errors
    /// Error 225 if the session has a record with a higher number; errors of reading.
    pub(crate) fn load(
        db: &Database,
        checked_out: &CheckedOut<'_>,
        session: &SessionId,
        number: i64,
    ) -> CommandResult<Self> {
        let mut retry = Self {
            session: session.clone(),
            number,
            done: HashMap::new(),
            statements: None,
            unrecorded: RefCell::default(),
        };
        if checked_out.is_new {
            return Ok(retry);
        }
        for record in of_session(db, session)? {
            let record = record?.to_map().map_err(alluvium::Error::from)?;
            let id = record.get("_id").and_then(Value::as_map).cloned().unwrap_or_default();
            let latest = record.get("number").and_then(Value::as_i64).unwrap_or(i64::MIN);
            if latest > number {
                return Err(too_old(number, latest));
            }
            if latest == number {
                if id.text("statement") == Some(COMMIT) {
                    let message = format!("txnNumber {number} is that of a transaction that was committed");
                    return Err(CommandError::invalid_options(message));
                }
                let before = record.get("before").and_then(Value::as_array).unwrap_or_default();
                retry.done.extend(before.iter().filter_map(Value::as_map).filter_map(|entry| earlier(entry, entry)));
                retry.done.extend(earlier(&id, &record));
            }
        }
        Ok(retry)
    }

    /// Sets the numbers of the statements.
    ///
    /// # Errors
    /// Error 72 if the numbers and the statements differ in count.
    pub(crate) fn number_statements(&mut self, statements: Option<&[Value]>, count: usize) -> CommandResult<()> {
        let Some(given) = statements else { return Ok(()) };
        let numbers = given.iter().map(|number| number.as_i64().and_then(|number| i32::try_from(number).ok()));
        match numbers.collect::<Option<Vec<i32>>>() {
            Some(numbers) if numbers.len() == count => self.statements = Some(numbers),
            _ => {
                return Err(CommandError::invalid_options(
                    "Number of statement ids must match the number of statements",
                ));
            }
        }
        Ok(())
    }

    /// The number of the statement at a position.
    pub(crate) fn statement(&self, at: usize) -> i32 {
        let given = self.statements.as_ref().and_then(|numbers| numbers.get(at).copied());
        given.unwrap_or_else(|| i32::try_from(at).unwrap_or(i32::MAX))
    }

    /// The result of the statement at a position, if an earlier attempt carried it out.
    pub(crate) fn done(&self, at: usize) -> Option<&CommandResult<Map>> {
        self.done.get(&self.statement(at))
    }

    /// Notes that a statement has stored its record, together with the results of the unchanged statements before it.
    pub(crate) fn note_recorded(&self) {
        *self.unrecorded.borrow_mut() = Arc::default();
    }

    /// Notes the result of a statement that changed nothing. When many such results have accumulated, they are stored
    /// in a record of their own.
    ///
    /// # Errors
    /// The errors of any write.
    pub(crate) fn note_unchanged(&self, db: &Database, at: usize, result: CommandResult<Map>) -> CommandResult<()> {
        let mut entry = Map::from([("statement", Value::Int32(self.statement(at)))]);
        match result {
            Ok(result) => entry.push("result", Value::Map(result)),
            // An error that ends the whole command is not the result of a statement.
            Err(error) if error.is_fatal() => return Ok(()),
            Err(error) => {
                let mut described = Map::new();
                error.describe(&mut described);
                entry.push("error", Value::Map(described));
            }
        }
        let mut unrecorded = self.unrecorded.borrow_mut();
        Arc::make_mut(&mut unrecorded).push(Value::Map(entry));
        if unrecorded.len() >= UNRECORDED_MAX {
            let before = Value::Array(unrecorded.to_vec());
            let record = Map::from([("number", Value::Int64(self.number)), ("before", before)]);
            db.collection(RECORDS).put(Value::Map(self.id_of(at)), record)?;
            *unrecorded = Arc::default();
        }
        Ok(())
    }

    /// The `_id` of the record of the statement at a position.
    fn id_of(&self, at: usize) -> Map {
        record_id(&self.session, Some(Value::Int32(self.statement(at))))
    }

    /// The record that the statement at a position puts.
    pub(crate) fn record(&self, at: usize, result: impl Fn(&Written) -> Map + Send + Sync + 'static) -> WriteRecord {
        let (number, before) = (self.number, Arc::clone(&self.unrecorded.borrow()));
        let fields = move |written: &Written| {
            // The writer adds the `_id`.
            let mut fields = Map::with_capacity(4);
            fields.push("number", Value::Int64(number));
            fields.push("result", Value::Map(result(written)));
            if !before.is_empty() {
                fields.push("before", Value::Array(before.to_vec()));
            }
            fields
        };
        WriteRecord { collection: RECORDS.to_owned(), id: Value::Map(self.id_of(at)), fields: Arc::new(fields) }
    }
}

/// The position of a commit in the `_id` of its record.
const COMMIT: &str = "commit";

/// Creates the collection of the records, if it does not exist. A transaction cannot put its record into a collection that
/// is newer than itself.
///
/// # Errors
/// The errors of any write.
pub(crate) fn prepare(db: &Database) -> CommandResult<()> {
    if db.collection(RECORDS).identity()?.is_some() {
        return Ok(());
    }
    match db.create_collection(RECORDS).run() {
        Ok(_) | Err(alluvium::Error::CollectionExists(_)) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Puts the record of a commit, as a part of the transaction: it is there if and only if the transaction was committed.
///
/// # Errors
/// The errors of any write in a transaction.
pub(crate) fn record_commit(transaction: &Transaction, session: &SessionId, number: i64) -> CommandResult<()> {
    let id = record_id(session, Some(Value::from(COMMIT)));
    let fields = Map::from([("number", Value::Int64(number))]);
    Ok(transaction.collection(RECORDS).put(Value::Map(id), fields)?)
}

/// The number of the last transaction of a session that was committed with writes.
///
/// # Errors
/// The errors of any read.
pub(crate) fn last_commit(db: &Database, session: &SessionId) -> CommandResult<Option<i64>> {
    let id = record_id(session, Some(Value::from(COMMIT)));
    let record = db.collection(RECORDS).get(Value::Map(id))?;
    let number = record.map(|record| record.to_map()).transpose().map_err(alluvium::Error::from)?;
    Ok(number.and_then(|record| record.integer("number")))
}

/// The highest number in the records of a session.
///
/// # Errors
/// The errors of any read.
pub(crate) fn last_number(db: &Database, session: &SessionId) -> CommandResult<Option<i64>> {
    let mut last = None;
    for record in of_session(db, session)? {
        let record = record?.to_map().map_err(alluvium::Error::from)?;
        last = last.max(record.integer("number"));
    }
    Ok(last)
}

/// The number of a statement, which `id` has, and its result in a record; `None` for a record that only has results of
/// earlier statements.
fn earlier(id: &Map, record: &Map) -> Option<(i32, CommandResult<Map>)> {
    let statement = id.get("statement").and_then(Value::as_i64).and_then(|at| i32::try_from(at).ok())?;
    if let Some(error) = record.document("error") {
        let code = error.integer("code").and_then(|code| i32::try_from(code).ok()).unwrap_or_default();
        let mut again = CommandError::new(code, EARLIER, error.text("errmsg").unwrap_or_default());
        let others =
            error.entries.iter().filter(|(name, _)| !["code", "errmsg"].contains(&name.as_str().unwrap_or("")));
        again.fields.entries.extend(others.cloned());
        return Some((statement, Err(again)));
    }
    Some((statement, Ok(record.document("result")?.clone())))
}

/// The `_id` of a session's record of a statement; without a statement, the common beginning of the `_id`s of the
/// session's records.
fn record_id(session: &SessionId, statement: Option<Value>) -> Map {
    let mut id = Map::with_capacity(3);
    id.push("id", Value::Binary(Binary { subtype: UUID, bytes: session.uuid.to_vec() }));
    id.push("user", session.user.as_deref().map_or(Value::Null, Value::from));
    if let Some(statement) = statement {
        id.push("statement", statement);
    }
    id
}

/// The records of a session.
fn of_session(db: &Database, session: &SessionId) -> alluvium::Result<alluvium::Cursor> {
    let (from, to) = (record_id(session, None), record_id(session, Some(Value::MaxKey)));
    db.collection(RECORDS).scan().from(Value::Map(from)).to(Value::Map(to)).run()
}

/// Deletes the records of sessions that have ended.
///
/// # Errors
/// The errors of any read and write.
pub(crate) fn forget(db: &Database, sessions: &[SessionId]) -> alluvium::Result<()> {
    let records = db.collection(RECORDS);
    for session in sessions {
        for record in of_session(db, session)? {
            records.delete(record?.id().clone())?;
        }
    }
    Ok(())
}

/// Finds the sessions that have records from an earlier run of the server.
///
/// # Errors
/// The errors of any read.
pub(crate) fn sessions(db: &Database) -> alluvium::Result<Vec<SessionId>> {
    let mut found: Vec<SessionId> = Vec::new();
    let mut cursor = db.collection(RECORDS).scan().run()?;
    while let Some(fields) = cursor.next_fields(&["_id"])? {
        let id = fields.get("_id").and_then(Value::as_map).cloned().unwrap_or_default();
        let user = id.get("user").and_then(Value::as_str).map(str::to_owned);
        // A client's identifier has this field and no others.
        let uuid = Map::from([("id", id.get("id").cloned().unwrap_or_default())]);
        if let Ok(session) = SessionId::of(&uuid, user)
            && found.last() != Some(&session)
        {
            found.push(session);
        }
    }
    Ok(found)
}
