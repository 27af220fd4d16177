//! The files of a partition as they stand on disk, without an open partition: for checkpoints, tools and
//! salvage.

use crate::edit::VersionEdit;
use crate::manifest::walk::WalkedManifest;
use crate::manifest::{self, DroppedTail, Identity, Manifest};
use crate::view::View;
use alluvium_env::{Env, Result};
use std::path::{Path, PathBuf};

pub use crate::names::{manifest_number, sst_number, sst_path};

/// A manifest, read whole.
#[derive(Debug)]
pub struct FoundManifest {
    /// Its number.
    pub number: u64,
    /// The version that it describes, as the edit that makes it from an empty one.
    pub version: VersionEdit,
    /// A torn last edit that was left out.
    pub dropped: Option<DroppedTail>,
}

impl View {
    /// The edit that makes this view's version from an empty one. `next_file` is above the numbers of all
    /// files of the database; see [`crate::Shared::file_number_bound`].
    pub fn edit(&self, next_file: u64) -> VersionEdit {
        self.version.snapshot(next_file)
    }
}

/// Writes the first manifest of a partition into its directory, durably: it names a whole version.
///
/// # Errors
/// I/O errors.
pub fn write_manifest(
    env: &Env,
    dir: &Path,
    database_id: u64,
    partition: u32,
    version: &VersionEdit,
) -> Result<PathBuf> {
    let identity = Identity { database_id, partition };
    let manifest = Manifest::create(env, dir, identity, 1, version).map_err(|failed| failed.error)?;
    Ok(manifest.path())
}

/// Reads the manifest of a partition that is not open; `None` if there is none.
///
/// # Errors
/// As opening the partition: [`alluvium_env::Error::Corrupt`], [`alluvium_env::Error::NewerFormat`], [`alluvium_env::Error::Io`].
pub fn read_manifest(env: &Env, dir: &Path, database_id: u64, partition: u32) -> Result<Option<FoundManifest>> {
    let identity = Identity { database_id, partition };
    let recovered = Manifest::recover(env, dir, identity, &env.fs.list(dir)?)?;
    Ok(recovered.map(|mut found| {
        let dropped = found.dropped.take();
        FoundManifest { number: found.number, version: found.snapshot(), dropped }
    }))
}

/// Reads the file of any manifest edit by edit, also behind damage, and changes nothing. Only a newer
/// format and what the operating system refuses are errors. Edits are sealed with the header: where that
/// is damaged, they can be read if `known` tells the id of the database and the partition.
///
/// # Errors
/// [`alluvium_env::Error::NewerFormat`], [`alluvium_env::Error::Io`].
pub fn walk_manifest(env: &Env, path: &Path, known: Option<(u64, u32)>) -> Result<WalkedManifest> {
    let known = known.map(|(database_id, partition)| Identity { database_id, partition });
    manifest::walk::walk(env, path, known)
}
