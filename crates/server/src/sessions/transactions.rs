//! The transactions of sessions.
//!
//! A session has at most one transaction, whose number is the latest of the session. Its statements come over any
//! connection, one at a time. It ends by its commit or abort, by a statement that fails, by a higher number of its session,
//! with its session, or when it has been open for too long.

use super::{STOP_CHECK, Session, SessionId, Sessions};
use crate::error::{CommandError, CommandResult};
use alluvium::{Database, Map, Transaction, Value};
use alluvium_env::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// The most open transactions.
const OPEN_MAX: usize = 10_000;

/// The effect of a command on the transaction of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Begins the transaction, and is its first statement.
    Begin,
    /// Is a further statement.
    Continue,
    /// Commits the transaction, perhaps again.
    Commit,
    /// Aborts the transaction.
    Abort,
}

/// The state of the latest transaction of a session.
pub(super) enum Phase {
    /// Statements may follow.
    Open(Open),
    /// It was committed.
    Committed,
    /// It was aborted.
    Aborted,
    /// It was to be committed, and the outcome is unknown until the database is opened again.
    Unknown,
}

/// An open transaction.
pub(super) struct Open {
    transaction: Transaction,
    began: Duration,
    /// The time of its begin, in milliseconds since 1970.
    began_millis: i64,
    /// The flag that ends its running statement.
    running: Option<Arc<AtomicBool>>,
    /// The reason for which it is aborted when its running statement has ended.
    doom: Option<Doom>,
}

/// Why a transaction is aborted although no statement of it asks for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doom {
    /// It has been open for too long.
    Expired,
    /// Its session was ended or killed.
    Killed,
}

/// Counts of transactions.
pub(crate) struct Counts {
    pub started: AtomicU64,
    pub committed: AtomicU64,
    pub aborted: AtomicU64,
    /// The number of open transactions.
    pub open: AtomicUsize,
    /// The number of open transactions with a running statement.
    pub active: AtomicUsize,
    /// The open transactions by their numbers in the database. The end of one drops its sender, which wakes the receivers.
    ends: Mutex<HashMap<u64, watch::Sender<()>>>,
}

impl Default for Counts {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            started: zero(),
            committed: zero(),
            aborted: zero(),
            open: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            ends: Mutex::default(),
        }
    }
}

impl Counts {
    /// True if there are open transactions.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.open.load(Ordering::Relaxed) > 0
    }

    /// A receiver that fails when the transaction with this number in the database ends; `None` if it has ended.
    pub(crate) fn end_of(&self, number: u64) -> Option<watch::Receiver<()>> {
        self.ends.lock().get(&number).map(watch::Sender::subscribe)
    }

    fn note_begin(&self, transaction: &Transaction) {
        self.ends.lock().insert(transaction.number(), watch::Sender::new(()));
        self.started.fetch_add(1, Ordering::Relaxed);
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    fn note_end(&self, transaction: &Transaction, is_commit: bool) {
        let count = if is_commit { &self.committed } else { &self.aborted };
        count.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_sub(1, Ordering::Relaxed);
        // Dropped without the lock.
        let _ended = self.ends.lock().remove(&transaction.number());
    }
}

/// An open transaction in a list.
pub(crate) struct OpenTransaction {
    /// The session.
    pub session: SessionId,
    /// The number of the transaction.
    pub number: i64,
    /// The time since its begin.
    pub open: Duration,
    /// The time of its begin, in milliseconds since 1970.
    pub began_millis: i64,
    /// True while a statement runs.
    pub is_active: bool,
}

/// The state of a transaction before a command joins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Open, or about to begin.
    Open,
    /// Committed already.
    Committed,
    /// Its commit had an unknown outcome.
    Unknown,
    /// Not known since the server has started. Its commit may have left a record.
    Unseen,
}

/// A command of a transaction. No other command of the session runs in a transaction until this value is dropped. A
/// command that is dropped before [`Joined::finish`] aborts the transaction.
pub(crate) struct Joined<'a> {
    sessions: &'a Sessions,
    session: SessionId,
    /// The number of the transaction.
    pub number: i64,
    /// The state of the transaction before the command.
    pub before: Joining,
    transaction: Option<Transaction>,
    /// The flag that ends the command.
    stop: Arc<AtomicBool>,
    /// True if the session had another open transaction, which was aborted.
    pub replaced: bool,
    /// True if the session was not used with a number since the server started.
    pub is_first: bool,
    finished: bool,
}

impl Sessions {
    /// Joins a command with the transaction of its session. Waits for the running command of the session.
    ///
    /// # Errors
    /// Error 225 if the session has used a higher number, 50911 to begin a number again, 251 for a transaction that is
    /// not open, 256 for one that was committed, 11601 if `stop` is set.
    pub(crate) fn join(
        &self,
        id: &SessionId,
        number: i64,
        step: Step,
        stop: &Arc<AtomicBool>,
    ) -> CommandResult<Joined<'_>> {
        let mut sessions = self.by_id.lock();
        let session = loop {
            let session = sessions.entry(id.clone()).or_default();
            if let Some(latest) = session.number.filter(|latest| *latest > number) {
                return Err(too_old(number, latest));
            }
            if !session.busy {
                break session;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(CommandError::new(11601, "Interrupted", "operation was interrupted"));
            }
            self.ended.wait_for(&mut sessions, STOP_CHECK);
        };
        let before = session.before(number, step)?;
        let is_first = session.number.is_none();
        session.busy = true;
        session.last_used = self.env.clock.now();
        let (mut transaction, mut old) = (None, None);
        match &mut session.transaction {
            Some(Phase::Open(open)) if step != Step::Begin => {
                open.running = Some(Arc::clone(stop));
                transaction = Some(open.transaction.clone());
                self.transactions.active.fetch_add(1, Ordering::Relaxed);
            }
            phase if step == Step::Begin => {
                old = phase.take();
                session.number = Some(number);
            }
            _ => {}
        }
        drop(sessions);
        // Released without the lock, since a transaction may have much memory.
        let replaced = self.release(old);
        let session = id.clone();
        Ok(Joined {
            sessions: self,
            session,
            number,
            before,
            transaction,
            stop: Arc::clone(stop),
            replaced,
            is_first,
            finished: false,
        })
    }

    /// Aborts a transaction that its session does not have any more. Returns whether there was an open one.
    pub(super) fn release(&self, phase: Option<Phase>) -> bool {
        let Some(Phase::Open(open)) = phase else { return false };
        open.transaction.abort();
        self.transactions.note_end(&open.transaction, false);
        true
    }

    /// Aborts the transactions that have been open for longer than `limit`. Returns their sessions. A running statement
    /// is stopped first.
    pub(crate) fn expire_transactions(&self, limit: Duration) -> Vec<SessionId> {
        if !self.transactions.any() {
            return Vec::new();
        }
        let now = self.env.clock.now();
        self.abort_where(Doom::Expired, |_, open| now.saturating_sub(open.began) > limit)
    }

    /// Aborts the transactions of some sessions.
    pub(crate) fn abort_transactions(&self, ids: &[SessionId]) {
        if !self.transactions.any() {
            return;
        }
        let mut sessions = self.by_id.lock();
        let ended: Vec<_> = ids.iter().filter_map(|id| sessions.get_mut(id)?.abort_transaction(Doom::Killed)).collect();
        drop(sessions);
        for phase in ended {
            self.release(Some(phase));
        }
    }

    /// Aborts all transactions, because the server stops.
    pub(crate) fn abort_all_transactions(&self) {
        self.abort_where(Doom::Killed, |_, _| true);
    }

    fn abort_where(&self, doom: Doom, is_meant: impl Fn(&SessionId, &Open) -> bool) -> Vec<SessionId> {
        let mut ended = Vec::new();
        let mut sessions = self.by_id.lock();
        for (id, session) in sessions.iter_mut() {
            let Some(Phase::Open(open)) = &session.transaction else { continue };
            if !is_meant(id, open) {
                continue;
            }
            ended.extend(session.abort_transaction(doom).map(|phase| (id.clone(), phase)));
        }
        drop(sessions);
        let release = |(id, phase)| {
            self.release(Some(phase));
            id
        };
        ended.into_iter().map(release).collect()
    }

    /// The open transactions.
    pub(crate) fn open_transactions(&self) -> Vec<OpenTransaction> {
        let now = self.env.clock.now();
        let listed = |(id, session): (&SessionId, &Session)| match &session.transaction {
            Some(Phase::Open(open)) => Some(OpenTransaction {
                session: id.clone(),
                number: session.number?,
                open: now.saturating_sub(open.began),
                began_millis: open.began_millis,
                is_active: session.busy,
            }),
            _ => None,
        };
        self.by_id.lock().iter().filter_map(listed).collect()
    }
}

impl Session {
    /// Aborts its open transaction, which is returned to be released. While a command runs, the command is stopped first, and
    /// ends the transaction.
    fn abort_transaction(&mut self, doom: Doom) -> Option<Phase> {
        let Some(Phase::Open(open)) = &mut self.transaction else { return None };
        if !self.busy {
            return self.transaction.replace(Phase::Aborted);
        }
        open.doom.get_or_insert(doom);
        if let Some(stop) = &open.running {
            stop.store(true, Ordering::Relaxed);
        }
        None
    }

    /// Checks that a command fits the state of the transaction with this number.
    fn before(&self, number: i64, step: Step) -> CommandResult<Joining> {
        if self.number != Some(number) {
            return match (step, self.number) {
                (Step::Begin, _) => Ok(Joining::Open),
                // The server may have been restarted since the first attempt of this commit.
                (Step::Commit, _) => Ok(Joining::Unseen),
                (_, latest) => Err(unknown(number, latest)),
            };
        }
        match (&self.transaction, step) {
            (_, Step::Begin) => {
                let message = format!("the session has begun a transaction or a write with txnNumber {number} already");
                Err(CommandError::new(50_911, "Location50911", message))
            }
            (Some(Phase::Open(_)), _) => Ok(Joining::Open),
            (Some(Phase::Committed), Step::Commit) => Ok(Joining::Committed),
            (Some(Phase::Unknown), Step::Commit) => Ok(Joining::Unknown),
            (Some(Phase::Committed), _) => {
                let message = format!("Transaction {number} has been committed.");
                Err(CommandError::new(256, "TransactionCommitted", message))
            }
            (Some(Phase::Aborted), _) => {
                Err(CommandError::no_such_transaction(format!("Transaction {number} has been aborted.")))
            }
            (None, Step::Commit) => Ok(Joining::Unseen),
            (Some(Phase::Unknown) | None, _) => Err(unknown(number, self.number)),
        }
    }
}

impl Joined<'_> {
    /// Begins the transaction.
    ///
    /// # Errors
    /// Error 146 if too many are open.
    pub(crate) fn begin(&mut self, db: &Database) -> CommandResult<()> {
        let counts = &self.sessions.transactions;
        if counts.open.fetch_add(1, Ordering::Relaxed) >= OPEN_MAX {
            counts.open.fetch_sub(1, Ordering::Relaxed);
            let message = format!("there are {OPEN_MAX} open transactions already: commit or abort some");
            return Err(CommandError::new(146, "ExceededMemoryLimit", message));
        }
        let clock = &self.sessions.env.clock;
        let (began, began_millis) = (clock.now(), clock.unix_millis());
        let transaction = db.begin();
        let (session, number) = (Value::Map(self.session.to_map()), Value::Int64(self.number));
        transaction.note_in_changes(Map::from([("lsid", session), ("txnNumber", number)]));
        counts.note_begin(&transaction);
        self.transaction = Some(transaction.clone());
        let mut sessions = self.sessions.by_id.lock();
        let session = sessions.entry(self.session.clone()).or_default();
        session.transaction = Some(Phase::Open(Open {
            transaction,
            began,
            began_millis,
            running: Some(Arc::clone(&self.stop)),
            doom: None,
        }));
        Ok(())
    }

    /// The open transaction.
    pub(crate) fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_ref()
    }

    /// Ends the command, which leaves its transaction as `end` says. A command that has failed ends the transaction. Returns whether the
    /// transaction has ended, and the error that explains why a command was stopped.
    pub(crate) fn finish(&mut self, end: End) -> (bool, Option<CommandError>) {
        self.finished = true;
        let mut sessions = self.sessions.by_id.lock();
        let Some(session) = sessions.get_mut(&self.session) else { return (false, None) };
        session.busy = false;
        session.last_used = self.sessions.env.clock.now();
        let was_ended = session.ended;
        let mut doom = None;
        if let Some(Phase::Open(open)) = &mut session.transaction {
            doom = open.doom;
            open.running = None;
        }
        let end = match end {
            End::None if doom.is_some() || was_ended => End::Aborted,
            end => end,
        };
        let old = match (end, self.transaction.is_some()) {
            (End::None, _) | (_, false) => None,
            (End::Aborted, true) => session.transaction.replace(Phase::Aborted),
            (End::Committed, true) => session.transaction.replace(Phase::Committed),
            (End::Unknown, true) => session.transaction.replace(Phase::Unknown),
        };
        drop(sessions);
        self.sessions.ended.notify_all();
        let counts = &self.sessions.transactions;
        if self.transaction.take().is_some() {
            counts.active.fetch_sub(1, Ordering::Relaxed);
        }
        let has_ended = match old {
            Some(Phase::Open(open)) => {
                open.transaction.abort();
                counts.note_end(&open.transaction, end == End::Committed);
                true
            }
            _ => false,
        };
        let expired = (doom == Some(Doom::Expired)).then(|| {
            let message = "the transaction was open for longer than transactionLifetimeLimitSeconds, and was aborted";
            CommandError::new(290, "TransactionExceededLifetimeLimitSeconds", message)
        });
        (has_ended, expired)
    }
}

/// How a command has left its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Open, or as it was.
    None,
    /// Aborted.
    Aborted,
    /// Committed.
    Committed,
    /// The outcome of its commit is unknown.
    Unknown,
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.finish(End::Aborted);
        }
    }
}

fn unknown(number: i64, latest: Option<i64>) -> CommandError {
    let latest = latest.map_or_else(|| "none".to_owned(), |latest| latest.to_string());
    let message = format!(
        "Given transaction number {number} does not match any in-progress transactions. The active transaction number \
         is {latest}"
    );
    CommandError::no_such_transaction(message)
}

/// The error for a transaction if its session has used a higher number.
pub(crate) fn too_old(number: i64, latest: i64) -> CommandError {
    let message = format!(
        "Cannot start transaction {number}: a newer transaction or write, {latest}, has already started on this session."
    );
    CommandError::new(225, "TransactionTooOld", message)
}
