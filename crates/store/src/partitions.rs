//! The partitions of a store: opens their manifests, and undoes that.

use crate::error::Result;
use crate::files::partition_dir;
use alluvium_env::Env;
use alluvium_lsm::{Partition, Shared, View};
use std::path::Path;
use std::sync::Arc;

/// The partitions of a store, by their numbers.
pub(crate) type Partitions = Arc<[Arc<Partition>]>;

/// The numbers of all partitions.
pub(crate) fn all(partitions: &Partitions) -> Vec<u32> {
    (0..partitions.len() as u32).collect()
}

/// A view of every partition.
pub(crate) fn views(partitions: &Partitions) -> Vec<Arc<View>> {
    partitions.iter().map(|partition| partition.view()).collect()
}

/// Opens or creates the partitions of the database in `path`.
pub(crate) fn open(shared: &Arc<Shared>, path: &Path, count: u32, create: bool) -> Result<Partitions> {
    let dirs: Vec<_> = (0..count).map(|index| path.join(partition_dir(index))).collect();
    for dir in dirs.iter().filter(|_| !create) {
        if !has_manifest(&shared.env, dir)? {
            let what = "the partition's manifest is missing: restore the directory from a backup";
            return Err(alluvium_env::Error::corrupt(dir, 0, what).into());
        }
    }
    let mut partitions = Vec::new();
    for (index, dir) in (0..).zip(&dirs) {
        match Partition::open(shared.clone(), index, dir) {
            Ok(partition) => partitions.push(Arc::new(partition)),
            Err(error) => {
                withdraw(&partitions);
                return Err(error.into());
            }
        }
    }
    Ok(partitions.into())
}

/// Restores the directories of partitions that were opened before the opening of the store failed.
pub(crate) fn withdraw(partitions: &[Arc<Partition>]) {
    for partition in partitions {
        // A file that cannot be removed does no harm, and the caller reports another error.
        let _left = partition.withdraw();
    }
}

/// True if the directory of a partition has a manifest. Every partition of an existing database has a manifest. If it
/// is missing, the data is lost, and the partition must not be mistaken for an empty one.
fn has_manifest(env: &Env, dir: &Path) -> Result<bool> {
    if !env.fs.exists(dir)? {
        return Ok(false);
    }
    let names = env.fs.list(dir)?;
    Ok(names.iter().filter_map(|e| e.name.strip_prefix("MANIFEST-")).any(|number| number.parse::<u64>().is_ok()))
}
