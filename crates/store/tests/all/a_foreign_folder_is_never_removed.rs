//! Opening a directory that has foreign subdirectories, or a database without its log.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Error, Options, Store};
use std::path::Path;
use std::sync::Arc;

fn env_of(disk: &Arc<MemFs>) -> Env {
    Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

#[test]
fn folders_with_our_names_are_refused_and_kept() {
    for name in ["wal", "p000", "p123"] {
        let disk = Arc::new(MemFs::new());
        let theirs = Path::new("dir").join(name).join("letters.txt");
        disk.create_dir_all(theirs.parent().unwrap()).unwrap();
        disk.open(&theirs, OpenMode::CreateNew).unwrap().write_at(b"dear", 0).unwrap();
        let opened = Store::open(env_of(&disk), Path::new("dir"), Options::default());
        assert!(matches!(opened.err(), Some(Error::ForeignDirectory(_))), "{name}");
        assert!(disk.exists(&theirs).unwrap());
    }
}

#[test]
fn only_folders_of_sorts_go_when_a_database_is_opened() {
    let disk = Arc::new(MemFs::new());
    let path = Path::new("db");
    Store::open(env_of(&disk), path, Options::default()).unwrap().close().unwrap();
    let theirs = ["sort-by-year", "sort-", "sort-0123456789abcde", "sort-0123456789ABCDEF", "sort-0123456789abcdef0"];
    let put = |folder: &str| {
        let file = path.join(folder).join("letters.txt");
        disk.create_dir_all(file.parent().unwrap()).unwrap();
        disk.open(&file, OpenMode::CreateNew).unwrap().write_at(b"dear", 0).unwrap();
        file
    };
    let kept = theirs.map(put);
    put("sort-0123456789abcdef");
    Store::open(env_of(&disk), path, Options::default()).unwrap().close().unwrap();
    for file in kept {
        assert!(disk.exists(&file).unwrap(), "{}", file.display());
    }
    assert!(!disk.exists(&path.join("sort-0123456789abcdef")).unwrap());
}

/// Uses the real file system, because the file system in memory has no links.
#[test]
#[cfg(unix)]
fn where_a_link_leads_to_nothing_is_removed() {
    let home = tempfile::tempdir().unwrap();
    let (path, theirs) = (home.path().join("db"), home.path().join("theirs"));
    std::fs::create_dir_all(theirs.join("folder")).unwrap();
    std::fs::write(theirs.join("letters.txt"), "dear").unwrap();
    std::fs::write(theirs.join("folder").join("letters.txt"), "dear").unwrap();
    Store::open(Env::os(), &path, Options::default()).unwrap().close().unwrap();
    std::os::unix::fs::symlink(&theirs, path.join("sort-0123456789abcdef")).unwrap();
    let sort = path.join("sort-fedcba9876543210");
    std::fs::create_dir(&sort).unwrap();
    std::os::unix::fs::symlink(theirs.join("folder"), sort.join("folder")).unwrap();
    Store::open(Env::os(), &path, Options::default()).unwrap().close().unwrap();
    assert!(theirs.join("letters.txt").exists() && theirs.join("folder").join("letters.txt").exists());
    assert!(!path.join("sort-0123456789abcdef").exists() && !sort.exists());
}

#[test]
fn a_database_without_its_log_is_refused() {
    let disk = Arc::new(MemFs::new());
    let path = Path::new("db");
    Store::open(env_of(&disk), path, Options::default()).unwrap().close().unwrap();
    for entry in disk.list(&path.join("wal")).unwrap() {
        disk.remove(&path.join("wal").join(entry.name)).unwrap();
    }
    let error = Store::open(env_of(&disk), path, Options::default()).err().expect("the log is gone");
    assert!(error.is_corruption(), "{error}");
}
