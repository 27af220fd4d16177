//! Reads a single file of a database, without taking the lock and without changing the file.
//!
//! ```
//! use alluvium::inspect::{self, FactValue, Item};
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::builder().partitions(2).open(dir.path().join("db"))?;
//! # let path = dir.path().join("db/ALLUVIUM");
//! let mut partitions = None;
//! inspect::file(&path).run(|item| {
//!     if let Item::Fact(("partitions", value)) = item {
//!         partitions = Some(value);
//!     }
//! })?;
//! assert_eq!(partitions, Some(FactValue::Number(2)));
//! # alluvium::Result::Ok(())
//! ```

use alluvium_collections::error::Result;
use alluvium_collections::inspect::{self, InspectOptions};
use alluvium_env::Env;
use std::path::{Path, PathBuf};

pub use alluvium_collections::inspect::{Fact, FactValue, FileKind, Item};

/// A file to be read: a sorted file, a segment of the log, a manifest, a superblock, the listing of a checkpoint, or a
/// file of a read-only store.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("db");
/// use alluvium::inspect::{self, FileKind};
///
/// alluvium::Database::open(&path)?.close()?;
/// let kind = inspect::file(path.join("ALLUVIUM")).run(|item| println!("{item:?}"))?;
/// assert_eq!(kind, FileKind::Superblock);
/// # alluvium::Result::Ok(())
/// ```
pub fn file(path: impl AsRef<Path>) -> InspectFile {
    InspectFile { env: Env::os(), path: path.as_ref().to_owned(), options: InspectOptions::default() }
}

/// A file to inspect, not yet read; returned by [`file`].
#[derive(Clone)]
#[must_use = "nothing is read until `run`"]
pub struct InspectFile {
    env: Env,
    path: PathBuf,
    options: InspectOptions,
}

impl InspectFile {
    /// Sets the environment whose files are read. Default: the operating system. Tests pass another environment.
    ///
    /// ```
    /// let file = alluvium::inspect::file("nowhere").env(alluvium::env::Env::in_memory(1));
    /// assert!(file.run(|_| {}).is_err());
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Visits every entry of a sorted file and every operation in the log. Default: false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().partitions(1).open(&path)?;
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// db.close()?;
    /// let (mut entries, wal) = (0, path.join("wal"));
    /// for segment in std::fs::read_dir(wal).expect("the log").flatten() {
    ///     alluvium::inspect::file(segment.path()).entries(true).run(|_| entries += 1)?;
    /// }
    /// assert!(entries > 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn entries(mut self, entries: bool) -> Self {
        self.options.entries = entries;
        self
    }

    /// Reads the file, and calls `visit` for each item and for each damaged place in it. Documents in a sorted file are
    /// reported as JSON if the file has their shapes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if the file is of another kind or of a newer format; [`crate::ErrorKind::Io`].
    pub fn run(self, mut visit: impl FnMut(Item)) -> Result<FileKind> {
        inspect::file(&self.env, &self.path, self.options, &mut visit)
    }
}
