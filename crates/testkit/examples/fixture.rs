//! Makes the fixtures of the present format version in a directory: see `testkit::fixture`.
//!
//! `cargo run -p alluvium-testkit --example fixture -- fixtures/1`

// It writes real files.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use testkit::fixture::{End, make};

fn main() {
    let Some(target) = std::env::args().nth(1).map(PathBuf::from) else { panic!("fixture DIRECTORY") };
    for (end, name) in [(End::Closed, "closed"), (End::Killed, "killed"), (End::Ranges, "ranges")] {
        let dir = target.join(name);
        if dir.exists() {
            fs::remove_dir_all(&dir).unwrap();
        }
        let (files, expected) = make(end);
        for (path, bytes) in &files {
            let path = dir.join("db").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        fs::write(dir.join("expected.jsonl"), &expected).unwrap();
        let bytes: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        println!("{}: {} files, {bytes} bytes", dir.display(), files.len());
    }
}
