//! The entries of a memtable: behind a lock while they grow, without one once they are frozen.

use crate::sorted::Sorted;
use crate::state::State;
use alluvium_codec::entry::Entry;
use alluvium_env::sync::RwLock;
use alluvium_env::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

/// The entries, and the lock that guards them until they are frozen.
pub(crate) struct Contents {
    /// `None` once frozen.
    state: RwLock<Option<State>>,
    frozen: OnceLock<Frozen>,
    bytes: AtomicUsize,
}

/// Entries that no longer change.
pub(crate) struct Frozen {
    pub state: State,
    /// Made by the first iterator.
    pub order: OnceLock<Sorted>,
}

impl Contents {
    pub(crate) fn new(state: State) -> Self {
        Self { state: RwLock::new(Some(state)), frozen: OnceLock::new(), bytes: AtomicUsize::new(0) }
    }

    /// Adds entries, under one lock for all of them. Entries with `true` are not found by key.
    ///
    /// # Panics
    /// If the entries are frozen.
    #[inline]
    pub(crate) fn apply<'a>(&self, entries: impl Iterator<Item = (Entry<'a>, bool)>) {
        let mut guard = self.state.write();
        let state = guard.as_mut();
        assert!(state.is_some(), "a write to a frozen memtable");
        if let Some(state) = state {
            entries.for_each(|(entry, ordered)| if ordered { state.push(entry) } else { state.insert(entry) });
            self.bytes.store(state.bytes(), Ordering::Relaxed);
        }
    }

    /// Freezes the entries. A second call does nothing.
    pub(crate) fn freeze(&self) {
        let mut guard = self.state.write();
        if let Some(state) = guard.take() {
            // Set while the lock is held: a reader that gets the lock and finds no state finds the frozen entries here.
            let _ = self.frozen.set(Frozen { state, order: OnceLock::new() });
        }
    }

    /// The entries once they no longer change.
    #[inline]
    pub(crate) fn frozen(&self) -> Option<&Frozen> {
        self.frozen.get()
    }

    /// Runs `f` on the entries, under the lock while they may grow.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnOnce(&State) -> R) -> R {
        if let Some(frozen) = self.frozen.get() {
            return f(&frozen.state);
        }
        let guard = self.state.read();
        match (&*guard, self.frozen.get()) {
            (Some(state), _) => f(state),
            (None, Some(frozen)) => f(&frozen.state),
            // Unreachable: the state is removed only by `freeze`, which sets `frozen`.
            (None, None) => f(&State::default()),
        }
    }

    /// The memory held, in bytes, without the order of frozen entries.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}
