//! A batch that does not fit into memory next to the sealed memtables waits for a flush. If the disk is too full for a
//! flush, the batch is refused with a named error. The batch is accepted when there is space again.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Durability, Error, Options, Store, TreeId};
use std::sync::Arc;

fn write(store: &Store, tree: TreeId, first: u32, keys: u32) -> alluvium_store::Result<u64> {
    let mut batch = store.batch();
    (first..first + keys).for_each(|n| batch.put(tree, &n.to_be_bytes(), &[7; 1000]));
    store.write(batch, Durability::Bulk)
}

#[test]
fn a_large_batch_on_a_full_disk_is_refused() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { memory_bytes: 16 << 20, partitions: Some(1), threads: Some(2), ..Options::default() };
    let store = Store::open(env, "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    faults.inject(Fault::nth(1).of(OpKind::Create).on(".sst").no_space().from_then_on());
    // A memtable is sealed when it reaches a quarter of the share of 6.7 MB.
    let mut next = 0;
    while store.stats().background_error.is_none() {
        write(&store, tree, next, 50).unwrap();
        next += 50;
    }
    let refused = write(&store, tree, next, 2500);
    assert!(matches!(refused, Err(Error::NoSpace(_))), "{refused:?}");
    faults.clear();
    store.flush().unwrap();
    write(&store, tree, next, 2500).unwrap();
    assert!(store.contains(tree, &(next + 2499).to_be_bytes()).unwrap());
}
