//! A directory that gets its final name when its content is complete.
//!
//! `DIR` is made as `DIR.incomplete` next to it, under a lock, and renamed at the end. If the process dies before the
//! rename, `DIR.incomplete` remains. The next attempt for the same `DIR` clears it.

use crate::error::{Error, Result, check_stop};
use crate::files::{self, LOCK_NAME, LOG_DIR, listing, superblock};
use alluvium_env::parent_of;
use alluvium_env::{Env, FileLock, OpenMode};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes that are copied at once.
const COPY_BYTES: usize = 1 << 20;

/// The way a file was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Placement {
    /// It was hard-linked.
    Linked,
    /// Its bytes were copied.
    Copied,
}

/// A directory that is being made.
pub(crate) struct Building {
    /// The environment in which the directory is held open. All writes to the directory must use it.
    pub env: Env,
    /// The final name.
    target: PathBuf,
    /// The name until the content is complete.
    pub dir: PathBuf,
    /// Bytes of the disk that copies leave free.
    reserve: u64,
    /// Set to stop the work.
    pub stop: Arc<AtomicBool>,
    _lock: Box<dyn FileLock>,
}

impl Building {
    /// Begins to make `target`, which must not exist or must be an empty directory.
    pub fn begin(env: &Env, target: &Path, reserve: u64, stop: Arc<AtomicBool>) -> Result<Self> {
        refuse_inside(env, target)?;
        check_target(env, target)?;
        let Some(name) = target.file_name() else { return Err(Error::TargetExists(target.to_owned())) };
        let mut name = name.to_owned();
        name.push(".incomplete");
        let dir = target.with_file_name(name);
        if env.fs.exists(&dir)? {
            check_ours(env, &dir)?;
        }
        files::make_directory(env, &dir)?;
        let env = &env.hold_dir(&dir)?;
        let lock = env.fs.try_lock(&dir.join(LOCK_NAME))?.ok_or_else(|| Error::InUse(dir.clone()))?;
        // Another process may have finished the same target before this lock was taken.
        check_target(env, target)?;
        check_ours(env, &dir)?;
        for entry in env.fs.list(&dir)?.iter().filter(|entry| entry.name != LOCK_NAME) {
            files::remove_all(env, &dir.join(&entry.name), entry.is_dir)?;
        }
        Ok(Self { env: env.clone(), target: target.to_owned(), dir, reserve, stop, _lock: lock })
    }

    /// Drops the reserve if the database at `path` is on another disk: then filling this disk does not stop the
    /// database.
    pub fn reserve_beside(&mut self, path: &Path) {
        // If this cannot be determined, the reserve is kept.
        if let Ok(false) = self.env.fs.is_same_disk(path, &self.dir) {
            self.reserve = 0;
        }
    }

    /// Makes a subdirectory.
    pub fn directory(&self, name: &str) -> Result<PathBuf> {
        let dir = self.dir.join(name);
        self.env.fs.create_dir_all(&dir)?;
        Ok(dir)
    }

    /// Places the file `from` at `to`: by a link if that is allowed and possible, otherwise by a copy whose bytes are
    /// durable. The name is durable when its directory is synced.
    pub fn place(&self, from: &Path, to: &Path, link: bool) -> Result<Placement> {
        if link {
            match self.env.fs.hard_link(from, to) {
                Ok(()) => return Ok(Placement::Linked),
                Err(error) if cannot_link(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.copy(from, to)?;
        Ok(Placement::Copied)
    }

    fn copy(&self, from: &Path, to: &Path) -> Result<()> {
        let source = self.env.fs.open(from, OpenMode::Read)?;
        let len = source.len()?;
        self.need(len)?;
        let copy = self.env.fs.open(to, OpenMode::CreateNew)?;
        let mut buffer = vec![0; COPY_BYTES.min(len as usize).max(1)];
        let mut at = 0;
        while at < len {
            check_stop(&self.stop)?;
            let piece = &mut buffer[..COPY_BYTES.min((len - at) as usize)];
            source.read_exact_at(piece, at)?;
            copy.write_at(piece, at)?;
            at += piece.len() as u64;
        }
        Ok(copy.sync()?)
    }

    /// Refuses to write `bytes` if less than the reserve would be left: a full disk would stop the database that is on
    /// it.
    pub fn need(&self, bytes: u64) -> Result<()> {
        // If the free space is not known, the write itself shows whether there is enough.
        let Ok(free) = self.env.fs.available_bytes(&self.dir) else { return Ok(()) };
        if free >= bytes.saturating_add(self.reserve) {
            return Ok(());
        }
        let kept = match self.reserve {
            0 => String::new(),
            kept => format!(", of which {kept} are kept for the database on that disk (disk_reserve_bytes)"),
        };
        let what = format!("{bytes} bytes are needed, and {free} are free{kept}");
        let full = std::io::Error::new(ErrorKind::StorageFull, what);
        Err(Error::NoSpace(Box::new(alluvium_env::Error::io("make", &self.target, full).into())))
    }

    /// Writes a small file under a temporary name, and renames it when it is durable.
    pub fn write_file(&self, temporary: &str, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.dir.join(temporary);
        let file = self.env.fs.open(&path, OpenMode::CreateNew)?;
        file.write_at(bytes, 0)?;
        file.sync()?;
        self.env.fs.rename(&path, &self.dir.join(name))?;
        Ok(self.env.fs.sync_dir(&self.dir)?)
    }

    /// Renames the directory to its final name. All of its content must be durable.
    pub fn finish(self) -> Result<()> {
        self.env.fs.sync_dir(&self.dir)?;
        self.env.fs.rename(&self.dir, &self.target)?;
        Ok(self.env.fs.sync_dir(parent_of(&self.target))?)
    }

    /// Renames the database inside the directory to the final name, and removes the rest.
    fn finish_inner(self) -> Result<()> {
        self.env.fs.rename(&self.dir.join(INNER), &self.target)?;
        self.env.fs.sync_dir(parent_of(&self.target))?;
        self.abandon();
        Ok(())
    }

    /// Removes the directory. The next attempt removes files that cannot be removed now.
    pub fn abandon(self) {
        // The lock is removed last: until then no other process uses the directory.
        for entry in self.env.fs.list(&self.dir).unwrap_or_default() {
            if entry.name != LOCK_NAME {
                let _left = files::remove_all(&self.env, &self.dir.join(&entry.name), entry.is_dir);
            }
        }
        let _left = files::remove_all(&self.env, &self.dir, true);
    }
}

/// The name of a database inside the directory. At the end it is renamed to the target.
const INNER: &str = "database";

/// Makes the directory `target`, which must not exist or must be empty. `make` writes to a temporary directory next to
/// the target, through the environment that it is given; the directory is renamed when `make` has returned. The files
/// that `make` writes must be durable.
///
/// # Errors
/// [`Error::TargetExists`], [`Error::InUse`] if another process makes the same target, [`Error::Storage`], and the
/// errors of `make`; after an error there is no `target`.
pub fn make_whole<T, E: From<Error>>(
    env: &Env,
    target: &Path,
    make: impl FnOnce(&Env, &Path) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    let building = Building::begin(env, target, 0, Arc::default())?;
    match make(&building.env, &building.dir.join(INNER)) {
        Ok(made) => {
            building.finish_inner()?;
            Ok(made)
        }
        Err(error) => {
            building.abandon();
            Err(error)
        }
    }
}

/// Refuses a directory inside a database. It would be removed with the database, or be mistaken for a part of it.
fn refuse_inside(env: &Env, dir: &Path) -> Result<()> {
    for above in dir.ancestors().skip(1) {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if env.fs.exists(&above.join(superblock::NAME))? || env.fs.exists(&above.join(listing::NAME))? {
            return Err(Error::InsideDatabase { dir: dir.to_owned(), above: above.to_owned() });
        }
    }
    Ok(())
}

/// Refuses a target that exists and is not an empty directory.
fn check_target(env: &Env, target: &Path) -> Result<()> {
    if !env.fs.exists(target)? {
        return Ok(());
    }
    match env.fs.list(target) {
        Ok(entries) if entries.is_empty() => Ok(()),
        _ => Err(Error::TargetExists(target.to_owned())),
    }
}

/// Refuses to clear a directory with files that an earlier attempt cannot have made.
fn check_ours(env: &Env, dir: &Path) -> Result<()> {
    let superblocks = [superblock::NAME, superblock::TEMPORARY, superblock::NEXT];
    let names = [&[INNER, LOCK_NAME, LOG_DIR, listing::NAME, listing::TEMPORARY][..], &superblocks].concat();
    let ours = |name: &str| names.contains(&name) || files::partition_of_dir(name).is_some();
    match env.fs.list(dir)?.iter().any(|entry| !ours(&entry.name)) {
        true => Err(Error::ForeignDirectory(dir.to_owned())),
        false => Ok(()),
    }
}

/// True if a link is not possible: the target is on another file system, the file system has no links, or the file has
/// too many.
fn cannot_link(error: &alluvium_env::Error) -> bool {
    use ErrorKind::{CrossesDevices, PermissionDenied, TooManyLinks, Unsupported};
    let kinds = [CrossesDevices, PermissionDenied, TooManyLinks, Unsupported];
    matches!(error, alluvium_env::Error::Io { source, .. } if kinds.contains(&source.kind()))
}
