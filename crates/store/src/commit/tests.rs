use super::*;
use crate::options::Options;
use crate::store::Store;
use crate::trees::TreeId;
use alluvium_codec::bounds::Bounds;
use alluvium_env::fault::{Fault, FaultFs};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use std::path::Path;

fn open() -> (Store, Arc<FaultFs>, TreeId) {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let small = Options { segment_bytes: Some(16 << 10), disk_reserve_bytes: Some(0), ..Options::default() };
    let small = Options { log_compression: false, ..small };
    let options = Options { partitions: Some(2), background: false, ..small };
    let store = Store::open(env, Path::new("db"), options).expect("a store");
    let tree = store.create_trees(&[b"tree"]).expect("a tree")[0];
    for key in 0..20u8 {
        let mut batch = store.batch();
        batch.put(tree, &[key], b"value");
        store.write(batch, Durability::Sync).expect("a write");
    }
    store.flush().expect("a flush");
    (store, faults, tree)
}

/// The existing keys, the number of the last visible operation, and whether readers search for range tombstones in
/// memory.
fn state(store: &Store, tree: TreeId) -> (Vec<Vec<u8>>, u64, bool) {
    let mut scan = store.scan(tree, Bounds::all(), None).expect("a scan");
    let mut keys = Vec::new();
    while let Some((key, _)) = scan.next().expect("a key") {
        keys.push(key.to_vec());
    }
    let looks = store.partitions.iter().any(|partition| partition.view().needs_snapshot());
    (keys, store.visible(), looks)
}

#[test]
fn a_refused_batch_with_deleted_ranges_changes_nothing() {
    let (store, faults, tree) = open();
    let gone = store.create_trees(&[b"gone"]).expect("a tree")[0];
    store.drop_trees(&[gone]).expect("a drop");
    store.flush().expect("a flush");
    let before = state(&store, tree);
    assert!(before.0.len() == 20 && !before.2);

    let mut batch = store.batch();
    batch.delete_range(tree, &[0], &[9]);
    batch.delete_range(gone, &[0], &[9]);
    let refused = store.write(batch, Durability::Sync);
    assert!(matches!(refused, Err(Error::NoSuchTree(_))), "{refused:?}");
    assert_eq!(state(&store, tree), before);

    let mut batch = store.batch();
    batch.delete_range(tree, &[0], &[9]);
    batch.put(tree, &[30], &[7; 40_000]);
    faults.inject(Fault::nth(1).of_changes().on("wal-").no_space().from_then_on());
    let refused = store.write(batch, Durability::Sync);
    assert!(matches!(refused, Err(Error::NoSpace(_))), "{refused:?}");
    assert!(faults.fired() > 0);
    assert_eq!(state(&store, tree), before);
    faults.clear();
    // After the fault is cleared, the next delete succeeds.
    store.delete_range(tree, &[0], &[9], Durability::Sync).expect("a write");
    let after = state(&store, tree);
    assert!(after.0.len() == 11 && after.2);
}
