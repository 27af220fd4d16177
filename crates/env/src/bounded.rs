//! A limit on the number of files that are open for reading.
//!
//! A database may have many more sorted files than a process may have descriptors. [`BoundedFs`]
//! limits the number of files that are open for reading. Beyond the limit it closes approximately
//! the least recently read file (CLOCK). When a closed file is read, it is opened again. It suits
//! files that keep their names and contents while they are in use.
//!
//! Locking order: `ring` first, then a file's `open`.

use crate::error::Result;
use crate::fs::{File, Fs, OpenMode};
use crate::marks;
use crate::sync::{Mutex, RwLock};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// A file system over another one that keeps a bounded number of files open for reading.
pub struct BoundedFs {
    inner: Arc<dyn Fs>,
    ring: Arc<Ring>,
}

/// The open files. The file at the front is the next candidate to be closed.
struct Ring {
    files: Mutex<VecDeque<Weak<BoundedFile>>>,
    most: usize,
}

struct BoundedFile {
    me: Weak<BoundedFile>,
    path: PathBuf,
    direct: bool,
    fs: Arc<dyn Fs>,
    ring: Arc<Ring>,
    open: RwLock<Option<Arc<dyn File>>>,
    /// True if the file was read since the ring last examined it.
    used: AtomicBool,
}

impl BoundedFs {
    /// A file system over `inner` with at most `most` files open for reading, in addition to files
    /// that are being read.
    pub fn new(inner: Arc<dyn Fs>, most: usize) -> Self {
        Self { inner, ring: Arc::new(Ring { files: Mutex::new(VecDeque::new()), most: most.max(1) }) }
    }

    /// A file system over `inner` with the limit that `inner` sets; `inner` itself if it sets no
    /// limit.
    pub fn over(inner: Arc<dyn Fs>) -> Arc<dyn Fs> {
        match inner.open_files_max() {
            Some(most) => Arc::new(Self::new(inner, most)),
            None => inner,
        }
    }

    fn open_with(&self, path: &Path, direct: bool) -> Result<Arc<dyn File>> {
        let file = open(&*self.inner, path, direct)?;
        let bounded = Arc::new_cyclic(|me| BoundedFile {
            me: me.clone(),
            path: path.to_owned(),
            direct,
            fs: self.inner.clone(),
            ring: self.ring.clone(),
            open: RwLock::new(Some(file)),
            used: AtomicBool::new(true),
        });
        self.ring.enter(bounded.me.clone());
        Ok(bounded)
    }
}

fn open(fs: &dyn Fs, path: &Path, direct: bool) -> Result<Arc<dyn File>> {
    if direct { fs.open_direct(path, OpenMode::Read) } else { fs.open(path, OpenMode::Read) }
}

impl Ring {
    /// Adds an opened file, and closes others if there are too many.
    fn enter(&self, file: Weak<BoundedFile>) {
        let mut files = self.files.lock();
        files.push_back(file);
        // Each file is moved to the back at most once.
        let mut turns = 2 * files.len();
        while files.len() > self.most && turns > 0 {
            turns -= 1;
            let Some(next) = files.pop_front() else { return };
            // The file is closed: its last user has dropped it.
            let Some(file) = next.upgrade() else { continue };
            if file.used.swap(false, Ordering::Relaxed) {
                files.push_back(next);
            } else {
                *file.open.write() = None;
            }
        }
    }
}

impl BoundedFile {
    /// The file, opened again if it was closed.
    fn file(&self) -> Result<Arc<dyn File>> {
        if !self.used.load(Ordering::Relaxed) {
            self.used.store(true, Ordering::Relaxed);
        }
        if let Some(file) = &*self.open.read() {
            return Ok(file.clone());
        }
        self.open_again()
    }

    #[cold]
    fn open_again(&self) -> Result<Arc<dyn File>> {
        let file = {
            let mut slot = self.open.write();
            if let Some(file) = &*slot {
                return Ok(file.clone());
            }
            let file = open(&*self.fs, &self.path, self.direct)?;
            *slot = Some(file.clone());
            file
        };
        marks::FILE_REOPENED.hit();
        self.ring.enter(self.me.clone());
        Ok(file)
    }
}

impl File for BoundedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.file()?.read_at(buf, offset)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.file()?.write_at(buf, offset)
    }

    fn allocate(&self, len: u64) -> Result<()> {
        self.file()?.allocate(len)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.file()?.set_len(len)
    }

    fn sync(&self) -> Result<()> {
        self.file()?.sync()
    }

    fn len(&self) -> Result<u64> {
        self.file()?.len()
    }

    fn path(&self) -> &Path {
        &self.path
    }
}

impl Fs for BoundedFs {
    crate::forward_fs! {
        inner:
            rename, remove, create_dir_all, remove_dir, list, exists, sync_dir, hard_link, try_lock,
            try_lock_to_read, is_locked_here, available_bytes, capacity_bytes, is_same_disk,
    }

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, ring: self.ring.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        if mode == OpenMode::Read { self.open_with(path, false) } else { self.inner.open(path, mode) }
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        if mode == OpenMode::Read { self.open_with(path, true) } else { self.inner.open_direct(path, mode) }
    }

    fn open_files_max(&self) -> Option<usize> {
        Some(self.ring.most)
    }
}

#[cfg(test)]
mod tests;
