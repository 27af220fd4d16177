//! If a snapshot ends between two steps of a read, the read returns the named error, and no results from files that may
//! have changed since. A read without a given snapshot starts again.

use alluvium_env::mem::MemFs;
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Durability, Error, Fold, FoldError, Options, Store, TreeId};
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A fold that appends. Once, on request, it also advances the clock and ends old snapshots, as a background thread
/// would.
struct Ending {
    clock: Arc<ManualClock>,
    store: Mutex<Weak<Store>>,
}

impl std::fmt::Debug for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ending")
    }
}

impl Fold for Ending {
    fn fold(
        &self,
        _tree: TreeId,
        _key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        let armed = std::mem::take(&mut *self.store.lock());
        if let Some(store) = armed.upgrade() {
            self.clock.advance(Duration::from_secs(60));
            store.run_pending().unwrap();
        }
        out.extend_from_slice(base);
        deltas.iter().for_each(|delta| out.extend_from_slice(delta));
        Ok(Some(0))
    }
}

/// A store with a key that needs folding, and a deleted range in memory.
fn open() -> (Arc<Store>, Arc<Ending>, TreeId) {
    open_with(1, &[b"key"])
}

fn open_with(partitions: u32, keys: &[&[u8]]) -> (Arc<Store>, Arc<Ending>, TreeId) {
    let clock = Arc::new(ManualClock::new());
    let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(1)) };
    let ending = Arc::new(Ending { clock, store: Mutex::new(Weak::new()) });
    let options = Options {
        partitions: Some(partitions),
        background: false,
        fold: Some(ending.clone()),
        snapshot_max_age: Duration::from_secs(30),
        ..Options::default()
    };
    let store = Arc::new(Store::open(env, Path::new("db"), options).unwrap());
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    keys.iter().for_each(|key| batch.put(tree, key, b"a"));
    store.write(batch, Durability::Bulk).unwrap();
    let mut batch = store.batch();
    keys.iter().for_each(|key| batch.delta(tree, key, b"b"));
    batch.delete_range(tree, b"x", b"z");
    store.write(batch, Durability::Bulk).unwrap();
    (store, ending, tree)
}

#[test]
fn a_get_at_a_snapshot_says_so() {
    let (store, ending, tree) = open();
    let snapshot = store.snapshot();
    let mut value = Vec::new();
    assert!(store.get_at(&snapshot, tree, b"key", &mut value).unwrap());
    assert_eq!(value, b"ab");
    *ending.store.lock() = Arc::downgrade(&store);
    let ended = store.get_at(&snapshot, tree, b"key", &mut value);
    assert!(matches!(ended, Err(Error::SnapshotTooOld)), "{ended:?}");
    // All later reads return the error too.
    assert!(matches!(store.get_at(&snapshot, tree, b"other", &mut value), Err(Error::SnapshotTooOld)));
    assert!(matches!(store.version_at(&snapshot, tree, b"key"), Err(Error::SnapshotTooOld)));
    assert!(matches!(store.scan(tree, Bounds::all(), Some(&snapshot)).err(), Some(Error::SnapshotTooOld)));
}

#[test]
fn a_scan_says_so() {
    let (store, ending, tree) = open();
    let snapshot = store.snapshot();
    let mut scan = store.scan(tree, Bounds::all(), Some(&snapshot)).unwrap();
    *ending.store.lock() = Arc::downgrade(&store);
    let (first, then) = (scan.next().map(|found| found.is_some()), scan.next().map(|found| found.is_some()));
    let ended = [first, then].into_iter().find(|next| matches!(next, Err(Error::SnapshotTooOld)));
    assert!(ended.is_some());
}

/// The first partition has reached its key when the tree is dropped; the others have read nothing yet.
#[test]
fn a_scan_of_a_tree_that_is_dropped_concurrently_fails_at_once() {
    let keys: Vec<[u8; 1]> = (b'a'..=b'p').map(|key| [key]).collect();
    let keys: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    for reverse in [false, true] {
        let (store, ending, tree) = open_with(4, &keys);
        let snapshot = store.snapshot();
        let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, Some(&snapshot)).unwrap();
        store.drop_trees(&[tree]).unwrap();
        *ending.store.lock() = Arc::downgrade(&store);
        let first = scan.next();
        assert!(matches!(first, Err(Error::SnapshotTooOld)), "{first:?}");
    }
}

#[test]
fn a_get_of_the_latest_state_starts_again() {
    let (store, ending, tree) = open();
    let mut value = Vec::new();
    *ending.store.lock() = Arc::downgrade(&store);
    assert!(store.get(tree, b"key", &mut value).unwrap());
    assert_eq!(value, b"ab");
}
