//! The states that a power cut may leave: the state after each batch, and which states are promised to be durable.

use super::State;
use std::sync::Arc;

/// The kind of work during which the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// A database is being created.
    Create,
    /// The database is being opened.
    Open,
    /// The database is being closed.
    Close,
    /// Documents are written.
    Write,
    /// A collection is created, renamed or dropped.
    Schema,
    /// An index is created or dropped.
    Index,
    /// `sync` is called.
    Sync,
    /// Memtables are written to files.
    Flush,
    /// Files are merged.
    Compaction,
    /// Files are merged after a collection was dropped; its keys and files are removed.
    Purge,
    /// Lines are loaded.
    Load,
    /// A checkpoint is made.
    Checkpoint,
}

/// The states of a database, each of them one batch after the previous one.
#[derive(Debug)]
pub struct Timeline {
    /// The states, each with its digest. The last states may be those of batches that are still being written.
    states: Vec<(Arc<State>, u64)>,
    /// The index of the last state that is promised to survive: this state or a later one must be found.
    durable: usize,
    /// The current phase.
    pub phase: Phase,
}

impl Timeline {
    /// The timeline of a database that does not exist.
    pub fn new() -> Self {
        let nothing = State::default();
        let digest = nothing.digest();
        Self { states: vec![(Arc::new(nothing), digest)], durable: 0, phase: Phase::Create }
    }

    /// Adds the state after a batch that is being written.
    pub fn push(&mut self, state: &State) {
        if self.states.last().is_some_and(|(last, _)| **last == *state) {
            return;
        }
        self.states.push((Arc::new(state.clone()), state.digest()));
    }

    /// Marks the last state as promised to be durable.
    pub fn durable(&mut self) {
        self.durable = self.states.len() - 1;
        // Earlier states are no longer needed.
        self.states.drain(..self.durable);
        self.durable = 0;
    }

    /// The states that a power cut at this time may leave, the oldest first.
    pub fn allowed(&self) -> Allowed {
        Allowed { states: self.states[self.durable..].to_vec() }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

/// The states that are allowed after a power cut, the oldest first. Never empty.
#[derive(Debug, Clone)]
pub struct Allowed {
    states: Vec<(Arc<State>, u64)>,
}

impl Allowed {
    /// Allows only this state.
    pub fn only(state: State) -> Self {
        let digest = state.digest();
        Self { states: vec![(Arc::new(state), digest)] }
    }

    /// The index of the found state; `None` if it is not allowed.
    pub fn find(&self, found: &State) -> Option<usize> {
        let digest = found.digest();
        self.states.iter().rposition(|(state, d)| *d == digest && **state == *found)
    }

    /// The states from index `first` on.
    pub fn from(&self, first: usize) -> Self {
        Self { states: self.states[first..].to_vec() }
    }

    /// The number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// Always false, because at least one state is allowed.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// Describes how a state that is not allowed differs from the first allowed state, which was promised, and from the
    /// last one.
    pub fn explain(&self, found: &State) -> String {
        let first = &self.states[0].0;
        let last = &self.states[self.states.len() - 1].0;
        format!(
            "of {} allowed states none was found\npromised and found differ:\n{}\nlatest and found differ:\n{}",
            self.states.len(),
            first.difference(found),
            last.difference(found)
        )
    }
}
