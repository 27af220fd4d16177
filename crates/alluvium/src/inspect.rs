//! What stands in a single file of a database: without its lock, and without changing anything.
//!
//! ```
//! use alluvium::inspect::{self, Item};
//! # fn main() -> alluvium::Result<()> {
//! # let dir = tempfile::tempdir().expect("a directory");
//! # let db = alluvium::Database::builder().partitions(2).open(dir.path().join("db"))?;
//! # let path = dir.path().join("db/ALLUVIUM");
//! let mut partitions = None;
//! inspect::file(&env::Env::os(), &path, inspect::InspectOptions::default(), &mut |item| {
//!     if let Item::Fact(("partitions", value)) = item {
//!         partitions = Some(value);
//!     }
//! })?;
//! assert_eq!(partitions, Some(inspect::FactValue::Number(2)));
//! # Ok(())
//! # }
//! ```

use crate::Result;
use env::Env;
use std::path::Path;

pub use store::{Fact, FactValue, FileKind, InspectOptions, Item};

/// Reads a sorted file, a segment of the log, a manifest, a superblock or the listing of a checkpoint, and tells
/// `visit` what stands in it, also where it is damaged.
///
/// # Errors
/// [`crate::ErrorKind::Open`] if it is no such file or of a newer format; [`crate::ErrorKind::Io`].
pub fn file(env: &Env, path: &Path, options: InspectOptions, visit: &mut dyn FnMut(Item)) -> Result<FileKind> {
    Ok(store::inspect(env, path, options, &mut |item| {
        visit(item);
        Ok(())
    })?)
}
