//! A directory that is read from the disk and written in memory.
//!
//! An [`OverlayFs`] reads the files of one directory from the file system below. All changes at or below that directory
//! are kept in memory and are lost when the overlay is dropped; the directory on disk is never changed. Therefore the
//! code that opens a database for writing can also open it for reading only. Other paths are read and written in the
//! file system below.
//!
//! Holes take no memory, and neither do writes that do not change the bytes of the file.
//!
//! Locking order: `Names`, then the content of one file. The listener may be called while `Names` is locked, so it must
//! not call the file system.

mod file;

use crate::error::{Error, Result};
use crate::fs::{DirEntry, File, FileLock, Fs, OpenMode};
use crate::sync::Mutex;
use file::{Handle, Memory, Node};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Weak};

/// The current entry of a name that differs from its entry on the disk.
#[derive(Clone)]
enum Entry {
    File(Arc<Node>),
    Dir,
    Gone,
}

/// The names that differ from the names on disk, by path relative to the directory.
#[derive(Default)]
struct Names {
    changed: BTreeMap<PathBuf, Entry>,
    /// The open files of the disk. All handles of a file share a node, so that each sees the writes of the others.
    open: HashMap<PathBuf, Weak<Node>>,
}

/// The file or directory at a path.
enum Found {
    /// A file that differs from the file on disk, or that is open.
    Node(Arc<Node>),
    /// A file on disk that is not open.
    Below(Arc<dyn File>),
    Dir,
    Nothing,
}

/// The state that an overlay shares with its copies that hold more directories.
struct Shared {
    root: PathBuf,
    names: Mutex<Names>,
    memory: Arc<Memory>,
    /// Returns true for names that may be created in the directory itself.
    accepts: fn(&str) -> bool,
}

/// A file system over another one that keeps changes in one directory in memory; see the module.
#[derive(Clone)]
pub struct OverlayFs {
    inner: Arc<dyn Fs>,
    shared: Arc<Shared>,
}

impl OverlayFs {
    /// An overlay over `inner` for the existing directory `root`, which `inner` should hold open. Changes may take up
    /// to `limit` bytes of memory; beyond that they fail with [`Error::OverlayFull`]. In the directory itself, only
    /// names for which `accepts` returns true can be created. Files with other names are chosen by users, who would
    /// lose them with the overlay.
    pub fn new(inner: Arc<dyn Fs>, root: &Path, limit: u64, accepts: fn(&str) -> bool) -> Self {
        let memory = Memory::new(root, limit);
        let shared = Shared { root: root.to_owned(), names: Mutex::new(Names::default()), memory, accepts };
        Self { inner, shared: Arc::new(shared) }
    }

    /// The bytes of memory that changes take, in pages of 4096.
    pub fn used_bytes(&self) -> u64 {
        self.shared.memory.used()
    }

    /// Sets the function that is called whenever the memory taken by changes grows or shrinks. Its argument is the
    /// number of bytes. Only the first call of `listen` has an effect.
    pub fn listen(&self, listener: impl Fn(u64) + Send + Sync + 'static) {
        self.shared.memory.listen(Box::new(listener));
    }

    /// The rest of a path that is at or below the directory.
    fn inside<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let inside = path.strip_prefix(&self.shared.root).ok()?;
        inside.components().all(|part| matches!(part, Component::Normal(_))).then_some(inside)
    }

    fn find(&self, names: &Names, inside: &Path, path: &Path) -> Result<Found> {
        match names.changed.get(inside) {
            Some(Entry::File(node)) => return Ok(Found::Node(node.clone())),
            Some(Entry::Dir) => return Ok(Found::Dir),
            Some(Entry::Gone) => return Ok(Found::Nothing),
            None => {}
        }
        if let Some(node) = names.open.get(inside).and_then(Weak::upgrade) {
            return Ok(Found::Node(node));
        }
        if !self.inner.exists(path)? {
            return Ok(Found::Nothing);
        }
        match self.inner.open(path, OpenMode::Read) {
            Ok(file) => Ok(Found::Below(file)),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::IsADirectory => Ok(Found::Dir),
            Err(error) => Err(error),
        }
    }

    /// The file at a path, as a node that all its handles share.
    fn node(&self, names: &mut Names, inside: &Path, path: &Path, op: &'static str) -> Result<Arc<Node>> {
        match self.find(names, inside, path)? {
            Found::Node(node) => Ok(node),
            Found::Below(file) => self.share(names, inside, file),
            Found::Dir => Err(Error::io(op, path, ErrorKind::IsADirectory.into())),
            Found::Nothing => Err(Error::io(op, path, ErrorKind::NotFound.into())),
        }
    }

    fn share(&self, names: &mut Names, inside: &Path, file: Arc<dyn File>) -> Result<Arc<Node>> {
        let node = Arc::new(Node::over(file, &self.shared.memory)?);
        names.open.insert(inside.to_owned(), Arc::downgrade(&node));
        Ok(node)
    }

    /// Returns an error unless a new entry may be created at this path: the parent directory must exist, and the name
    /// must be accepted.
    fn check_new(&self, names: &Names, inside: &Path, path: &Path, op: &'static str) -> Result<()> {
        self.check_accepted(inside, path, op)?;
        let (Some(parent), Some(above)) = (inside.parent(), path.parent()) else { return Ok(()) };
        match parent.as_os_str().is_empty() {
            true => Ok(()),
            false => match self.find(names, parent, above)? {
                Found::Dir => Ok(()),
                Found::Nothing => Err(Error::io(op, path, ErrorKind::NotFound.into())),
                _ => Err(Error::io(op, path, ErrorKind::NotADirectory.into())),
            },
        }
    }

    fn check_accepted(&self, inside: &Path, path: &Path, op: &'static str) -> Result<()> {
        let first = inside.components().next().and_then(|part| part.as_os_str().to_str());
        match first.is_some_and(self.shared.accepts) {
            true => Ok(()),
            false => Err(self.refused(path, op)),
        }
    }

    /// The error for a change that would be lost with the overlay, or that would change the disk.
    fn refused(&self, path: &Path, op: &'static str) -> Error {
        let what = format!("{} was opened for reading only, and nothing is written there", self.shared.root.display());
        Error::io(op, path, io::Error::new(ErrorKind::ReadOnlyFilesystem, what))
    }

    fn open_with(&self, path: &Path, mode: OpenMode, direct: bool) -> Result<Arc<dyn File>> {
        let below = || if direct { self.inner.open_direct(path, mode) } else { self.inner.open(path, mode) };
        let Some(inside) = self.inside(path) else { return below() };
        let mut names = self.shared.names.lock();
        let node = match mode {
            OpenMode::CreateNew => {
                self.check_new(&names, inside, path, "create")?;
                if !matches!(self.find(&names, inside, path)?, Found::Nothing) {
                    return Err(Error::io("create", path, ErrorKind::AlreadyExists.into()));
                }
                let node = Arc::new(Node::new(&self.shared.memory));
                names.changed.insert(inside.to_owned(), Entry::File(node.clone()));
                node
            }
            OpenMode::ReadWrite => {
                let node = self.node(&mut names, inside, path, "open")?;
                names.changed.insert(inside.to_owned(), Entry::File(node.clone()));
                node
            }
            OpenMode::Read if !direct => self.node(&mut names, inside, path, "open")?,
            OpenMode::Read => match self.find(&names, inside, path)? {
                Found::Below(_) => {
                    let file = self.inner.open_direct(path, mode)?;
                    self.share(&mut names, inside, file)?
                }
                _ => self.node(&mut names, inside, path, "open")?,
            },
        };
        Ok(Arc::new(Handle::new(node, path, mode != OpenMode::Read)))
    }

    /// The entries of a directory on the disk, by name. Empty if the directory exists in memory only.
    fn list_below(&self, dir: &Path) -> Result<BTreeMap<String, DirEntry>> {
        let listed = match self.inner.exists(dir)? {
            true => self.inner.list(dir)?,
            false => Vec::new(),
        };
        Ok(listed.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
    }

    fn list_inside(&self, names: &Names, inside: &Path, dir: &Path) -> Result<Vec<DirEntry>> {
        if !inside.as_os_str().is_empty() {
            match self.find(names, inside, dir)? {
                Found::Dir => {}
                Found::Nothing => return Err(Error::io("list", dir, ErrorKind::NotFound.into())),
                _ => return Err(Error::io("list", dir, ErrorKind::NotADirectory.into())),
            }
        } else if !self.inner.exists(dir)? {
            return self.inner.list(dir);
        }
        let mut entries = self.list_below(dir)?;
        for (path, entry) in &names.changed {
            if path.parent() != Some(inside) {
                continue;
            }
            let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else { continue };
            let (len, is_dir) = match entry {
                Entry::File(node) => (node.len(), false),
                Entry::Dir => (0, true),
                Entry::Gone => {
                    entries.remove(&name);
                    continue;
                }
            };
            entries.insert(name.clone(), DirEntry { name, len, is_dir });
        }
        Ok(entries.into_values().collect())
    }

    fn rename_inside(&self, old: &Path, new: &Path, from: &Path, to: &Path) -> Result<()> {
        let mut names = self.shared.names.lock();
        let node = self.node(&mut names, old, from, "rename")?;
        self.check_new(&names, new, to, "rename")?;
        match self.find(&names, new, to)? {
            Found::Dir => return Err(Error::io("rename", from, ErrorKind::IsADirectory.into())),
            // Both names refer to the same file: nothing changes.
            Found::Node(other) if Arc::ptr_eq(&node, &other) => return Ok(()),
            _ => {}
        }
        names.changed.insert(old.to_owned(), Entry::Gone);
        names.changed.insert(new.to_owned(), Entry::File(node));
        Ok(())
    }
}

/// The error for an operation on two names of which only one is in the directory.
fn crosses(op: &'static str, path: &Path) -> Error {
    Error::io(op, path, ErrorKind::CrossesDevices.into())
}

impl Fs for OverlayFs {
    crate::forward_fs!(inner: is_locked_here, is_same_disk, open_files_max);

    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        let is_new = match self.inside(dir) {
            Some(inside) => matches!(self.shared.names.lock().changed.get(inside), Some(Entry::Dir)),
            None => false,
        };
        let inner = if is_new { self.inner.clone() } else { self.inner.hold_dir(dir)? };
        Ok(Arc::new(Self { inner, shared: self.shared.clone() }))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, false)
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open_with(path, mode, true)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        match (self.inside(from), self.inside(to)) {
            (None, None) => self.inner.rename(from, to),
            (Some(old), Some(new)) => self.rename_inside(old, new, from, to),
            _ => Err(crosses("rename", from)),
        }
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let Some(inside) = self.inside(path) else { return self.inner.remove(path) };
        let mut names = self.shared.names.lock();
        self.node(&mut names, inside, path, "remove")?;
        names.changed.insert(inside.to_owned(), Entry::Gone);
        Ok(())
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let Some(inside) = self.inside(path) else { return self.inner.create_dir_all(path) };
        let mut names = self.shared.names.lock();
        let mut made = PathBuf::new();
        for part in inside.components() {
            made.push(part);
            match self.find(&names, &made, &self.shared.root.join(&made))? {
                Found::Dir => {}
                Found::Nothing => {
                    self.check_accepted(inside, path, "create")?;
                    names.changed.insert(made.clone(), Entry::Dir);
                }
                _ if made == inside => return Err(Error::io("create", path, ErrorKind::AlreadyExists.into())),
                _ => return Err(Error::io("create", path, ErrorKind::NotADirectory.into())),
            }
        }
        Ok(())
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let Some(inside) = self.inside(path) else { return self.inner.remove_dir(path) };
        if inside.as_os_str().is_empty() {
            return Err(self.refused(path, "remove"));
        }
        let mut names = self.shared.names.lock();
        match self.list_inside(&names, inside, path) {
            Ok(entries) if entries.is_empty() => {}
            Ok(_) => return Err(Error::io("remove", path, ErrorKind::DirectoryNotEmpty.into())),
            Err(Error::Io { source, .. }) => return Err(Error::io("remove", path, source.kind().into())),
            Err(error) => return Err(error),
        }
        names.changed.insert(inside.to_owned(), Entry::Gone);
        Ok(())
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        match self.inside(dir) {
            Some(inside) => self.list_inside(&self.shared.names.lock(), inside, dir),
            None => self.inner.list(dir),
        }
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let Some(inside) = self.inside(path) else { return self.inner.exists(path) };
        match self.shared.names.lock().changed.get(inside) {
            Some(Entry::File(_) | Entry::Dir) => Ok(true),
            Some(Entry::Gone) => Ok(false),
            None => self.inner.exists(path),
        }
    }

    /// Does nothing in the directory: files in memory need not be durable.
    fn sync_dir(&self, dir: &Path) -> Result<()> {
        if self.inside(dir).is_none() {
            return self.inner.sync_dir(dir);
        }
        match self.exists(dir)? {
            true => Ok(()),
            false => Err(Error::io("sync", dir, ErrorKind::NotFound.into())),
        }
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = match (self.inside(from), self.inside(to)) {
            (None, None) => return self.inner.hard_link(from, to),
            (Some(old), Some(new)) => (old, new),
            // A new link to a file on disk would change the link count of the file.
            _ => return Err(crosses("link", to)),
        };
        let mut names = self.shared.names.lock();
        let node = self.node(&mut names, old, from, "link")?;
        self.check_new(&names, new, to, "link")?;
        if !matches!(self.find(&names, new, to)?, Found::Nothing) {
            return Err(Error::io("link", to, ErrorKind::AlreadyExists.into()));
        }
        names.changed.insert(old.to_owned(), Entry::File(node.clone()));
        names.changed.insert(new.to_owned(), Entry::File(node));
        Ok(())
    }

    /// In the directory, takes the lock for readers: nothing is written or created on disk.
    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        match self.inside(path) {
            Some(_) => self.inner.try_lock_to_read(path),
            None => self.inner.try_lock(path),
        }
    }

    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.inner.try_lock_to_read(path)
    }

    fn available_bytes(&self, path: &Path) -> Result<u64> {
        match self.inside(path) {
            Some(_) if self.exists(path)? => Ok(self.shared.memory.available()),
            Some(_) => Err(Error::io("read the free space at", path, ErrorKind::NotFound.into())),
            None => self.inner.available_bytes(path),
        }
    }

    fn capacity_bytes(&self, path: &Path) -> Result<u64> {
        self.inner.capacity_bytes(path)
    }
}

#[cfg(test)]
mod tests;
