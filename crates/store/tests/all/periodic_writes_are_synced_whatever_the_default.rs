//! The durability of a write is the one that the write requests, not the default of the store.

use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[test]
fn a_periodic_write_survives_a_power_cut_in_a_store_for_bulk_loads() {
    let path = Path::new("db");
    let disk = Arc::new(MemFs::new());
    let env = |fs| Env { fs, clock: Env::os().clock, rng: Arc::new(SeededRng::new(1)) };
    let options = Options { durability: Durability::Bulk, ..Options::default() };
    let store = Store::open(env(disk.clone()), path, options.clone()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Periodic).unwrap();
    let started = Instant::now();
    loop {
        let after = Arc::new(disk.crash_clone(1, CrashStyle::AllLost));
        let found = Store::open(env(after), path, options.clone()).unwrap().get(tree, b"key", &mut Vec::new()).unwrap();
        if found {
            return;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "the write was never synced");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_interval_without_end_is_one() {
    let options = Options { sync_interval: Duration::MAX, ..Options::default() };
    let store = Store::open(Env::in_memory(1), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for key in [b"one", b"two"] {
        let mut batch = store.batch();
        batch.put(tree, key, b"value");
        store.write(batch, Durability::Periodic).unwrap();
    }
    store.sync().unwrap();
    store.close().unwrap();
}
