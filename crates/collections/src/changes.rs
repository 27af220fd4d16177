//! Reads recorded changes, in the order of their numbers.

use crate::appends::AppendWatch;
use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::history::{Change, Event, RecordedScope, Scope};
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_store::{Bounds, Seq, Snapshot, Store, TreeId};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The most changes that are read at once.
const READ_CHANGES: usize = 256;
/// No more changes are read at once after this many bytes.
const READ_BYTES: usize = 1 << 20;

/// A place among the changes of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ChangeToken {
    /// The id of the database. A restored checkpoint and a repaired database have another one.
    pub database: u64,
    /// The number of the last change before the place.
    pub number: Seq,
}

/// The changes of a scope, in the order of their numbers. At the end it continues when there are new changes.
///
/// Only changes that survive a power cut are returned: if necessary, the log is synced first.
pub struct Changes {
    engine: EngineHandle,
    scope: Scope,
    /// The number of the last change that was returned, or a later one before the next that is durable.
    position: Seq,
    /// Changes that were read, and are durable.
    ready: VecDeque<Change>,
    /// Every change up to this number is in `ready`, was returned or is in other collections.
    read_to: Seq,
    /// Every change up to this number is durable.
    durable_to: Seq,
    /// The count of recorded writes before the last read.
    seen: u64,
    /// True if the last read has not come to the end.
    is_behind: bool,
    /// Ends reading when it is set.
    stop: Option<Arc<AtomicBool>>,
}

/// Reads the changes of a scope after a token, or all that are recorded.
///
/// # Errors
/// [`Error::ChangesNotRecorded`]; [`Error::ChangesLost`] if the token is of another database, or changes after it are
/// not recorded.
pub fn changes(engine: &EngineHandle, scope: &Scope, after: Option<ChangeToken>) -> Result<Changes> {
    let recorded = require(engine, scope)?;
    let number = match after {
        Some(token) if token.database != engine.store().database_id() => {
            return Err(lost(scope, "the token is of another database"));
        }
        Some(token) if token.number > engine.store().visible() => {
            return Err(lost(scope, "the token is of a later state of the database"));
        }
        Some(token) => token.number,
        None => recorded.since,
    };
    let (ready, seen) = (VecDeque::new(), engine.catalog.recorded_writes().count());
    let changes = Changes {
        engine: engine.clone(),
        scope: scope.clone(),
        position: number,
        ready,
        read_to: number,
        durable_to: 0,
        seen,
        is_behind: true,
        stop: None,
    };
    changes.check(&recorded)?;
    Ok(changes)
}

fn lost(scope: &Scope, reason: &'static str) -> Error {
    Error::ChangesLost { scope: scope.to_string(), reason }
}

/// The recorded scope with the longest history that includes a scope.
fn require(engine: &EngineHandle, scope: &Scope) -> Result<RecordedScope> {
    let recorded = engine.catalog.recorded_scopes();
    let including = recorded.into_iter().filter(|recorded| recorded.scope.includes(scope));
    match including.min_by_key(|recorded| recorded.since) {
        Some(recorded) => Ok(recorded),
        None => {
            engine.store().check_open()?;
            Err(Error::ChangesNotRecorded { scope: scope.to_string() })
        }
    }
}

/// The number after which the changes of a scope are complete.
///
/// # Errors
/// [`Error::ChangesNotRecorded`].
pub(crate) fn recorded_since(engine: &EngineHandle, scope: &Scope) -> Result<Seq> {
    Ok(require(engine, scope)?.since)
}

/// The change with this number, if it is recorded.
///
/// # Errors
/// Damage; errors of reading.
pub(crate) fn change_at(engine: &EngineHandle, number: Seq) -> Result<Option<Change>> {
    let Some(tree) = engine.catalog.history() else { return Ok(None) };
    let (lower, upper) = (Bound::Included(Change::key(number)), Bound::Excluded(Change::key(number + 1)));
    let snapshot = engine.store().snapshot();
    let mut scan = engine.store().scan(tree, Bounds { lower, upper, reverse: false }, Some(&snapshot))?;
    scan.next()?.map(|(key, value)| decode(engine, tree, &snapshot, key, value, &Scope::Everything)).transpose()
}

/// The number before the first batch with changes whose last number is `number` or higher.
///
/// # Errors
/// Damage; errors of reading.
pub(crate) fn before_batch(engine: &EngineHandle, number: Seq) -> Result<Seq> {
    let mut before = number.saturating_sub(1);
    let Some(tree) = engine.catalog.history() else { return Ok(before) };
    // A batch has one last number, so its changes before `number` are the ones directly before it.
    let mut scan = engine.store().scan(tree, Change::before(number), None)?;
    while let Some((key, _)) = scan.next()? {
        let Some((first, batch)) = Change::numbers_of(key) else { return Err(damaged(key, &Scope::Everything)) };
        if batch < number {
            break;
        }
        before = first.saturating_sub(1);
    }
    Ok(before)
}

/// True if a change is one of the scope: a rename is one of the scopes of both names.
pub(crate) fn is_of(change: &Change, scope: &Scope) -> bool {
    let is_new_name = matches!(&change.event, Event::Rename { to } if scope.covers(to));
    scope.covers(&change.name) || is_new_name
}

/// The change of an entry of the history, which was read at the snapshot. The scope is named in the error.
///
/// # Errors
/// Damage; [`Error::ChangesNotRecorded`] if the history was dropped; errors of reading.
pub(crate) fn decode(
    engine: &EngineHandle,
    history: TreeId,
    at: &Snapshot,
    key: &[u8],
    value: &[u8],
    scope: &Scope,
) -> Result<Change> {
    let change = engine.catalog.recorded_shapes().decode(engine.store(), history, at, key, value);
    change.map_err(|error| if_stopped(error, scope))?.ok_or_else(|| damaged(key, scope))
}

/// The error of reading a history that may have been dropped.
fn if_stopped(error: Error, scope: &Scope) -> Error {
    match error {
        Error::Store(alluvium_store::Error::NoSuchTree(_)) => Error::ChangesNotRecorded { scope: scope.to_string() },
        error => error,
    }
}

fn damaged(key: &[u8], scope: &Scope) -> Error {
    Error::DamagedDocument {
        collection: scope.to_string(),
        id: "(recorded change)".to_owned(),
        reason: format!("the recorded change with the key {key:02x?} cannot be decoded"),
    }
}

/// Syncs the log: after a power cut, a number that was not synced belongs to another change.
///
/// # Errors
/// Errors of syncing.
pub(crate) fn make_durable(store: &Store) -> Result<()> {
    if !store.options().read_only {
        store.sync()?;
    }
    Ok(())
}

impl Changes {
    /// The same changes; reading ends with [`Error::Stopped`] when `stop` is set.
    pub(crate) fn stopped_by(self, stop: Option<Arc<AtomicBool>>) -> Self {
        Self { stop, ..self }
    }

    /// True if there may be more changes without another write.
    pub fn has_more(&self) -> bool {
        self.is_behind || !self.ready.is_empty()
    }

    /// The memory of the changes that were read ahead, in bytes; an estimate.
    pub(crate) fn bytes_ahead(&self) -> usize {
        if self.ready.is_empty() { 0 } else { READ_BYTES }
    }

    /// The scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The next change, or `None` until there is another one.
    ///
    /// # Errors
    /// [`Error::ChangesNotRecorded`], [`Error::ChangesLost`] if the recording was stopped; errors of reading, and of
    /// syncing the log.
    pub fn next_change(&mut self) -> Result<Option<Change>> {
        let next = self.poll_change()?;
        if next.is_none() {
            self.settle()?;
        }
        Ok(next)
    }

    /// As [`Changes::next_change`], but the token does not move behind the changes in other collections, and nothing is
    /// synced for them.
    ///
    /// # Errors
    /// As [`Changes::next_change`].
    pub(crate) fn poll_change(&mut self) -> Result<Option<Change>> {
        if self.ready.is_empty() {
            self.read()?;
        }
        // Much may have been read that is in other collections.
        while self.ready.is_empty() && self.is_behind {
            if self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::Stopped);
            }
            self.read()?;
        }
        let next = self.ready.pop_front();
        self.position = next.as_ref().map_or(self.position, |change| change.number);
        Ok(next)
    }

    /// Moves the token behind the changes in other collections that were read, which are made durable.
    ///
    /// # Errors
    /// Errors of syncing the log.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if self.ready.is_empty() && self.position < self.read_to {
            if self.read_to > self.durable_to {
                self.make_durable()?;
                self.durable_to = self.read_to;
            }
            self.position = self.read_to;
        }
        Ok(())
    }

    /// As [`Changes::next_change`], but waits for up to `time`.
    ///
    /// # Errors
    /// As [`Changes::next_change`].
    pub fn next_within(&mut self, time: Duration) -> Result<Option<Change>> {
        let clock = self.engine.env.clock.clone();
        let until = clock.now().saturating_add(time);
        loop {
            if let Some(change) = self.next_change()? {
                return Ok(Some(change));
            }
            if !self.wait(until.saturating_sub(clock.now())) {
                return Ok(None);
            }
        }
    }

    /// Calls `wake` when there may be more changes, and at once if there are.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) -> AppendWatch {
        if self.has_more() {
            wake();
        }
        AppendWatch::new(self.engine.catalog.recorded_writes(), self.seen, wake)
    }

    /// Waits until there may be more changes, for up to `time`. Returns false if the time has passed.
    pub fn wait(&self, time: Duration) -> bool {
        let clock = &self.engine.env.clock;
        let until = clock.now().saturating_add(time);
        let changed = Arc::new((Mutex::new(false), Condvar::new()));
        let signal = changed.clone();
        let _watch = self.on_change(move || {
            *signal.0.lock() = true;
            signal.1.notify_all();
        });
        let mut has_changed = changed.0.lock();
        while !*has_changed {
            let left = until.saturating_sub(clock.now());
            if left.is_zero() {
                return false;
            }
            changed.1.wait_for(&mut has_changed, left);
        }
        true
    }

    /// The place after the last change that was returned. A later [`changes`] continues there.
    pub fn token(&self) -> ChangeToken {
        ChangeToken { database: self.engine.store().database_id(), number: self.position }
    }

    /// Reads the changes after `read_to`, and makes those of the scope durable.
    fn read(&mut self) -> Result<()> {
        let store = self.engine.store();
        self.seen = self.engine.catalog.recorded_writes().count();
        let recorded = require(&self.engine, &self.scope)?;
        let Some(tree) = self.engine.catalog.history() else { return self.check(&recorded) };
        let snapshot = store.snapshot();
        let scan = store.scan(tree, Change::after(self.read_to), Some(&snapshot));
        let mut scan = scan.map_err(|error| if_stopped(error.into(), &self.scope))?;
        let (mut bytes, mut read_to) = (0, snapshot.seq().max(self.read_to));
        let mut ready = VecDeque::new();
        let mut is_behind = false;
        while let Some((key, value)) = scan.next()? {
            let number = match Change::name_of(key, value) {
                // Rows of other collections are not decoded.
                Some((number, name)) if !self.scope.covers(&name) && !Change::may_rename(value) => {
                    bytes += value.len();
                    number
                }
                _ => {
                    let change = decode(&self.engine, tree, &snapshot, key, value, &self.scope)?;
                    bytes += change.bytes().max(value.len());
                    let number = change.number;
                    if is_of(&change, &self.scope) {
                        ready.push_back(change);
                    }
                    number
                }
            };
            if ready.len() >= READ_CHANGES || bytes >= READ_BYTES {
                (read_to, is_behind) = (number, true);
                break;
            }
        }
        drop(scan);
        // The recording may have been stopped, and begun again, during the scan.
        self.check(&require(&self.engine, &self.scope)?)?;
        if !ready.is_empty() && read_to > self.durable_to {
            self.make_durable()?;
            // Everything that the snapshot sees was in the log before.
            self.durable_to = snapshot.seq();
        }
        self.engine.catalog.note_used(&self.scope);
        (self.ready, self.read_to, self.is_behind) = (ready, read_to, is_behind);
        Ok(())
    }

    /// As [`make_durable`].
    pub(crate) fn make_durable(&self) -> Result<()> {
        make_durable(self.engine.store())
    }

    /// An error if changes after the position are not recorded.
    fn check(&self, recorded: &RecordedScope) -> Result<()> {
        if recorded.since > self.read_to {
            return Err(lost(&self.scope, "the changes after the token are not recorded"));
        }
        Ok(())
    }
}

impl Iterator for Changes {
    type Item = Result<Change>;

    /// As [`Changes::next_change`]. After `None`, there may be more changes later.
    fn next(&mut self) -> Option<Self::Item> {
        self.next_change().transpose()
    }
}
