//! If range tombstones take all the memory that they may, a flush fails until some are removed. Compaction, which
//! removes them, and the next open still work.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Durability, Options, Snapshot, Store, TreeId, Tuning};
use std::path::Path;
use std::sync::Arc;

fn env_of(fs: &Arc<MemFs>) -> Env {
    Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn options(memory_bytes: usize) -> Options {
    let tuning = Tuning { max_range_bytes: Some(200), full_range_bytes: Some(20_000), ..Tuning::default() };
    Options { memory_bytes, partitions: Some(1), background: false, tuning, ..Options::default() }
}

/// Makes a store whose next flush would exceed the limit of range tombstones. A snapshot needs all of them.
fn full(fs: &Arc<MemFs>) -> (Store, TreeId, Snapshot) {
    let store = Store::open(env_of(fs), Path::new("db"), options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    for n in 0..2000u32 {
        batch.put(tree, &n.to_be_bytes(), b"value");
    }
    store.write(batch, Durability::Bulk).unwrap();
    store.flush().unwrap();
    let snapshot = store.snapshot();
    for n in 0..1000u32 {
        let mut batch = store.batch();
        batch.delete_range(tree, &(2 * n).to_be_bytes(), &(2 * n + 1).to_be_bytes());
        store.write(batch, Durability::Sync).unwrap();
        if n % 50 == 49 && store.flush().is_err() {
            return (store, tree, snapshot);
        }
    }
    panic!("all ranges fit");
}

fn check(store: &Store, tree: TreeId) {
    assert!(!store.contains(tree, &2u32.to_be_bytes()).unwrap());
    assert!(store.contains(tree, &3u32.to_be_bytes()).unwrap());
    assert!(store.contains(tree, &1999u32.to_be_bytes()).unwrap());
}

#[test]
fn compaction_goes_on_and_lets_the_flush_through() {
    for compact in [false, true] {
        let (store, tree, snapshot) = full(&Arc::new(MemFs::new()));
        // While the snapshot needs the ranges, the flush fails with the reason.
        let error = store.flush().unwrap_err().to_string();
        assert!(error.contains("end old snapshots") && !error.contains("damaged"), "{error}");
        drop(snapshot);
        match compact {
            true => store.compact().unwrap(),
            false => store.run_pending().unwrap(),
        }
        store.flush().unwrap();
        check(&store, tree);
    }
}

#[test]
fn an_open_that_has_to_flush_them_is_not_refused() {
    let fs = Arc::new(MemFs::new());
    let (store, tree, _snapshot) = full(&fs);
    let mut batch = store.batch();
    for n in 10_000..14_000u32 {
        batch.put(tree, &n.to_be_bytes(), &[0; 1000]);
    }
    store.write(batch, Durability::Sync).unwrap();
    let fs = Arc::new(fs.kill_clone());
    let store = Store::open(env_of(&fs), Path::new("db"), options(8 << 20)).unwrap();
    check(&store, tree);
    store.compact().unwrap();
    check(&store, tree);
}
