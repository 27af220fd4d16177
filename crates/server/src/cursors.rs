//! Cursors that clients have not read to the end.

use crate::error::{CommandError, CommandResult};
use crate::security::privilege::Need;
use crate::sessions::SessionId;
use alluvium::AppendWatch;
use alluvium::{ChangeStream, Cursor, Document, OplogTail, ResumeToken, Tail};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The most open cursors. When there are more, the cursors that were not read for the longest time are closed. A client
/// that opens cursors and does not close them therefore does not prevent others from reading.
const CURSORS_MAX: usize = 10_000;

/// One in this number of cursors is closed when there are too many.
const CLOSED_AT_ONCE: usize = 100;
/// The memory for cursors that are not being read: this part of the database's memory, and at least the minimum.
/// Cursors beyond the limit are closed.
const MEMORY_PART: usize = 4;
const MEMORY_MIN: usize = 32 << 20;
/// The memory of a cursor with a short query, without the documents that were read ahead.
const CURSOR_BYTES: usize = 8 << 10;
/// The estimated memory of a parsed and planned query, as a multiple of the memory of its fields.
const QUERY_FACTOR: usize = 8;

/// The default time after which a cursor that is not read is closed.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// The documents that a cursor reads.
pub(crate) enum Documents {
    /// A query or a pipeline, with a document that did not fit into the last batch.
    Query(Box<Cursor>, Option<Document>),
    /// A query whose documents get the additional field `$recordId` with their `_id`.
    WithRecordIds(Box<Cursor>, Option<Document>),
    /// A query that stays open at its end.
    Tail(Box<TailCursor>),
    /// A change stream.
    Changes(Box<ChangeCursor>),
    /// Documents that are all in memory, in reverse order.
    List(Vec<Document>),
}

/// The documents that a tailable cursor follows.
pub(crate) enum Followed {
    /// Those of a capped collection.
    Capped(Box<Tail>),
    /// The entries of the operation log.
    Oplog(Box<OplogTail>),
}

impl Followed {
    fn next_document(&mut self) -> alluvium::Result<Option<Document>> {
        match self {
            Self::Capped(tail) => tail.next_document(),
            Self::Oplog(tail) => tail.next_document(),
        }
    }

    fn is_dead(&self) -> bool {
        match self {
            Self::Capped(tail) => tail.is_dead(),
            Self::Oplog(tail) => tail.is_dead(),
        }
    }

    fn watch(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        match self {
            Self::Capped(tail) => tail.watch(wake),
            Self::Oplog(tail) => tail.watch(wake),
        }
    }

    fn pause(&mut self) {
        match self {
            Self::Capped(tail) => tail.pause(),
            Self::Oplog(tail) => tail.pause(),
        }
    }

    /// The memory of what was read ahead, in bytes.
    fn bytes(&self) -> usize {
        match self {
            Self::Capped(_) => 0,
            Self::Oplog(tail) => tail.bytes_ahead(),
        }
    }
}

/// A tailable cursor.
pub(crate) struct TailCursor {
    /// The cursor.
    pub tail: Followed,
    /// A document that did not fit into the last batch.
    pub kept: Option<Document>,
    /// True if a `getMore` waits until there are documents.
    pub awaits: bool,
    /// Wakes the waiting request when the cursor is closed.
    pub waiting: Option<Wake>,
}

/// The cursor of a change stream.
pub(crate) struct ChangeCursor {
    stream: ChangeStream,
    /// An event that did not fit into the last batch.
    kept: Option<Document>,
    /// The token of the place before the last event.
    before: ResumeToken,
    /// Wakes the waiting request when the cursor is closed.
    pub waiting: Option<Wake>,
}

impl ChangeCursor {
    /// A cursor that has not been read.
    pub(crate) fn new(stream: ChangeStream) -> Self {
        Self { before: stream.token(), stream, kept: None, waiting: None }
    }

    fn next(&mut self) -> alluvium::Result<Option<Document>> {
        if let Some(kept) = self.kept.take() {
            return Ok(Some(kept));
        }
        let before = self.stream.token();
        let Some(event) = self.stream.poll_event()? else { return Ok(None) };
        self.before = before;
        Ok(Some(Document::of_result(&event)?))
    }

    /// The token of the place after the events that were returned.
    fn token(&self) -> ResumeToken {
        if self.kept.is_some() { self.before } else { self.stream.token() }
    }
}

/// Wakes a request when it is dropped.
pub(crate) struct Wake(pub Arc<Notify>);

impl Drop for Wake {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Documents {
    /// True if the cursor stays open although there are no more documents now.
    pub(crate) fn stays_open(&self) -> bool {
        match self {
            Self::Tail(cursor) => !cursor.tail.is_dead(),
            Self::Changes(cursor) => cursor.kept.is_some() || !cursor.stream.is_invalidated(),
            Self::Query(..) | Self::WithRecordIds(..) | Self::List(_) => false,
        }
    }

    /// True if the cursor stays open after a batch that is full or not.
    pub(crate) fn continues(&self, is_full: bool) -> bool {
        self.stays_open() || is_full && !matches!(self, Self::Changes(_))
    }

    /// True if a `getMore` waits until there are documents.
    pub(crate) fn awaits(&self) -> bool {
        match self {
            Self::Tail(cursor) => cursor.awaits,
            Self::Changes(_) => true,
            Self::Query(..) | Self::WithRecordIds(..) | Self::List(_) => false,
        }
    }

    /// Moves the token of a change stream behind the changes that led to no event, if a batch has no documents.
    ///
    /// # Errors
    /// As for any write.
    pub(crate) fn settle(&mut self, count: u64) -> alluvium::Result<()> {
        match self {
            Self::Changes(cursor) if count == 0 && cursor.kept.is_none() => cursor.stream.settle(),
            _ => Ok(()),
        }
    }

    /// True for a change stream.
    pub(crate) fn are_changes(&self) -> bool {
        matches!(self, Self::Changes(_))
    }

    /// The request that waits for documents, as long as this is set.
    pub(crate) fn waiting(&mut self) -> Option<&mut Option<Wake>> {
        match self {
            Self::Tail(cursor) => Some(&mut cursor.waiting),
            Self::Changes(cursor) => Some(&mut cursor.waiting),
            Self::Query(..) | Self::WithRecordIds(..) | Self::List(_) => None,
        }
    }

    /// Calls `wake` when there may be more documents of a cursor that stays open.
    pub(crate) fn on_change(&mut self, wake: impl Fn() + Send + Sync + 'static) -> Option<AppendWatch> {
        match self {
            Self::Tail(cursor) => Some(cursor.tail.watch(wake)),
            Self::Changes(cursor) => Some(cursor.stream.on_change(wake)),
            Self::Query(..) | Self::WithRecordIds(..) | Self::List(_) => None,
        }
    }

    /// The token after which a change stream continues behind the batches so far.
    pub(crate) fn token(&self) -> Option<ResumeToken> {
        match self {
            Self::Changes(cursor) => Some(cursor.token()),
            Self::Query(..) | Self::WithRecordIds(..) | Self::Tail(_) | Self::List(_) => None,
        }
    }

    /// Releases resources that are needed only while a batch is read.
    pub(crate) fn pause(&mut self) {
        match self {
            Self::Query(cursor, _) | Self::WithRecordIds(cursor, _) => cursor.pause(),
            Self::Tail(cursor) => cursor.tail.pause(),
            // A change stream keeps nothing open between its reads.
            Self::Changes(_) | Self::List(_) => {}
        }
    }

    /// The documents of a list, in the order of the list.
    pub(crate) fn of(mut list: Vec<Document>) -> Self {
        list.reverse();
        Self::List(list)
    }

    /// Makes the documents of the same query have a field `$recordId`.
    pub(crate) fn with_record_ids(self) -> Self {
        match self {
            Self::Query(cursor, kept) => Self::WithRecordIds(cursor, kept),
            other => other,
        }
    }

    /// The next document.
    ///
    /// # Errors
    /// Errors of the query.
    pub(crate) fn next(&mut self) -> alluvium::Result<Option<Document>> {
        match self {
            Self::Query(cursor, kept) => match kept.take() {
                Some(document) => Ok(Some(document)),
                None => cursor.next().transpose(),
            },
            Self::WithRecordIds(cursor, kept) => match kept.take() {
                Some(document) => Ok(Some(document)),
                None => cursor.next().transpose()?.map(|document| with_record_id(&document)).transpose(),
            },
            Self::Tail(cursor) => match cursor.kept.take() {
                Some(document) => Ok(Some(document)),
                None => cursor.tail.next_document(),
            },
            Self::Changes(cursor) => cursor.next(),
            Self::List(list) => Ok(list.pop()),
        }
    }

    /// The numbers of keys and of documents that the query has examined so far; `None` if there is no query.
    pub(crate) fn examined(&self) -> Option<(u64, u64)> {
        match self {
            Self::Query(cursor, _) | Self::WithRecordIds(cursor, _) => cursor.examined(),
            Self::Tail(_) | Self::Changes(_) | Self::List(_) => None,
        }
    }

    /// The memory of the documents that the cursor keeps while it is not being read.
    fn bytes(&self) -> usize {
        let row = |kept: &Option<Document>| kept.as_ref().map_or(0, Document::row_len);
        match self {
            Self::Query(cursor, kept) | Self::WithRecordIds(cursor, kept) => cursor.bytes_ahead() + row(kept),
            Self::Tail(cursor) => cursor.tail.bytes() + row(&cursor.kept),
            Self::Changes(cursor) => cursor.stream.bytes_ahead() + row(&cursor.kept),
            Self::List(list) => list.iter().map(|document| document.row_len() + size_of::<Document>()).sum(),
        }
    }

    /// Takes back the document that was read last.
    pub(crate) fn give_back(&mut self, document: Document) {
        match self {
            Self::Query(_, kept) | Self::WithRecordIds(_, kept) => *kept = Some(document),
            Self::Tail(cursor) => cursor.kept = Some(document),
            Self::Changes(cursor) => cursor.kept = Some(document),
            Self::List(list) => list.push(document),
        }
    }
}

/// Adds the record id to a document, which is the `_id` in the order of which documents are stored. Adds nothing if the
/// document has no `_id`.
fn with_record_id(document: &Document) -> alluvium::Result<Document> {
    let mut map = document.to_map()?;
    if let Some(id) = map.get("_id").cloned() {
        map.push("$recordId", id);
    }
    Ok(Document::from_map(&map)?)
}

/// An open cursor.
pub(crate) struct OpenCursor {
    /// The documents that the cursor reads.
    pub documents: Documents,
    /// `database.collection`.
    pub namespace: String,
    /// The identity of the collection. The cursor does not read another collection that later has the same name. `None`
    /// for a snapshot, and for a cursor that does not read one collection.
    pub identity: Option<u64>,
    /// The user who opened the cursor; only this user may read it.
    pub user: Option<String>,
    /// The memory of the fields of the command that opened the cursor.
    pub fields_bytes: usize,
    /// The privileges that the user needs to continue the cursor.
    pub needs: Vec<Need<'static>>,
    /// The session that the cursor belongs to.
    pub session: Option<SessionId>,
    /// The number of the transaction that the cursor belongs to.
    pub transaction: Option<i64>,
    /// True if the query has a time limit.
    pub is_limited: bool,
    /// Stops the query.
    pub stop: Arc<AtomicBool>,
    /// True if the cursor has no timeout.
    pub never_expires: bool,
}

/// A cursor in the registry.
enum Entry {
    Idle {
        cursor: Box<OpenCursor>,
        since: Duration,
        bytes: usize,
    },
    /// A cursor that a thread is reading.
    Busy {
        stop: Arc<AtomicBool>,
        user: Option<String>,
        session: Option<SessionId>,
        transaction: Option<i64>,
    },
}

/// The open cursors by their numbers.
pub(crate) struct Cursors {
    state: Mutex<State>,
    bytes_max: usize,
    env: Env,
}

#[derive(Default)]
struct State {
    entries: HashMap<i64, Entry>,
    /// The memory of the cursors that no thread is reading.
    bytes: usize,
}

impl State {
    /// Adds a cursor, or puts back a cursor that was read.
    fn insert(&mut self, id: i64, cursor: Box<OpenCursor>, since: Duration) {
        let bytes = cursor.documents.bytes() + CURSOR_BYTES.max(cursor.fields_bytes.saturating_mul(QUERY_FACTOR));
        self.remove(id);
        self.entries.insert(id, Entry::Idle { cursor, since, bytes });
        self.bytes += bytes;
    }

    fn remove(&mut self, id: i64) -> Option<Entry> {
        let entry = self.entries.remove(&id)?;
        if let Entry::Idle { bytes, .. } = &entry {
            self.bytes -= bytes;
        }
        Some(entry)
    }

    /// Removes the cursors that were not read for the longest time, as long as there are too many cursors or their
    /// memory is above the limit. The cursor that was read last remains.
    fn take_oldest(&mut self, bytes_max: usize) -> Vec<Entry> {
        if self.entries.len() < CURSORS_MAX && self.bytes <= bytes_max {
            return Vec::new();
        }
        let idle = self.entries.iter().filter_map(|(id, entry)| match entry {
            Entry::Idle { since, .. } => Some((*since, *id)),
            Entry::Busy { .. } => None,
        });
        let mut idle: Vec<(Duration, i64)> = idle.collect();
        idle.sort_unstable();
        idle.pop();
        let some = |most: usize| most - most / CLOSED_AT_ONCE;
        let mut oldest = idle.into_iter();
        let mut taken = Vec::new();
        while self.entries.len() > some(CURSORS_MAX) || self.bytes > some(bytes_max) {
            let Some((_, id)) = oldest.next() else { break };
            taken.extend(self.remove(id));
        }
        taken
    }
}

/// The outcome of closing a cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    /// The cursor was closed.
    Killed,
    /// The cursor does not exist.
    NotFound,
}

impl Cursors {
    /// The open cursors of a server whose database has this memory.
    pub(crate) fn new(env: Env, memory_bytes: usize) -> Self {
        Self { state: Mutex::default(), bytes_max: (memory_bytes / MEMORY_PART).max(MEMORY_MIN), env }
    }

    /// Keeps a cursor, and returns its number.
    ///
    /// # Errors
    /// Error 146 if there are too many cursors, and all of them are being read.
    pub(crate) fn keep(&self, cursor: OpenCursor) -> CommandResult<i64> {
        let mut state = self.state.lock();
        let closed = state.take_oldest(self.bytes_max);
        if state.entries.len() >= CURSORS_MAX {
            let message = format!("there are {CURSORS_MAX} open cursors already: close some, or read them to the end");
            return Err(CommandError::new(146, "ExceededMemoryLimit", message));
        }
        let id = loop {
            // The number is positive, so that no client treats it as an error.
            let id = (self.env.rng.next_u64() >> 1).cast_signed();
            if id != 0 && !state.entries.contains_key(&id) {
                break id;
            }
        };
        state.insert(id, Box::new(cursor), self.env.clock.now());
        drop(state);
        note(&closed);
        Ok(id)
    }

    /// Takes a cursor to read it. The caller returns the cursor with [`Cursors::give_back`], or closes it with
    /// [`Cursors::close`].
    ///
    /// # Errors
    /// Error 43 if the cursor does not exist; 13 if it belongs to another user; 12051 if another thread is reading it.
    pub(crate) fn take(&self, id: i64, namespace: &str, user: Option<&str>) -> CommandResult<Box<OpenCursor>> {
        let mut state = self.state.lock();
        let missing = || CommandError::cursor_not_found(format!("cursor id {id} not found"));
        match state.entries.get(&id).ok_or_else(missing)? {
            Entry::Busy { .. } => Err(CommandError::cursor_in_use(format!("cursor id {id} is already in use"))),
            Entry::Idle { cursor, .. } if cursor.namespace != namespace => {
                let message = format!(
                    "Requested getMore on namespace '{namespace}', but cursor belongs to a different namespace {}",
                    cursor.namespace
                );
                Err(CommandError::unauthorized(message))
            }
            Entry::Idle { cursor, .. } if cursor.user.as_deref() != user => {
                Err(CommandError::unauthorized(format!("cursor id {id} was not created by the authenticated user")))
            }
            Entry::Idle { cursor, .. } => {
                let busy = Entry::Busy {
                    stop: Arc::clone(&cursor.stop),
                    user: cursor.user.clone(),
                    session: cursor.session.clone(),
                    transaction: cursor.transaction,
                };
                match state.entries.insert(id, busy) {
                    Some(Entry::Idle { cursor, bytes, .. }) => {
                        state.bytes -= bytes;
                        Ok(cursor)
                    }
                    _ => Err(missing()),
                }
            }
        }
    }

    /// Puts back a cursor that was taken, unless the cursor was closed in between.
    pub(crate) fn give_back(&self, id: i64, cursor: Box<OpenCursor>) {
        let mut state = self.state.lock();
        if !state.entries.contains_key(&id) {
            return;
        }
        state.insert(id, cursor, self.env.clock.now());
        let closed = state.take_oldest(self.bytes_max);
        drop(state);
        note(&closed);
    }

    /// Closes a cursor that was taken.
    pub(crate) fn close(&self, id: i64) {
        let closed = self.state.lock().remove(id);
        drop(closed);
    }

    /// Closes a cursor of a user. A cursor that is being read ends with an error.
    pub(crate) fn kill(&self, id: i64, user: Option<&str>) -> Killed {
        let mut state = self.state.lock();
        let is_of = |entry: &Entry| match entry {
            Entry::Idle { cursor, .. } => cursor.user.as_deref() == user,
            Entry::Busy { user: by, .. } => by.as_deref() == user,
        };
        if !state.entries.get(&id).is_some_and(is_of) {
            return Killed::NotFound;
        }
        let entry = state.remove(id);
        drop(state);
        stop(entry.into_iter());
        Killed::Killed
    }

    /// Closes the cursors of some sessions.
    pub(crate) fn kill_of_sessions(&self, sessions: &[SessionId]) {
        let is_of = |session: &Option<SessionId>| session.as_ref().is_some_and(|id| sessions.contains(id));
        self.kill_where(|entry| match entry {
            Entry::Idle { cursor, .. } => is_of(&cursor.session),
            Entry::Busy { session, .. } => is_of(session),
        });
    }

    /// Closes the cursors of the transaction of a session.
    pub(crate) fn kill_of_transaction(&self, session: &SessionId) {
        self.kill_where(|entry| match entry {
            Entry::Idle { cursor, .. } => cursor.transaction.is_some() && cursor.session.as_ref() == Some(session),
            Entry::Busy { session: of, transaction, .. } => transaction.is_some() && of.as_ref() == Some(session),
        });
    }

    /// Closes cursors that were not read for the time `idle`.
    pub(crate) fn expire(&self, idle: Duration) {
        let now = self.env.clock.now();
        self.kill_where(|entry| match entry {
            Entry::Idle { cursor, since, .. } => !cursor.never_expires && now.saturating_sub(*since) > idle,
            Entry::Busy { .. } => false,
        });
    }

    fn kill_where(&self, is_of: impl Fn(&Entry) -> bool) {
        let mut state = self.state.lock();
        let ids: Vec<i64> = state.entries.iter().filter(|(_, entry)| is_of(entry)).map(|(id, _)| *id).collect();
        let killed: Vec<Entry> = ids.into_iter().filter_map(|id| state.remove(id)).collect();
        drop(state);
        stop(killed.into_iter());
    }

    /// The numbers and namespaces of the cursors that no thread is reading.
    pub(crate) fn idle(&self) -> Vec<(i64, String)> {
        let state = self.state.lock();
        let idle = state.entries.iter().filter_map(|(id, entry)| match entry {
            Entry::Idle { cursor, .. } => Some((*id, cursor.namespace.clone())),
            Entry::Busy { .. } => None,
        });
        idle.collect()
    }

    /// The number of open cursors.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().entries.len()
    }
}

/// Logs that cursors were closed to free space.
fn note(closed: &[Entry]) {
    if !closed.is_empty() {
        log::warn!("too many cursors are open: closed {} that were not read for long", closed.len());
    }
}

/// Stops the queries of cursors, and drops the cursors. Dropping a cursor reads files and is therefore done without a
/// lock.
fn stop(entries: impl Iterator<Item = Entry>) {
    for entry in entries {
        match &entry {
            Entry::Idle { cursor, .. } => cursor.stop.store(true, Ordering::Relaxed),
            Entry::Busy { stop, .. } => stop.store(true, Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests;
