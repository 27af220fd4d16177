//! Repair: a new database with everything that can still be read from a damaged one.
//!
//! The damaged database is only read. A document is *certain* if its newest version is whole and no newer version can
//! be lost; it is copied to its collection. A document is *doubtful* if a lost part may have changed or deleted it; it
//! is copied to a separate collection, `NAME.doubtful`. Therefore no deleted document reappears in its collection, and
//! no readable document is discarded. If a part of the log is lost, the keys that this part changed are unknown, and
//! the loss is reported by sequence numbers.
//!
//! ```
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let (damaged, saved) = (dir.path().join("damaged"), dir.path().join("saved"));
//! # alluvium::Database::open(&damaged)?.close()?;
//! let report = alluvium::repair::repair(&damaged, &saved).run()?;
//! assert!(report.is_whole(), "{:?} and {:?} are lost", report.losses, report.lost_numbers);
//! # alluvium::Result::Ok(())
//! ```

use alluvium_collections::error::Result;
use alluvium_collections::repair::{self, RepairOptions};
use alluvium_collections::space::{self, Space};
use alluvium_env::Env;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use alluvium_collections::repair::{
    Examined, Loss, LostNumbers, RepairReport, RepairedCollection, Unreadable, describe_range,
};

/// A repair that creates a new database in `to` from the readable contents of the damaged database in `from`. The
/// directory `to` must be empty or not exist.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let (damaged, saved) = (dir.path().join("damaged"), dir.path().join("saved"));
/// # let db = alluvium::Database::open(&damaged)?;
/// # db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// # db.close()?;
/// let report = alluvium::repair::repair(&damaged, &saved).memory(64 << 20).run()?;
/// assert_eq!((report.documents(), report.doubtful()), (1, 0));
/// # alluvium::Result::Ok(())
/// ```
pub fn repair(from: impl AsRef<Path>, to: impl AsRef<Path>) -> Repair {
    let (from, to) = (from.as_ref().to_owned(), to.as_ref().to_owned());
    Repair { env: Env::os(), from, to, options: RepairOptions::default() }
}

/// A repair, not yet run; returned by [`repair()`].
#[derive(Clone)]
#[must_use = "nothing is repaired until `run`"]
pub struct Repair {
    env: Env,
    from: PathBuf,
    to: PathBuf,
    options: RepairOptions,
}

impl Repair {
    /// Sets the environment: the files, the clock and the source of randomness. Default: the operating system. Tests
    /// pass another environment.
    ///
    /// ```
    /// let env = alluvium::env::Env::in_memory(1);
    /// alluvium::Database::builder().env(env.clone()).open("db")?.close()?;
    /// assert!(alluvium::repair::repair("db", "saved").env(env).run()?.is_whole());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// The memory budget of the new database in bytes. Default: as for [`crate::Builder::memory`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let (damaged, saved) = (dir.path().join("damaged"), dir.path().join("saved"));
    /// # alluvium::Database::open(&damaged)?.close()?;
    /// alluvium::repair::repair(&damaged, &saved).memory(64 << 20).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn memory(mut self, bytes: usize) -> Self {
        self.options.memory_bytes = Some(bytes);
        self
    }

    /// Ends the repair with [`crate::Error::Stopped`] once `stop` is set to true, after at most one more file. The
    /// unfinished database is removed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let (damaged, saved) = (dir.path().join("damaged"), dir.path().join("saved"));
    /// # alluvium::Database::open(&damaged)?.close()?;
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// alluvium::repair::repair(&damaged, &saved).stop_when(stop.clone()).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// The maximum disk space that the repair needs, which is the size of the files of the damaged database, and the
    /// available space.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let (damaged, saved) = (dir.path().join("damaged"), dir.path().join("saved"));
    /// # alluvium::Database::open(&damaged)?.close()?;
    /// alluvium::repair::repair(&damaged, &saved).space()?.check()?;
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::ErrorKind::Io`] if the damaged database cannot be listed.
    pub fn space(&self) -> Result<Space> {
        space::for_repair(&self.env, &self.from, &self.to)
    }

    /// Reads the damaged database, and creates the new one. The directory `to` appears only once the whole new database
    /// is durable.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if `from` is not a database, or `to` exists and is not empty;
    /// [`crate::ErrorKind::InUse`]; [`crate::ErrorKind::NoSpace`]; [`crate::Error::Stopped`]; errors of reading and
    /// writing. Damage is not an error: it is in the report.
    pub fn run(self) -> Result<RepairReport> {
        repair::repair(&self.env, &self.from, &self.to, &self.options)
    }
}

/// A check that reads every block of the files of a database without opening the database. It also works for a database
/// that cannot be opened, or that may not be written. Documents and indexes are not checked;
/// [`crate::Database::verify`] checks them.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let damaged = dir.path().join("damaged");
/// # alluvium::Database::open(&damaged)?.close()?;
/// let found = alluvium::repair::examine(&damaged).run()?;
/// assert!(found.losses.is_empty() && found.lost_numbers.is_empty() && found.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
pub fn examine(dir: impl AsRef<Path>) -> Examine {
    Examine { env: Env::os(), dir: dir.as_ref().to_owned() }
}

/// An examination, not yet run; returned by [`examine`].
#[derive(Clone)]
#[must_use = "nothing is examined until `run`"]
pub struct Examine {
    env: Env,
    dir: PathBuf,
}

impl Examine {
    /// Sets the environment whose files are read. Default: the operating system. Tests pass another environment.
    ///
    /// ```
    /// let examine = alluvium::repair::examine("nowhere").env(alluvium::env::Env::in_memory(1));
    /// assert!(examine.run().is_err());
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Reads the files. Takes the lock of the database, and writes nothing.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Open`] if there is no database; [`crate::ErrorKind::InUse`]; errors of reading. Damage is
    /// not an error.
    pub fn run(self) -> Result<Examined> {
        repair::examine(&self.env, &self.dir)
    }
}
