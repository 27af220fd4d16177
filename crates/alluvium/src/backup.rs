//! Checkpoints: complete copies of a running database, made quickly from links to its files.
//!
//! A checkpoint is a directory with a file `CHECKPOINT` that lists its files. It cannot be opened
//! as a database: [`restore`] makes an independent database from it.
//!
//! ```
//! use alluvium::backup;
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::open(dir.path().join("db"))?;
//! # let (monday, tuesday, other) = (dir.path().join("monday"), dir.path().join("tuesday"), dir.path().join("other"));
//! db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
//! db.checkpoint(&monday).run()?;
//! db.collection("pets").insert_one(r#"{"_id": "tom", "kind": "cat"}"#)?;
//! db.checkpoint(&tuesday).base(&monday).run()?; // Only files that Monday's lacks are new.
//!
//! backup::restore(&monday, &other).run()?;
//! assert_eq!(alluvium::Database::open(&other)?.collection("pets").count()?, 1);
//! # alluvium::Result::Ok(())
//! ```

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_env::Env;
use alluvium_store::{CheckpointOptions, RestoreOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use alluvium_store::{CheckedCheckpoint, CheckpointReport, FileChecksum, ListedFile, Listing, RestoreReport};

/// A checkpoint to make, with its options; returned by [`crate::Database::checkpoint`].
#[derive(Clone)]
#[must_use = "no checkpoint is made until `run`"]
pub struct Checkpoint {
    engine: EngineHandle,
    dir: PathBuf,
    options: CheckpointOptions,
}

impl Checkpoint {
    pub(crate) fn new(engine: EngineHandle, dir: &Path) -> Self {
        Self { engine, dir: dir.to_owned(), options: CheckpointOptions::default() }
    }

    /// Sets an earlier checkpoint of the same database as the base. Files that the base already has are linked from it
    /// where possible, and marked as not new.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let (monday, tuesday) = (dir.path().join("monday"), dir.path().join("tuesday"));
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// db.flush()?;
    /// db.checkpoint(&monday).run()?;
    /// assert_eq!(db.checkpoint(&tuesday).base(&monday).run()?.in_base, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn base(mut self, checkpoint: impl AsRef<Path>) -> Self {
        self.options.base = Some(checkpoint.as_ref().to_owned());
        self
    }

    /// Copies the files of the database instead of linking them. Files of the base are still linked. Default: false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let monday = dir.path().join("monday");
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// db.checkpoint(&monday).copy(true).run()?; // as on another disk
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn copy(mut self, copy: bool) -> Self {
        self.options.copy = copy;
        self
    }

    /// Ends the checkpoint with [`crate::Error::Stopped`] shortly after `stop` is set to true. The
    /// unfinished checkpoint is removed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let monday = dir.path().join("monday");
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// db.checkpoint(&monday).stop_when(stop.clone()).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// Makes the checkpoint.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if the directory exists and is not empty, or is within a database, or if the
    /// base is not a checkpoint of this database; [`crate::ErrorKind::InUse`] if another process makes it;
    /// [`crate::ErrorKind::NoSpace`]; [`crate::Error::Stopped`]; errors of reading and writing. The database
    /// stays usable, and the directory does not exist.
    pub fn run(self) -> Result<CheckpointReport> {
        Ok(self.engine.store().checkpoint(&self.dir, &self.options)?)
    }
}

/// Restores the checkpoint in `from` as a new database in the directory `to`, which must be empty
/// or not exist. The checkpoint does not change. Set options, then call [`Restore::run`].
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
/// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// db.checkpoint(&monday).run()?;
/// db.drop_collection("pets")?;
///
/// let report = alluvium::backup::restore(&monday, &again).run()?;
/// assert_eq!(report.copied, 0, "links, on the same disk");
/// assert_eq!(alluvium::Database::open(again)?.collection("pets").count()?, 1);
/// # alluvium::Result::Ok(())
/// ```
pub fn restore(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Restore {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    Restore { env: Env::os(), from, to, options: RestoreOptions::default() }
}

/// A restore, not yet run; returned by [`restore`].
#[derive(Clone)]
#[must_use = "nothing is restored until `run`"]
pub struct Restore {
    env: Env,
    from: PathBuf,
    to: PathBuf,
    options: RestoreOptions,
}

impl Restore {
    /// Sets the environment: the files, the clock and the source of randomness. Default: the operating system. Tests
    /// pass another environment.
    ///
    /// ```
    /// let env = alluvium::env::Env::in_memory(1);
    /// let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// db.checkpoint("monday").run()?;
    /// alluvium::backup::restore("monday", "again").env(env).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Copies the sorted files instead of linking them. Default: false, which links files where possible.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// db.flush()?;
    /// db.checkpoint(&monday).run()?;
    /// assert_eq!(alluvium::backup::restore(&monday, &again).copy(true).run()?.copied, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn copy(mut self, copy: bool) -> Self {
        self.options.copy = copy;
        self
    }

    /// Before the restore, checks only the lengths and footers of files, the manifests and the log. Default: false,
    /// which also checks every block of the sorted files.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
    /// # db.checkpoint(&monday).run()?;
    /// alluvium::backup::restore(&monday, &again).quick(true).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn quick(mut self, quick: bool) -> Self {
        self.options.quick = quick;
        self
    }

    /// Sets the free disk space, in bytes, that copies must leave. Default: 0.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
    /// # db.checkpoint(&monday).run()?;
    /// alluvium::backup::restore(&monday, &again).copy(true).disk_reserve(64 << 20).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn disk_reserve(mut self, bytes: u64) -> Self {
        self.options.reserve_bytes = bytes;
        self
    }

    /// Ends the restore with [`crate::Error::Stopped`] within about a second of `stop` being set to true. The
    /// unfinished database is removed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
    /// # db.checkpoint(&monday).run()?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// alluvium::backup::restore(&monday, &again).stop_when(stop.clone()).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// Checks the checkpoint, and creates the database. The directory `to` appears only once the whole database is
    /// durable.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Corruption`] for the first damage found; [`crate::ErrorKind::Open`] if `from` is not a
    /// checkpoint, or `to` exists and is not empty; [`crate::ErrorKind::InUse`] if another process restores to it;
    /// [`crate::ErrorKind::NoSpace`]; [`crate::Error::Stopped`]; errors of reading and writing. Then the
    /// directory `to` does not exist.
    pub fn run(self) -> Result<RestoreReport> {
        Ok(alluvium_store::restore_checkpoint(&self.env, &self.from, &self.to, self.options)?)
    }
}

/// A check of the checkpoint in `dir` against its listing. By default it reads every block.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// # let monday = dir.path().join("monday");
/// db.checkpoint(&monday).run()?;
/// assert!(alluvium::backup::check(&monday).run()?.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
pub fn check(dir: impl AsRef<Path>) -> Check {
    Check { env: Env::os(), dir: dir.as_ref().to_owned(), quick: false, stop: Arc::default() }
}

/// A check of a checkpoint, not yet run; returned by [`check`].
#[derive(Clone)]
#[must_use = "nothing is checked until `run`"]
pub struct Check {
    env: Env,
    dir: PathBuf,
    quick: bool,
    stop: Arc<AtomicBool>,
}

impl Check {
    /// Sets the environment whose files are read. Default: the operating system. Tests pass another environment.
    ///
    /// ```
    /// let env = alluvium::env::Env::in_memory(1);
    /// let db = alluvium::Database::builder().env(env.clone()).open("db")?;
    /// db.checkpoint("monday").run()?;
    /// assert!(alluvium::backup::check("monday").env(env).run()?.damage.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Checks only the lengths and footers of files, the manifests and the log. Default: false, which also checks every
    /// block of the sorted files.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let monday = dir.path().join("monday");
    /// # db.checkpoint(&monday).run()?;
    /// assert!(alluvium::backup::check(&monday).quick(true).run()?.damage.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn quick(mut self, quick: bool) -> Self {
        self.quick = quick;
        self
    }

    /// Ends the check with [`crate::Error::Stopped`] within about a second of `stop` being set to true.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let monday = dir.path().join("monday");
    /// # db.checkpoint(&monday).run()?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// assert!(alluvium::backup::check(&monday).stop_when(stop.clone()).run()?.damage.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// True if the directory holds a checkpoint. Checks nothing else.
    ///
    /// ```
    /// let check = alluvium::backup::check("nowhere").env(alluvium::env::Env::in_memory(1));
    /// assert!(!check.is_there()?);
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`].
    pub fn is_there(&self) -> Result<bool> {
        Ok(alluvium_store::is_checkpoint(&self.env, &self.dir)?)
    }

    /// Reads the checkpoint, and returns its listing and the damage. Writes nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if the directory holds no checkpoint; [`crate::ErrorKind::Corruption`] if the
    /// listing itself is damaged; [`crate::Error::Stopped`]; errors of reading.
    pub fn run(self) -> Result<CheckedCheckpoint> {
        Ok(alluvium_store::check_checkpoint_unless(&self.env, &self.dir, !self.quick, &self.stop)?)
    }
}

/// True if the directory holds a checkpoint. [`Check::is_there`] does the same in another environment.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// assert!(!alluvium::backup::is_checkpoint(dir.path())?);
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Io`].
pub fn is_checkpoint(dir: impl AsRef<Path>) -> Result<bool> {
    check(dir).is_there()
}
