//! A held directory stays the same directory even if its name changes, in memory and on a disk.

#![cfg(not(feature = "shuttle"))]

use alluvium_env::{Env, Error, File, Fs, OpenMode};
use std::path::Path;
use std::sync::Arc;

/// Runs a test on both file systems. The test receives an empty directory.
fn on_both(test: impl Fn(&Arc<dyn Fs>, &Path)) {
    test(&Env::in_memory(1).fs, Path::new("top"));
    let dir = tempfile::tempdir().unwrap();
    test(&Env::os().fs, dir.path());
}

fn write(fs: &Arc<dyn Fs>, path: &Path, text: &str) -> Arc<dyn File> {
    let file = fs.open(path, OpenMode::CreateNew).unwrap();
    file.write_at(text.as_bytes(), 0).unwrap();
    file.sync().unwrap();
    file
}

fn read(fs: &Arc<dyn Fs>, path: &Path) -> String {
    let file = fs.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn names(fs: &Arc<dyn Fs>, dir: &Path) -> Vec<String> {
    fs.list(dir).unwrap().into_iter().map(|entry| entry.name).collect()
}

fn is_displaced<T>(result: alluvium_env::Result<T>, path: &Path) {
    match result {
        Err(Error::Displaced { path: named, .. }) => assert_eq!(named, path),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("no error"),
    }
}

#[test]
fn nothing_reaches_another_directory_at_its_path() {
    on_both(|fs, top| {
        let (db, old) = (top.join("db"), top.join("old"));
        fs.create_dir_all(&db.join("p")).unwrap();
        write(fs, &db.join("a"), "first");
        let held = fs.hold_dir(&db).unwrap();
        fs.rename(&db, &old).unwrap();
        fs.create_dir_all(&db.join("p")).unwrap();
        write(fs, &db.join("a"), "second");
        // Every operation works on the moved directory.
        assert_eq!(read(&held, &db.join("a")), "first");
        write(&held, &db.join("p/b"), "b");
        held.create_dir_all(&db.join("q/r")).unwrap();
        held.hard_link(&db.join("p/b"), &db.join("q/r/c")).unwrap();
        held.rename(&db.join("a"), &db.join("z")).unwrap();
        held.remove(&db.join("p/b")).unwrap();
        held.remove_dir(&db.join("p")).unwrap();
        held.sync_dir(&db).unwrap();
        held.sync_dir(&db.join("q")).unwrap();
        assert!(held.exists(&db.join("z")).unwrap() && !held.exists(&db.join("a")).unwrap());
        assert!(held.available_bytes(&db.join("q")).unwrap() > 0);
        assert!(held.is_same_disk(&db.join("z"), &old).unwrap());
        assert_eq!(names(&held, &db), ["q", "z"]);
        assert_eq!((names(fs, &old), read(fs, &old.join("q/r/c"))), (vec!["q".into(), "z".into()], "b".to_owned()));
        assert_eq!((names(fs, &db), read(fs, &db.join("a"))), (vec!["a".into(), "p".into()], "second".to_owned()));
        // The name of the held directory now belongs to another directory.
        is_displaced(held.rename(&db, &top.join("third")), &db);
        is_displaced(held.remove_dir(&db), &db);
        // Other paths are resolved as before.
        assert_eq!(read(&held, &old.join("z")), "first");
        assert_eq!(read(&held, &db.join("../db/a")), "second");
    });
}

#[test]
fn a_removed_directory_is_named() {
    on_both(|fs, top| {
        let db = top.join("db");
        fs.create_dir_all(&db).unwrap();
        let held = fs.hold_dir(&db).unwrap();
        let file = write(&held, &db.join("log"), "x");
        fs.remove(&db.join("log")).unwrap();
        file.write_at(b"y", 0).unwrap();
        is_displaced(file.sync(), &db.join("log"));
        fs.remove_dir(&db).unwrap();
        fs.create_dir_all(&db).unwrap();
        write(fs, &db.join("log"), "another");
        is_displaced(held.open(&db.join("log"), OpenMode::Read), &db);
        is_displaced(held.open(&db.join("new"), OpenMode::CreateNew), &db);
        is_displaced(held.list(&db), &db);
        is_displaced(held.exists(&db.join("log")), &db);
        is_displaced(held.sync_dir(&db), &db);
        is_displaced(held.create_dir_all(&db.join("p")), &db);
        is_displaced(held.try_lock(&db.join("LOCK")), &db);
        is_displaced(held.rename(&db, &top.join("other")), &db);
        is_displaced(held.remove_dir(&db), &db);
        assert_eq!(names(fs, &db), ["log"]);
    });
}

#[test]
fn a_removed_lock_file_lets_no_second_one_in() {
    on_both(|fs, top| {
        let db = top.join("db");
        fs.create_dir_all(&db).unwrap();
        let (first, second) = (fs.hold_dir(&db).unwrap(), fs.hold_dir(&db).unwrap());
        let lock = first.try_lock(&db.join("LOCK")).unwrap().unwrap();
        assert!(second.try_lock(&db.join("LOCK")).unwrap().is_none());
        fs.remove(&db.join("LOCK")).unwrap();
        assert!(second.try_lock(&db.join("LOCK")).unwrap().is_none());
        assert!(second.try_lock_to_read(&db.join("LOCK")).unwrap().is_none());
        drop(lock);
        assert!(second.try_lock(&db.join("LOCK")).unwrap().is_some());
        // A lock in a subdirectory is a separate lock.
        fs.create_dir_all(&db.join("p")).unwrap();
        let _lock = first.try_lock(&db.join("LOCK")).unwrap().unwrap();
        assert!(second.try_lock(&db.join("p/LOCK")).unwrap().is_some());
    });
}

#[test]
fn readers_share_the_lock_of_a_directory_without_its_file() {
    on_both(|fs, top| {
        let (db, lock) = (top.join("db"), top.join("db/LOCK"));
        fs.create_dir_all(&db).unwrap();
        let held = || fs.hold_dir(&db).unwrap();
        let (first, second) = (held().try_lock_to_read(&lock).unwrap(), held().try_lock_to_read(&lock).unwrap());
        assert!(first.is_some() && second.is_some() && !fs.exists(&lock).unwrap());
        // A writer creates the lock file, and is refused nevertheless.
        assert!(held().try_lock(&lock).unwrap().is_none());
        drop(first);
        assert!(held().try_lock(&lock).unwrap().is_none());
        drop(second);
        let writer = held().try_lock(&lock).unwrap();
        assert!(writer.is_some() && held().try_lock_to_read(&lock).unwrap().is_none());
        fs.remove(&lock).unwrap();
        assert!(held().try_lock_to_read(&lock).unwrap().is_none());
    });
}

#[test]
fn several_are_held_at_once() {
    on_both(|fs, top| {
        let (db, inner, copy) = (top.join("db"), top.join("db/inner"), top.join("copy"));
        fs.create_dir_all(&inner).unwrap();
        fs.create_dir_all(&copy).unwrap();
        let held = fs.hold_dir(&db).unwrap().hold_dir(&copy).unwrap().hold_dir(&inner).unwrap();
        for name in ["db", "copy"] {
            fs.rename(&top.join(name), &top.join(format!("{name}-old"))).unwrap();
        }
        write(&held, &db.join("a"), "a");
        held.hard_link(&db.join("a"), &copy.join("b")).unwrap();
        assert_eq!(names(fs, &top.join("copy-old")), ["b"]);
        held.rename(&inner, &db.join("outer")).unwrap();
        write(&held, &inner.join("c"), "c");
        assert_eq!(names(fs, &top.join("db-old/outer")), ["c"]);
        is_displaced(held.remove_dir(&inner), &inner);
        assert!(!fs.exists(&db).unwrap() && !fs.exists(&copy).unwrap());
    });
}
