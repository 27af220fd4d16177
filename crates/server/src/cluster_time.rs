//! The cluster time: the time of each batch of writes. The replies of a replica set member contain it.
//!
//! A time has a second of the clock, and an ordinal within the second. The batches of a second have consecutive
//! sequence numbers. The ordinal is the distance of the last number of the batch from the first number of the second. A
//! batch therefore has one time, two batches have different times, and no write is needed to record times.
//!
//! Times never decrease, and no time is given twice. A mark is on the disk before a second above the mark is used, and
//! after a start the seconds begin above the mark. `docs/decisions/0094-cluster-times.md` has the reasons.
//!
//! The recent seconds are in memory. While changes are recorded, all seconds are stored, too ([`spans`]), since a change
//! has the same time whenever it is read.

mod spans;

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use crate::write_gate::WriteGate;
use alluvium::{ClusterTimes, Database, Durability, Map, Timestamp, Value};
use alluvium_env::Env;
use alluvium_env::sync::Mutex;
use spans::{Span, StoredSpans};
use std::collections::VecDeque;
use std::sync::Arc;

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
    /// Locked while the mark or a second is written.
    marking: Mutex<()>,
    stored: StoredSpans,
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
    /// The number of the last write before this run, and the first time of this run; `None` before the first time.
    opened: Option<(u64, Timestamp)>,
    /// True while a second is stored that begins after `number`. Until it is stored, no times are given.
    is_beginning: bool,
    /// True after the mark was written for the last time.
    is_closed: bool,
}

impl State {
    /// True if the writes up to `visible` have times.
    fn is_given(&self, visible: u64) -> bool {
        visible <= self.number && !self.spans.is_empty()
    }

    /// The second for the writes up to `visible` if it differs from the last one. `clock` is the current second. If the
    /// ordinals of a second are used up, the next second follows, even if the clock has not reached it.
    fn new_second(&self, visible: u64, clock: u32) -> Option<u32> {
        let latest = self.spans.back()?;
        match latest.time(visible) {
            Some(_) => Some(clock).filter(|clock| *clock > latest.second),
            None => Some(clock.max(latest.second.saturating_add(1))),
        }
    }

    /// The span of the writes from now on.
    fn next_span(&self, second: u32) -> Span {
        // In the first second of a run, the first ordinal is the time of the state before it.
        let ordinal = if self.spans.is_empty() { 2 } else { 1 };
        Span { first: self.number + 1, second, ordinal, is_stored: false }
    }

    /// Gives times to the sequence numbers up to `visible`.
    fn give(&mut self, visible: u64) -> Timestamp {
        if visible <= self.number {
            return self.last;
        }
        if self.new_second(visible, 0).is_some() {
            let second = self.spans.back().map_or(0, |latest| latest.second.saturating_add(1));
            self.begin(self.next_span(second));
        }
        let latest = self.spans.back().map(|latest| (latest.time(visible), latest.second));
        let (time, second) = latest.unwrap_or_default();
        (self.number, self.last) = (visible, time.unwrap_or(Timestamp { time: second, increment: PART_MAX }));
        self.last
    }

    fn begin(&mut self, span: Span) {
        if self.spans.is_empty() {
            self.last = Timestamp { time: span.second, increment: 1 };
            self.opened = Some((self.number, self.last));
        }
        self.spans.push_back(span);
        if self.spans.len() > SPANS_MAX {
            self.spans.pop_front();
        }
    }

    /// The second in memory that a number is in.
    fn span(&self, number: u64) -> Option<Span> {
        self.spans.iter().rev().find(|span| span.first <= number).copied()
    }

    /// The first and the last time at which the write with this sequence number is the latest write.
    fn range(&self, number: u64) -> Option<(Timestamp, Timestamp)> {
        let first = match self.opened {
            Some((opened, time)) if number == opened => time,
            _ => self.span(number)?.time(number)?,
        };
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
            number: db.store().visible(),
            mark,
            spans: VecDeque::new(),
            opened: None,
            is_beginning: false,
            is_closed: false,
        };
        let (state, marking, stored) = (Mutex::new(state), Mutex::default(), StoredSpans::new(db));
        let time = Self { db: db.clone(), env, in_set, state, marking, stored };
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
        let mut may_begin = true;
        loop {
            let mut state = self.state.lock();
            if state.is_given(visible) {
                return state.last;
            }
            let is_new = state.spans.is_empty() || state.new_second(visible, self.clock()).is_some();
            if !(state.is_beginning || is_new && may_begin) {
                // The mark and the second, which may have been written here, are no writes of clients.
                let latest = state.give(self.db.store().visible());
                self.note(latest);
                return state.span(visible).and_then(|span| span.time(visible)).unwrap_or(latest);
            }
            drop(state);
            self.begin_second(visible, gate);
            may_begin = false;
        }
    }

    /// Begins the second of the clock, if the writes up to `visible` have no times yet. If no mark allows the second, or
    /// it cannot be stored, the last second is continued. The first second of a run always has to be a new one.
    fn begin_second(&self, visible: u64, gate: &WriteGate) {
        let _one_at_a_time = self.marking.lock();
        let (second, is_first) = {
            let state = self.state.lock();
            match state.new_second(visible, self.clock()) {
                _ if state.is_given(visible) => return,
                None if state.spans.is_empty() => (self.first_second(state.last.time), true),
                None => return,
                Some(second) => (second, false),
            }
        };
        self.mark_alone(second, gate);
        if !is_first && self.in_set && second > self.state.lock().mark {
            return;
        }
        self.begin_stored(gate, is_first, |state| Some(state.next_span(second)));
    }

    /// Begins a second, unless `span` returns `None`. While changes are recorded, the second is stored first, and no times
    /// are given until it is. Returns false if no second has begun, because it could not be stored. The caller has locked
    /// `marking`.
    fn begin_stored(&self, gate: &WriteGate, even_so: bool, span: impl FnOnce(&State) -> Option<Span>) -> bool {
        let since = self.stored.recorded_since().filter(|_| self.in_set);
        let mut state = self.state.lock();
        let Some(mut span) = span(&state) else { return false };
        if let Some(since) = since {
            state.is_beginning = true;
            drop(state);
            span.is_stored = self.store(Some(span), since, gate);
            state = self.state.lock();
            state.is_beginning = false;
        }
        let begins = span.is_stored || since.is_none() || even_so;
        if begins {
            state.begin(span);
            self.note(state.last);
        }
        begins
    }

    /// Stores the seconds in memory that have recorded changes, and are not stored yet, and then a new one. Returns false
    /// if that is not possible now. The caller has locked `marking`.
    fn store(&self, new: Option<Span>, since: u64, gate: &WriteGate) -> bool {
        let spans: Vec<Span> = self.state.lock().spans.iter().copied().chain(new).collect();
        let ends = spans.iter().skip(1).map(|next| next.first).chain([u64::MAX]);
        let needed = spans.iter().zip(ends).filter(|(span, end)| !span.is_stored && *end > since);
        let needed: Vec<Span> = needed.map(|(span, _)| *span).collect();
        let Some(_writing) = gate.enter().filter(|_| !self.db.is_read_only()) else { return false };
        if let Err(error) = self.stored.store(&needed) {
            log::warn!("the second of the cluster time could not be stored: {error}");
            return false;
        }
        let mut state = self.state.lock();
        state.spans.iter_mut().filter(|span| needed.contains(span)).for_each(|span| span.is_stored = true);
        true
    }

    /// Stores the current second if changes are recorded. To be called when a recording has begun, so that the times that
    /// are given from now on last.
    pub(crate) fn keep(&self, gate: &WriteGate) {
        let Some(since) = self.stored.recorded_since().filter(|_| self.in_set) else { return };
        let _one_at_a_time = self.marking.lock();
        self.store(None, since, gate);
    }

    /// The time of the batch that ends with a number. It is the same after restarts and power cuts if the batch has
    /// recorded changes. `None` if the number has no time, or its time cannot be read.
    pub(crate) fn time(&self, number: u64, gate: &WriteGate) -> Option<Timestamp> {
        let _up_to_now = self.now(gate);
        let known = self.state.lock().span(number);
        let Some(span) = known else {
            return self.stored.time(number).unwrap_or_else(|error| {
                log::warn!("local.clusterTimes cannot be read: {error}");
                None
            });
        };
        if !span.is_stored {
            self.keep(gate);
        }
        span.time(number)
    }

    /// The time of a write of the last seconds. To be called after [`ClusterTime::now`].
    pub(crate) fn time_of_write(&self, number: u64) -> Option<Timestamp> {
        self.state.lock().span(number)?.time(number)
    }

    /// The lowest number whose time is not before a time; the next number if all times are before it.
    pub(crate) fn number_at(&self, time: Timestamp, gate: &WriteGate) -> u64 {
        let _up_to_now = self.now(gate);
        let (mut low, mut high) = (0, self.state.lock().number + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.time(middle, gate).is_some_and(|its| its >= time) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        low
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
        let _one_at_a_time = self.marking.lock();
        self.mark_alone(to.time, gate);
        let advanced = self.begin_stored(gate, false, |state| {
            // Times above the mark are not used: after a restart, they could be given again.
            let is_allowed = to > state.last && to.time <= state.mark;
            let ordinal = to.increment.saturating_add(1);
            is_allowed.then(|| Span { ordinal, ..state.next_span(to.time) })
        });
        if advanced {
            self.state.lock().last = to;
            self.note(to);
        }
    }

    /// Writes a mark that allows times up to `second`.
    fn mark(&self, second: u32, gate: &WriteGate) {
        let _one_at_a_time = self.marking.lock();
        self.mark_alone(second, gate);
    }

    /// Writes a mark that allows times up to `second`, if the last mark does not. That mark remains if writes are blocked
    /// or the write fails. The caller has locked `marking`.
    fn mark_alone(&self, second: u32, gate: &WriteGate) {
        let ahead = second.max(self.clock().saturating_add(AHEAD)).min(PART_MAX);
        let is_due = {
            let state = self.state.lock();
            self.in_set && second > state.mark && !state.is_closed && !self.db.is_read_only()
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

/// The times of recorded changes, for change streams.
pub(crate) struct LastingTimes {
    times: Arc<ClusterTime>,
    gate: Arc<WriteGate>,
}

impl LastingTimes {
    /// The times of a server.
    pub(crate) fn new(times: &Arc<ClusterTime>, gate: &Arc<WriteGate>) -> Self {
        Self { times: Arc::clone(times), gate: Arc::clone(gate) }
    }
}

impl ClusterTimes for LastingTimes {
    fn time(&self, number: u64) -> Option<Timestamp> {
        self.times.time(number, &self.gate)
    }

    fn number_at(&self, time: Timestamp) -> Option<u64> {
        Some(self.times.number_at(time, &self.gate))
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
