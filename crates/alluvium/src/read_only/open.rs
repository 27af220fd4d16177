//! The options of opening a read-only store.

use super::ReadOnly;
use alluvium_collections::error::Result;
use alluvium_collections::read_only::ReadOnlyDocuments;
use alluvium_env::Env;
use alluvium_readonly::ReadOnlyOptions;
use std::path::Path;

/// Options for opening a read-only store: made by [`ReadOnly::options`].
#[derive(Clone)]
#[must_use = "no store is opened until `open`"]
pub struct OpenReadOnly {
    env: Env,
    options: ReadOnlyOptions,
}

impl OpenReadOnly {
    pub(super) fn new() -> Self {
        Self { env: Env::os(), options: ReadOnlyOptions::default() }
    }

    /// Sets the environment whose files are read. Default: the operating system. Tests pass another environment.
    ///
    /// ```
    /// let env = alluvium::env::Env::in_memory(1);
    /// alluvium::ReadOnly::build("pets.ro", "pets").env(env.clone()).start()?.finish()?;
    /// assert_eq!(alluvium::ReadOnly::options().env(env).open("pets.ro")?.count(), 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// The memory for cached blocks and indexes in bytes, 1 MiB or more. Default: 256 MiB.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # alluvium::ReadOnly::build(&path, "pets").start()?.finish()?;
    /// let store = alluvium::ReadOnly::options().memory(16 << 20).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn memory(mut self, bytes: usize) -> Self {
        self.options.memory_bytes = bytes;
        self
    }

    /// Chooses the index file to read by, given by its interval. The interval 0 chooses the store's own index, which
    /// has one entry for each data block. Default, or `None`: the index file with the smallest interval or, if the
    /// store has no index files, the store's own index.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// use alluvium::ReadOnly;
    ///
    /// let mut build = ReadOnly::build(&path, "pets").index_intervals([4, 16]).start()?;
    /// build.add(r#"{"_id": "rex"}"#)?;
    /// build.finish()?;
    /// ReadOnly::options().index_interval(16).open(&path)?;
    /// assert!(ReadOnly::options().index_interval(5).open(&path).is_err());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn index_interval(mut self, interval: impl Into<Option<u64>>) -> Self {
        self.options.index_interval = interval.into();
        self
    }

    /// True if the directory holds a read-only store, complete or unfinished.
    ///
    /// ```
    /// # let options = alluvium::ReadOnly::options().env(alluvium::env::Env::in_memory(1));
    /// assert!(!options.is_there("nowhere")?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`].
    pub fn is_there(&self, path: impl AsRef<Path>) -> Result<bool> {
        Ok(alluvium_readonly::is_read_only(&self.env, path.as_ref()).map_err(alluvium_store::Error::from)?)
    }

    /// Opens the store in the directory `path`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory"); let path = dir.path().join("pets.ro");
    /// # let mut build = alluvium::ReadOnly::build(&path, "pets").start()?;
    /// # build.add(r#"{"_id": "ada", "age": 12}"#)?; build.finish()?;
    /// let store = alluvium::ReadOnly::options().memory(16 << 20).open(&path)?;
    /// assert_eq!(store.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if there is no store, or only the beginning of one;
    /// [`crate::ErrorKind::Corruption`]; [`crate::ErrorKind::Invalid`] if there is no such index, or an option is out
    /// of its range.
    pub fn open(self, path: impl AsRef<Path>) -> Result<ReadOnly> {
        Ok(ReadOnly { documents: ReadOnlyDocuments::open(self.env, path.as_ref(), &self.options)? })
    }
}
