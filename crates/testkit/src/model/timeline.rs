//! What a power cut may leave: the states after each batch, and which of them were promised.

use super::State;
use std::sync::Arc;

/// What is being done when the power is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// A database is being created.
    Create,
    /// It is being opened.
    Open,
    /// It is being closed.
    Close,
    /// Documents are written.
    Write,
    /// A collection is created, renamed or dropped.
    Schema,
    /// An index is made or dropped.
    Index,
    /// `sync`.
    Sync,
    /// Memtables become files.
    Flush,
    /// Files are merged.
    Compaction,
    /// The same, after a collection was dropped: its keys and files go.
    Purge,
    /// Lines are loaded.
    Load,
    /// A checkpoint is made.
    Checkpoint,
}

/// The states that a database went through, each a whole batch after the one before.
#[derive(Debug)]
pub struct Timeline {
    /// The states, with their digests; the last ones may be on their way.
    states: Vec<(Arc<State>, u64)>,
    /// What is promised to survive: this state or a later one.
    durable: usize,
    /// What is being done.
    pub phase: Phase,
}

impl Timeline {
    /// A database that does not exist.
    pub fn new() -> Self {
        let nothing = State::default();
        let digest = nothing.digest();
        Self { states: vec![(Arc::new(nothing), digest)], durable: 0, phase: Phase::Create }
    }

    /// A batch is on its way that leads to this state.
    pub fn push(&mut self, state: &State) {
        if self.states.last().is_some_and(|(last, _)| **last == *state) {
            return;
        }
        self.states.push((Arc::new(state.clone()), state.digest()));
    }

    /// All that was pushed is promised to be durable.
    pub fn durable(&mut self) {
        self.durable = self.states.len() - 1;
        // What came before is of no use any more.
        self.states.drain(..self.durable);
        self.durable = 0;
    }

    /// The states that a power cut may leave now, the oldest first.
    pub fn allowed(&self) -> Allowed {
        Allowed { states: self.states[self.durable..].to_vec() }
    }
}

impl Default for Timeline {
    fn default() -> Self {
        Self::new()
    }
}

/// States that may be found, the oldest first. Never empty.
#[derive(Debug, Clone)]
pub struct Allowed {
    states: Vec<(Arc<State>, u64)>,
}

impl Allowed {
    /// Only this state.
    pub fn only(state: State) -> Self {
        let digest = state.digest();
        Self { states: vec![(Arc::new(state), digest)] }
    }

    /// Which of them it is.
    pub fn find(&self, found: &State) -> Option<usize> {
        let digest = found.digest();
        self.states.iter().rposition(|(state, d)| *d == digest && **state == *found)
    }

    /// Those from the one at `first` on.
    pub fn from(&self, first: usize) -> Self {
        Self { states: self.states[first..].to_vec() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// False.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// How a state that is not allowed differs from the first, which was promised, and the last.
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
