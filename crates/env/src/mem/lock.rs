//! Locks of files and directories.

use super::Shared;
use super::file::FileNode;
use super::names::{DirId, Names};
use crate::fs::FileLock;
use std::sync::Arc;

/// A held lock of a [`super::MemFs`].
pub(super) struct MemLock {
    shared: Arc<Shared>,
    node: Arc<FileNode>,
    dir: Option<DirId>,
}

impl MemLock {
    /// Takes the lock of a file, and of the directory `dir`, if both are free. `names` are those of
    /// `shared`.
    pub(super) fn try_new(
        shared: &Arc<Shared>,
        names: &mut Names,
        node: Arc<FileNode>,
        dir: Option<DirId>,
    ) -> Option<Self> {
        {
            let mut state = node.state.lock();
            if state.locked || dir.is_some_and(|dir| names.dirs[dir].locked) {
                return None;
            }
            state.locked = true;
            state.handles += 1;
        }
        if let Some(dir) = dir {
            names.dirs[dir].locked = true;
        }
        Some(Self { shared: Arc::clone(shared), node, dir })
    }
}

impl Drop for MemLock {
    fn drop(&mut self) {
        let mut names = self.shared.names.write();
        if let Some(dir) = self.dir {
            names.dirs[dir].locked = false;
        }
        self.node.state.lock().locked = false;
        self.node.drop_handle(&self.shared.space);
    }
}

impl FileLock for MemLock {}
