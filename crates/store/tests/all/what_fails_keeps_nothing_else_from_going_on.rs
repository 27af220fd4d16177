//! An error that has changed nothing is returned, and all other work continues.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Error, Options, Store};
use std::path::Path;
use std::sync::Arc;

const NO_DESCRIPTORS: i32 = 24;

fn env_of(fs: Arc<dyn alluvium_env::Fs>) -> Env {
    Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

#[test]
fn a_segment_that_cannot_be_begun_refuses_a_write_and_poisons_nothing() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let options =
        Options { memory_bytes: 8 << 20, background: false, segment_bytes: Some(64 << 10), ..Options::default() };
    let store = Store::open(env_of(faults.clone()), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let put = |n: u32| {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[1; 1000]);
        store.write(batch, Durability::Bulk)
    };
    faults.inject(Fault::nth(1).of(OpKind::Create).on("wal").os_error(NO_DESCRIPTORS).from_then_on());
    let (refused, error) = (0..200).find_map(|n| put(n).err().map(|error| (n, error))).expect("a new segment is due");
    assert!(matches!(error, Error::Storage(_)), "{error}");
    assert!(!store.get(tree, &refused.to_be_bytes(), &mut Vec::new()).unwrap(), "a refused batch left something");
    faults.clear();
    for n in refused..200 {
        put(n).unwrap();
    }
    for n in 0..200u32 {
        assert!(store.get(tree, &n.to_be_bytes(), &mut Vec::new()).unwrap(), "{n} is lost");
    }
}

#[test]
fn a_compaction_that_fails_keeps_those_of_other_partitions_from_nothing() {
    let disk = Arc::new(MemFs::new());
    let env = env_of(disk.clone());
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let write = |round: u32| {
        let mut batch = store.batch();
        for n in (0..50u32).map(u32::to_be_bytes).filter(|key| round < 12 || store.partition_of(key) == 0) {
            batch.put(tree, &n, &round.to_le_bytes());
        }
        store.write(batch, Durability::Bulk).unwrap();
        store.flush().unwrap();
    };
    // The first partition gets more runs, so that it is compacted first.
    (0..14).for_each(write);
    let files =
        |at: &str| env.fs.list(&Path::new("db").join(at)).unwrap().into_iter().filter(|f| f.name.ends_with("sst"));
    damage_files(&env, Path::new("db/p000"));
    let before = files("p001").count();
    while let Ok(true) = store.run_one_pending() {}
    assert!(store.run_one_pending().is_err(), "the damaged files are reported");
    assert!(files("p001").count() < before, "{before} files, as before");
}

fn damage_files(env: &Env, dir: &Path) {
    for file in env.fs.list(dir).unwrap().into_iter().filter(|file| file.name.ends_with("sst")) {
        let opened = env.fs.open(&dir.join(&file.name), OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        opened.read_at(&mut byte, 20).unwrap();
        opened.write_at(&[byte[0] ^ 1], 20).unwrap();
    }
}

#[test]
fn a_compaction_that_fails_makes_no_flush_fail() {
    let env = env_of(Arc::new(MemFs::new()));
    let options = |background| Options { memory_bytes: 8 << 20, partitions: Some(2), background, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options(false)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let write = |store: &Store, round: u32| {
        let mut batch = store.batch();
        (0..50u32).for_each(|n| batch.put(tree, &n.to_be_bytes(), &round.to_le_bytes()));
        store.write(batch, Durability::Bulk).unwrap();
        store.flush().unwrap();
    };
    (0..12).for_each(|round| write(&store, round));
    store.close().unwrap();
    // The registry of trees is in the other partition.
    damage_files(&env, Path::new("db/p001"));
    let store = Store::open(env, Path::new("db"), options(true)).unwrap();
    // Threads concurrently try to merge the damaged files, and each of these flushes may encounter the damage.
    (12..19).for_each(|round| write(&store, round));
    assert!(store.compact().is_err(), "the damaged files are reported");
}
