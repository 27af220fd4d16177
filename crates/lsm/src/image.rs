//! The files of a partition on disk, without an open partition: for checkpoints, tools and salvage.

use crate::edit::VersionEdit;
use crate::manifest::walk::WalkedManifest;
use crate::manifest::{self, DroppedTail, Identity, Manifest};
use crate::view::View;
use alluvium_env::{Env, Result};
use std::path::{Path, PathBuf};

pub use crate::names::{manifest_number, sst_number, sst_path};

/// The state that a manifest describes.
#[derive(Debug)]
pub struct FoundManifest {
    /// The manifest's number.
    pub number: u64,
    /// The version, as the edit that makes it from an empty one.
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

/// Reads the manifest of a partition that is not open; `None` if the directory has no manifest.
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

/// Reads any manifest edit by edit, continues after damage, and changes nothing. Damage is not an
/// error. The checksums of the edits include the header: if the header is damaged, the edits can be
/// read only if `known` is the id of the database and the number of the partition.
///
/// # Errors
/// [`alluvium_env::Error::NewerFormat`], [`alluvium_env::Error::Io`].
pub fn walk_manifest(env: &Env, path: &Path, known: Option<(u64, u32)>) -> Result<WalkedManifest> {
    let known = known.map(|(database_id, partition)| Identity { database_id, partition });
    manifest::walk::walk(env, path, known)
}
