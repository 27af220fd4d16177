//! Names of the files of a partition.

use std::path::{Path, PathBuf};

/// The number in a file name like `00000012.sst`.
pub fn sst_number(name: &str) -> Option<u64> {
    name.strip_suffix(".sst")?.parse().ok()
}

/// The path of a sorted file in the directory of its partition.
pub fn sst_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:08}.sst"))
}

/// The number in a file name like `MANIFEST-7`.
pub fn manifest_number(name: &str) -> Option<u64> {
    name.strip_prefix("MANIFEST-")?.parse().ok()
}

/// The path of a manifest in the directory of its partition.
pub(crate) fn manifest_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("MANIFEST-{number}"))
}
