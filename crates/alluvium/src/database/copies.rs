//! Copies of a database, and the space that long operations need.

use super::Database;
use crate::backup::Checkpoint;
#[cfg(feature = "transfer")]
use crate::dump::WriteDump;
use alluvium_collections::space::{self, InputBytes, Space};
use std::path::Path;

/// Checkpoints, dumps, and the disk space that long operations need.
impl Database {
    /// A checkpoint in the directory `dir`, which must be empty or not exist, made while reads and
    /// writes continue. The checkpoint contains exactly the operations up to one sequence number.
    /// Sorted files are linked if `dir` is on the same file system, otherwise copied; the part of
    /// the log that is not in sorted files is copied. The directory `dir` appears only once the
    /// whole checkpoint is durable. Set options, then call [`Checkpoint::run`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
    /// let (monday, tuesday) = (dir.path().join("monday"), dir.path().join("tuesday"));
    /// db.checkpoint(&monday).run()?;
    /// db.checkpoint(&tuesday).base(&monday).run()?;
    ///
    /// let again = dir.path().join("again");
    /// alluvium::backup::restore(&tuesday, &again).run()?;
    /// assert_eq!(alluvium::Database::open(again)?.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn checkpoint(&self, dir: impl AsRef<Path>) -> Checkpoint {
        Checkpoint::new(self.engine.clone(), dir.as_ref())
    }

    /// A dump of all collections at one snapshot into the directory `dir`. The directory must be
    /// empty, not exist, or hold the remains of an interrupted dump, which are removed. Set
    /// options, then call `run`.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// # let other = alluvium::Database::open(dir.path().join("other"))?;
    /// # let to = dir.path().join("dump");
    /// db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
    /// assert_eq!(db.dump(&to).run()?.documents, 1);
    /// alluvium::dump::read(&to).run()?.restore(&other).run()?;
    /// assert_eq!(other.collection("pets").count()?, 1);
    /// # alluvium::Result::Ok(())
    /// ```
    #[cfg(feature = "transfer")]
    pub fn dump<'a>(&self, dir: impl AsRef<Path>) -> WriteDump<'a> {
        WriteDump::new(self.engine.clone(), dir.as_ref())
    }

    /// The estimated disk space for loading an input, and the free space that
    /// [`crate::Builder::disk_reserve`] demands. The estimate uses the compression of the documents
    /// already in the database. `plain_bytes` is the size of uncompressed input; `packed_bytes` is
    /// the size of files compressed with gzip or Zstandard, whose uncompressed size is unknown.
    /// Takes microseconds.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.load_space(1 << 20, 0).check()?; // room for a megabyte of JSON?
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn load_space(&self, plain_bytes: u64, packed_bytes: u64) -> Space {
        space::load_space(&self.engine, InputBytes { plain: plain_bytes, packed: packed_bytes })
    }

    /// The maximum disk space that [`Database::compact`] needs. A compaction rewrites the
    /// partitions one after the other, and removes the old files of a partition when its new files
    /// are complete. Takes microseconds.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let space = db.compact_space();
    /// assert!(space.is_enough(), "{} bytes are needed", space.needed_bytes);
    /// db.compact().run()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn compact_space(&self) -> Space {
        space::compact_space(&self.engine)
    }

    /// The disk space that [`Database::dump`] to `dir` needs without compression, estimated from
    /// the size of the rows.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// db.dump_space(dir.path().join("dump")).check()?;
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn dump_space(&self, dir: impl AsRef<Path>) -> Space {
        space::dump_space(&self.engine, dir.as_ref())
    }
}
