//! The files of an overlay: changed pages in memory over a file on disk.

use crate::error::{Error, Result};
use crate::fs::File;
use crate::mem::content::{Content, MAX_LEN, PAGE};
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicU64, Ordering};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// See [`super::OverlayFs::listen`].
type Listener = Box<dyn Fn(u64) + Send + Sync>;

/// The memory that all changes take.
pub(super) struct Memory {
    /// The directory, for messages.
    root: PathBuf,
    limit: u64,
    used: AtomicU64,
    listener: OnceLock<Listener>,
}

impl Memory {
    pub fn new(root: &Path, limit: u64) -> Arc<Self> {
        Arc::new(Self { root: root.to_owned(), limit, used: AtomicU64::new(0), listener: OnceLock::new() })
    }

    pub fn listen(&self, listener: Listener) {
        if self.listener.set(listener).is_ok() {
            self.announce();
        }
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::SeqCst)
    }

    pub fn available(&self) -> u64 {
        self.limit.saturating_sub(self.used())
    }

    fn announce(&self) {
        if let Some(listener) = self.listener.get() {
            listener(self.used());
        }
    }

    /// Takes the memory of some pages, all of them or none.
    fn take(&self, pages: u64) -> Result<()> {
        let fits = |used: u64| used.checked_add(pages * PAGE).filter(|used| *used <= self.limit);
        match self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, fits) {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::OverlayFull { path: self.root.clone(), limit: self.limit }),
        }
    }

    fn give(&self, pages: u64) {
        self.used.fetch_sub(pages * PAGE, Ordering::SeqCst);
    }
}

/// The parts of a file that differ from the file on the disk.
#[derive(Default)]
struct Changes {
    /// The written pages, and the length.
    pages: Content,
    /// From this offset on, the bytes are not read from the file on disk.
    below_end: u64,
}

/// A file, shared by its names and handles.
pub(super) struct Node {
    /// The file on disk, if it exists.
    below: Option<Arc<dyn File>>,
    changes: RwLock<Changes>,
    memory: Arc<Memory>,
}

impl Node {
    /// A new, empty file.
    pub fn new(memory: &Arc<Memory>) -> Self {
        Self { below: None, changes: RwLock::new(Changes::default()), memory: memory.clone() }
    }

    /// A node for a file on disk.
    pub fn over(file: Arc<dyn File>, memory: &Arc<Memory>) -> Result<Self> {
        let below_end = file.len()?;
        let mut changes = Changes { below_end, ..Changes::default() };
        changes.pages.set_len(below_end);
        Ok(Self { below: Some(file), changes: RwLock::new(changes), memory: memory.clone() })
    }

    pub fn len(&self) -> u64 {
        self.changes.read().pages.len()
    }

    fn read(&self, changes: &Changes, buf: &mut [u8], offset: u64) -> Result<usize> {
        let len = changes.pages.len().saturating_sub(offset).min(buf.len() as u64) as usize;
        let (pages, end) = (&changes.pages, offset + len as u64);
        let mut at = offset;
        while at < end {
            // Neighbouring pages that are all on disk, or all in memory, are read at once.
            let is_below = |page: u64| !pages.has_page(page) && page * PAGE < changes.below_end;
            let first = at / PAGE;
            let count = (first + 1..end.div_ceil(PAGE)).take_while(|page| is_below(*page) == is_below(first)).count();
            let stop = ((first + 1 + count as u64) * PAGE).min(end);
            let part = &mut buf[(at - offset) as usize..(stop - offset) as usize];
            match &self.below {
                Some(below) if is_below(first) => {
                    let known = changes.below_end.clamp(at, stop) - at;
                    let (from_disk, zeros) = part.split_at_mut(known as usize);
                    below.read_exact_at(from_disk, at)?;
                    zeros.fill(0);
                }
                _ => {
                    pages.read(part, at);
                }
            }
            at = stop;
        }
        Ok(len)
    }

    /// True if the file has these bytes already.
    fn has(&self, changes: &Changes, buf: &[u8], offset: u64) -> Result<bool> {
        if self.below.is_none() || offset + buf.len() as u64 > changes.pages.len() {
            return Ok(false);
        }
        let mut found = vec![0; buf.len()];
        Ok(self.read(changes, &mut found, offset)? == buf.len() && found == buf)
    }

    fn write(&self, buf: &[u8], offset: u64) -> Result<()> {
        let end = offset + buf.len() as u64;
        let mut changes = self.changes.write();
        // For example, recovery rewrites the end of the log with the same bytes.
        if buf.is_empty() || self.has(&changes, buf, offset)? {
            return Ok(());
        }
        let (first, after) = (offset / PAGE, end.div_ceil(PAGE));
        let new = after - first - changes.pages.pages_in(first..after);
        let before = changes.pages.pages_from(0);
        self.memory.take(new)?;
        let copied = self.copy_up(&mut changes, first).and_then(|()| self.copy_up(&mut changes, after - 1));
        if let Err(error) = copied {
            // The first page may be copied already.
            self.memory.give(before + new - changes.pages.pages_from(0));
            return Err(error);
        }
        changes.pages.write(buf, offset);
        drop(changes);
        self.memory.announce();
        Ok(())
    }

    /// Copies a page from the disk before a part of the page is written.
    fn copy_up(&self, changes: &mut Changes, page: u64) -> Result<()> {
        let start = page * PAGE;
        let len = changes.below_end.saturating_sub(start).min(PAGE) as usize;
        if let (Some(below), false, true) = (&self.below, changes.pages.has_page(page), len > 0) {
            let mut bytes = vec![0; len];
            below.read_exact_at(&mut bytes, start)?;
            changes.pages.write(&bytes, start);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) {
        let mut changes = self.changes.write();
        let before = changes.pages.pages_from(0);
        changes.pages.set_len(len);
        changes.below_end = changes.below_end.min(len);
        self.memory.give(before - changes.pages.pages_from(0));
        drop(changes);
        self.memory.announce();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let pages = self.changes.read().pages.pages_from(0);
        if pages > 0 {
            self.memory.give(pages);
            self.memory.announce();
        }
    }
}

/// An open file.
pub(super) struct Handle {
    node: Arc<Node>,
    path: PathBuf,
    writable: bool,
}

impl Handle {
    pub fn new(node: Arc<Node>, path: &Path, writable: bool) -> Self {
        Self { node, path: path.to_owned(), writable }
    }

    /// Returns an error unless the file is writable and may become `end` bytes long.
    fn check(&self, op: &'static str, end: Option<u64>) -> Result<()> {
        match end {
            _ if !self.writable => Err(Error::io(op, &self.path, ErrorKind::PermissionDenied.into())),
            Some(end) if end <= MAX_LEN => Ok(()),
            _ => Err(Error::io(op, &self.path, ErrorKind::FileTooLarge.into())),
        }
    }
}

impl File for Handle {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        let changes = self.node.changes.read();
        self.node.read(&changes, buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.check("write", offset.checked_add(buf.len() as u64))?;
        self.node.write(buf, offset)
    }

    /// Reserves nothing: memory is taken when pages are written.
    fn allocate(&self, len: u64) -> Result<()> {
        self.check("reserve space for", Some(len))?;
        if len > self.node.len() {
            self.node.set_len(len);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.check("set the length of", Some(len))?;
        self.node.set_len(len);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn len(&self) -> Result<u64> {
        Ok(self.node.len())
    }

    fn path(&self) -> &Path {
        &self.path
    }
}
