//! A file system that forbids operations or simulates other disks, as a test requires.

pub mod disk;

use alluvium_env::{Error, File, FileLock, Fs, OpenMode, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The differences from the underlying file system.
#[derive(Clone, Default)]
pub struct Rules {
    /// Set if nothing may be written.
    pub read_only: bool,
    /// Everything below this directory is on another disk, with this many bytes free.
    pub other_disk: Option<(PathBuf, u64)>,
}

/// A file system with rules.
pub struct Ruled {
    pub inner: Arc<dyn Fs>,
    pub rules: Rules,
}

impl Ruled {
    fn write<T>(&self, path: &Path, go: impl FnOnce() -> Result<T>) -> Result<T> {
        match self.rules.read_only {
            true => Err(Error::io("open", path, ErrorKind::ReadOnlyFilesystem.into())),
            false => go(),
        }
    }

    fn on_other(&self, path: &Path) -> bool {
        self.rules.other_disk.as_ref().is_some_and(|(dir, _)| path.starts_with(dir))
    }
}

impl Fs for Ruled {
    alluvium_env::forward_fs!(
        inner: list, exists, sync_dir, try_lock_to_read, capacity_bytes, open_files_max,
    );

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(Self { inner: self.inner.hold_dir(dir)?, rules: self.rules.clone() }))
    }
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        let open = || self.inner.open(path, mode);
        if mode == OpenMode::Read { open() } else { self.write(path, open) }
    }
    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open(path, mode)
    }
    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        self.write(from, || self.inner.rename(from, to))
    }
    fn remove(&self, path: &Path) -> Result<()> {
        self.write(path, || self.inner.remove(path))
    }
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        self.write(path, || self.inner.create_dir_all(path))
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        self.write(path, || self.inner.remove_dir(path))
    }
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        if self.on_other(from) != self.on_other(to) {
            return Err(Error::io("link", to, ErrorKind::CrossesDevices.into()));
        }
        self.write(to, || self.inner.hard_link(from, to))
    }
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.write(path, || self.inner.try_lock(path))
    }
    fn available_bytes(&self, path: &Path) -> Result<u64> {
        match &self.rules.other_disk {
            Some((dir, free)) if path.starts_with(dir) => Ok(*free),
            _ => self.inner.available_bytes(path),
        }
    }
    fn is_same_disk(&self, one: &Path, other: &Path) -> Result<bool> {
        Ok(self.on_other(one) == self.on_other(other))
    }
}
