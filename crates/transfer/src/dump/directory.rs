//! The directory of a dump: one dump writes into it at a time, and a failed dump leaves no files.

use super::{BSON_ENDING, INCOMPLETE, OTHERS_ENDING};
use crate::load::METADATA_ENDING;
use alluvium_collections::error::{Error, Result};
use alluvium_env::{DirEntry, Env, FileLock, OpenMode};
use std::path::{Path, PathBuf};

/// The content of the file that marks a dump as incomplete.
const MARK: &[u8] = b"a dump is being written here, or was cut short: the next dump into this directory starts over\n";

/// A directory that a dump is being written into.
pub(super) struct DumpDirectory<'a> {
    /// The environment in which the directory is held open. All writes to the directory must use
    /// it.
    pub env: Env,
    dir: &'a Path,
    /// This dump created the directory.
    created: bool,
    /// The lock on the file that marks the dump as incomplete. The system releases it if the
    /// process is killed.
    _lock: Box<dyn FileLock>,
}

impl<'a> DumpDirectory<'a> {
    /// Creates the directory, marks it as incomplete, and removes the files of a killed dump.
    pub fn take(env: &Env, dir: &'a Path) -> Result<Self> {
        let exists = env.fs.exists(dir).map_err(storage)?;
        let marked = if exists { marked(env, dir)? } else { 0 };
        let directory = Self::lock(env, dir, !exists).inspect_err(|_| {
            if !exists {
                let _left = env.fs.remove_dir(dir);
            }
        })?;
        match directory.begin(marked) {
            Ok(true) => Ok(directory),
            // The dump that held the lock has completed concurrently.
            Ok(false) => Err(not_empty(dir)),
            Err(error) => {
                directory.abandon();
                Err(error)
            }
        }
    }

    fn lock(env: &Env, dir: &'a Path, created: bool) -> Result<Self> {
        alluvium_env::create_dir_durably(&env.fs, dir).map_err(storage)?;
        let env = env.hold_dir(dir).map_err(storage)?;
        match env.fs.try_lock(&dir.join(INCOMPLETE)).map_err(storage)? {
            Some(lock) => Ok(Self { env, dir, created, _lock: lock }),
            None => Err(Error::Dump(format!("another dump is being written into {}", dir.display()))),
        }
    }

    /// Marks the directory as incomplete and removes the files in it. Returns false if another dump
    /// was completed since the mark had `marked` bytes.
    fn begin(&self, marked: u64) -> Result<bool> {
        let (fs, marker) = (&self.env.fs, self.dir.join(INCOMPLETE));
        if !fs.exists(&marker).map_err(storage)? {
            return Ok(false);
        }
        let file = fs.open(&marker, OpenMode::ReadWrite).map_err(storage)?;
        if file.len().map_err(storage)? < marked {
            fs.remove(&marker).map_err(storage)?;
            return Ok(false);
        }
        file.write_at(MARK, 0).and_then(|()| file.sync()).and_then(|()| fs.sync_dir(self.dir)).map_err(storage)?;
        self.clear()?;
        Ok(true)
    }

    /// Marks the dump as complete, once all of it is written.
    pub fn finish(self) -> Result<()> {
        let fs = &self.env.fs;
        let whole = fs.remove(&self.dir.join(INCOMPLETE)).and_then(|()| fs.sync_dir(self.dir));
        if let Err(error) = whole {
            self.abandon();
            return Err(storage(error));
        }
        Ok(())
    }

    /// Removes the files of this dump. Files that cannot be removed now are removed by the next
    /// dump.
    pub fn abandon(self) {
        if self.remove_all().is_ok() && self.created {
            let _left = self.env.fs.remove_dir(self.dir);
        }
    }

    fn remove_all(&self) -> Result<()> {
        let (fs, marker) = (&self.env.fs, self.dir.join(INCOMPLETE));
        // A removal that is interrupted must not leave a dump that looks complete.
        if !fs.exists(&marker).map_err(storage)? {
            fs.open(&marker, OpenMode::CreateNew).and_then(|_| fs.sync_dir(self.dir)).map_err(storage)?;
        }
        self.clear()?;
        fs.remove(&marker).map_err(storage)
    }

    /// Removes the files of a dump. Fails if the directory holds any other file.
    fn clear(&self) -> Result<()> {
        let fs = &self.env.fs;
        let (mut files, mut dirs) = (Vec::new(), Vec::new());
        for DirEntry { name, is_dir, .. } in fs.list(self.dir).map_err(storage)? {
            let path = self.dir.join(&name);
            match is_dir {
                true => {
                    files.append(&mut self.files_of(&path)?);
                    dirs.push(path);
                }
                false if name == INCOMPLETE => {}
                false => return Err(in_the_way(self.dir, &path)),
            }
        }
        files.iter().try_for_each(|path| fs.remove(path)).map_err(storage)?;
        dirs.iter().try_for_each(|path| fs.remove_dir(path)).map_err(storage)
    }

    /// The files of a logical database.
    fn files_of(&self, dir: &Path) -> Result<Vec<PathBuf>> {
        let entries = self.env.fs.list(dir).map_err(storage)?;
        let file = |DirEntry { name, is_dir, .. }: DirEntry| {
            let path = dir.join(&name);
            if is_dir || !is_of_a_dump(&name) { Err(in_the_way(self.dir, &path)) } else { Ok(path) }
        };
        entries.into_iter().map(file).collect()
    }
}

/// True if a file of a dump may have this name, complete or while it is written.
fn is_of_a_dump(name: &str) -> bool {
    let name = name.strip_suffix(".part").unwrap_or(name);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    [BSON_ENDING, OTHERS_ENDING, METADATA_ENDING].iter().any(|ending| name.ends_with(ending))
}

/// The size of the mark of an incomplete dump; 0 for an empty directory. Refuses a directory that
/// holds anything else.
fn marked(env: &Env, dir: &Path) -> Result<u64> {
    let entries = match env.fs.list(dir) {
        Err(error) if is_file(&error) => {
            return Err(Error::Dump(format!("{} is a file: a dump needs a directory of its own", dir.display())));
        }
        entries => entries.map_err(storage)?,
    };
    match entries.iter().find(|entry| entry.name == INCOMPLETE) {
        Some(mark) => Ok(mark.len),
        None if entries.is_empty() => Ok(0),
        None => Err(not_empty(dir)),
    }
}

fn not_empty(dir: &Path) -> Error {
    Error::Dump(format!("{} is not empty: a dump needs a directory of its own", dir.display()))
}

fn in_the_way(dir: &Path, path: &Path) -> Error {
    let (dir, path) = (dir.display(), path.display());
    Error::Dump(format!("{dir} holds an incomplete dump, and {path} does not belong to it: move that file elsewhere"))
}

/// True if the path names a file, where a directory was expected.
pub(super) fn is_file(error: &alluvium_env::Error) -> bool {
    matches!(error, alluvium_env::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotADirectory)
}

fn storage(error: alluvium_env::Error) -> Error {
    alluvium_store::Error::from(error).into()
}
