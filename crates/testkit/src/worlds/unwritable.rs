//! A directory in which nothing can be changed.

use alluvium_env::{Error, File, FileLock, Fs, OpenMode, Result};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file system that refuses every change in a directory, as if it were mounted for reading only, and counts the
/// attempts. Other paths can be changed as in the file system below.
#[derive(Clone)]
pub struct UnwritableFs {
    inner: Arc<dyn Fs>,
    dir: PathBuf,
    attempts: Arc<AtomicU64>,
}

impl UnwritableFs {
    /// Wraps the file system `inner`.
    pub fn new(inner: Arc<dyn Fs>, dir: &Path) -> Self {
        Self { inner, dir: dir.to_owned(), attempts: Arc::default() }
    }

    /// The number of changes that were attempted.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::SeqCst)
    }

    fn check(&self, op: &'static str, path: &Path) -> Result<()> {
        if !path.starts_with(&self.dir) {
            return Ok(());
        }
        self.attempts.fetch_add(1, Ordering::SeqCst);
        Err(Error::io(op, path, io::Error::from(ErrorKind::ReadOnlyFilesystem)))
    }

    fn open_with(
        &self,
        path: &Path,
        mode: OpenMode,
        opened: impl FnOnce() -> Result<Arc<dyn File>>,
    ) -> Result<Arc<dyn File>> {
        match mode {
            OpenMode::Read if path.starts_with(&self.dir) => {
                Ok(Arc::new(UnwritableFile { inner: opened()?, fs: self.clone() }))
            }
            OpenMode::Read => opened(),
            OpenMode::ReadWrite | OpenMode::CreateNew => self.check("open", path).and_then(|()| opened()),
        }
    }
}

struct UnwritableFile {
    inner: Arc<dyn File>,
    fs: UnwritableFs,
}

impl File for UnwritableFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize> {
        self.inner.read_at(buf, offset)
    }

    fn write_at(&self, _buf: &[u8], _offset: u64) -> Result<()> {
        self.fs.check("write", self.path())
    }

    fn allocate(&self, _len: u64) -> Result<()> {
        self.fs.check("reserve space for", self.path())
    }

    fn set_len(&self, _len: u64) -> Result<()> {
        self.fs.check("set the length of", self.path())
    }

    fn sync(&self) -> Result<()> {
        self.fs.check("sync", self.path())
    }

    fn len(&self) -> Result<u64> {
        self.inner.len()
    }

    fn path(&self) -> &Path {
        self.inner.path()
    }
}

impl Fs for UnwritableFs {
    alluvium_env::forward_fs!(inner: list, exists, try_lock_to_read, is_same_disk, open_files_max);

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, ..self.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, || self.inner.open(path, mode))
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, || self.inner.open_direct(path, mode))
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.check("rename", from)?;
        self.check("rename", to)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        self.check("remove", path)?;
        self.inner.remove(path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.check("create", path)?;
        self.inner.create_dir_all(path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.check("remove", path)?;
        self.inner.remove_dir(path)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        self.check("sync", dir)?;
        self.inner.sync_dir(dir)
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        self.check("link", from)?;
        self.check("link", to)?;
        self.inner.hard_link(from, to)
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.check("lock", path)?;
        self.inner.try_lock(path)
    }

    /// The directory is reported as being on a full disk.
    fn available_bytes(&self, path: &Path) -> Result<u64> {
        if path.starts_with(&self.dir) { Ok(0) } else { self.inner.available_bytes(path) }
    }

    fn capacity_bytes(&self, path: &Path) -> Result<u64> {
        self.inner.capacity_bytes(path)
    }
}
