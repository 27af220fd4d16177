//! The directory of a dump: taken by one dump at a time, and left without a trace of one that failed.

use super::{BSON_ENDING, INCOMPLETE, OTHERS_ENDING};
use crate::load::METADATA_ENDING;
use alluvium_collections::error::{Error, Result};
use alluvium_env::{DirEntry, Env, FileLock, OpenMode};
use std::path::{Path, PathBuf};

/// What the file says that marks a dump as incomplete.
const MARK: &[u8] = b"a dump is being written here, or was cut short: the next dump into this directory begins anew\n";

/// A directory that a dump is being written into.
pub(super) struct Place<'a> {
    env: &'a Env,
    dir: &'a Path,
    /// It was not there before.
    made: bool,
    /// On the file that marks it as incomplete. A dump that is killed lets go of it.
    _lock: Box<dyn FileLock>,
}

impl<'a> Place<'a> {
    /// Makes the directory, marks it as incomplete, and removes what a killed dump has left in it.
    pub fn take(env: &'a Env, dir: &'a Path) -> Result<Self> {
        let there = env.fs.exists(dir).map_err(storage)?;
        let marked = if there { marked(env, dir)? } else { 0 };
        let place = Self::lock(env, dir, !there).inspect_err(|_| {
            if !there {
                let _left = env.fs.remove_dir(dir);
            }
        })?;
        match place.begin(marked) {
            Ok(true) => Ok(place),
            // Whoever had the lock has come to its end in between.
            Ok(false) => Err(not_empty(dir)),
            Err(error) => {
                place.abandon();
                Err(error)
            }
        }
    }

    fn lock(env: &'a Env, dir: &'a Path, made: bool) -> Result<Self> {
        alluvium_env::create_dir_durably(&env.fs, dir).map_err(storage)?;
        match env.fs.try_lock(&dir.join(INCOMPLETE)).map_err(storage)? {
            Some(lock) => Ok(Self { env, dir, made, _lock: lock }),
            None => Err(Error::Dump(format!("another dump is being written into {}", dir.display()))),
        }
    }

    /// Marks it, and clears it. False if another has written a dump since the mark had this many bytes.
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

    /// All of the dump is written.
    pub fn finish(self) -> Result<()> {
        let fs = &self.env.fs;
        let whole = fs.remove(&self.dir.join(INCOMPLETE)).and_then(|()| fs.sync_dir(self.dir));
        if let Err(error) = whole {
            self.abandon();
            return Err(storage(error));
        }
        Ok(())
    }

    /// Removes what was written. What cannot be removed, the next dump removes.
    pub fn abandon(self) {
        if self.remove_all().is_ok() && self.made {
            let _left = self.env.fs.remove_dir(self.dir);
        }
    }

    fn remove_all(&self) -> Result<()> {
        let (fs, marker) = (&self.env.fs, self.dir.join(INCOMPLETE));
        // What is cut short while it is removed must not look whole.
        if !fs.exists(&marker).map_err(storage)? {
            fs.open(&marker, OpenMode::CreateNew).and_then(|_| fs.sync_dir(self.dir)).map_err(storage)?;
        }
        self.clear()?;
        fs.remove(&marker).map_err(storage)
    }

    /// Removes the files of a dump, and nothing else.
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

/// True for the name of a file of a dump, or of one that is being written.
fn is_of_a_dump(name: &str) -> bool {
    let name = name.strip_suffix(".part").unwrap_or(name);
    let name = name.strip_suffix(".gz").unwrap_or(name);
    [BSON_ENDING, OTHERS_ENDING, METADATA_ENDING].iter().any(|ending| name.ends_with(ending))
}

/// The bytes of the mark of a dump that did not come to its end. Refuses a directory that holds anything else.
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
    Error::Dump(format!("{dir} holds a dump that was cut short, and {path}, which is none of it: move that elsewhere"))
}

/// True if a directory was expected where a file is.
pub(super) fn is_file(error: &alluvium_env::Error) -> bool {
    matches!(error, alluvium_env::Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotADirectory)
}

fn storage(error: alluvium_env::Error) -> Error {
    alluvium_store::Error::from(error).into()
}
