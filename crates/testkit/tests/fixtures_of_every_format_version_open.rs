//! Complete databases of every format version since the first, closed and killed, are opened by this build on the real
//! file system. They must have the content that is listed next to them, pass the check, and accept writes. Checkpoints
//! and dumps of these versions are restored, read-only stores are read, and interrupted loads are continued.

// The fixtures are copied with the real file system.
#![allow(clippy::disallowed_methods)]

use alluvium::backup;
use alluvium::load::Outcome;
use alluvium::{Compression, Database, ErrorKind, ReadOnly};
use alluvium_env::Env;
use alluvium_testkit::World;
use alluvium_testkit::formats::fixtures::{
    LINES, LOADED, check, load_input, options, print, print_read_only, restored, write_input,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The databases in the directories `fixtures/<format version>/<name>` with these names.
fn databases() -> Vec<PathBuf> {
    let names = ["closed", "killed", "ranges", "segments", "long", "options", "collated", "capped", "changes"];
    names.iter().flat_map(|name| fixtures(name)).collect()
}

/// The fixtures with a name, one for each format version.
fn fixtures(name: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let list = |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let versions = list(&root).into_iter().filter(|path| path.is_dir());
    let mut all: Vec<PathBuf> = versions.map(|dir| dir.join(name)).filter(|path| path.exists()).collect();
    all.sort();
    assert!(!all.is_empty(), "no fixture is called {name}");
    all
}

/// A copy of a fixture.
fn copied(fixture: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    copy(fixture, dir.path());
    dir
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
    Database::builder().options(options(Compression::Zstd { level: 3 })).open(path)
}

/// Compares the content line by line, so that a difference is readable.
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
    for fixture in databases() {
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
        assert!(db.verify().run().unwrap().damage.is_empty(), "{context}");
        db.compact().run().unwrap();
        compare(&db, &expected, &context);
        alluvium_testkit::model::indexes::check_now(&db).unwrap();
        db.collection("main.after").put(1, r#"{"n":1}"#).unwrap();
        db.drop_collection("main.after").unwrap();
        db.close().unwrap();
        let db = open(&path).unwrap();
        compare(&db, &expected, &context);
        db.finish_indexes().unwrap();
        alluvium_testkit::model::indexes::check_now(&db).unwrap();
    }
}

/// Version 1 of the formats is fixed. If a build writes something else, its authors must know that, and older builds
/// must be able to read it. The fixtures of such a build are added in a new directory (`docs/FORMAT.md`).
#[test]
fn what_this_build_writes_is_what_the_newest_fixtures_hold() {
    for (name, files) in alluvium_testkit::formats::fixtures::all() {
        let newest = fixtures(name).pop().unwrap();
        for (path, bytes) in &files {
            let kept = fs::read(newest.join(path)).ok();
            assert!(kept.as_ref() == Some(bytes), "{}: this build writes it differently", newest.join(path).display());
        }
        assert_eq!(files.len(), count_files(&newest), "{}: this build does not write all of it", newest.display());
    }
}

fn count_files(dir: &Path) -> usize {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| if path.is_dir() { count_files(&path) } else { 1 }).sum()
}

#[test]
fn checkpoints_of_every_format_version_are_restored() {
    for fixture in fixtures("checkpoint") {
        let dir = copied(&fixture);
        for name in ["monday", "tuesday"] {
            let context = format!("{}, {name}", fixture.display());
            let checked = backup::check(dir.path().join(name)).run().unwrap();
            assert!(checked.damage.is_empty(), "{context}: {:?}", checked.damage);
            assert_eq!(checked.listing.base.is_some(), name == "tuesday", "{context}");
            let to = dir.path().join(format!("{name}.restored"));
            backup::restore(dir.path().join(name), &to).run().unwrap();
            let db = open(&to).unwrap();
            compare(&db, &bytes_of(&fixture.join(format!("{name}.jsonl"))), &context);
            assert!(db.verify().run().unwrap().damage.is_empty(), "{context}");
        }
    }
}

/// All files of a fixture, in memory.
fn in_memory(fixture: &Path) -> World {
    let world = World::new(1);
    let mut dirs = vec![PathBuf::new()];
    while let Some(dir) = dirs.pop() {
        world.env.fs.create_dir_all(&dir).unwrap();
        for entry in fs::read_dir(fixture.join(&dir)).unwrap().map(Result::unwrap) {
            let path = dir.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => dirs.push(path),
                false => {
                    let file = world.env.fs.open(&path, alluvium_env::OpenMode::CreateNew).unwrap();
                    file.write_at(&bytes_of(&entry.path()), 0).unwrap();
                }
            }
        }
    }
    world
}

#[test]
fn dumps_of_every_format_version_are_restored() {
    for fixture in fixtures("dump") {
        let world = in_memory(&fixture);
        let db = restored(&world.env);
        compare(&db, &bytes_of(&fixture.join("expected.jsonl")), &fixture.display().to_string());
        assert!(db.verify().run().unwrap().damage.is_empty());
    }
}

#[test]
fn read_only_stores_of_every_format_version_are_read() {
    for fixture in fixtures("read-only") {
        let expected = String::from_utf8(bytes_of(&fixture.join("expected.jsonl"))).unwrap();
        for interval in [None, Some(0), Some(4), Some(16)] {
            let store = ReadOnly::options().index_interval(interval).open(fixture.join("ro")).unwrap();
            let found = String::from_utf8(print_read_only(&store)).unwrap();
            assert_eq!(found, expected, "{}, {interval:?}", fixture.display());
            assert!(store.verify().unwrap().is_empty() && store.get(7).unwrap().is_some());
            assert!(store.get("decimal, long").unwrap().is_some() && store.get(40).unwrap().is_none());
        }
    }
}

#[test]
fn loads_of_every_format_version_go_on_where_they_ended() {
    for fixture in fixtures("load") {
        let context = fixture.display().to_string();
        let dir = copied(&fixture);
        let (path, input) = (dir.path().join("db"), dir.path().join("input.jsonl"));
        write_input(&Env::os(), &input);
        let db = open(&path).unwrap();
        compare(&db, &bytes_of(&fixture.join("expected.jsonl")), &context);
        let before = db.collection(LOADED).count().unwrap();
        assert!((1..LINES).contains(&before), "{context}: {before}");
        let report = load_input(&db, &Env::os(), &input, Default::default()).unwrap();
        assert_eq!((report.outcome, report.documents_before), (Outcome::Done, before), "{context}");
        assert_eq!((report.documents, db.collection(LOADED).count().unwrap()), (LINES - before, LINES), "{context}");
        let again = load_input(&db, &Env::os(), &input, Default::default()).unwrap();
        assert_eq!(again.outcome, Outcome::AlreadyDone, "{context}");
    }
}

fn bytes_of(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

/// The only file in a directory whose name ends or begins with `part`.
fn find(dir: &Path, part: &str) -> PathBuf {
    let mut paths: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.file_name().unwrap().to_string_lossy().contains(part));
    paths.sort();
    paths.pop().unwrap()
}

/// Writes the checksum of `bytes[from..to]` at `at`.
fn seal(bytes: &mut [u8], from: usize, to: usize, at: usize, seed: u64) {
    let sum = alluvium_codec::checksum64(&bytes[from..to], seed);
    bytes[at..at + 8].copy_from_slice(&sum.to_le_bytes());
}

/// Changes the format version in a file to a later one, as a later build would write it.
type Raise = fn(&mut Vec<u8>);

#[test]
fn a_newer_format_of_any_file_is_refused_by_name() {
    let superblock: Raise = |bytes| {
        let payload = alluvium_codec::frame::get(&mut &bytes[12..], 1, 12).unwrap().to_vec();
        bytes.truncate(8);
        bytes.extend_from_slice(&2u32.to_le_bytes());
        alluvium_codec::frame::put(bytes, &payload, 2, 12).unwrap();
    };
    let log: Raise = |bytes| {
        bytes[8..12].copy_from_slice(&3u32.to_le_bytes());
        let number = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
        seal(bytes, 0, 120, 120, number);
    };
    let manifest: Raise = |bytes| {
        bytes[8..12].copy_from_slice(&3u32.to_le_bytes());
        seal(bytes, 0, 32, 32, 0);
    };
    let sorted: Raise = |bytes| raise_footer(bytes);
    let fixture = databases().into_iter().find(|path| path.ends_with("1/closed")).unwrap();
    let files: [(&str, &str, Raise, u32); 4] = [
        ("", "ALLUVIUM", superblock, 2),
        ("wal", ".log", log, 3),
        ("p001", "MANIFEST-", manifest, 3),
        ("p000", ".sst", sorted, 2),
    ];
    for (dir, part, raise, version) in files {
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
        assert!(
            text.contains(&format!("version {version}"))
                && text.contains(&*file.file_name().unwrap().to_string_lossy()),
            "{text}"
        );
        assert!(bytes_of(&file) == bytes, "{} was written to", file.display());
    }
}

/// Raises the version in the footer of a sorted file or an index file.
fn raise_footer(bytes: &mut [u8]) {
    let (len, footer) = (bytes.len(), bytes.len() - 112);
    bytes[len - 12..len - 8].copy_from_slice(&2u32.to_le_bytes());
    let number = u64::from_le_bytes(bytes[footer + 8..footer + 16].try_into().unwrap());
    seal(bytes, footer + 8, len, footer, number);
}

#[test]
fn a_newer_read_only_store_is_refused_by_name() {
    let superblock: Raise = |bytes| {
        let payload = alluvium_codec::frame::get(&mut &bytes[12..], 1, 12).unwrap().to_vec();
        bytes.truncate(8);
        bytes.extend_from_slice(&2u32.to_le_bytes());
        alluvium_codec::frame::put(bytes, &payload, 2, 12).unwrap();
    };
    let fixture = fixtures("read-only").into_iter().find(|path| path.ends_with("1/read-only")).unwrap();
    let files: [(&str, Raise); 3] = [
        ("READONLY", superblock),
        ("data.sst", |bytes| raise_footer(bytes)),
        ("index-4.idx", |bytes| raise_footer(bytes)),
    ];
    for (name, raise) in files {
        let dir = copied(&fixture);
        let file = dir.path().join("ro").join(name);
        let mut bytes = bytes_of(&file);
        raise(&mut bytes);
        fs::write(&file, &bytes).unwrap();
        let Err(error) = ReadOnly::open(dir.path().join("ro")) else { panic!("{name} is not refused") };
        assert_eq!(error.kind(), ErrorKind::Open, "{name}: {error}");
        let text = error.to_string();
        assert!(text.contains("version 2") && text.contains(name), "{text}");
    }
}

#[test]
fn a_newer_checkpoint_is_refused_by_name() {
    let fixture = fixtures("checkpoint").into_iter().find(|path| path.ends_with("1/checkpoint")).unwrap();
    let dir = copied(&fixture);
    let (from, to) = (dir.path().join("tuesday"), dir.path().join("restored"));
    let listing = from.join("CHECKPOINT");
    let text = String::from_utf8(bytes_of(&listing)).unwrap().replacen("checkpoint 1\n", "checkpoint 2\n", 1);
    let (body, end) = text.trim_end().rsplit_once('\n').unwrap();
    let (words, _old) = end.rsplit_once(' ').unwrap();
    let body = format!("{body}\n");
    let sum = alluvium_codec::checksum64(body.as_bytes(), 2);
    fs::write(&listing, format!("{body}{words} {sum:016x}\n")).unwrap();
    let checked = backup::check(&from).run().map(drop);
    let restored = backup::restore(&from, &to).run().map(drop);
    for error in [checked.unwrap_err(), restored.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Open, "{error}");
        let text = error.to_string();
        assert!(text.contains("version 2") && text.contains("CHECKPOINT"), "{text}");
    }
    assert!(!to.exists());
}
