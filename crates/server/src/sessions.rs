//! Sessions of clients.

mod transactions;

use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use alluvium::{Binary, Map, Value};
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use transactions::Phase;
pub(crate) use transactions::{Counts, End, Joined, Joining, OpenTransaction, Step, too_old as transaction_too_old};

/// A session that was not used for this time ends; `hello` announces 30 minutes.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The most sessions, as in MongoDB.
const SESSIONS_MAX: usize = 1_000_000;
/// The time between two checks whether the client of a waiting write has disconnected.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// The binary subtype of UUIDs.
const UUID: u8 = 4;

/// The fields of a session identifier. Only the first one is used. The user of a session is the user of its connection.
const FIELDS: &[Field] = &[
    required("id", Kind::Any),
    optional("uid", Kind::Any),
    optional("txnNumber", Kind::Any),
    optional("txnUUID", Kind::Any),
];

/// A session. Two users may use the same UUID for sessions of their own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionId {
    /// The UUID, which the client has generated.
    pub uuid: [u8; 16],
    /// The user, as `db.name`.
    pub user: Option<String>,
}

/// Displays a session as MongoDB's messages do: the UUID, and the user if the session has one.
impl std::fmt::Display for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, byte) in self.uuid.iter().enumerate() {
            if [4, 6, 8, 10].contains(&at) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        match &self.user {
            Some(user) => write!(f, " - {user}"),
            None => Ok(()),
        }
    }
}

/// The sessions in use.
pub(crate) struct Sessions {
    by_id: Mutex<HashMap<SessionId, Session>>,
    /// Notified when a retryable write or a command of a transaction has ended.
    ended: Condvar,
    /// Counts of the transactions of all sessions.
    pub transactions: Counts,
    env: Env,
}

#[derive(Default)]
struct Session {
    last_used: Duration,
    /// The highest number of a retryable write or of a transaction since the server started.
    number: Option<i64>,
    /// True while a retryable write or a command of a transaction runs, or while the session is being ended.
    busy: bool,
    /// True if a client has ended the session while it was busy. The session then ends with the next
    /// [`Sessions::expire`].
    ended: bool,
    /// The transaction with the number of the session, if it is that of a transaction.
    transaction: Option<Phase>,
}

/// Sessions that are being ended. No write begins in these sessions until this value is dropped. Afterwards, they have
/// either ended or are unchanged.
pub(crate) struct Ending<'a> {
    sessions: &'a Sessions,
    /// The sessions.
    pub ids: Vec<SessionId>,
    stay: bool,
}

impl Ending<'_> {
    /// Keeps the sessions. They end later, when they have not been used for long.
    pub(crate) fn give_up(mut self) {
        self.stay = true;
    }
}

/// A retryable write of a session. No other write runs in the session at the same time.
pub(crate) struct CheckedOut<'a> {
    sessions: &'a Sessions,
    id: SessionId,
    /// True if the session has used a lower number since the server started, and no number as high as this one. The
    /// write is then certainly not a repetition.
    pub is_new: bool,
    /// True if the session had an open transaction, which was aborted.
    pub replaced: bool,
}

impl Sessions {
    pub(crate) fn new(env: Env) -> Self {
        Self { by_id: Mutex::default(), ended: Condvar::new(), transactions: Counts::default(), env }
    }

    /// Notes that a session is used.
    ///
    /// # Errors
    /// Error 261 if there are too many sessions.
    pub(crate) fn touch(&self, id: &SessionId) -> CommandResult<()> {
        let now = self.env.clock.now();
        let mut sessions = self.by_id.lock();
        if let Some(session) = sessions.get_mut(id) {
            session.last_used = now;
            // The session is used again: the write that ran when the session was ended may be repeated.
            session.ended = false;
            return Ok(());
        }
        if sessions.len() >= SESSIONS_MAX {
            let message = "Unable to add session into the cache because the number of active sessions is too high";
            return Err(CommandError::new(261, "TooManyLogicalSessions", message));
        }
        sessions.insert(id.clone(), Session { last_used: now, ..Session::default() });
        Ok(())
    }

    /// Begins a retryable write. Waits for the running write of the session: a client that gets no reply repeats the
    /// write, although the first attempt may still be running.
    ///
    /// # Errors
    /// Error 225 if the session has used a higher number; 72 if the number is that of a transaction; 11601 if `stop` is
    /// set.
    pub(crate) fn check_out(&self, id: &SessionId, number: i64, stop: &AtomicBool) -> CommandResult<CheckedOut<'_>> {
        let mut sessions = self.by_id.lock();
        loop {
            let session = sessions.entry(id.clone()).or_default();
            if let Some(latest) = session.number.filter(|latest| *latest > number) {
                return Err(too_old(number, latest));
            }
            if session.number == Some(number) && session.transaction.is_some() {
                let message = format!("txnNumber {number} is that of a transaction, and needs autocommit: false");
                return Err(CommandError::invalid_options(message));
            }
            if !session.busy {
                let old = session.transaction.take();
                let is_new = session.number.is_some_and(|latest| latest < number);
                session.busy = true;
                session.number = Some(number);
                session.last_used = self.env.clock.now();
                drop(sessions);
                let replaced = self.release(old);
                return Ok(CheckedOut { sessions: self, id: id.clone(), is_new, replaced });
            }
            if stop.load(Ordering::Relaxed) {
                return Err(CommandError::new(11601, "Interrupted", "operation was interrupted"));
            }
            self.ended.wait_for(&mut sessions, STOP_CHECK);
        }
    }

    /// Forgets the number of a session, so that its records are read before its next write.
    pub(crate) fn forget_number(&self, id: &SessionId) {
        if let Some(session) = self.by_id.lock().get_mut(id) {
            session.number = None;
        }
    }

    /// Begins to end sessions. A session in which a retryable write runs ends after the write.
    pub(crate) fn end(&self, ids: &[SessionId]) -> Ending<'_> {
        let mut sessions = self.by_id.lock();
        let mut idle = Vec::with_capacity(ids.len());
        for id in ids {
            match sessions.get_mut(id) {
                Some(session) if session.busy => session.ended = true,
                Some(session) => {
                    session.busy = true;
                    idle.push(id.clone());
                }
                // The session may have records from an earlier run of the server.
                None => {
                    sessions.insert(id.clone(), Session { busy: true, ..Session::default() });
                    idle.push(id.clone());
                }
            }
        }
        Ending { sessions: self, ids: idle, stay: false }
    }

    /// Begins to end the sessions that were not used for long, and sessions that clients have ended during a write.
    pub(crate) fn expire(&self) -> Ending<'_> {
        let now = self.env.clock.now();
        let is_old = |session: &Session| session.ended || now.saturating_sub(session.last_used) > TIMEOUT;
        let mut sessions = self.by_id.lock();
        let old = sessions.iter_mut().filter(|(_, session)| !session.busy && is_old(session));
        let ids = old.map(|(id, session)| {
            session.busy = true;
            id.clone()
        });
        Ending { sessions: self, ids: ids.collect(), stay: false }
    }

    /// The identifiers of all sessions.
    pub(crate) fn all(&self) -> Vec<SessionId> {
        self.by_id.lock().keys().cloned().collect()
    }

    /// The identifiers of all sessions, and the time of their last use on the server's clock.
    pub(crate) fn with_last_use(&self) -> Vec<(SessionId, Duration)> {
        self.by_id.lock().iter().map(|(id, session)| (id.clone(), session.last_used)).collect()
    }

    /// The number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.by_id.lock().len()
    }
}

impl Drop for CheckedOut<'_> {
    fn drop(&mut self) {
        if let Some(session) = self.sessions.by_id.lock().get_mut(&self.id) {
            session.busy = false;
            // A write may take longer than the timeout of a session, and may be repeated afterwards.
            session.last_used = self.sessions.env.clock.now();
        }
        self.sessions.ended.notify_all();
    }
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut removed = Vec::new();
        let mut sessions = self.sessions.by_id.lock();
        for id in &self.ids {
            match (self.stay, sessions.get_mut(id)) {
                (true, Some(session)) => (session.busy, session.last_used) = (false, self.sessions.env.clock.now()),
                _ => removed.extend(sessions.remove(id)),
            }
        }
        drop(sessions);
        self.sessions.ended.notify_all();
        for session in removed {
            self.sessions.release(session.transaction);
        }
    }
}

/// The error for a retryable write if its session has used a higher number.
pub(crate) fn too_old(number: i64, latest: i64) -> CommandError {
    let message = format!(
        "Retryable write with txnNumber {number} is prohibited on session because a newer retryable write with \
         txnNumber {latest} has already started on this session."
    );
    CommandError::new(225, "TransactionTooOld", message)
}

impl SessionId {
    /// The session as the server shows it: its UUID, and the SHA-256 of its user, as `name@db`; of the empty text
    /// without a user.
    pub(crate) fn to_map(&self) -> Map {
        let digest = Sha256::digest(self.user_at_db().unwrap_or_default());
        Map::from([
            ("id", Value::Binary(Binary { subtype: UUID, bytes: self.uuid.to_vec() })),
            ("uid", Value::Binary(Binary { subtype: 0, bytes: digest.to_vec() })),
        ])
    }

    /// The user, as `name@db`.
    pub(crate) fn user_at_db(&self) -> Option<String> {
        let (db, name) = self.user.as_deref()?.split_once('.')?;
        Some(format!("{name}@{db}"))
    }

    /// The session of a command.
    ///
    /// # Errors
    /// Error 14 for another form.
    pub(crate) fn of_command(body: &impl Fields, user: Option<String>) -> CommandResult<Option<Self>> {
        body.document("lsid").map(|session| Self::of(session, user)).transpose()
    }

    /// The session that a document names.
    ///
    /// # Errors
    /// Error 14 for another type, 207 for another length, 40414 without an identifier, 40415 for other fields.
    pub(crate) fn of(session: &Map, user: Option<String>) -> CommandResult<Self> {
        fields::refuse_unknown("lsid", FIELDS, session.entries.iter().map(|(name, _)| name))?;
        let wrong = |found: &str| {
            let message = format!("BSON field 'lsid.id' is the wrong type '{found}', expected a UUID");
            CommandError::type_mismatch(message)
        };
        match session.get("id") {
            Some(Value::Binary(uuid)) if uuid.subtype == UUID => {
                let uuid = uuid.bytes.as_slice().try_into().map_err(|_| {
                    let message = format!("uuid must be a 16-byte binary field, not one of {} bytes", uuid.bytes.len());
                    CommandError::new(207, "InvalidUUID", message)
                })?;
                Ok(Self { uuid, user })
            }
            None | Some(Value::Null) => {
                Err(CommandError::missing_field("BSON field 'lsid.id' is missing but a required field"))
            }
            Some(other) => Err(wrong(other.type_name())),
        }
    }
}

#[cfg(test)]
mod tests;
