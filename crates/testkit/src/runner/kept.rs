//! Objects that a sequence keeps open between operations: snapshots, checkpoints, cursors, versions
//! of documents.

use crate::model::{Id, State};
use alluvium::{Cursor, Map, Snapshot, Version};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

/// A snapshot, and the state that it must always show.
pub(crate) struct KeptSnapshot {
    pub snapshot: Snapshot,
    pub state: State,
}

/// The checkpoints of a runner.
#[derive(Default)]
pub(crate) struct Checkpoints {
    pub kept: Vec<KeptCheckpoint>,
    pub made: u32,
    /// Increases when the database is replaced by a restored one.
    pub generation: u32,
}

pub(crate) struct KeptCheckpoint {
    pub dir: PathBuf,
    pub state: State,
    pub generation: u32,
}

/// A document that was read, and the version that was returned with it.
pub(crate) struct ReadVersion {
    pub name: String,
    pub id: Id,
    pub version: Version,
    /// The state contains the same allocation as long as the document was not written.
    pub was: Arc<Map>,
}

/// The documents that a cursor has not returned yet.
pub(crate) enum Remaining {
    /// Documents that must be returned in this order.
    Ordered(VecDeque<Arc<Map>>),
    /// Documents that may be returned in any order.
    Any(Vec<Arc<Map>>),
}

impl Remaining {
    pub fn len(&self) -> usize {
        match self {
            Self::Ordered(left) => left.len(),
            Self::Any(left) => left.len(),
        }
    }

    pub fn count(&self, is_it: impl Fn(&Map) -> bool) -> usize {
        match self {
            Self::Ordered(left) => left.iter().filter(|map| is_it(map)).count(),
            Self::Any(left) => left.iter().filter(|map| is_it(map)).count(),
        }
    }

    /// Removes a document that the cursor has returned: the next one, or one that `is_it` accepts.
    pub fn take(&mut self, is_it: impl Fn(&Map) -> bool) -> Option<Arc<Map>> {
        match self {
            Self::Ordered(left) if left.front().is_some_and(|map| is_it(map)) => left.pop_front(),
            Self::Ordered(_) => None,
            Self::Any(left) => {
                let at = left.iter().position(|map| is_it(map))?;
                Some(left.swap_remove(at))
            }
        }
    }
}

/// A cursor, and the documents that it must still return.
pub(crate) struct OpenCursor {
    pub cursor: Cursor,
    pub left: Remaining,
    pub words: String,
    pub batch: usize,
}
