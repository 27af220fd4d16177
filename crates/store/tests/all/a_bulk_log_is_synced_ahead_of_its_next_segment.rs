//! Bulk writes do not wait for a sync. The log is synced in the background when much of it is not synced, so that
//! little is left to sync at the end of a segment.

use alluvium_env::fault::{FaultFs, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::sync::Arc;
use std::time::Duration;

fn open(disk: &Arc<MemFs>) -> (Arc<FaultFs>, Store) {
    let faults = Arc::new(FaultFs::over(disk.clone()));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    // A quarter of a segment is 8 MiB.
    let options = Options {
        memory_bytes: 256 << 20,
        segment_bytes: Some(32 << 20),
        durability: Durability::Bulk,
        log_compression: false,
        ..Options::default()
    };
    (faults, Store::open(env, "db".as_ref(), options).unwrap())
}

#[test]
fn a_bulk_log_is_synced_ahead_of_its_next_segment() {
    let disk = Arc::new(MemFs::new());
    let (faults, store) = open(&disk);
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    store.sync().unwrap();
    let syncs = faults.count(OpKind::Sync);
    let put = |n: u32| {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &vec![1; 1 << 20]);
        store.write(batch, Durability::Bulk).unwrap();
    };
    (0..7).for_each(put);
    // Few unsynced bytes do not cause a sync.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(faults.count(OpKind::Sync), syncs);
    (7..10).for_each(put);
    let clock = Env::os().clock;
    let started = clock.now();
    while faults.count(OpKind::Sync) == syncs {
        assert!(clock.now() - started < Duration::from_secs(20), "it is never synced");
        std::thread::yield_now();
    }
    // The counted sync may still be running. This call waits for it.
    store.sync().unwrap();
    let (_, store) = open(&Arc::new(disk.crash_clone(1, CrashStyle::AllLost)));
    assert!(store.get(tree, &5u32.to_be_bytes(), &mut Vec::new()).unwrap());
}
