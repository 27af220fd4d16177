//! Advice for the user about errors of the library, which knows neither commands nor options.

use crate::text;
use alluvium::{Error, ErrorKind};
use alluvium_env::Env;
use alluvium_readonly::Error as ReadOnlyError;
use alluvium_store::Error as StoreError;
use std::path::Path;

/// The advice for a database with damage.
const DAMAGE: &str = "Copy the directory before anything else. `alluvium verify DB` lists all damage; \
                      `alluvium repair DB --to NEW` saves what is whole in a new database.";
/// The advice for a read-only store with damage.
const DAMAGE_OF_READ_ONLY: &str = "`alluvium verify DB` lists all damage. Restore a copy of the directory, or build the \
                                   store again from its source with `alluvium build`.";

/// The advice for a file that would have become larger than the process may write.
pub(crate) const TOO_LARGE: &str = "`ulimit -f unlimited` lifts the limit on the size of files in the shell that starts \
                                    the program, if the system allows that.";

/// The advice for an error, if there is any.
pub(crate) fn of(error: &Error) -> Option<String> {
    let text = match error {
        Error::LoadDuplicate { .. } => {
            "--on-duplicate replace replaces existing documents with the same _id; --on-duplicate skip keeps them."
        }
        Error::NoSuchIndex { .. } => "`alluvium index list DB COLLECTION` lists the indexes of a collection.",
        Error::NoSuchCollection { nearest: None, .. } => "`alluvium collections DB` lists the collections.",
        // The documents are undamaged, and the message has the advice.
        Error::DamagedIndex { .. } => return None,
        Error::Store(StoreError::InUse(path)) => return Some(in_use(path)),
        Error::Store(StoreError::OpenedForReading(_)) => {
            "The database was opened with --read-only, or nothing can be written where it is: a full disk, one that is \
             mounted for reading only, or a directory without permission to write."
        }
        Error::Store(StoreError::NoSpaceToOpen { .. }) => {
            "Until then the commands that only read work. If nothing else can be removed from this disk, copy the database to \
             another one: `alluvium checkpoint DB /OTHER/DIR`, then `alluvium restore /OTHER/DIR NEW`."
        }
        Error::Store(StoreError::NoSpace(_)) if error.to_string().contains("disk_reserve_bytes") => {
            "Deletes are accepted, and so is `alluvium drop`. A smaller --memory keeps less of the disk free, and --disk-reserve \
             0 nothing."
        }
        Error::Store(StoreError::LogTooLarge { needed_bytes, .. }) => {
            return Some(format!("--memory {}M is enough.", needed_bytes.div_ceil(1 << 20)));
        }
        Error::Store(StoreError::NotADatabase(_)) => {
            "`alluvium put`, `alluvium load`, `alluvium create` and `alluvium index create` create a database."
        }
        Error::Store(StoreError::IsCheckpoint(_)) => {
            "`alluvium restore CHECKPOINT NEW` makes a database from a checkpoint; `alluvium verify` checks it."
        }
        Error::Store(StoreError::Storage(cause)) | Error::ReadOnly(ReadOnlyError::Storage(cause))
            if cause.is_too_many_files() =>
        {
            "`ulimit -n` shows how many files a process may open, and `ulimit -n 1024` raises it. This is not damage."
        }
        Error::Store(StoreError::Storage(cause)) | Error::ReadOnly(ReadOnlyError::Storage(cause))
            if cause.is_not_permitted() =>
        {
            "Run the command as the user that the files belong to, or let that user change their permissions. Commands \
             that only read need no permission to write."
        }
        Error::Store(StoreError::Storage(cause)) if cause.is_read_only_disk() => {
            "Commands that only read work on such a disk. To write, mount it for writing, or copy the database to another \
             disk: `alluvium checkpoint DB /OTHER/DIR`, then `alluvium restore /OTHER/DIR NEW`."
        }
        Error::Store(StoreError::Storage(cause)) | Error::ReadOnly(ReadOnlyError::Storage(cause))
            if cause.is_overlay_full() =>
        {
            "--memory SIZE raises the memory budget."
        }
        Error::Store(error) if is_too_large(error) => TOO_LARGE,
        Error::ReadOnly(ReadOnlyError::NotReadOnly(_)) => return None,
        Error::ReadOnly(_) if error.kind() == ErrorKind::Corruption => DAMAGE_OF_READ_ONLY,
        _ if error.kind() == ErrorKind::Corruption => DAMAGE,
        _ => return None,
    };
    Some(text.to_owned())
}

/// True if the cause is a file that would have become larger than the process may write.
fn is_too_large(error: &StoreError) -> bool {
    match error {
        StoreError::Storage(cause) => cause.is_too_large(),
        StoreError::Poisoned(cause) | StoreError::OutcomeUnknown(cause) => is_too_large(cause),
        _ => false,
    }
}

/// The suffix of the name of a checkpoint or a restored database that is not complete yet.
const UNFINISHED: &str = ".incomplete";

/// The advice for an error about an incomplete directory.
pub(crate) fn of_unfinished(error: &Error) -> Option<String> {
    match error {
        Error::Store(
            StoreError::NotADatabase(path) | StoreError::NotACheckpoint(path) | StoreError::ForeignDirectory(path),
        ) => unfinished(path),
        // The partitions exist, but the superblock, which names them, is missing.
        Error::Store(StoreError::Storage(alluvium_env::Error::Corrupt { path, .. })) if path.ends_with(SUPERBLOCK) => {
            unfinished(path.parent()?)
        }
        _ => None,
    }
}

/// Advice for a directory that an unfinished checkpoint or restore has left: the state of the directory, and the
/// remedy. `None` for any other path.
pub(crate) fn unfinished(path: &Path) -> Option<String> {
    let target = path.file_name()?.to_str()?.strip_suffix(UNFINISHED)?;
    let has = |name| Env::os().fs.exists(&path.join(name)).unwrap_or(false);
    if target.is_empty() || !has(LOCK) || has(SUPERBLOCK) || has(LISTING) {
        return None;
    }
    let (shown, target) = (text::path(path), text::path(&path.with_file_name(target)));
    Some(match holder(path) {
        Some(Holder { pid, name, .. }) => {
            format!("{shown} is not whole yet: the process {pid}{name} is making it, and calls it {target} at the end")
        }
        None => format!(
            "{shown} is what an interrupted checkpoint or restore to {target} left. It is not whole, and nothing needs it.\n\
             Delete it, or run the interrupted command again, which starts over and clears it."
        ),
    })
}

/// Advice that names the process that has the database open, and explains how to wait for it.
fn in_use(database: &Path) -> String {
    let mut wait = "--wait SECONDS waits until it is closed.".to_owned();
    if alluvium_server::connect(database).is_ok() {
        let socket = text::path(&database.join(alluvium_server::OWNER_SOCKET));
        wait += &format!(" Clients of MongoDB, such as mongosh, reach it at the socket {socket}.");
    }
    match holder(database) {
        Some(Holder { pid, name, reads: false }) => format!("The process {pid}{name} has it open. {wait}"),
        Some(Holder { pid, name, reads: true }) => format!(
            "The process {pid}{name} has it open for reading only. Commands that only read run beside it with --read-only. \
             {wait}"
        ),
        None => wait,
    }
}

/// The file that makes a directory a database.
const SUPERBLOCK: &str = "ALLUVIUM";
/// The file that makes a directory a checkpoint.
const LISTING: &str = "CHECKPOINT";
/// The file in a database on which the process that uses the database holds a lock.
const LOCK: &str = "LOCK";

/// A process that has a database open.
struct Holder {
    pid: u32,
    /// The name of its program in parentheses, after a space; empty if it is not known.
    name: String,
    /// The process has the database open for reading only. Other processes may have it open, too.
    reads: bool,
}

/// A process that has a database open. `None` if the system does not list locks.
#[cfg(target_os = "linux")]
fn holder(database: &Path) -> Option<Holder> {
    use crate::process;
    let inode = process::inode(&database.join(LOCK))?;
    let locks = process::text(Path::new("/proc/locks"))?;
    let (pid, reads) = locks.lines().find_map(|line| pid_of(line, inode))?;
    let name = process::text(Path::new(&format!("/proc/{pid}/comm"))).unwrap_or_default();
    let name = text::plain(name.trim());
    let name = if name.is_empty() { name } else { format!(" ({name})") };
    Some(Holder { pid, name, reads })
}

#[cfg(not(target_os = "linux"))]
fn holder(_database: &Path) -> Option<Holder> {
    None
}

/// The id of the process in a line of `/proc/locks`, if the process holds the lock on the file with this inode, and
/// whether it shares the lock: `1: FLOCK ADVISORY WRITE 4711 08:01:1234 0 EOF`. The device is not compared, because
/// `/proc/locks` and `stat` report different devices for overlay file systems.
fn pid_of(line: &str, inode: u64) -> Option<(u32, bool)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, "FLOCK", _, kind, pid, file, ..] = fields.as_slice() else { return None };
    let held: u64 = file.rsplit(':').next()?.parse().ok()?;
    if held == inode { Some((pid.parse().ok()?, *kind == "READ")) } else { None }
}

#[cfg(test)]
mod tests;
