//! Writes the fixtures of this build into a directory: see `alluvium_testkit::formats::fixtures`. The fixtures in
//! `fixtures/` do not change, because released builds wrote them.
//!
//! `cargo run -p alluvium-testkit --example fixture -- DIRECTORY`

// This tool writes real files.
#![allow(clippy::disallowed_methods)]

use alluvium_testkit::formats::fixtures::{Fixture, all};
use std::fs;
use std::path::{Path, PathBuf};

fn write(target: &Path, name: &str, files: &Fixture) {
    let dir = target.join(name);
    if dir.exists() {
        fs::remove_dir_all(&dir).unwrap();
    }
    for (path, bytes) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    println!("{}: {} files, {bytes} bytes", dir.display(), files.len());
}

fn main() {
    let Some(target) = std::env::args().nth(1).map(PathBuf::from) else { panic!("fixture DIRECTORY") };
    for (name, files) in all() {
        write(&target, name, &files);
    }
}
