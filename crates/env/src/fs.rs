//! Files and directories, as traits.

use crate::error::{Error, Result};
use std::path::Path;
use std::sync::Arc;

/// How [`Fs::open`] opens a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// An existing file, for reading.
    Read,
    /// An existing file, for reading and writing.
    ReadWrite,
    /// A new file, for reading and writing; an error if it exists.
    CreateNew,
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirEntry {
    /// The name, without the directory.
    pub name: String,
    /// The length in bytes; 0 for a directory.
    pub len: u64,
    /// True for a directory.
    pub is_dir: bool,
}

/// A file system. Every method names the path and the operation in its error.
///
/// Durability: the bytes of a file are durable after [`File::sync`]; the existence, absence or name
/// of an entry is durable after [`Fs::sync_dir`] on its directory. Nothing else is promised.
pub trait Fs: Send + Sync {
    /// Returns the same file system with the existing directory `dir` held open. Paths at or below
    /// `dir` lead into that directory, even if something else gets its name later. All other paths
    /// are resolved as before. (A path with `..` below `dir` counts as another path.)
    ///
    /// Therefore a renamed directory stays in use, and no operation reaches another directory that
    /// gets the old name. In a removed directory every operation fails with [`Error::Displaced`],
    /// and so does [`File::sync`] of a removed file. A rename or removal of `dir` itself fails in
    /// the same way if its name belongs to another directory.
    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>>;
    /// Opens or creates a file, and never blocks. Anything that is not a file, such as a named
    /// pipe, is refused ([`Error::NotAFile`]). Devices are allowed outside of held directories.
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>>;
    /// As [`Fs::open`], but whole blocks of [`crate::DIRECT_BLOCK_BYTES`] are read and written
    /// without the system's page cache. An error if the file system has a page cache and cannot
    /// bypass it.
    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>>;
    /// Renames a file. A file that has the new name is replaced.
    fn rename(&self, from: &Path, to: &Path) -> Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> Result<()>;
    /// Creates a directory and its missing parents. Succeeds if the directory exists.
    fn create_dir_all(&self, path: &Path) -> Result<()>;
    /// Removes an empty directory.
    fn remove_dir(&self, path: &Path) -> Result<()>;
    /// Lists a directory, sorted by name. In a name that is not UTF-8, invalid bytes are shown as
    /// replacement characters; no file of a database has such a name.
    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>>;
    /// True if a file or directory exists at this path. False for a path below a file.
    fn exists(&self, path: &Path) -> Result<bool>;
    /// Makes the entries of a directory durable.
    fn sync_dir(&self, dir: &Path) -> Result<()>;
    /// Gives a file a second name.
    fn hard_link(&self, from: &Path, to: &Path) -> Result<()>;
    /// Takes an exclusive lock on a file, which is created if absent. The lock is released on drop
    /// or when the process dies. `Ok(None)` if the lock is held already. If the file is an entry of
    /// a held directory, and the file system can lock directories, the directory is locked, too:
    /// then no second process gets the lock even if the lock file is removed.
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>>;
    /// Takes a lock for readers. Any number of readers may hold such a lock at once; it excludes
    /// the lock of [`Fs::try_lock`]. The file must exist, and permission to read it is sufficient.
    /// In a held directory without this file, the directory itself is locked; if the file system
    /// cannot lock directories, that is an error. Writes nothing.
    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>>;
    /// True if this process holds a lock on the file. This can explain why a lock was refused.
    fn is_locked_here(&self, path: &Path) -> bool {
        let _ = path;
        false
    }
    /// The bytes that can still be written to the file system of `path`.
    fn available_bytes(&self, path: &Path) -> Result<u64>;
    /// The bytes that the file system of `path` holds when it is full.
    fn capacity_bytes(&self, path: &Path) -> Result<u64>;
    /// False if the two existing paths are on different disks, so that one disk can become full
    /// without the other.
    fn is_same_disk(&self, one: &Path, other: &Path) -> Result<bool>;
    /// The number of files that a user of many files should keep open at most; `None` for no limit.
    fn open_files_max(&self) -> Option<usize>;
}

/// An open file. All methods may be called from any thread.
pub trait File: Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; fewer only at the end of the file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<usize>;
    /// Writes all of `buf` at `offset`, and extends the file if necessary.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()>;
    /// Reserves space for `len` bytes from the start and makes the file at least that long;
    /// the new part reads as zeros.
    fn allocate(&self, len: u64) -> Result<()>;
    /// Sets the length.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Makes all bytes written so far, and the length, durable.
    fn sync(&self) -> Result<()>;
    /// The length in bytes.
    fn len(&self) -> Result<u64>;
    /// True if the length is 0.
    fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }
    /// The time of the last write, in nanoseconds since 1970; `None` if unknown.
    fn modified(&self) -> Result<Option<u64>> {
        Ok(None)
    }
    /// A number that identifies the file in its file system, independent of its name; `None` if
    /// unknown.
    fn inode(&self) -> Result<Option<u64>> {
        Ok(None)
    }
    /// The path that the file was opened with.
    fn path(&self) -> &Path;
    /// Fills `buf` with the bytes at `offset`. Returns [`Error::Corrupt`] if the file is too short.
    fn read_exact_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let got = self.read_at(buf, offset)?;
        if got == buf.len() {
            return Ok(());
        }
        let what = format!("the file ends after {} of {} bytes", got, buf.len());
        Err(Error::corrupt(self.path(), offset, what))
    }
}

/// A held lock; see [`Fs::try_lock`].
pub trait FileLock: Send + Sync {}

/// Creates a directory and its missing parents, and makes their names durable. Syncs the name of an
/// existing directory too, because its creator may not have done so.
///
/// # Errors
/// Errors of the file system. Some of the directories may have been created then.
pub fn create_dir_durably(fs: &Arc<dyn Fs>, path: &Path) -> Result<()> {
    let mut parents = vec![parent_of(path)];
    let mut at = parents[0];
    while !fs.exists(at)? {
        at = parent_of(at);
        parents.push(at);
    }
    let made = !fs.exists(path)?;
    fs.create_dir_all(path)?;
    let synced = parents.into_iter().try_for_each(|parent| fs.sync_dir(parent));
    if synced.is_err() && made {
        // After a failed sync the name may be lost, even if a later sync succeeds. Therefore the
        // next attempt must create the directory again.
        let _left = fs.remove_dir(path);
    }
    synced
}

/// The directory that contains `path`. For a path of a single name, this is the working directory.
pub fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}
