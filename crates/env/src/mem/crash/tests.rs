#![cfg(not(feature = "shuttle"))]

mod bytes;
mod entries;
mod whole;

use super::*;
use crate::mem::MemFs;
use crate::{File, Fs, OpenMode};
use std::collections::BTreeSet;
use std::path::Path;

/// With this many seeds, an outcome of probability 1/20 would be missed once in 10^35 runs. The
/// seeds are fixed, so every run gives the same outcomes.
const SEEDS: u64 = 1500;

fn create(fs: &MemFs, path: &str) -> Arc<dyn File> {
    fs.open(Path::new(path), OpenMode::CreateNew).unwrap()
}

fn open(fs: &MemFs, path: &str) -> Arc<dyn File> {
    fs.open(Path::new(path), OpenMode::ReadWrite).unwrap()
}

fn sync_dir(fs: &MemFs, path: &str) {
    fs.sync_dir(Path::new(path)).unwrap();
}

/// A synced file with a synced name.
fn durable(fs: &MemFs, path: &str, bytes: &[u8]) -> Arc<dyn File> {
    let file = create(fs, path);
    file.write_at(bytes, 0).unwrap();
    file.sync().unwrap();
    sync_dir(fs, "/");
    file
}

fn read(fs: &MemFs, path: &str) -> Vec<u8> {
    let file = fs.open(Path::new(path), OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

/// The results of `look` on the clones of all seeds.
fn outcomes<T: Ord>(fs: &MemFs, look: impl Fn(&MemFs) -> T) -> BTreeSet<T> {
    (0..SEEDS).map(|seed| look(&fs.crash_clone(seed, CrashStyle::Any))).collect()
}

/// All files under the root: their names, and their bytes as text.
fn tree(fs: &MemFs) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut dirs = vec![String::new()];
    while let Some(dir) = dirs.pop() {
        for entry in fs.list(Path::new(&format!("/{dir}"))).unwrap() {
            let path = format!("{dir}/{}", entry.name);
            if entry.is_dir {
                found.push((path.clone(), "(directory)".to_owned()));
                dirs.push(path);
            } else {
                let text = String::from_utf8(read(fs, &path)).unwrap();
                found.push((path, text));
            }
        }
    }
    found.sort();
    found
}

/// The outcomes of `tree`, each as text: `/a=1 /b=2`.
fn trees(fs: &MemFs) -> BTreeSet<String> {
    let line = |(name, text)| format!("{name}={text}");
    outcomes(fs, |fs| tree(fs).into_iter().map(line).collect::<Vec<_>>().join(" "))
}

fn set<const N: usize>(wanted: [&str; N]) -> BTreeSet<String> {
    wanted.map(str::to_owned).into()
}
