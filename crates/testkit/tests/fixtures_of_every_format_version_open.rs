//! Whole databases of every format version since the first, closed and killed, open with this build on
//! the real file system, hold what stands beside them, pass the check, and can be written to.

// They are copied with the real file system.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Compression, Database, ErrorKind};
use std::fs;
use std::path::{Path, PathBuf};
use testkit::fixture::{check, options, print};

/// The fixtures: the directories `fixtures/<format version>/<name>`.
fn fixtures() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let list = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut all: Vec<PathBuf> = list(&root).iter().filter(|path| path.is_dir()).flat_map(|dir| list(dir)).collect();
    all.sort();
    assert!(all.len() >= 3, "{all:?}");
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to),
            false => assert!(fs::copy(entry.path(), to).is_ok()),
        }
    }
}

fn open(path: &Path) -> alluvium::Result<Database> {
    Database::builder().options(options(Compression::Zstd(3))).open(path)
}

/// In lines, so that a difference can be read.
fn compare(db: &Database, expected: &[u8], context: &str) {
    let found = print(db);
    let lines =
        |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap().lines().map(str::to_owned).collect::<Vec<_>>();
    let (found, expected) = (lines(&found), lines(expected));
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found, expected, "{context}");
    }
    assert_eq!(found.len(), expected.len(), "{context}");
}

#[test]
fn fixtures_of_every_format_version_open() {
    for fixture in fixtures() {
        let context = fixture.display().to_string();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        copy(&fixture.join("db"), &path);
        let expected = fs::read(fixture.join("expected.jsonl")).unwrap();
        check(&expected);
        let db = open(&path).unwrap_or_else(|e| panic!("{context}: {e}"));
        let report = db.report();
        assert_eq!(report.clean, fixture.ends_with("closed"), "{context}: {report:?}");
        assert!(report.replayed_records > 0 && report.dropped.is_none() && report.lost.is_empty(), "{report:?}");
        let ranges = db.store().stats().partitions.iter().map(|partition| partition.ranges).sum::<u64>();
        assert_eq!(ranges > 0, fixture.ends_with("ranges"), "{context}: range tombstones in the manifests");
        compare(&db, &expected, &context);
        assert!(db.verify().unwrap().is_empty(), "{context}");
        db.compact().unwrap();
        compare(&db, &expected, &context);
        testkit::indexes::check_now(&db).unwrap();
        db.collection("main.after").put(1, r#"{"n":1}"#).unwrap();
        db.drop_collection("main.after").unwrap();
        db.close().unwrap();
        let db = open(&path).unwrap();
        compare(&db, &expected, &context);
        db.finish_indexes().unwrap();
        testkit::indexes::check_now(&db).unwrap();
    }
}

fn bytes_of(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// The one file of a directory whose name ends or begins like this.
fn find(dir: &Path, part: &str) -> PathBuf {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_string_lossy().contains(part));
    paths.sort();
    paths.pop().unwrap()
}

/// Puts a checksum over `bytes[from..to]` at `at`.
fn seal(bytes: &mut [u8], from: usize, to: usize, at: usize, seed: u64) {
    let sum = codec::checksum64(&bytes[from..to], seed);
    bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Makes a file say that it is of format version 2, as a later build would.
type Raise = fn(&mut Vec<u8>);

#[test]
fn a_newer_format_of_any_file_is_refused_by_name() {
    let superblock: Raise = |bytes| {
        let payload = codec::frame::get(&mut &bytes[12..], 1, 12).unwrap().to_vec();
        bytes.truncate(8);
        bytes.extend_from_slice(&2u32.to_le_bytes());
        codec::frame::put(bytes, &payload, 2, 12).unwrap();
    };
    let log: Raise = |bytes| {
        bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
        let number = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
        seal(bytes, 0, 120, 120, number);
    };
    let manifest: Raise = |bytes| {
        bytes[8..12].copy_from_slice(&2u32.to_le_bytes());
        seal(bytes, 0, 32, 32, 0);
    };
    let sorted: Raise = |bytes| {
        let (len, footer) = (bytes.len(), bytes.len() - 112);
        bytes[len - 12..len - 8].copy_from_slice(&2u32.to_le_bytes());
        let number = u64::from_le_bytes(bytes[footer + 8..footer + 16].try_into().unwrap());
        seal(bytes, footer + 8, len, footer, number);
    };
    let fixture = fixtures().into_iter().find(|path| path.ends_with("1/closed")).unwrap();
    let files: [(&str, &str, Raise); 4] =
        [("", "ALLUVIUM", superblock), ("wal", ".log", log), ("p001", "MANIFEST-", manifest), ("p000", ".sst", sorted)];
    for (dir, part, raise) in files {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("db");
        copy(&fixture.join("db"), &path);
        let file = find(&path.join(dir), part);
        let mut bytes = bytes_of(&file);
        raise(&mut bytes);
        fs::write(&file, &bytes).unwrap();
        let error = match open(&path) {
            Err(error) => error,
            // A sorted file is opened when it is first read.
            Ok(db) => {
                let read = db.collection("library.many").scan().run().and_then(Iterator::collect::<Result<Vec<_>, _>>);
                assert!(part == ".sst", "{} is not refused", file.display());
                read.expect_err("it is refused when it is read")
            }
        };
        assert_eq!(error.kind(), ErrorKind::Open, "{}: {error}", file.display());
        let text = error.to_string();
        assert!(text.contains("version 2") && text.contains(&*file.file_name().unwrap().to_string_lossy()), "{text}");
        assert!(bytes_of(&file) == bytes, "{} was written to", file.display());
    }
}
