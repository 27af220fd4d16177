//! A held lock on a file and a directory.

use super::Shared;
use super::file::FileNode;
use super::names::{DirId, Names};
use crate::fs::FileLock;
use std::sync::Arc;

/// A held lock of a [`super::MemFs`].
pub(super) struct MemLock {
    owner: Arc<Shared>,
    node: Option<Arc<FileNode>>,
    dir: Option<DirId>,
    shared: bool,
}

impl MemLock {
    /// Takes the lock of the file `node`, if given, and of the directory `dir`, if both are free.
    /// `names` must be the names of `owner`.
    pub(super) fn try_new(
        owner: &Arc<Shared>,
        names: &mut Names,
        node: Option<Arc<FileNode>>,
        dir: Option<DirId>,
        shared: bool,
    ) -> Option<Self> {
        if dir.is_some_and(|dir| !names.dirs[dir].locks.allow(shared)) {
            return None;
        }
        if let Some(node) = &node {
            let mut state = node.state.lock();
            if !state.locks.allow(shared) {
                return None;
            }
            state.locks.add(shared);
            state.handles += 1;
        }
        if let Some(dir) = dir {
            names.dirs[dir].locks.add(shared);
        }
        Some(Self { owner: Arc::clone(owner), node, dir, shared })
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        let mut names = self.owner.names.write();
        if let Some(dir) = self.dir {
            names.dirs[dir].locks.end(self.shared);
        }
        if let Some(node) = &self.node {
            node.state.lock().locks.end(self.shared);
            node.drop_handle(&self.owner.space);
        }
    }
}

impl FileLock for MemLock {}
