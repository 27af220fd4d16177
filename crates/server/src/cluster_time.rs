//! The cluster time: the time of each batch of writes. The replies of a replica set member contain it.
//!
//! A time has a second of the clock, and an ordinal within the second. The batches of a second have consecutive
//! sequence numbers. The ordinal is the distance of the last number of the batch from the first number of the second. A
//! batch therefore has one time, two batches have different times, and no write is needed to record times.
//!
//! Times never decrease, and no time is given twice. A mark is on the disk before a second above the mark is used, and
//! after a start the seconds begin above the mark. `docs/decisions/0094-cluster-times.md` has the reasons.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::write_gate::WriteGate;
use alluvium::{Database, Durability, Map, Timestamp, Value};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use std::collections::VecDeque;

/// A new mark is this number of seconds ahead of the clock.
const AHEAD: u32 = 10;
/// The most seconds that a client may advance the time beyond the clock: a year, as in MongoDB.
const DRIFT_MAX: u32 = 365 * 24 * 60 * 60;
/// The largest value of the second and of the ordinal, as in MongoDB: clients use signed numbers.
const PART_MAX: u32 = i32::MAX.cast_unsigned();
/// The number of recent seconds whose first sequence numbers are kept.
const SPANS_MAX: usize = 64;

/// The `_id` of the document that stores the mark.
const MARK: &str = "mark";
/// The field with the last second that may have been used.
const SECONDS: &str = "seconds";

/// The cluster time of a server.
pub(crate) struct ClusterTime {
    db: Database,
    env: Env,
    /// True if the server is a member of a replica set. Only then, clients see times, and the mark is stored.
    in_set: bool,
    state: Mutex<State>,
    /// Locked while the mark is written.
    marking: Mutex<()>,
}

struct State {
    /// The latest time that was given.
    last: Timestamp,
    /// All writes up to this number have a time.
    number: u64,
    /// The last second that may be used before a new mark is written.
    mark: u32,
    /// The last seconds that were used, each with its first batch.
    spans: VecDeque<Span>,
    /// True after the mark was written for the last time.
    is_closed: bool,
}

/// A second. The sequence numbers from `first` upwards have times in this second, with ordinals from `ordinal` upwards.
#[derive(Clone, Copy)]
struct Span {
    first: u64,
    second: u32,
    ordinal: u32,
}

impl Span {
    /// The time of a sequence number in this second; `None` if the ordinals of the second are used up.
    fn time(&self, number: u64) -> Option<Timestamp> {
        let ordinal = u64::from(self.ordinal) + number.checked_sub(self.first)?;
        let increment = u32::try_from(ordinal).ok().filter(|ordinal| *ordinal <= PART_MAX)?;
        Some(Timestamp { time: self.second, increment })
    }
}

impl State {
    /// Gives times to the sequence numbers up to `visible`: times in `second`, or in the last used second if that is
    /// later.
    fn give(&mut self, visible: u64, second: u32) -> Timestamp {
        let Some(latest) = self.spans.back().copied() else {
            self.begin(Span { first: visible, second, ordinal: 1 });
            return self.advance(visible, Timestamp { time: second, increment: 1 });
        };
        if visible <= self.number {
            return self.last;
        }
        if let Some(time) = latest.time(visible).filter(|_| second <= latest.second) {
            return self.advance(visible, time);
        }
        // If the ordinals of a second are used up, the next second follows, even if the clock has not reached it.
        let second = second.max(latest.second.saturating_add(1));
        let span = Span { first: self.number + 1, second, ordinal: 1 };
        self.begin(span);
        self.advance(visible, span.time(visible).unwrap_or(Timestamp { time: second, increment: PART_MAX }))
    }

    fn begin(&mut self, span: Span) {
        self.spans.push_back(span);
        if self.spans.len() > SPANS_MAX {
            self.spans.pop_front();
        }
    }

    fn advance(&mut self, number: u64, time: Timestamp) -> Timestamp {
        (self.number, self.last) = (number, time);
        time
    }

    /// The first and the last time at which the write with this sequence number is the latest write.
    fn range(&self, number: u64) -> Option<(Timestamp, Timestamp)> {
        let first = self.spans.iter().rev().find(|span| span.first <= number)?.time(number)?;
        Some((first, if number == self.number { self.last } else { first }))
    }
}

impl ClusterTime {
    /// Opens the clock. Times continue after the mark in the database. A new mark is written now, so that the first
    /// reply does not wait for it.
    pub(crate) fn open(db: &Database, env: Env, in_set: bool) -> Self {
        let mark = if in_set { read_mark(db) } else { 0 };
        let state = State {
            last: Timestamp { time: mark, increment: PART_MAX },
            number: 0,
            mark,
            spans: VecDeque::new(),
            is_closed: false,
        };
        let time = Self { db: db.clone(), env, in_set, state: Mutex::new(state), marking: Mutex::new(()) };
        if in_set {
            time.mark(time.first_second(mark), &WriteGate::default());
        }
        time
    }

    /// The current second of the clock.
    fn clock(&self) -> u32 {
        let seconds = self.env.clock.unix_millis().max(0) / 1000;
        u32::try_from(seconds).unwrap_or(PART_MAX).min(PART_MAX)
    }

    /// The first second of this run, which no earlier run has used.
    fn first_second(&self, mark: u32) -> u32 {
        self.clock().max(mark.saturating_add(1))
    }

    /// The time of the last visible write, or a later time that a client has sent.
    pub(crate) fn now(&self, gate: &WriteGate) -> Timestamp {
        let visible = self.db.store().visible();
        let mut state = self.state.lock();
        if visible <= state.number && !state.spans.is_empty() {
            return state.last;
        }
        let mut second = match state.spans.is_empty() {
            true => self.first_second(state.last.time),
            false => self.clock(),
        };
        if self.in_set && second > state.mark && second > state.last.time {
            drop(state);
            self.mark(second, gate);
            state = self.state.lock();
            // If no mark allows the new second, the last second is continued. The first second of a run always has to
            // be a new one.
            if second > state.mark && !state.spans.is_empty() {
                second = state.last.time;
            }
        }
        let time = state.give(self.db.store().visible(), second);
        self.note(time);
        time
    }

    /// Sets the value of `$$CLUSTER_TIME`.
    fn note(&self, time: Timestamp) {
        if self.in_set {
            self.db.as_ref().note_cluster_time(time);
        }
    }

    /// The first and the last time at which a state of the database is the latest state; `None` if the state is too
    /// old.
    pub(crate) fn range(&self, number: u64, gate: &WriteGate) -> Option<(Timestamp, Timestamp)> {
        let _up_to_now = self.now(gate);
        self.state.lock().range(number)
    }

    /// Checks the time that a client has sent.
    ///
    /// # Errors
    /// Error 14 or 40414 for a value that is not a time, 206 for a time more than a year ahead of the clock, 40484 for
    /// a time that no other time can follow.
    pub(crate) fn check(&self, given: &Map) -> CommandResult<Timestamp> {
        let time = match given.get("clusterTime") {
            Some(Value::Timestamp(time)) => *time,
            Some(other) => {
                let found = other.type_name();
                let message = format!(
                    "BSON field '$clusterTime.clusterTime' is the wrong type '{found}', expected type 'timestamp'"
                );
                return Err(CommandError::type_mismatch(message));
            }
            None => {
                let message = "BSON field '$clusterTime.clusterTime' is missing but a required field";
                return Err(CommandError::missing_field(message));
            }
        };
        if let Some(other) = given.get("signature").filter(|signature| signature.as_map().is_none()) {
            let found = other.type_name();
            let message =
                format!("BSON field '$clusterTime.signature' is the wrong type '{found}', expected type 'object'");
            return Err(CommandError::type_mismatch(message));
        }
        let clock = self.clock();
        if time.time > clock.saturating_add(DRIFT_MAX) {
            let seconds = time.time;
            let message = format!("New $clusterTime, {seconds}, is too far from this node's wall clock time, {clock}.");
            return Err(CommandError::new(206, "ClusterTimeFailsRateLimiter", message));
        }
        if time.time > PART_MAX || time.increment > PART_MAX {
            let message = "$clusterTime cannot be advanced beyond its maximum value";
            return Err(CommandError::new(40484, "Location40484", message));
        }
        Ok(time)
    }

    /// True if a time is later than the latest time that was given.
    pub(crate) fn is_ahead(&self, time: Timestamp, gate: &WriteGate) -> bool {
        time > self.now(gate)
    }

    /// True if the clock has reached a time.
    pub(crate) fn is_reached(&self, time: Timestamp) -> bool {
        time.time <= self.clock()
    }

    /// Advances the clock: later writes have times after `to`.
    pub(crate) fn advance(&self, to: Timestamp, gate: &WriteGate) {
        if !self.is_ahead(to, gate) {
            return;
        }
        if to.time > self.state.lock().mark {
            self.mark(to.time, gate);
        }
        let mut state = self.state.lock();
        // Times above the mark are not used: after a restart, they could be given again.
        if to > state.last && to.time <= state.mark {
            let first = state.number + 1;
            state.begin(Span { first, second: to.time, ordinal: to.increment.saturating_add(1) });
            state.last = to;
            self.note(to);
        }
    }

    /// Writes a mark that allows times up to `second`. The previous mark remains if writes are blocked or the write
    /// fails.
    fn mark(&self, second: u32, gate: &WriteGate) {
        let _one_at_a_time = self.marking.lock();
        let ahead = second.max(self.clock().saturating_add(AHEAD)).min(PART_MAX);
        let is_due = {
            let state = self.state.lock();
            second > state.mark && !state.is_closed && !self.db.is_read_only()
        };
        let Some(_writing) = gate.enter().filter(|_| is_due) else { return };
        match write_mark(&self.db, ahead) {
            Ok(()) => self.state.lock().mark = ahead,
            Err(error) => log::warn!("the mark of the cluster time could not be written: {error}"),
        }
    }

    /// Stores the last second that was used, so that the next run need not skip any second. No mark is written after
    /// this.
    pub(crate) fn close(&self) {
        let _one_at_a_time = self.marking.lock();
        let (used, mark) = {
            let mut state = self.state.lock();
            state.is_closed = true;
            let used = if state.spans.is_empty() { state.last.time } else { state.last.time.max(1) };
            (used, std::mem::replace(&mut state.mark, used))
        };
        if self.in_set
            && used < mark
            && !self.db.is_read_only()
            && let Err(error) = write_mark(&self.db, used)
        {
            log::warn!("the mark of the cluster time could not be written: {error}");
        }
    }
}

/// The last second that may have been used in earlier runs; 0 for a new database.
fn read_mark(db: &Database) -> u32 {
    let found = db.logical_database("local").collection("clusterTime").get(MARK);
    let seconds = found.and_then(|document| match document {
        Some(document) => Ok(document.to_map()?.integer(SECONDS)),
        None => Ok(Some(0)),
    });
    match seconds {
        Ok(Some(seconds)) => u32::try_from(seconds).unwrap_or_default().min(PART_MAX),
        Ok(None) => {
            log::error!("local.clusterTime has no mark that can be read: the cluster time begins with the clock");
            0
        }
        Err(error) => {
            log::error!("local.clusterTime cannot be read: {error}: the cluster time begins with the clock");
            0
        }
    }
}

fn write_mark(db: &Database, second: u32) -> alluvium::Result<()> {
    let marks = db.logical_database("local").collection("clusterTime").with_durability(Durability::Sync);
    marks.put(MARK, Map::from([(SECONDS, Value::Int64(second.into()))]))?;
    Ok(())
}

#[cfg(test)]
mod tests;
