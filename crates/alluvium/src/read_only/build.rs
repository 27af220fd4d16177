//! The options of building a read-only store.

use alluvium_collections::error::Result;
use alluvium_collections::names::FullName;
use alluvium_collections::read_only::{ReadOnlyContent, label};
use alluvium_collections::space::{self, InputBytes, Space};
use alluvium_env::Env;
use alluvium_readonly::{Build, BuildOptions, OnDuplicate};
use alluvium_store::Compression;
use alluvium_transfer::read_only_build::ReadOnlyBuild;
use std::path::PathBuf;

/// A read-only store that is to be built: made by [`crate::ReadOnly::build`].
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("pets.ro");
/// use alluvium::{OnDuplicate, ReadOnly};
///
/// let mut build = ReadOnly::build(&path, "pets").index_intervals([16]).on_duplicate(OnDuplicate::Skip).start()?;
/// build.add(r#"{"_id": "rex", "kind": "dog"}"#)?;
/// build.add(r#"{"_id": "rex", "kind": "cat"}"#)?;
/// assert_eq!(build.finish()?.duplicates, 1);
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
#[must_use = "no store is built until `start`"]
pub struct BuildReadOnly {
    env: Env,
    path: PathBuf,
    name: String,
    options: BuildOptions,
}

impl BuildReadOnly {
    pub(super) fn new(path: PathBuf, name: &str) -> Self {
        Self { env: Env::os(), path, name: name.to_owned(), options: BuildOptions::default() }
    }

    /// Sets the environment: the files, the clock and the source of randomness. Default: the operating system. Tests
    /// pass another environment.
    ///
    /// ```
    /// let build = alluvium::ReadOnly::build("pets.ro", "pets").env(alluvium::env::Env::in_memory(1)).start()?;
    /// assert_eq!(build.finish()?.pairs, 0);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// The memory of the build in bytes, 1 MiB or more. Documents that do not fit are sorted in parts on the disk.
    /// Default: 256 MiB.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").memory(64 << 20).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn memory(mut self, bytes: usize) -> Self {
        self.options.memory_bytes = bytes;
        self
    }

    /// The size of a data block before compression, 512 bytes to 1 MiB. Smaller blocks make random reads cheaper;
    /// larger blocks make the file smaller. Default: 2 KiB.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").block_bytes(4 << 10).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.options.block_bytes = bytes;
        self
    }

    /// Compression of data blocks. Default: Zstandard, level 3.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").compression(alluvium::Compression::Lz4).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn compression(mut self, compression: Compression) -> Self {
        self.options.compression = compression;
        self
    }

    /// The filter's number of bits for each key, from 0 (no filter) to 32. Default: 10.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").filter_bits_per_key(16).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn filter_bits_per_key(mut self, bits: u32) -> Self {
        self.options.filter_bits_per_key = bits;
        self
    }

    /// Writes an index file for each of these intervals. An index file of interval n has one entry for every n keys. At
    /// most 64 intervals are allowed, each from 1 to 1,000,000. Default: none; reads then use an index with one entry
    /// for each data block. [`crate::OpenReadOnly::index_interval`] chooses the index file to read by.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").index_intervals([10, 100]).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn index_intervals(mut self, intervals: impl IntoIterator<Item = u64>) -> Self {
        self.options.index_intervals = intervals.into_iter().collect();
        self
    }

    /// Sets how to treat an `_id` or a key that was added before. Default: [`OnDuplicate::Error`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").on_duplicate(alluvium::OnDuplicate::Replace).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn on_duplicate(mut self, treatment: OnDuplicate) -> Self {
        self.options.on_duplicate = treatment;
        self
    }

    /// The size of a sorted run: the bytes of documents that are sorted at once. Default: derived from the memory.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").run_bytes(1 << 20).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn run_bytes(mut self, bytes: usize) -> Self {
        self.options.run_bytes = Some(bytes);
        self
    }

    /// The number of sorted runs that are merged at once, 2 or more. Default: derived from the memory.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// let build = alluvium::ReadOnly::build(&path, "pets").merge_width(16).start()?;
    /// build.finish()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn merge_width(mut self, runs: usize) -> Self {
        self.options.merge_width = Some(runs);
        self
    }

    /// The approximate disk space that a store of documents needs for an input, and the available space.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("pets.ro");
    /// use alluvium::{InputBytes, ReadOnly};
    /// ReadOnly::build(&path, "pets").space(InputBytes::plain(1 << 20)).check()?; // room for a megabyte of JSON?
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn space(&self, input: InputBytes) -> Space {
        space::for_build_of_documents(&self.env, &self.path, input, self.options.memory_bytes as u64)
    }

    /// Same as [`BuildReadOnly::space`], for a store of keys and values.
    pub fn space_of_key_values(&self, input: InputBytes) -> Space {
        space::for_build_of_pairs(&self.env, &self.path, input, self.options.memory_bytes as u64)
    }

    /// Begins the build of a store of documents.
    ///
    /// # Errors
    /// [`crate::Error::InvalidName`]; [`crate::ErrorKind::Invalid`] for an option out of its range;
    /// [`crate::ErrorKind::Open`] if the directory is not empty; [`crate::ErrorKind::InUse`] if another process builds
    /// there; errors of writing.
    pub fn start(self) -> Result<ReadOnlyBuild> {
        ReadOnlyBuild::new(self.env, &self.path, &self.name, self.options)
    }

    /// Begins the build of a store of plain keys and values.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("words.ro");
    /// use alluvium::ReadOnly;
    ///
    /// let mut build = ReadOnly::build(&path, "words").start_key_values()?;
    /// build.add(b"rex", b"king")?;
    /// build.finish(Vec::new())?;
    /// assert!(ReadOnly::open(&path)?.get("rex")?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`BuildReadOnly::start`].
    pub fn start_key_values(self) -> Result<Build> {
        let name = FullName::parse(&self.name)?;
        let options = BuildOptions { label: label(ReadOnlyContent::KeyValues, &name), ..self.options };
        Ok(alluvium_readonly::ReadOnly::build_in(self.env, self.path, options)?)
    }
}
