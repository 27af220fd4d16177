//! Opening a directory that holds somebody else's folders, or a database without its log.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use env::mem::MemFs;
use env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use std::path::Path;
use std::sync::Arc;
use store::{Error, Options, Store};

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
