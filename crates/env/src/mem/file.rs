//! One file: its contents as readers see them, the durable contents, and the changes since the
//! durable contents.

use super::Shared;
use super::content::{Content, MAX_LEN, PAGE};
use super::locks::Locks;
use crate::error::{Error, Result};
use crate::fs::{File, OpenMode};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The capacity of a disk and the space in use, in bytes.
pub(super) struct Space {
    pub(super) capacity: AtomicU64,
    pub(super) used: AtomicU64,
}

impl Space {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity: AtomicU64::new(capacity), used: AtomicU64::new(0) }
    }

    /// Takes up to `pages` free pages and returns the number taken.
    fn take_pages(&self, pages: u64) -> u64 {
        let mut used = self.used.load(Ordering::SeqCst);
        loop {
            let free = self.capacity.load(Ordering::SeqCst).saturating_sub(used) / PAGE;
            let taken = pages.min(free);
            let next = used + taken * PAGE;
            match self.used.compare_exchange(used, next, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => return taken,
                Err(now) => used = now,
            }
        }
    }

    pub(super) fn add_pages(&self, pages: u64) {
        self.used.fetch_add(pages * PAGE, Ordering::SeqCst);
    }

    fn give_pages(&self, pages: u64) {
        self.used.fetch_sub(pages * PAGE, Ordering::SeqCst);
    }

    pub(super) fn available(&self) -> u64 {
        let used = self.used.load(Ordering::SeqCst);
        self.capacity.load(Ordering::SeqCst).saturating_sub(used)
    }
}

/// A change of a file since its last sync.
#[derive(Clone)]
pub(super) enum Change {
    /// These bytes were written at `offset`; the file was extended if necessary.
    Write { offset: u64, bytes: Arc<[u8]> },
    /// The length was set.
    SetLen { len: u64 },
}

/// The state of a file, except its names.
#[derive(Clone)]
pub(super) struct FileState {
    /// The content that readers see.
    pub(super) now: Arc<Content>,
    /// The content that is durable.
    pub(super) durable: Arc<Content>,
    /// The changes since the last sync, in order.
    pub(super) unsynced: Vec<Change>,
    /// True once a failed sync has discarded changes: they are in `now`, but never reach the disk.
    pub(super) forgot: bool,
    /// The number of pages reserved from the start of the file, whether or not they are written.
    pub(super) reserved: u64,
    /// The number of pages taken from the disk's space: the reserved pages, and the written pages
    /// past them.
    pub(super) charged: u64,
    /// The number of names, as readers see them.
    pub(super) links: u32,
    /// The number of open files and held locks.
    pub(super) handles: u32,
    /// The locks of the file.
    pub(super) locks: Locks,
}

impl FileState {
    pub(super) fn new(content: Arc<Content>, links: u32) -> Self {
        Self {
            durable: Arc::clone(&content),
            now: content,
            unsynced: Vec::new(),
            forgot: false,
            reserved: 0,
            charged: 0,
            links,
            handles: 0,
            locks: Locks::default(),
        }
    }

    /// The content of the disk after all pending changes are written.
    pub(super) fn all_written(&self) -> Arc<Content> {
        if self.unsynced.is_empty() {
            return Arc::clone(&self.durable);
        }
        if !self.forgot {
            return Arc::clone(&self.now);
        }
        let mut content = (*self.durable).clone();
        replay(&mut content, &self.unsynced);
        Arc::new(content)
    }

    fn sync(&mut self) {
        self.durable = self.all_written();
        self.unsynced.clear();
    }

    /// Gives the space back to the disk if the file has neither a name nor a handle.
    fn release_if_gone(&mut self, space: &Space) {
        if self.links == 0 && self.handles == 0 {
            space.give_pages(self.charged);
            self.charged = 0;
            self.reserved = 0;
        }
    }
}

/// Applies `changes` to `content`.
pub(super) fn replay(content: &mut Content, changes: &[Change]) {
    for change in changes {
        match change {
            Change::Write { offset, bytes } => content.write(bytes, *offset),
            Change::SetLen { len } => content.set_len(*len),
        }
    }
}

/// A file, shared by its names and handles.
pub(super) struct FileNode {
    pub(super) state: Mutex<FileState>,
}

impl FileNode {
    pub(super) fn new(state: FileState) -> Self {
        Self { state: Mutex::new(state) }
    }

    pub(super) fn add_link(&self) {
        self.state.lock().links += 1;
    }

    pub(super) fn drop_link(&self, space: &Space) {
        let mut state = self.state.lock();
        state.links = state.links.saturating_sub(1);
        state.release_if_gone(space);
    }

    pub(super) fn drop_handle(&self, space: &Space) {
        let mut state = self.state.lock();
        state.handles = state.handles.saturating_sub(1);
        state.release_if_gone(space);
    }
}

/// An open file of a [`super::MemFs`].
pub(crate) struct MemFile {
    shared: Arc<Shared>,
    node: Arc<FileNode>,
    path: PathBuf,
    writable: bool,
    /// True if the file was opened in a held directory. In such a directory, a file that is in use
    /// must keep its name.
    is_held: bool,
}

impl MemFile {
    pub(super) fn open(shared: &Arc<Shared>, node: Arc<FileNode>, path: &Path, mode: OpenMode, is_held: bool) -> Self {
        node.state.lock().handles += 1;
        Self { shared: Arc::clone(shared), node, path: path.to_owned(), writable: mode != OpenMode::Read, is_held }
    }

    /// Runs `change` on the state. The change is atomic for the whole file system.
    fn change<T>(&self, op: &'static str, change: impl FnOnce(&mut FileState) -> io::Result<T>) -> Result<T> {
        let at = |kind: ErrorKind| Error::io(op, &self.path, kind.into());
        if !self.writable {
            return Err(at(ErrorKind::PermissionDenied));
        }
        let _moment = self.shared.names.read();
        change(&mut self.node.state.lock()).map_err(|error| Error::io(op, &self.path, error))
    }

    /// The effect of a failed sync on a system that then marks the pages as clean: reads still
    /// return the new bytes, no later sync writes them to disk, and a crash loses them.
    pub(crate) fn forget_unsynced(&self) {
        let _moment = self.shared.names.read();
        let mut state = self.node.state.lock();
        state.forgot |= !state.unsynced.is_empty();
        state.unsynced.clear();
    }
}

impl Drop for MemFile {
    fn drop(&mut self) {
        let _moment = self.shared.names.read();
        self.node.drop_handle(&self.shared.space);
    }
}

fn check_end(offset: u64, len: u64) -> io::Result<u64> {
    match offset.checked_add(len) {
        Some(end) if end <= MAX_LEN => Ok(end),
        _ => Err(ErrorKind::FileTooLarge.into()),
    }
}

impl File for MemFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        // The bytes are copied without the lock: the pages are immutable while this reference is
        // held.
        let now = Arc::clone(&self.node.state.lock().now);
        Ok(now.read(buf, offset))
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.change("write", |state| {
            let end = check_end(offset, buf.len() as u64)?;
            if buf.is_empty() {
                return Ok(());
            }
            let fits = take_space(state, &self.shared.space, offset, end);
            let bytes = &buf[..fits];
            if fits > 0 {
                Arc::make_mut(&mut state.now).write(bytes, offset);
                state.unsynced.push(Change::Write { offset, bytes: bytes.into() });
            }
            if fits < buf.len() { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
        })
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.change("reserve space for", |state| {
            let pages = check_end(0, len)?.div_ceil(PAGE);
            if pages > state.reserved {
                let needed = pages - state.reserved - state.now.pages_in(state.reserved..pages);
                let taken = self.shared.space.take_pages(needed);
                if taken < needed {
                    self.shared.space.give_pages(taken);
                    return Err(ErrorKind::StorageFull.into());
                }
                state.reserved = pages;
                state.charged += needed;
            }
            if len > state.now.len() {
                Arc::make_mut(&mut state.now).set_len(len);
                state.unsynced.push(Change::SetLen { len });
            }
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.change("set the length of", |state| {
            let pages = check_end(0, len)?.div_ceil(PAGE);
            let shrinks = len < state.now.len();
            if len != state.now.len() {
                Arc::make_mut(&mut state.now).set_len(len);
                state.unsynced.push(Change::SetLen { len });
            }
            if shrinks {
                state.reserved = state.reserved.min(pages);
                let charged = state.reserved + state.now.pages_from(state.reserved);
                self.shared.space.give_pages(state.charged - charged);
                state.charged = charged;
            }
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        let _moment = self.shared.names.read();
        let mut state = self.node.state.lock();
        state.sync();
        match self.is_held && state.links == 0 {
            true => Err(Error::removed(&self.path)),
            false => Ok(()),
        }
    }

    fn len(&self) -> Result<u64> {
        Ok(self.node.state.lock().now.len())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

/// Takes the space for writing `offset..end`; returns the number of bytes that fit.
fn take_space(state: &mut FileState, space: &Space, offset: u64, end: u64) -> usize {
    let first = (offset / PAGE).max(state.reserved);
    for page in first..end.div_ceil(PAGE) {
        if state.now.has_page(page) {
            continue;
        }
        if space.take_pages(1) == 0 {
            return (page * PAGE).saturating_sub(offset) as usize;
        }
        state.charged += 1;
    }
    (end - offset) as usize
}
