//! Published JSON data, which `tests/data/fetch` downloads.

use std::path::{Path, PathBuf};

/// The directory of a package.
pub fn folder(name: &str) -> PathBuf {
    // Cargo gives tests a directory in its target directory.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the target folder");
    let folder = target.join("registry-data").join(name);
    assert!(folder.is_dir(), "{} is not there: run `tests/data/fetch`, which needs a network, once", folder.display());
    folder
}
