//! Cursors that clients have not read to the end.

use crate::error::{CommandError, CommandResult};
use crate::security::privilege::Need;
use crate::sessions::SessionId;
use alluvium::{Cursor, Document, Tail};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The most open cursors. Beyond it those that were not read for the longest time are closed, so that a client that
/// opens cursors and leaves them does not keep others from reading.
const CURSORS_MAX: usize = 10_000;

/// How many are closed then.
const CLOSED_AT_ONCE: usize = CURSORS_MAX / 100;

/// A cursor that was not read for this long is closed, by default.
pub(crate) const IDLE: Duration = Duration::from_secs(600);

/// What a cursor reads.
pub(crate) enum Documents {
    /// A query or a pipeline, with a document that did not fit the last batch.
    Query(Box<Cursor>, Option<Document>),
    /// A query whose documents get a field with their `_id`, as `$recordId`.
    WithRecordIds(Box<Cursor>, Option<Document>),
    /// A query of a capped collection that stays open at the end.
    Tail(Box<TailCursor>),
    /// Documents that were made at once, in reverse order.
    List(Vec<Document>),
}

/// A tailable cursor.
pub(crate) struct TailCursor {
    /// The cursor.
    pub tail: Tail,
    /// A document that did not fit the last batch.
    pub kept: Option<Document>,
    /// True if a request for more waits until there are documents.
    pub awaits: bool,
    /// Wakes the request that waits when the cursor is closed.
    pub waiting: Option<Wake>,
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
        matches!(self, Self::Tail(cursor) if !cursor.tail.is_dead())
    }

    /// Releases what is needed only while a batch is read.
    pub(crate) fn pause(&mut self) {
        if let Self::Tail(cursor) = self {
            cursor.tail.pause();
        }
    }

    /// Documents of a list, in its order.
    pub(crate) fn of(mut list: Vec<Document>) -> Self {
        list.reverse();
        Self::List(list)
    }

    /// The same query, whose documents have a field `$recordId`.
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
            Self::List(list) => Ok(list.pop()),
        }
    }

    /// Returns a document that was read last.
    pub(crate) fn give_back(&mut self, document: Document) {
        match self {
            Self::Query(_, kept) | Self::WithRecordIds(_, kept) => *kept = Some(document),
            Self::Tail(cursor) => cursor.kept = Some(document),
            Self::List(list) => list.push(document),
        }
    }
}

/// A document with its record's number, which is the `_id` that documents are stored by; without it, if the result does
/// not have it.
fn with_record_id(document: &Document) -> alluvium::Result<Document> {
    let mut map = document.to_map()?;
    if let Some(id) = map.get("_id").cloned() {
        map.push("$recordId", id);
    }
    Ok(Document::from_map(&map)?)
}

/// An open cursor.
pub(crate) struct OpenCursor {
    /// What it reads.
    pub documents: Documents,
    /// `database.collection`.
    pub namespace: String,
    /// The user who opened it; only this user may read it.
    pub user: Option<String>,
    /// What its user needs to read on.
    pub needs: Vec<Need<'static>>,
    /// The session that it belongs to.
    pub session: Option<SessionId>,
    /// The query has a time limit.
    pub is_limited: bool,
    /// Ends its query.
    pub stop: Arc<AtomicBool>,
    /// True if it stays open however long it is not read.
    pub never_expires: bool,
}

/// A cursor in the registry.
enum Entry {
    Idle {
        cursor: Box<OpenCursor>,
        since: Duration,
    },
    /// A thread reads it.
    Busy {
        stop: Arc<AtomicBool>,
        namespace: String,
        user: Option<String>,
        session: Option<SessionId>,
    },
}

/// The open cursors by their numbers.
pub(crate) struct Cursors {
    entries: Mutex<HashMap<i64, Entry>>,
    env: Env,
}

/// Removes some of the cursors that were not read for the longest time.
fn take_oldest(entries: &mut HashMap<i64, Entry>) -> Vec<Entry> {
    let idle = entries.iter().filter_map(|(id, entry)| match entry {
        Entry::Idle { since, .. } => Some((*since, *id)),
        Entry::Busy { .. } => None,
    });
    let mut idle: Vec<(Duration, i64)> = idle.collect();
    idle.sort_unstable();
    idle.iter().take(CLOSED_AT_ONCE).filter_map(|(_, id)| entries.remove(id)).collect()
}

/// What became of a cursor that was to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Killed {
    /// It was closed.
    Killed,
    /// It does not exist.
    NotFound,
}

impl Cursors {
    pub(crate) fn new(env: Env) -> Self {
        Self { entries: Mutex::new(HashMap::new()), env }
    }

    /// Keeps a cursor, and returns its number.
    ///
    /// # Errors
    /// Error 146 if there are too many, and all of them are read at the moment.
    pub(crate) fn keep(&self, cursor: OpenCursor) -> CommandResult<i64> {
        let mut entries = self.entries.lock();
        let closed = if entries.len() >= CURSORS_MAX { take_oldest(&mut entries) } else { Vec::new() };
        if entries.len() >= CURSORS_MAX {
            let message = format!("there are {CURSORS_MAX} open cursors already: close some, or read them to the end");
            return Err(CommandError::new(146, "ExceededMemoryLimit", message));
        }
        let id = loop {
            // Positive, so that no client takes it for an error.
            let id = (self.env.rng.next_u64() >> 1).cast_signed();
            if id != 0 && !entries.contains_key(&id) {
                break id;
            }
        };
        entries.insert(id, Entry::Idle { cursor: Box::new(cursor), since: self.env.clock.now() });
        drop(entries);
        if !closed.is_empty() {
            log::warn!("{CURSORS_MAX} cursors are open: closed {} that were not read for long", closed.len());
        }
        Ok(id)
    }

    /// Takes a cursor to read it. It is given back by [`Cursors::give_back`], or closed by [`Cursors::close`].
    ///
    /// # Errors
    /// Error 43 if it does not exist; 13 if it is another user's; 12051 if another thread reads it.
    pub(crate) fn take(&self, id: i64, namespace: &str, user: Option<&str>) -> CommandResult<Box<OpenCursor>> {
        let mut entries = self.entries.lock();
        let missing = || CommandError::cursor_not_found(format!("cursor id {id} not found"));
        match entries.get(&id).ok_or_else(missing)? {
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
                    namespace: cursor.namespace.clone(),
                    user: cursor.user.clone(),
                    session: cursor.session.clone(),
                };
                match entries.insert(id, busy) {
                    Some(Entry::Idle { cursor, .. }) => Ok(cursor),
                    _ => Err(missing()),
                }
            }
        }
    }

    /// Keeps a cursor that was taken, unless it was closed in between.
    pub(crate) fn give_back(&self, id: i64, cursor: Box<OpenCursor>) {
        let mut entries = self.entries.lock();
        if let Some(entry) = entries.get_mut(&id) {
            *entry = Entry::Idle { cursor, since: self.env.clock.now() };
        }
    }

    /// Forgets a cursor that was taken.
    pub(crate) fn close(&self, id: i64) {
        self.entries.lock().remove(&id);
    }

    /// Closes a cursor of a user; one that is read at the moment ends with an error.
    pub(crate) fn kill(&self, id: i64, namespace: &str, user: Option<&str>) -> Killed {
        let mut entries = self.entries.lock();
        let is_of = |entry: &Entry| match entry {
            Entry::Idle { cursor, .. } => cursor.namespace == namespace && cursor.user.as_deref() == user,
            Entry::Busy { namespace: of, user: by, .. } => of == namespace && by.as_deref() == user,
        };
        if !entries.get(&id).is_some_and(is_of) {
            return Killed::NotFound;
        }
        let entry = entries.remove(&id);
        drop(entries);
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

    /// Closes cursors that were not read for long.
    pub(crate) fn expire(&self, idle: Duration) {
        let now = self.env.clock.now();
        self.kill_where(|entry| match entry {
            Entry::Idle { cursor, since } => !cursor.never_expires && now.saturating_sub(*since) > idle,
            Entry::Busy { .. } => false,
        });
    }

    fn kill_where(&self, is_of: impl Fn(&Entry) -> bool) {
        let mut entries = self.entries.lock();
        let ids: Vec<i64> = entries.iter().filter(|(_, entry)| is_of(entry)).map(|(id, _)| *id).collect();
        let killed: Vec<Entry> = ids.into_iter().filter_map(|id| entries.remove(&id)).collect();
        drop(entries);
        stop(killed.into_iter());
    }

    /// The cursors that no thread reads: their numbers and namespaces.
    pub(crate) fn idle(&self) -> Vec<(i64, String)> {
        let entries = self.entries.lock();
        let idle = entries.iter().filter_map(|(id, entry)| match entry {
            Entry::Idle { cursor, .. } => Some((*id, cursor.namespace.clone())),
            Entry::Busy { .. } => None,
        });
        idle.collect()
    }

    /// The number of open cursors.
    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

/// Ends the queries of cursors. Dropping one reads files, so no lock is held.
fn stop(entries: impl Iterator<Item = Entry>) {
    for entry in entries {
        match &entry {
            Entry::Idle { cursor, .. } => cursor.stop.store(true, Ordering::Relaxed),
            Entry::Busy { stop, .. } => stop.store(true, Ordering::Relaxed),
        }
    }
}
