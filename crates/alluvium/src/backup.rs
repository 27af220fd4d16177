//! Checkpoints: whole copies of a running database, made of links in moments, and databases made of them.
//!
//! A checkpoint is a directory with a file `CHECKPOINT` that lists its files. It is not opened itself:
//! [`restore`] makes a database of it, which goes on as a database of its own.
//!
//! ```
//! use alluvium::backup::{self, CheckpointOptions, RestoreOptions};
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::open(dir.path().join("db"))?;
//! # let (monday, tuesday, other) = (dir.path().join("monday"), dir.path().join("tuesday"), dir.path().join("other"));
//! db.collection("pets").insert_one(r#"{"_id": "rex", "kind": "dog"}"#)?;
//! db.checkpoint(&monday, &CheckpointOptions::default())?;
//! db.collection("pets").insert_one(r#"{"_id": "tom", "kind": "cat"}"#)?;
//! // Only what Monday's lacks is new.
//! db.checkpoint(&tuesday, &CheckpointOptions { base: Some(monday.clone()), ..CheckpointOptions::default() })?;
//!
//! backup::restore(&alluvium_env::Env::os(), &monday, &other, RestoreOptions::default())?;
//! assert_eq!(alluvium::Database::open(&other)?.collection("pets").count()?, 1);
//! # alluvium::Result::Ok(())
//! ```

use alluvium_collections::error::Result;
use alluvium_env::Env;
use std::path::Path;
use std::sync::atomic::AtomicBool;

pub use alluvium_store::{
    CheckedCheckpoint, CheckpointOptions, CheckpointReport, FileChecksum, ListedFile, Listing, RestoreOptions,
    RestoreReport,
};

/// Checks the checkpoint in `from`, every block of it unless [`RestoreOptions::quick`] is set, and makes a
/// database of it in `to`, which must not exist or be empty.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// use alluvium::backup::{CheckpointOptions, RestoreOptions, restore};
///
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// let (monday, again) = (dir.path().join("monday"), dir.path().join("again"));
/// db.collection("pets").put("rex", r#"{"kind": "dog"}"#)?;
/// db.checkpoint(&monday, &CheckpointOptions::default())?;
/// db.drop_collection("pets")?;
///
/// let report = restore(&alluvium_env::Env::os(), &monday, &again, RestoreOptions::default())?;
/// assert_eq!(report.copied, 0, "links, on the same disk");
/// assert_eq!(alluvium::Database::open(again)?.collection("pets").count()?, 1);
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Corruption`] for the first damage that is found, [`crate::ErrorKind::Open`] if `from`
/// is no checkpoint or `to` is taken, [`crate::ErrorKind::NoSpace`], [`crate::Error::Stopped`], and what writing says. Nothing has the
/// name `to` then.
pub fn restore(env: &Env, from: &Path, to: &Path, options: RestoreOptions) -> Result<RestoreReport> {
    Ok(alluvium_store::restore_checkpoint(env, from, to, options)?)
}

/// Checks a checkpoint against its listing; with `blocks`, every block of it. What is damaged is in the
/// answer.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// # let monday = dir.path().join("monday");
/// db.checkpoint(&monday, &alluvium::backup::CheckpointOptions::default())?;
/// assert!(alluvium::backup::check(&alluvium_env::Env::os(), &monday, true)?.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// [`crate::ErrorKind::Open`] if it is none, a damaged listing, and what reading says.
pub fn check(env: &Env, dir: &Path, blocks: bool) -> Result<CheckedCheckpoint> {
    check_unless(env, dir, blocks, &AtomicBool::new(false))
}

/// As [`check`], until somebody sets `stop`: it ends within a second or so.
///
/// ```
/// # use std::sync::atomic::AtomicBool;
/// # let dir = tempfile::tempdir().expect("a directory");
/// # let db = alluvium::Database::open(dir.path().join("db"))?;
/// # let monday = dir.path().join("monday");
/// # db.checkpoint(&monday, &alluvium::backup::CheckpointOptions::default())?;
/// let stop = AtomicBool::new(false); // which another thread may set
/// let checked = alluvium::backup::check_unless(&alluvium_env::Env::os(), &monday, true, &stop)?;
/// assert!(checked.damage.is_empty());
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// As [`check`]; [`crate::Error::Stopped`] if it was stopped.
pub fn check_unless(env: &Env, dir: &Path, blocks: bool, stop: &AtomicBool) -> Result<CheckedCheckpoint> {
    Ok(alluvium_store::check_checkpoint_unless(env, dir, blocks, stop)?)
}

/// True if the directory holds a checkpoint.
///
/// ```
/// # let dir = tempfile::tempdir().expect("a directory");
/// assert!(!alluvium::backup::is_checkpoint(&alluvium_env::Env::os(), dir.path())?);
/// # alluvium::Result::Ok(())
/// ```
///
/// # Errors
/// What looking for it says.
pub fn is_checkpoint(env: &Env, dir: &Path) -> Result<bool> {
    Ok(alluvium_store::is_checkpoint(env, dir)?)
}
