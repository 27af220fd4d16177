//! A file system in memory, for tests: it tracks which bytes and entries would be on disk after a
//! power cut, and can be cloned in such a state.
//!
//! It assumes only the following about a disk. A sector of 512 bytes is written completely or not
//! at all. [`crate::File::sync`] makes a file's bytes and length durable, but not its name.
//! [`crate::Fs::sync_dir`] makes a directory's entries durable, but neither the bytes of the files
//! nor the directory's own name in its parent. A rename is atomic.
//!
//! Locking order: `Shared::names` first, then the state of one file; never the states of two files
//! at once. Every change holds `names`, shared or exclusively, so that an exclusive holder sees a
//! consistent state.

pub(crate) mod content;
mod crash;
mod file;
mod lock;
mod locks;
mod names;

pub use crash::CrashStyle;

use crate::error::{Error, Result};
use crate::fs::{DirEntry, File, FileLock, Fs, OpenMode};
use crate::sync::RwLock;
use crate::sync::atomic::Ordering;
use content::Content;
pub(crate) use file::MemFile;
use file::{FileNode, FileState, Space};
use lock::MemLock;
use names::{DirId, Names, Node, Place, ROOT};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The state that the file system and its open files share.
struct Shared {
    names: RwLock<Names>,
    space: Space,
}

/// A file system in memory that can be cloned in the state after a power cut.
///
/// All paths, including relative ones, start at one root. Symbolic links and permissions do not
/// exist. Written bytes take memory, and bytes written since the last sync of their file take it a
/// second time.
pub struct MemFs {
    shared: Arc<Shared>,
    /// The held directories, each with the path that it was opened with; the newest last.
    held: Vec<(PathBuf, DirId)>,
}

impl MemFs {
    fn over(shared: Shared) -> Self {
        Self { shared: Arc::new(shared), held: Vec::new() }
    }

    /// An empty file system without a capacity limit.
    pub fn new() -> Self {
        Self::with_capacity(u64::MAX)
    }

    /// An empty file system that holds `bytes` bytes of files, in pages of 4096.
    pub fn with_capacity(bytes: u64) -> Self {
        let names = RwLock::new(Names::new());
        Self::over(Shared { names, space: Space::new(bytes) })
    }

    /// Changes the capacity, to any number of bytes. If it is below [`MemFs::used_bytes`], nothing
    /// is lost, but writes that need new space fail until enough files are removed.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.space.capacity.store(bytes, Ordering::SeqCst);
    }

    /// The bytes that files take, in pages of 4096: pages that are written or allocated count,
    /// holes do not. A removed file takes space until its last handle is closed.
    pub fn used_bytes(&self) -> u64 {
        self.shared.space.used.load(Ordering::SeqCst)
    }

    /// A copy of the disk in a state that a power cut at this moment may leave. The same seed gives
    /// the same state. The copy has no locked files, and its whole content is durable.
    ///
    /// With [`CrashStyle::Any`], unsynced changes survive at random. Each sector of 512 bytes has
    /// its content from the last sync or after any later write. The length is the synced length,
    /// any later length, or a length within an extending write. Bytes that were never written read
    /// as zeros. An operation on entries (create, rename, remove, link) that no `sync_dir` of its
    /// directory covered either survives or is lost. This does not depend on the bytes, and
    /// operations on different names survive independently of their order. A rename survives
    /// completely or not at all. Some seeds lose nearly all unsynced changes, others nearly none.
    pub fn crash_clone(&self, seed: u64, style: CrashStyle) -> Self {
        Self::over(self.shared.copy(seed, Some(style)))
    }

    /// A copy of the file system in the state after the death of the process: nothing is lost and
    /// no file is locked. Changes that were not synced may still be lost in a later crash.
    pub fn kill_clone(&self) -> Self {
        Self::over(self.shared.copy(0, None))
    }

    /// As [`Fs::open`], but returns the concrete type.
    pub(crate) fn open_file(&self, path: &Path, mode: OpenMode) -> Result<Arc<MemFile>> {
        let (node, place) = if mode == OpenMode::CreateNew {
            let mut names = self.shared.names.write();
            let place = self.place(&names, path)?;
            (add_file(&mut names, place).at("create", path)?, place)
        } else {
            let names = self.shared.names.read();
            let place = self.place(&names, path)?;
            (names.file(place).at("open", path)?, place)
        };
        Ok(Arc::new(MemFile::open(&self.shared, node, path, mode, place.start != ROOT)))
    }

    /// As [`Fs::hold_dir`], but returns the concrete type.
    pub(crate) fn hold(&self, dir: &Path) -> Result<Self> {
        let names = self.shared.names.read();
        let id = names.dir(self.place(&names, dir)?).at("open", dir)?;
        let mut held = self.held.clone();
        held.push((dir.to_owned(), id));
        Ok(Self { shared: Arc::clone(&self.shared), held })
    }

    /// The held directories that contain `path` or are `path`, each with the rest of the path; the
    /// newest first.
    fn held_above<'p>(&self, path: &'p Path) -> impl Iterator<Item = (&Path, Place<'p>)> {
        self.held.iter().rev().filter_map(move |(dir, start)| {
            let path = path.strip_prefix(dir).ok()?;
            let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
            is_plain.then_some((&**dir, Place { start: *start, path }))
        })
    }

    /// The place of the content of `path`. For the path of a held directory, this is the directory
    /// itself.
    fn place<'p>(&self, names: &Names, path: &'p Path) -> Result<Place<'p>> {
        match self.held_above(path).next() {
            Some((dir, place)) if names.dirs[place.start].removed => Err(Error::removed(dir)),
            Some((_, place)) => Ok(place),
            None => Ok(Place::new(path)),
        }
    }

    /// The place of the name `path`. For the path of a held directory, this is its name in the
    /// parent directory.
    fn place_of_name<'p>(&self, names: &Names, path: &'p Path) -> Result<Place<'p>> {
        self.place(names, path)?;
        let is_itself = |place: &Place<'_>| place.path.as_os_str().is_empty();
        let above = self.held_above(path).find(|(_, place)| !is_itself(place));
        let place = above.map_or(Place::new(path), |(_, place)| place);
        match self.held_above(path).find(|(_, place)| is_itself(place)) {
            Some((dir, itself)) if names.dir(place).ok() != Some(itself.start) => Err(Error::moved(dir)),
            _ => Ok(place),
        }
    }

    /// The effect of a failed [`Fs::sync_dir`] on a system that then marks the directory as clean:
    /// its entries remain visible, but no later sync makes new entries since the last successful
    /// sync durable, and a crash loses these entries. Removals may still become durable.
    pub(crate) fn forget_dir(&self, dir: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let id = names.dir(self.place(&names, dir)?).at("sync", dir)?;
        names.forget_dir(id);
        Ok(())
    }

    fn lock(&self, path: &Path, shared: bool) -> Result<Option<Box<dyn FileLock>>> {
        let mut names = self.shared.names.write();
        let place = self.place(&names, path)?;
        let is_entry_of_held = place.start != ROOT && place.path.components().count() == 1;
        let dir = is_entry_of_held.then_some(place.start);
        let node = match names.file(place) {
            Err(error) if error.kind() == ErrorKind::NotFound && shared && dir.is_some() => None,
            Err(error) if error.kind() == ErrorKind::NotFound && !shared => {
                Some(add_file(&mut names, place).at("open", path)?)
            }
            found => Some(found.at("open", path)?),
        };
        let lock = MemLock::try_new(&self.shared, &mut names, node, dir, shared);
        Ok(lock.map(|lock| Box::new(lock) as Box<dyn FileLock>))
    }
}

/// Creates an empty file.
fn add_file(names: &mut Names, place: Place<'_>) -> io::Result<Arc<FileNode>> {
    let node = Arc::new(FileNode::new(FileState::new(Arc::new(Content::default()), 1)));
    names.add(place, Node::File(Arc::clone(&node)))?;
    Ok(node)
}

impl Default for MemFs {
    fn default() -> Self {
        Self::new()
    }
}

/// See [`Fs::open_files_max`].
const OPEN_FILES_MAX: usize = 6;

/// Converts an `io::Result`.
trait At<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, op: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::io(op, path, source))
    }
}

impl Fs for MemFs {
    fn hold_dir(&self, dir: &Path) -> Result<Arc<dyn Fs>> {
        Ok(Arc::new(self.hold(dir)?))
    }

    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        Ok(self.open_file(path, mode)?)
    }

    fn open_direct(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn File>> {
        self.open(path, mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let (old, new) = (self.place_of_name(&names, from)?, self.place_of_name(&names, to)?);
        names.rename(old, new, &self.shared.space).at("rename", from)
    }

    fn remove(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let place = self.place_of_name(&names, path)?;
        names.remove_file(place, &self.shared.space).at("remove", path)
    }

    fn create_dir_all(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let place = self.place(&names, path)?;
        names.create_dir_all(place).at("create", path)
    }

    fn remove_dir(&self, path: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let place = self.place_of_name(&names, path)?;
        names.remove_dir(place).at("remove", path)
    }

    fn list(&self, dir: &Path) -> Result<Vec<DirEntry>> {
        let names = self.shared.names.read();
        let id = names.dir(self.place(&names, dir)?).at("list", dir)?;
        let entry = |(name, node): (&Arc<str>, &Node)| match node {
            Node::File(node) => {
                let len = node.state.lock().now.len();
                DirEntry { name: name.to_string(), len, is_dir: false }
            }
            Node::Dir(_) => DirEntry { name: name.to_string(), len: 0, is_dir: true },
        };
        Ok(names.dirs[id].now.iter().map(entry).collect())
    }

    fn exists(&self, path: &Path) -> Result<bool> {
        let names = self.shared.names.read();
        match names.node(self.place(&names, path)?) {
            Ok(_) => Ok(true),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
            Err(error) => Err(Error::io("look for", path, error)),
        }
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let id = names.dir(self.place(&names, dir)?).at("sync", dir)?;
        names.sync_dir(id);
        Ok(())
    }

    fn hard_link(&self, from: &Path, to: &Path) -> Result<()> {
        let mut names = self.shared.names.write();
        let (from, new) = (self.place(&names, from)?, self.place_of_name(&names, to)?);
        let node = names.file(from).at("link", to)?;
        names.add(new, Node::File(Arc::clone(&node))).at("link", to)?;
        node.add_link();
        Ok(())
    }

    fn try_lock(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.lock(path, false)
    }

    fn try_lock_to_read(&self, path: &Path) -> Result<Option<Box<dyn FileLock>>> {
        self.lock(path, true)
    }

    fn is_locked_here(&self, path: &Path) -> bool {
        let names = self.shared.names.read();
        let file = self.place(&names, path).and_then(|place| names.file(place).at("look at", path));
        file.is_ok_and(|node| node.state.lock().locks.are_held())
    }

    fn available_bytes(&self, path: &Path) -> Result<u64> {
        let names = self.shared.names.read();
        names.node(self.place(&names, path)?).at("read the free space at", path)?;
        Ok(self.shared.space.available())
    }

    fn capacity_bytes(&self, path: &Path) -> Result<u64> {
        let names = self.shared.names.read();
        names.node(self.place(&names, path)?).at("read the free space at", path)?;
        Ok(self.shared.space.capacity.load(Ordering::SeqCst))
    }

    fn is_same_disk(&self, _one: &Path, _other: &Path) -> Result<bool> {
        Ok(true)
    }

    /// A small number, so that tests reach the limit.
    fn open_files_max(&self) -> Option<usize> {
        Some(OPEN_FILES_MAX)
    }
}

#[cfg(test)]
mod tests;
