//! What a read-only store can answer instead of a result.

use std::path::PathBuf;

/// Why a read-only store cannot be built or read.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file operation failed or found damage; the message names the file.
    #[error(transparent)]
    Storage(#[from] alluvium_env::Error),
    /// There is no read-only store at the path.
    #[error("{} is no read-only store: check the path, or build one", .0.display())]
    NotReadOnly(PathBuf),
    /// A build was cut short, or still goes on.
    #[error("the build of {} did not come to its end: run it again (it begins anew and cleans up)", .0.display())]
    Unfinished(PathBuf),
    /// There is a whole read-only store already.
    #[error("{} is a read-only store already, which never changes: build into another directory", .0.display())]
    Exists(PathBuf),
    /// The directory holds something else.
    #[error("{} is not empty: a read-only store is built in an empty or new directory", .0.display())]
    NotEmpty(PathBuf),
    /// Another build goes on there.
    #[error("{} is being built by another process: wait for it, or build into another directory", .0.display())]
    InUse(PathBuf),
    /// A key comes twice, and [`crate::OnDuplicate::Error`] was asked for.
    #[error("pair {position} has a key that an earlier pair has: {}", key_text(.key))]
    DuplicateKey {
        /// Which pair of the input, from 1: the first whose key an earlier one has.
        position: u64,
        /// The key.
        key: Vec<u8>,
    },
    /// A pair is larger than the memory budget, or than any may be.
    #[error("a pair has {bytes} bytes; with this memory budget it may have {limit}: raise the budget")]
    PairTooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most bytes that it may have.
        limit: u64,
    },
    /// The disk has no room for what the build needs next. Nothing of it is kept.
    #[error("the build needs about {needed} more bytes in {}, and {available} are free: free some space, or build elsewhere", path.display())]
    NoSpace {
        /// The directory.
        path: PathBuf,
        /// Bytes needed, about.
        needed: u64,
        /// Bytes that are free.
        available: u64,
    },
    /// The store was built without an index at this interval.
    #[error("there is no index at the interval {interval}; {}", there_are(.there))]
    NoSuchIndex {
        /// What was asked for.
        interval: u64,
        /// The intervals of the indexes that there are.
        there: Vec<u64>,
    },
    /// An option is out of its range.
    #[error("the option {name} must be {must_be}")]
    InvalidOption {
        /// The option.
        name: &'static str,
        /// What it may be.
        must_be: &'static str,
    },
    /// A thread of the build failed; the message is its last words.
    #[error("a thread of the build failed: {0}; please report this")]
    ThreadFailed(String),
}

/// A result with [`enum@Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// A key for messages: as text if it is text, else in hexadecimal; long ones cut.
fn key_text(key: &[u8]) -> String {
    const SHOWN: usize = 64;
    let (part, more) = if key.len() > SHOWN { (&key[..SHOWN], "…") } else { (key, "") };
    match std::str::from_utf8(part) {
        Ok(text) if !text.chars().any(char::is_control) => format!("{text:?}{more}"),
        _ => format!("0x{}{more}", part.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
    }
}

fn there_are(intervals: &[u64]) -> String {
    if intervals.is_empty() {
        return "this store was built without index files".to_owned();
    }
    let list: Vec<String> = intervals.iter().map(u64::to_string).collect();
    format!("this store has indexes at {}", list.join(", "))
}
