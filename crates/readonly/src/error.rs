//! The errors of read-only stores.

use std::path::PathBuf;

/// The reason why a read-only store cannot be built or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed or found damage; the message names the file.
    #[error(transparent)]
    Storage(#[from] alluvium_env::Error),
    /// There is no read-only store at the path.
    #[error("{} is not a read-only store: check the path, or build one", .0.display())]
    NotReadOnly(PathBuf),
    /// A build was interrupted, or is still running.
    #[error("the build of {} is incomplete: run it again (it cleans up and starts over)", .0.display())]
    Unfinished(PathBuf),
    /// The directory already contains a complete read-only store.
    #[error("{} is already a read-only store, which never changes: build into another directory", .0.display())]
    Exists(PathBuf),
    /// The directory contains other files.
    #[error("{} is not empty: a read-only store is built in an empty or new directory", .0.display())]
    NotEmpty(PathBuf),
    /// Another build is running in the directory.
    #[error("{} is being built by another process: wait for it, or build into another directory", .0.display())]
    InUse(PathBuf),
    /// A key occurs twice, and the option is [`crate::OnDuplicate::Error`].
    #[error("pair {position} has a key that an earlier pair has: {}", key_text(.key))]
    DuplicateKey {
        /// The position in the input, from 1, of the first pair that repeats the key of an earlier
        /// pair.
        position: u64,
        /// The key.
        key: Vec<u8>,
    },
    /// A pair is larger than the memory budget or the general limit allows.
    #[error("a pair has {bytes} bytes, and the limit with this memory budget is {limit}: raise the budget")]
    PairTooLarge {
        /// The bytes of the pair.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
    /// The disk has no room for the next step of the build. All files of the build are removed.
    #[error("the build needs about {needed} more bytes in {}, and {available} are free: free some space, or build elsewhere", path.display())]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// The approximate number of bytes needed.
        needed: u64,
        /// Bytes that are free.
        available: u64,
    },
    /// The store was built without an index at this interval.
    #[error("there is no index at the interval {interval}; {}", available(.there))]
    NoSuchIndex {
        /// The requested interval.
        interval: u64,
        /// The intervals of the existing indexes.
        there: Vec<u64>,
    },
    /// An option is out of its range.
    #[error("the option {name} must be {must_be}")]
    InvalidOption {
        /// The option.
        name: &'static str,
        /// The valid range, in words.
        must_be: &'static str,
    },
    /// A thread of the build failed; the text is its panic message or the system's reason.
    #[error("a thread of the build failed: {0}; please report this")]
    ThreadFailed(String),
}

/// A result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A key in a message: as text if it is text, otherwise in hexadecimal. Long keys are truncated.
fn key_text(key: &[u8]) -> String {
    const SHOWN: usize = 64;
    let (part, more) = if key.len() > SHOWN { (&key[..SHOWN], "…") } else { (key, "") };
    match std::str::from_utf8(part) {
        Ok(text) if !text.chars().any(char::is_control) => format!("{text:?}{more}"),
        _ => format!("0x{}{more}", part.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

fn available(intervals: &[u64]) -> String {
    if intervals.is_empty() {
        return "this store was built without index files".to_owned();
    }
    let list: Vec<String> = intervals.iter().map(u64::to_string).collect();
    format!("this store has indexes at {}", list.join(", "))
}
