//! A store that is opened for reading only: which processes can open it at the same time, the operations that it
//! refuses, and its memory.
#![cfg(not(feature = "shuttle"))]

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, OpenMode};
use alluvium_store::{Durability, Error, LockMode, Options, Result, Store, TreeId};
use std::path::Path;
use std::sync::Arc;

const DB: &str = "db";

fn env(fs: Arc<MemFs>) -> Env {
    Env { fs, ..Env::in_memory(7) }
}

fn options() -> Options {
    Options { background: false, disk_reserve_bytes: Some(0), ..Options::default() }
}

fn reading(memory_bytes: usize) -> Options {
    Options { read_only: true, memory_bytes, ..options() }
}

fn open(env: &Env, options: Options) -> Result<Store> {
    Store::open(env.clone(), Path::new(DB), options)
}

/// Puts keys with values that do not compress.
fn put(store: &Store, tree: TreeId, keys: std::ops::Range<u32>, bytes: usize) {
    let mut rng = fastrand::Rng::with_seed(u64::from(keys.start));
    for key in keys {
        let value: Vec<u8> = (0..bytes).map(|_| rng.u8(..)).collect();
        let mut batch = store.batch();
        batch.put(tree, &key.to_be_bytes(), &value);
        store.write(batch, Durability::Bulk).unwrap();
    }
}

fn count(store: &Store, tree: TreeId) -> u64 {
    let mut scan = store.scan(tree, alluvium_store::Bounds::all(), None).unwrap();
    let mut keys = 0;
    while scan.next().unwrap().is_some() {
        keys += 1;
    }
    keys
}

#[test]
fn readers_share_it_and_a_writer_has_it_alone() {
    let env = env(Arc::new(MemFs::new()));
    let writer = open(&env, options()).unwrap();
    let tree = writer.create_trees(&[b"pets"]).unwrap()[0];
    put(&writer, tree, 0..10, 20);
    assert!(matches!(open(&env, reading(8 << 20)), Err(Error::InUse(_) | Error::InUseHere(_))));
    writer.close().unwrap();
    for without_lock_file in [false, true] {
        if without_lock_file {
            env.fs.remove(Path::new("db/LOCK")).unwrap();
        }
        let (one, other) = (open(&env, reading(8 << 20)).unwrap(), open(&env, reading(8 << 20)).unwrap());
        assert!(
            matches!(open(&env, options()), Err(Error::InUse(_) | Error::InUseHere(_))),
            "without the file: {without_lock_file}"
        );
        assert_eq!((count(&one, tree), count(&other, tree)), (10, 10));
        one.close().unwrap();
        assert!(matches!(open(&env, options()), Err(Error::InUse(_) | Error::InUseHere(_))));
        drop(other);
        open(&env, options()).unwrap().close().unwrap();
    }
}

#[test]
fn every_write_is_refused_by_one_error() {
    let env = env(Arc::new(MemFs::new()));
    let tree = {
        let store = open(&env, options()).unwrap();
        store.create_trees(&[b"pets"]).unwrap()[0]
    };
    let store = open(&env, reading(8 << 20)).unwrap();
    let batch = || {
        let mut batch = store.batch();
        batch.put(tree, b"rex", b"dog");
        batch
    };
    let locks = store.lock(tree, [&b"rex"[..]], LockMode::Exclusive);
    let refused = [
        store.write_locked(batch(), Durability::Sync, &locks).map(drop),
        store.write(batch(), Durability::Sync).map(drop),
        store.delete_range(tree, b"a", b"b", Durability::Sync).map(drop),
        store.create_trees(&[b"more"]).map(drop),
        store.drop_trees(&[tree]),
        store.admit(100).map(drop),
        store.flush(),
        store.compact(),
        store.wait_for_compaction(),
        store.sweep(tree, 0, u64::MAX, &|_, _| true, &|| false).map(drop),
        store.check_writable(),
    ];
    for (at, result) in refused.into_iter().enumerate() {
        let error = result.expect_err("it is refused");
        assert!(matches!(&error, Error::OpenedForReading(path) if path == Path::new(DB)), "{at}: {error}");
    }
    // There is no data to make durable, and no work to do.
    store.sync().unwrap();
    assert!(!store.run_one_pending().unwrap());
    assert_eq!(count(&store, tree), 0);
}

#[test]
fn a_log_that_memory_cannot_hold_is_named_with_the_budget_that_suffices() {
    let env = env(Arc::new(MemFs::new()));
    // The log is larger than all of the smaller budgets, and its values do not compress.
    let store = open(&env, Options { memory_bytes: 96 << 20, ..options() }).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    put(&store, tree, 0..3000, 5000);
    drop(store);
    let refused = open(&env, reading(8 << 20)).map(drop).expect_err("it is too large");
    let Error::LogTooLarge { log_bytes, needed_bytes, .. } = refused else { panic!("{refused}") };
    assert!(log_bytes > 15_000_000 && needed_bytes < 3 * log_bytes, "{log_bytes} {needed_bytes}");
    let store = open(&env, reading(needed_bytes as usize)).unwrap();
    assert_eq!(count(&store, tree), 3000);
    // Smaller budgets are enough or are refused, and files that are made from the log count towards the budget.
    let (mut refused, mut held) = (0, 0);
    for mebibytes in 9..=needed_bytes >> 20 {
        match open(&env, reading((mebibytes << 20) as usize)) {
            Ok(store) => {
                assert_eq!(count(&store, tree), 3000);
                held += usize::from(store.stats().unwritten_bytes > 1 << 20);
            }
            Err(Error::LogTooLarge { needed_bytes: needed, .. }) if needed == needed_bytes => refused += 1,
            Err(other) => panic!("{mebibytes} MiB: {other}"),
        }
    }
    assert!(refused > 3 && held > 3, "{refused} budgets were refused, and {held} held files");
}

#[test]
fn on_a_full_disk_the_error_has_the_space_with_which_trees_can_be_dropped() {
    for partitions in [1, 4, 16] {
        let fs = Arc::new(MemFs::new());
        let env = env(fs.clone());
        let store = open(&env, Options { partitions: Some(partitions), ..options() }).unwrap();
        let trees = store.create_trees(&[b"pets", b"others"]).unwrap();
        put(&store, trees[0], 0..3000, 300);
        put(&store, trees[1], 0..10, 10);
        store.compact().unwrap();
        drop(store);
        let used = fs.used_bytes();
        let before = names(&*env.fs, Path::new(DB));
        fs.set_capacity(used);
        let refused = open(&env, options()).map(drop).expect_err("the disk is full");
        let Error::NoSpaceToOpen { needed_bytes, available_bytes: 0, .. } = refused else { panic!("{refused}") };
        assert!(needed_bytes < (64 << 10) + u64::from(partitions + 1) * (32 << 10), "{needed_bytes}");
        assert_eq!(names(&*env.fs, Path::new(DB)), before, "nothing was changed");
        assert_eq!(count(&open(&env, reading(8 << 20)).unwrap(), trees[0]), 3000);
        fs.set_capacity(used + needed_bytes);
        let store = open(&env, options()).unwrap();
        store.drop_trees(&trees[..1]).unwrap();
        store.run_pending().unwrap();
        assert_eq!(count(&store, trees[1]), 10);
        store.close().unwrap();
        assert!(fs.used_bytes() < used - 500_000, "{} of {used} bytes are left", fs.used_bytes());
        // The disk is no longer full.
        let store = open(&env, options()).unwrap();
        put(&store, trees[1], 10..20, 10);
    }
}

/// A killed process leaves the last segment of the log at its full length.
#[test]
fn on_a_full_disk_the_reserved_end_of_the_log_makes_room() {
    for keys in [1, 100, 2000] {
        let disk = Arc::new(MemFs::new());
        let store = open(&env(disk.clone()), options()).unwrap();
        let tree = store.create_trees(&[b"pets"]).unwrap()[0];
        put(&store, tree, 0..keys, 500);
        let fs = Arc::new(disk.kill_clone());
        drop(store);
        fs.set_capacity(fs.used_bytes());
        let store = open(&env(fs.clone()), options()).unwrap();
        assert_eq!(count(&store, tree), u64::from(keys));
        drop(store);
        assert_eq!(count(&open(&env(fs), options()).unwrap(), tree), u64::from(keys));
    }
}

/// A log that was written with a larger budget is flushed when it is replayed.
#[test]
fn the_space_that_is_named_has_room_for_a_log_that_is_larger_than_memory() {
    let fs = Arc::new(MemFs::new());
    let env = env(fs.clone());
    let store = open(&env, Options { memory_bytes: 96 << 20, ..options() }).unwrap();
    let tree = store.create_trees(&[b"pets"]).unwrap()[0];
    put(&store, tree, 0..2000, 5000);
    drop(store);
    let used = fs.used_bytes();
    fs.set_capacity(used);
    let small = Options { memory_bytes: 8 << 20, ..options() };
    let refused = open(&env, small.clone()).map(drop).expect_err("the disk is full");
    let Error::NoSpaceToOpen { needed_bytes, .. } = refused else { panic!("{refused}") };
    fs.set_capacity(used + needed_bytes);
    let store = open(&env, small).unwrap();
    store.drop_trees(&[tree]).unwrap();
    store.run_pending().unwrap();
}

/// All names in a directory, with the lengths of files.
fn names(fs: &dyn Fs, dir: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs.list(dir).unwrap() {
        let path = dir.join(&entry.name);
        match entry.is_dir {
            true => found.append(&mut names(fs, &path)),
            false => found.push((path.clone(), fs.open(&path, OpenMode::Read).unwrap().len().unwrap())),
        }
    }
    found
}
