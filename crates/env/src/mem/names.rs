//! Directories: the entries that readers see, the entries on disk, and the operations in between.

use super::file::{FileNode, Space};
use super::locks::Locks;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::{Component, Path};
use std::sync::Arc;

/// A directory's number; never reused.
pub(super) type DirId = usize;

/// The root directory.
pub(super) const ROOT: DirId = 0;

/// A file or a directory.
#[derive(Clone)]
pub(super) enum Node {
    File(Arc<FileNode>),
    Dir(DirId),
}

pub(super) type Entries = BTreeMap<Arc<str>, Node>;

/// One directory.
#[derive(Clone, Default)]
pub(super) struct Dir {
    /// The entries that readers see.
    pub(super) now: Arc<Entries>,
    /// The entries that are durable.
    pub(super) durable: Arc<Entries>,
    /// True once a failed sync has discarded operations: their effect is in `now`, but never
    /// reaches the disk.
    pub(super) forgot: bool,
    /// True once the directory is removed. A removed directory cannot get new entries.
    pub(super) removed: bool,
    /// The locks of the directory itself.
    pub(super) locks: Locks,
}

/// A path relative to a directory.
#[derive(Clone, Copy)]
pub(super) struct Place<'p> {
    pub(super) start: DirId,
    pub(super) path: &'p Path,
}

impl<'p> Place<'p> {
    /// A path from the root.
    pub(super) fn new(path: &'p Path) -> Self {
        Self { start: ROOT, path }
    }
}

/// A change of the file or directory that a name refers to.
#[derive(Clone)]
pub(super) struct NameChange {
    pub(super) dir: DirId,
    pub(super) name: Arc<str>,
    pub(super) node: Option<Node>,
}

/// One operation on entries. The disk has either all of its changes or none.
pub(super) type EntryOp = Vec<NameChange>;

/// All directories of a file system.
#[derive(Clone)]
pub(super) struct Names {
    pub(super) dirs: Vec<Dir>,
    /// The operations that no `sync_dir` has covered yet, oldest first.
    pub(super) pending: Vec<EntryOp>,
}

/// The names that operations touch.
#[derive(Default)]
pub(super) struct Touched {
    names: HashSet<(DirId, Arc<str>)>,
}

impl Touched {
    pub(super) fn add(&mut self, op: &EntryOp) {
        self.names.extend(op.iter().map(|change| (change.dir, Arc::clone(&change.name))));
    }

    pub(super) fn touches(&self, op: &EntryOp) -> bool {
        op.iter().any(|change| self.names.contains(&(change.dir, Arc::clone(&change.name))))
    }
}

/// The names of a path, from the root. The working directory is the root. `..` removes the name
/// before it, which is exact because symbolic links do not exist.
fn parts(path: &Path) -> io::Result<Vec<&str>> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str().ok_or(ErrorKind::InvalidFilename)?),
            Component::ParentDir => {
                parts.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Ok(parts)
}

impl Names {
    pub(super) fn new() -> Self {
        Self { dirs: vec![Dir::default()], pending: Vec::new() }
    }

    fn step(&self, dir: DirId, name: &str) -> io::Result<DirId> {
        match self.dirs[dir].now.get(name) {
            Some(Node::Dir(next)) => Ok(*next),
            Some(Node::File(_)) => Err(ErrorKind::NotADirectory.into()),
            None => Err(ErrorKind::NotFound.into()),
        }
    }

    /// The directory that contains `place`, and the last part of its path.
    pub(super) fn parent<'p>(&self, place: Place<'p>) -> io::Result<(DirId, &'p str)> {
        let parts = parts(place.path)?;
        let (last, dirs) = parts.split_last().ok_or(ErrorKind::InvalidInput)?;
        let dir = dirs.iter().try_fold(place.start, |dir, name| self.step(dir, name))?;
        Ok((dir, last))
    }

    /// The directory at `place`.
    pub(super) fn dir(&self, place: Place<'_>) -> io::Result<DirId> {
        parts(place.path)?.iter().try_fold(place.start, |dir, name| self.step(dir, name))
    }

    /// The entry at `place`.
    pub(super) fn node(&self, place: Place<'_>) -> io::Result<Node> {
        if parts(place.path)?.is_empty() {
            return Ok(Node::Dir(place.start));
        }
        let (dir, name) = self.parent(place)?;
        self.dirs[dir].now.get(name).cloned().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// The file at `place`.
    pub(super) fn file(&self, place: Place<'_>) -> io::Result<Arc<FileNode>> {
        match self.node(place)? {
            Node::File(node) => Ok(node),
            Node::Dir(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn apply(&mut self, op: EntryOp) {
        for change in &op {
            set(Arc::make_mut(&mut self.dirs[change.dir].now), change);
        }
        self.pending.push(op);
    }

    /// Adds a name for `node`. The name must be free, and the link count of `node` must not include
    /// it yet.
    pub(super) fn add(&mut self, place: Place<'_>, node: Node) -> io::Result<()> {
        let (dir, name) = self.parent(place)?;
        if self.dirs[dir].now.contains_key(name) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        self.apply(vec![NameChange { dir, name: name.into(), node: Some(node) }]);
        Ok(())
    }

    pub(super) fn remove_file(&mut self, place: Place<'_>, space: &Space) -> io::Result<()> {
        let node = self.file(place)?;
        let (dir, name) = self.parent(place)?;
        self.apply(vec![NameChange { dir, name: name.into(), node: None }]);
        node.drop_link(space);
        Ok(())
    }

    pub(super) fn remove_dir(&mut self, place: Place<'_>) -> io::Result<()> {
        let id = self.dir(place)?;
        let (dir, name) = self.parent(place)?;
        if !self.dirs[id].now.is_empty() {
            return Err(ErrorKind::DirectoryNotEmpty.into());
        }
        self.apply(vec![NameChange { dir, name: name.into(), node: None }]);
        self.dirs[id].removed = true;
        Ok(())
    }

    pub(super) fn create_dir_all(&mut self, place: Place<'_>) -> io::Result<()> {
        let mut at = place.start;
        for name in parts(place.path)? {
            at = match self.step(at, name) {
                Ok(next) => next,
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let id = self.dirs.len();
                    self.dirs.push(Dir::default());
                    let node = Some(Node::Dir(id));
                    self.apply(vec![NameChange { dir: at, name: name.into(), node }]);
                    id
                }
                Err(error) => return Err(error),
            };
        }
        Ok(())
    }

    pub(super) fn rename(&mut self, from: Place<'_>, to: Place<'_>, space: &Space) -> io::Result<()> {
        let node = self.node(from)?;
        let (from_dir, from_name) = self.parent(from)?;
        let (to_dir, to_name) = self.parent(to)?;
        let target = self.dirs[to_dir].now.get(to_name).cloned();
        match (&node, &target) {
            // Both names refer to the same file: POSIX requires that a rename changes nothing.
            (Node::File(a), Some(Node::File(b))) if Arc::ptr_eq(a, b) => return Ok(()),
            (Node::Dir(a), Some(Node::Dir(b))) if a == b => return Ok(()),
            (Node::File(_), Some(Node::Dir(_))) => return Err(ErrorKind::IsADirectory.into()),
            (Node::Dir(_), Some(Node::File(_))) => return Err(ErrorKind::NotADirectory.into()),
            (Node::Dir(_), Some(Node::Dir(old))) if !self.dirs[*old].now.is_empty() => {
                return Err(ErrorKind::DirectoryNotEmpty.into());
            }
            (Node::Dir(id), _) if self.is_below(to_dir, *id) => return Err(ErrorKind::InvalidInput.into()),
            _ => {}
        }
        self.apply(vec![
            NameChange { dir: from_dir, name: from_name.into(), node: None },
            NameChange { dir: to_dir, name: to_name.into(), node: Some(node) },
        ]);
        match target {
            Some(Node::File(old)) => old.drop_link(space),
            Some(Node::Dir(old)) => self.dirs[old].removed = true,
            None => {}
        }
        Ok(())
    }

    /// True if `dir` is `above` or a directory below `above`.
    fn is_below(&self, dir: DirId, above: DirId) -> bool {
        let below = |node: &Node| matches!(node, Node::Dir(next) if self.is_below(dir, *next));
        dir == above || self.dirs[above].now.values().any(below)
    }

    /// Makes the entries of `dir` durable: executes the pending operations that touch `dir`, and
    /// the earlier operations on which they depend. A rename between two directories is one
    /// operation, so a sync of either directory makes the rename durable in both.
    pub(super) fn sync_dir(&mut self, dir: DirId) {
        let mut needed = Touched::default();
        let mut keep = vec![false; self.pending.len()];
        for (op, keep) in self.pending.iter().zip(&mut keep).rev() {
            if op.iter().any(|change| change.dir == dir) || needed.touches(op) {
                needed.add(op);
                *keep = true;
            }
        }
        let mut keep = keep.into_iter();
        let durable: Vec<EntryOp> = self.pending.extract_if(.., |_| keep.next() == Some(true)).collect();
        let forgot = self.dirs[dir].forgot;
        for change in durable.iter().flatten().filter(|change| change.dir != dir || forgot) {
            set(Arc::make_mut(&mut self.dirs[change.dir].durable), change);
        }
        if !forgot {
            let dir = &mut self.dirs[dir];
            dir.durable = Arc::clone(&dir.now);
        }
    }

    /// Discards the pending operations that add a name and touch `dir`: readers still see their
    /// effect, but it never reaches the disk. Later operations on the same names are not affected.
    /// Removals stay pending.
    pub(super) fn forget_dir(&mut self, dir: DirId) {
        let touches = |op: &EntryOp| op.iter().any(|change| change.dir == dir);
        let names = |op: &EntryOp| op.iter().any(|change| change.node.is_some());
        let gone: Vec<EntryOp> = self.pending.extract_if(.., |op| touches(op) && names(op)).collect();
        for change in gone.iter().flatten() {
            self.dirs[change.dir].forgot = true;
        }
    }
}

/// Applies `change` to the entries of its directory.
pub(super) fn set(entries: &mut Entries, change: &NameChange) {
    match &change.node {
        Some(node) => entries.insert(Arc::clone(&change.name), node.clone()),
        None => entries.remove(&change.name),
    };
}
