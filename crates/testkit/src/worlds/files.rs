//! Files of a world: their kinds and contents, and the removal of directories.

use alluvium_env::{Env, Fs, OpenMode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Kinds of files, which distinguish operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// A log segment.
    Log,
    /// A sorted file.
    Sst,
    /// A manifest.
    Manifest,
    /// The superblock.
    Superblock,
    /// The lock file.
    Lock,
    /// A directory.
    Directory,
}

impl FileKind {
    /// The kind of a file of a database, according to its name.
    pub fn of(path: &Path) -> Self {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match name.as_str() {
            "LOCK" => Self::Lock,
            _ if name.starts_with("ALLUVIUM") => Self::Superblock,
            _ if name.contains("MANIFEST") => Self::Manifest,
            _ if name.ends_with(".sst") => Self::Sst,
            _ if name.ends_with(".log") => Self::Log,
            _ => Self::Directory,
        }
    }
}

/// All files below a directory, by path.
///
/// # Panics
/// If the files cannot be read.
pub fn files_in(fs: &dyn Fs, dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files = Vec::new();
    for entry in fs.list(dir).expect("it lists") {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            files.append(&mut files_in(fs, &path));
            continue;
        }
        let file = fs.open(&path, OpenMode::Read).expect("it opens");
        let mut bytes = vec![0; file.len().expect("a length") as usize];
        file.read_exact_at(&mut bytes, 0).expect("it reads");
        files.push((path, bytes));
    }
    files
}

/// Like [`files_in`], but returns a map, which is empty if the directory does not exist.
///
/// # Panics
/// If the files cannot be read.
pub fn contents_of(fs: &dyn Fs, dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    match fs.exists(dir).expect("it can be looked for") {
        true => files_in(fs, dir).into_iter().collect(),
        false => BTreeMap::new(),
    }
}

/// Removes a directory and its content.
pub(crate) fn remove_dir(env: &Env, dir: &Path) {
    remove_all(env, dir);
    // Without this sync, a power cut could restore parts of the directory in the next one with the same name.
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty());
    env.fs.sync_dir(parent.unwrap_or(Path::new("."))).expect("sync");
}

fn remove_all(env: &Env, dir: &Path) {
    for entry in env.fs.list(dir).expect("list") {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove_all(env, &path) } else { env.fs.remove(&path).expect("remove") }
    }
    env.fs.remove_dir(dir).expect("remove");
}
