//! Makes the fixtures of the present format version in a directory: see `testkit::fixture`.
//!
//! `cargo run -p alluvium-testkit --example fixture -- fixtures/1`

// It writes real files.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};
use testkit::fixture::{End, Fixture, copies, make};

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
    for (end, name) in [(End::Closed, "closed"), (End::Killed, "killed"), (End::Ranges, "ranges")] {
        let (files, expected) = make(end);
        let mut files: Fixture = files.into_iter().map(|(path, bytes)| (Path::new("db").join(path), bytes)).collect();
        files.push(("expected.jsonl".into(), expected));
        write(&target, name, &files);
    }
    for (name, files) in copies() {
        write(&target, name, &files);
    }
}
