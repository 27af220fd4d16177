//! Checksums are not secret: the author of a hostile database can compute them. A number that is higher than a database
//! can assign is reported as damage with a file and an offset, even if the checksums are right. Opening then changes
//! nothing.

use alluvium_codec::{checksum64, frame, varint};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const DB: &str = "/db";

fn env_of(fs: Arc<MemFs>) -> Env {
    Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn options() -> Options {
    Options { partitions: Some(1), background: false, ..Options::default() }
}

/// A database with a flushed file and some data in the log, in the state after a kill.
fn database() -> Arc<MemFs> {
    let disk = Arc::new(MemFs::new());
    let store = Store::open(env_of(disk.clone()), DB.as_ref(), options()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..20u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), b"value");
        store.write(batch, Durability::Sync).unwrap();
        if n == 10 {
            store.flush().unwrap();
        }
    }
    Arc::new(disk.kill_clone())
}

fn read(fs: &MemFs, path: &Path) -> Vec<u8> {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn write(fs: &MemFs, path: &Path, bytes: &[u8]) {
    let mode = if fs.exists(path).unwrap() { OpenMode::ReadWrite } else { OpenMode::CreateNew };
    let file = fs.open(path, mode).unwrap();
    file.set_len(0).unwrap();
    file.write_at(bytes, 0).unwrap();
}

fn newest(fs: &MemFs, dir: &str, what: &str) -> PathBuf {
    let dir = Path::new(DB).join(dir);
    let names = fs.list(&dir).unwrap().into_iter().map(|entry| entry.name);
    dir.join(names.filter(|name| name.contains(what)).max().unwrap())
}

/// The contents of all files except the lock.
fn contents(fs: &MemFs) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for dir in ["", "wal", "p000"] {
        let dir = Path::new(DB).join(dir);
        for entry in fs.list(&dir).unwrap().into_iter().filter(|entry| !entry.is_dir && entry.name != "LOCK") {
            let path = dir.join(entry.name);
            found.insert(path.clone(), read(fs, &path));
        }
    }
    found
}

/// Opens the database. The opening must be refused because of damage at this place, and must change nothing.
fn refused(fs: &Arc<MemFs>, at: &Path, offset: u64) {
    let before = contents(fs);
    let error = Store::open(env_of(fs.clone()), DB.as_ref(), options()).err().expect("it opens");
    match &error {
        alluvium_store::Error::Storage(alluvium_env::Error::Corrupt { path, offset: found, .. }) => {
            assert_eq!((path.as_path(), *found), (at, offset), "{error}");
        }
        other => panic!("{other}"),
    }
    let after = contents(fs);
    assert!(before == after, "{:?} became {:?}", before.keys(), after.keys());
}

/// Appends a version edit with these bytes to the manifest. Returns the path of the manifest and the offset of the
/// edit.
fn append_edit(fs: &MemFs, payload: &[u8]) -> (PathBuf, u64) {
    let path = newest(fs, "p000", "MANIFEST");
    let bytes = read(fs, &path);
    let mut out = bytes[..40].to_vec();
    let seed = checksum64(&bytes[..40], 1);
    let mut rest = &bytes[40..];
    while let Ok(whole) = frame::get(&mut rest, seed, out.len() as u64) {
        let whole = whole.to_vec();
        let at = out.len() as u64;
        frame::put(&mut out, &whole, seed, at).unwrap();
    }
    let at = out.len() as u64;
    frame::put(&mut out, payload, seed, at).unwrap();
    write(fs, &path, &out);
    (path, at)
}

fn fields(numbers: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    numbers.iter().for_each(|number| varint::put_u64(&mut bytes, *number));
    bytes
}

#[test]
fn in_a_manifest() {
    // The fields are the flushed number, the next file, the next run, a removed file and a moved file.
    for edit in [vec![1, u64::MAX], vec![2, u64::MAX], vec![3, 1 << 56], vec![5, u64::MAX], vec![6, 1, u64::MAX]] {
        let fs = database();
        let (path, offset) = append_edit(&fs, &fields(&edit));
        refused(&fs, &path, offset);
    }
    // Two range tombstones, one inside the other.
    let fs = database();
    let (path, offset) = append_edit(&fs, &[7, 1, b'a', 1, b'z', 5, 7, 1, b'b', 1, b'y', 6]);
    refused(&fs, &path, offset);
    // An edit with small numbers is accepted. Therefore the edits above are refused because of their numbers.
    let fs = database();
    append_edit(&fs, &fields(&[2, 1 << 55]));
    assert!(Store::open(env_of(fs), DB.as_ref(), options()).is_ok());
}

#[test]
fn files_that_overlap_within_their_run() {
    let fs = database();
    let path = newest(&fs, "p000", "MANIFEST");
    let whole = alluvium_lsm::image::walk_manifest(&env_of(fs.clone()), &path, None).unwrap();
    let mut again = whole.version.added[0].clone();
    // A file of the same length as the existing one, with another number.
    let number = again.meta.number + 40;
    let bytes = read(&fs, &alluvium_lsm::image::sst_path(&Path::new(DB).join("p000"), again.meta.number));
    write(&fs, &alluvium_lsm::image::sst_path(&Path::new(DB).join("p000"), number), &bytes);
    again.meta.number = number;
    let mut payload = Vec::new();
    alluvium_lsm::VersionEdit { added: vec![again], ..alluvium_lsm::VersionEdit::default() }.encode(&mut payload);
    append_edit(&fs, &payload);
    refused(&fs, &path, 0);
}

#[test]
fn in_the_names_of_files() {
    for (dir, name) in [("p000", "MANIFEST-18446744073709551615"), ("p000", "18446744073709551615.sst")] {
        let fs = database();
        let path = Path::new(DB).join(dir).join(name);
        write(&fs, &path, b"");
        refused(&fs, &path, 0);
    }
    let fs = database();
    let path = Path::new(DB).join("wal").join("wal-18446744073709551615.log");
    write(&fs, &path, &read(&fs, &newest(&fs, "wal", "wal-")));
    refused(&fs, &path, 0);
}

#[test]
fn in_the_header_of_a_segment() {
    for at in [32, 48] {
        let fs = database();
        let path = newest(&fs, "wal", "wal-");
        let mut bytes = read(&fs, &path);
        bytes[at..at + 8].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
        let number = u64::from_le_bytes(*bytes[24..].first_chunk().unwrap());
        let sum = checksum64(&bytes[..120], number);
        bytes[120..128].copy_from_slice(&sum.to_le_bytes());
        write(&fs, &path, &bytes);
        refused(&fs, &path, 32);
    }
}

#[test]
fn in_the_superblock() {
    for partitions in [0, 257, u32::MAX] {
        let fs = database();
        let mut bytes = [&b"alluvium"[..], &1u32.to_le_bytes()].concat();
        let payload = [&7u64.to_le_bytes()[..], &partitions.to_le_bytes()].concat();
        frame::put(&mut bytes, &payload, 1, 12).unwrap();
        let path = Path::new(DB).join("ALLUVIUM");
        write(&fs, &path, &bytes);
        refused(&fs, &path, 28);
    }
}
