//! A file system in memory.

use crate::{DirEntry, Error, File, FileLock, Fs, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// A file system in memory that can be cloned as a power cut would leave it.
#[derive(Default)]
pub struct MemFs {}

impl MemFs {
    /// An empty file system without a capacity limit.
    pub fn new() -> Self {
        Self {}
    }
}

fn unsupported<T>(path: &Path) -> Result<T> {
    Err(Error::io("use", path, std::io::ErrorKind::Unsupported.into()))
}

impl Fs for MemFs {
    fn open(&self, path: &Path, _mode: OpenMode) -> Result<Arc<dyn File>> {
        unsupported(path)
    }
    fn rename(&self, from: &Path, _to: &Path) -> Result<()> {
        unsupported(from)
    }
    fn remove(&self, path: &Path) -> Result<()> {
        unsupported(path)
    }
    fn create_dir_all(&self, path: &Path) -> Result<()> {
        unsupported(path)
    }
    fn remove_dir(&self, path: &Path) -> Result<()> {
        unsupported(path)
    }
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        unsupported(dir)
    }
    fn exists(&self, path: &Path) -> Result<bool> {
        unsupported(path)
    }
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        unsupported(dir)
    }
    fn hard_link(&self, from: &Path, _to: &Path) -> Result<()> {
        unsupported(from)
    }
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        unsupported(path)
    }
    fn available_bytes(&self, path: &Path) -> Result<u64> {
        unsupported(path)
    }
}
