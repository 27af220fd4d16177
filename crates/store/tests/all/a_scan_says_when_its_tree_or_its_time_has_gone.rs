//! Scans against trees that are dropped and snapshots that are ended.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Durability, Error, Options, Snapshot, Store, TreeId};
use std::sync::Arc;
use std::time::Duration;

fn count(store: &Store, tree: TreeId, snapshot: Option<&Snapshot>) -> Result<usize, Error> {
    let mut scan = store.scan(tree, Bounds::all(), snapshot)?;
    let mut count = 0;
    while scan.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}

#[test]
fn older_snapshots_see_a_dropped_tree_whole_and_later_ones_not_at_all() {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { background: false, ..Options::default() };
    let store = Store::open(env, "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..50u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), b"value");
        store.write(batch, Durability::Bulk).unwrap();
    }
    store.flush().unwrap();
    let before = store.snapshot();
    let mut under_way = store.scan(tree, Bounds::all(), Some(&before)).unwrap();
    under_way.next().unwrap().unwrap();
    store.drop_trees(&[tree]).unwrap();
    store.run_pending().unwrap();
    assert_eq!(count(&store, tree, Some(&before)).unwrap(), 50);
    let mut value = Vec::new();
    assert!(store.get_at(&before, tree, &7u32.to_be_bytes(), &mut value).unwrap());
    assert!(matches!(count(&store, tree, None), Err(Error::NoSuchTree(_))));
    let after = store.snapshot();
    let got = store.get_at(&after, tree, &7u32.to_be_bytes(), &mut value);
    assert!(matches!(got, Err(Error::NoSuchTree(_))));
    clock.advance(Duration::from_secs(3601));
    store.run_pending().unwrap();
    assert!(matches!(under_way.next(), Err(Error::SnapshotTooOld)));
    assert!(matches!(count(&store, tree, Some(&before)), Err(Error::SnapshotTooOld)));
}
