//! Dumps: all documents and index definitions as files that `mongorestore` reads too.
//!
//! A collection `logical.pets` becomes two files: `DIR/logical/pets.bson` has its documents as BSON in the order of
//! their `_id`, and `DIR/logical/pets.metadata.json` has the definitions of its indexes, except indexes that are still
//! being built. All collections are read from one snapshot.
//!
//! BSON cannot hold decimals of more than 34 digits, maps with keys that are not strings, names with a zero character,
//! and other values that a restore would change. If a document has such a value, the dump fails, unless
//! [`WriteDump::alluvium_types`] is set.
//!
//! ```
//! use alluvium::dump;
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::open(dir.path().join("db"))?;
//! # let other = alluvium::Database::open(dir.path().join("other"))?;
//! # let to = dir.path().join("dump");
//! db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
//! db.dump(&to).gzip(true).run()?;
//!
//! dump::read(&to).run()?.restore(&other).run()?;
//! assert_eq!(other.collection("pets").count()?, 1);
//! # alluvium::Result::Ok(())
//! ```

use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::Result;
use alluvium_env::Env;
use alluvium_transfer::dump::{self, DumpOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use alluvium_transfer::dump::{Dump, DumpReport, DumpedCollection, Restore, RestoreReport, RestoredCollection};

/// A dump, not yet run; returned by [`crate::Database::dump`].
#[must_use = "no dump is written until `run`"]
pub struct WriteDump<'a> {
    engine: EngineHandle,
    dir: PathBuf,
    options: DumpOptions,
    progress: Box<dyn FnMut(u64, u64) + 'a>,
}

impl<'a> WriteDump<'a> {
    pub(crate) fn new(engine: EngineHandle, dir: &Path) -> Self {
        Self { engine, dir: dir.to_owned(), options: DumpOptions::default(), progress: Box::new(|_, _| {}) }
    }

    /// Compresses every file with gzip. Default: false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let to = dir.path().join("dump");
    /// db.create_collection("pets").run()?;
    /// db.dump(&to).gzip(true).run()?;
    /// assert!(to.join("main/pets.bson.gz").exists());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn gzip(mut self, gzip: bool) -> Self {
        self.options.gzip = gzip;
        self
    }

    /// Writes documents that BSON cannot hold to separate files, `DIR/LOGICAL/COLLECTION.alluvium.jsonl`, which only
    /// Alluvium reads, instead of refusing them. Default: false.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let to = dir.path().join("dump");
    /// db.collection("sums").put(1, r#"{"sum": 1234567890123456789012345678901234567890}"#)?;
    /// assert!(db.dump(&to).run().is_err());
    /// assert_eq!(db.dump(&to).alluvium_types(true).run()?.others, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn alluvium_types(mut self, keep: bool) -> Self {
        self.options.alluvium_types = keep;
        self
    }

    /// Calls this function from time to time with the number of documents and of bytes (before compression) written so
    /// far.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let to = dir.path().join("dump");
    /// db.dump(&to).on_progress(|documents, bytes| println!("{documents} documents, {bytes} bytes")).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn on_progress(mut self, progress: impl FnMut(u64, u64) + 'a) -> Self {
        self.progress = Box::new(progress);
        self
    }

    /// Ends the dump with [`crate::Error::Stopped`] when `stop` is set to true, before the next document. The
    /// unfinished dump is removed.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let to = dir.path().join("dump");
    /// let stop = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false)); // another thread may set it
    /// db.dump(&to).stop_when(stop.clone()).run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> Self {
        self.options.stop = stop;
        self
    }

    /// Writes the dump.
    ///
    /// # Errors
    /// [`crate::Error::Dump`] if the directory is not empty, or another dump is being written there;
    /// [`crate::Error::Export`] naming a document that the files cannot hold; [`crate::Error::Stopped`]; errors of reading
    /// and writing. Then nothing is left of the dump.
    pub fn run(self) -> Result<DumpReport> {
        dump::dump(&self.engine, &self.dir, &self.options, self.progress)
    }
}

/// A dump in the directory `dir`, written by Alluvium or by `mongodump`, to be read: `DIR/LOGICAL/COLLECTION.bson`,
/// plain or compressed, with `.metadata.json` and `.alluvium.jsonl` next to it.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// # let to = dir.path().join("dump");
/// # db.create_collection("pets").run()?;
/// # db.dump(&to).run()?;
/// let dump = alluvium::dump::read(&to).run()?;
/// assert_eq!(dump.collections[0].name, "main.pets");
/// # alluvium::Result::Ok(())
/// ```
pub fn read(dir: impl AsRef<Path>) -> ReadDump {
    ReadDump { env: Env::os(), dir: dir.as_ref().to_owned() }
}

/// A dump to read; returned by [`read()`].
#[derive(Clone)]
#[must_use = "nothing is read until `run`"]
pub struct ReadDump {
    env: Env,
    dir: PathBuf,
}

impl ReadDump {
    /// Sets the environment whose files are read. Default: the operating system. Tests pass another environment.
    ///
    /// ```
    /// let dump = alluvium::dump::read("nowhere").env(alluvium::env::Env::in_memory(1));
    /// assert!(dump.run().is_err());
    /// ```
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Reads the names, sizes and metadata of the collections. The documents are read by [`Dump::restore`].
    ///
    /// # Errors
    /// [`crate::Error::Dump`] if the directory holds no dump or an incomplete one; errors of reading.
    pub fn run(self) -> Result<Dump> {
        dump::read(&self.env, &self.dir)
    }
}
