//! If an opening finds damage, no byte of the database changes, however often it is opened. Files that a repair could
//! use are not removed as left over.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn options() -> Options {
    Options { memory_bytes: 8 << 20, partitions: Some(3), background: false, ..Options::default() }
}

fn env_of(fs: &Arc<MemFs>) -> Env {
    Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

/// A database in the state after a kill: most of the data in files, and some in the log.
fn killed() -> Arc<MemFs> {
    let disk = Arc::new(MemFs::new());
    let store = Store::open(env_of(&disk), Path::new("db"), options()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..100u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), b"value");
        store.write(batch, Durability::Sync).unwrap();
        if n == 60 {
            store.flush().unwrap();
        }
    }
    Arc::new(disk.kill_clone())
}

fn read(fs: &dyn Fs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn contents(fs: &dyn Fs, dir: &Path, found: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.is_dir {
            true => contents(fs, &path, found),
            false => found.push((path.clone(), read(fs, &path))),
        }
    }
}

fn all(fs: &dyn Fs) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    contents(fs, Path::new("db"), &mut found);
    found
}

fn only(fs: &dyn Fs, dir: &str, prefix: &str) -> PathBuf {
    let names: Vec<_> = fs.list(Path::new(dir)).unwrap().into_iter().filter(|e| e.name.starts_with(prefix)).collect();
    assert_eq!(names.len(), 1, "{dir}");
    Path::new(dir).join(&names[0].name)
}

/// Flips a bit in the last nonzero byte of a file.
fn flip_the_end(fs: &dyn Fs, path: &Path) {
    let bytes = read(fs, path);
    let last = bytes.iter().rposition(|b| *b != 0).unwrap();
    fs.open(path, OpenMode::ReadWrite).unwrap().write_at(&[bytes[last] ^ 1], last as u64).unwrap();
}

fn refused_and_unchanged(disk: &Arc<MemFs>) {
    let before = all(&**disk);
    for attempt in 0..3 {
        let opened = Store::open(env_of(disk), Path::new("db"), options());
        let error = opened.err().expect("it is damaged");
        assert!(error.is_corruption(), "{error}");
        let now = all(&**disk);
        let names = |of: &[(PathBuf, Vec<u8>)]| of.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
        assert_eq!(names(&now), names(&before), "attempt {attempt}: {error}");
        assert!(now == before, "attempt {attempt}: {error}");
    }
}

#[test]
fn a_manifest_that_lost_its_last_flush() {
    for partition in ["db/p000", "db/p001", "db/p002"] {
        let disk = killed();
        flip_the_end(&*disk, &only(&*disk, partition, "MANIFEST-"));
        refused_and_unchanged(&disk);
    }
}

#[test]
fn a_record_of_the_log() {
    let disk = killed();
    let log = only(&*disk, "db/wal", "wal-");
    disk.open(&log, OpenMode::ReadWrite).unwrap().write_at(&[0xff], 8192 + 70).unwrap();
    refused_and_unchanged(&disk);
}

#[test]
fn a_log_that_is_gone() {
    let disk = killed();
    disk.remove(&only(&*disk, "db/wal", "wal-")).unwrap();
    refused_and_unchanged(&disk);
}
