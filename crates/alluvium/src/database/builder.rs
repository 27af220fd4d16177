//! Options for opening a database.

use super::Database;
use alluvium_collections::error::Result;
use alluvium_collections::history::ChangeRetention;
use alluvium_collections::space::{self, InputBytes, Space};
use alluvium_env::Env;
use alluvium_store::{Compression, Durability, Options};
use std::path::Path;
use std::time::Duration;

/// Options for opening a database; returned by [`Database::builder`].
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let path = dir.path().join("example.alluvium");
/// let db = alluvium::Database::builder().memory(64 << 20).partitions(2).open(&path)?;
/// # alluvium::Result::Ok(())
/// ```
#[derive(Clone)]
pub struct Builder {
    env: Env,
    pub(crate) options: Options,
    retention: ChangeRetention,
}

impl Builder {
    /// True if a database exists at the path. Opening the path then creates no database.
    ///
    /// ```
    /// # let builder = || alluvium::Database::builder().env(alluvium::env::Env::in_memory(1));
    /// assert!(!builder().is_there("db")?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`].
    pub fn is_there(&self, path: impl AsRef<Path>) -> Result<bool> {
        Ok(alluvium_store::is_store(&self.env, path.as_ref())?)
    }

    /// As [`Database::load_space`], for a database that does not exist yet.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// alluvium::Database::builder().new_load_space(&path, 1 << 20, 0).check()?; // room for a megabyte of JSON?
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn new_load_space(&self, path: impl AsRef<Path>, plain_bytes: u64, packed_bytes: u64) -> Space {
        space::for_new(&self.env, path.as_ref(), InputBytes { plain: plain_bytes, packed: packed_bytes }, &self.options)
    }

    pub(crate) fn new() -> Self {
        Self { env: Env::os(), options: Options::default(), retention: ChangeRetention::default() }
    }

    /// The memory budget in bytes: memtables, caches, filters, indexes, dictionaries and flushes
    /// together. More memory means fewer, larger flushes and more cached blocks. At least 8 MiB.
    /// Default: 256 MiB.
    ///
    /// Memory that the program's allocator retains is not included. With a small budget and glibc,
    /// set `MALLOC_ARENA_MAX=1` and `MALLOC_MMAP_THRESHOLD_=262144`, or call `mallopt`, as the
    /// command line does: loading 4 GB of text with a budget of 32 MB then took 31 MB. With
    /// documents of many MB and a budget of up to 1 GB, set `MALLOC_MMAP_THRESHOLD_=4194304`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().memory(64 << 20).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.options.memory_bytes = bytes;
        self
    }

    /// The number of partitions of a *new* database, 1 to 256. It cannot be changed later; with
    /// more partitions more cores can write at once. Opening an existing database with another
    /// number is an error. Default: the number of the existing database; for a new one 1 if the
    /// memory budget is below 64 MiB, and otherwise 4.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().partitions(2).open(&path)?;
    /// assert_eq!(db.stats().partitions.len(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn partitions(mut self, partitions: u32) -> Self {
        self.options.partitions = Some(partitions);
        self
    }

    /// The default durability of writes. Default: [`Durability::Periodic`]: writes survive the end of the process.
    /// After a power loss, the writes of the last 100 ms and of the duration of two syncs may be missing.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().durability(alluvium::Durability::Sync).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.options.durability = durability;
        self
    }

    /// How often the log is synced under periodic durability. Default: 100 ms.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().sync_interval(std::time::Duration::from_millis(20)).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn sync_interval(mut self, interval: Duration) -> Self {
        self.options.sync_interval = interval;
        self
    }

    /// The size of a data block before compression in bytes, 1 KiB to 1 MiB. Small blocks make
    /// random reads cheaper, large blocks make files smaller. Default: 2 KiB.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().block_bytes(8 << 10).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn block_bytes(mut self, bytes: usize) -> Self {
        self.options.block_bytes = bytes;
        self
    }

    /// Compression of blocks. Default: Zstandard level 3 with trained dictionaries.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().compression(alluvium::Compression::Lz4).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.options.compression = compression;
        self
    }

    /// Compression of batches from 16 KiB on in the write-ahead log. Default: true.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().log_compression(false).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn log_compression(mut self, compressed: bool) -> Self {
        self.options.log_compression = compressed;
        self
    }

    /// The number of threads for flushes and compactions, at least 1. At least two threads are started even then, so
    /// that a flush never waits for a compaction. Default: one for each core.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().threads(2).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(threads);
        self
    }

    /// Creates the database if it does not exist. Default: true.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let opened = alluvium::Database::builder().create_if_missing(false).open(&path);
    /// assert_eq!(opened.err().unwrap().kind(), alluvium::ErrorKind::Open);
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn create_if_missing(mut self, create: bool) -> Self {
        self.options.create_if_missing = create;
        self
    }

    /// Opens the database for reading only: nothing on the disk is created, written, renamed or removed, so it works on
    /// a full disk, on one that is mounted for reading only, and without permission to write. Writes are refused
    /// ([`crate::ErrorKind::ReadOnly`]), no background work runs, and documents that have expired stay. Any number of
    /// processes may have a database open for reading only. During this time no process can open the database for
    /// writing. Data that opening the database would write to disk is kept in memory, within the budget. Default:
    /// false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// # let db = alluvium::Database::open(&path)?;
    /// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// # db.close()?;
    /// let db = alluvium::Database::builder().read_only(true).open(&path)?;
    /// assert_eq!(db.collection("pets").count()?, 1);
    /// let refused = db.collection("pets").put("tom", r#"{"kind": "cat"}"#);
    /// assert_eq!(refused.unwrap_err().kind(), alluvium::ErrorKind::ReadOnly);
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.options.read_only = read_only;
        self
    }

    /// The maximum age of snapshots and cursors. Older snapshots and cursors end, so that they do not pin disk space
    /// forever. Default: one hour.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().snapshot_max_age(std::time::Duration::from_secs(600)).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn snapshot_max_age(mut self, age: Duration) -> Self {
        self.options.snapshot_max_age = age;
        self
    }

    /// The maximum number of bytes of files that are kept on disk only for snapshots and cursors. Beyond this size, the
    /// oldest snapshots and cursors end. Default: 1 GiB, or a quarter of the bytes in sorted files, if that is more.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().snapshot_max_debt(4 << 30).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn snapshot_max_debt(mut self, bytes: u64) -> Self {
        self.options.snapshot_max_debt_bytes = Some(bytes);
        self
    }

    /// The free disk space, in bytes, that writes must leave, so that flushes and compactions can finish. A write whose
    /// log record would use this space is refused with [`crate::ErrorKind::NoSpace`]; deletes may use half of the
    /// space. The space is not allocated: only the free space of the disk is checked. 0 disables the check. Default:
    /// two fifths of the memory budget plus 64 MiB, which is 166 MiB with the default budget. On volumes below 3.3 GiB,
    /// the default is lower, down to 134 MiB.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().disk_reserve(1 << 30).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn disk_reserve(mut self, bytes: u64) -> Self {
        self.options.disk_reserve_bytes = Some(bytes);
        self
    }

    /// How long recorded changes are kept ([`Database::record_changes`]). Default: 24 hours, and 4 GiB.
    ///
    /// ```
    /// # let env = alluvium::env::Env::in_memory(1);
    /// # let builder = alluvium::Database::builder().env(env);
    /// use alluvium::ChangeRetention;
    /// let week = ChangeRetention { time: std::time::Duration::from_secs(7 * 24 * 3600), bytes: 1 << 30 };
    /// let db = builder.change_retention(week).open("db")?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn change_retention(mut self, retention: ChangeRetention) -> Self {
        self.retention = retention;
        self
    }

    /// Reads and writes sorted files without the system's page cache (`O_DIRECT`). Only the memory
    /// budget then caches data. This is useful if other programs need the rest of the memory, and
    /// for benchmarks of the disk. Linux only; opening fails on a file system that does not support
    /// it. Default: false.
    ///
    /// ```
    /// # let path = "db";
    /// let builder = alluvium::Database::builder().direct_io(true).memory(1 << 30);
    /// # let _ = (builder, path);
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn direct_io(mut self, direct: bool) -> Self {
        self.options.direct_io = direct;
        self
    }

    /// Opens the database even if its log is damaged before the end, and skips damaged records. The
    /// [`crate::OpenReport`] lists the lost sequence numbers. Default: false; such a database is then not opened.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().accept_log_damage(true).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn accept_log_damage(mut self, accept: bool) -> Self {
        self.options.accept_log_damage = accept;
        self
    }

    /// The environment (files, clock, threads) to use. Tests use an environment in memory. Default: the operating
    /// system.
    ///
    /// ```
    /// let db = alluvium::Database::builder().env(alluvium::env::Env::in_memory(1)).open("db")?; // no file is written
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Sets all options of the store, for tests and benchmarks.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let options = alluvium::kv::Options { background: false, ..alluvium::kv::Options::default() };
    /// let db = alluvium::Database::builder().options(options).open(&path)?;
    /// # alluvium::Result::Ok(())
    /// ```
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Opens the database in the directory `path`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("db");
    /// let db = alluvium::Database::builder().open(&path)?;
    /// db.close()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`], [`crate::ErrorKind::InUse`], [`crate::ErrorKind::Invalid`] for
    /// an option out of range, [`crate::ErrorKind::Corruption`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(self.env, path.as_ref(), self.options, self.retention)
    }
}
