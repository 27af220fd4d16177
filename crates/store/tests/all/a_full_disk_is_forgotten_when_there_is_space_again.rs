//! A full disk stops flushes. Once space is freed, all work continues at once.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Durability, Error, Options, Store};
use std::sync::Arc;

#[test]
fn flush_settle_and_writes_work_as_soon_as_there_is_space() {
    let disk = Arc::new(MemFs::new());
    let env = Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { memory_bytes: 8 << 20, disk_reserve_bytes: Some(0), ..Options::default() };
    let store = Store::open(env, "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let put = |n: u32| {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[1; 1000]);
        store.write(batch, Durability::Bulk)
    };
    for n in 0..100 {
        put(n).unwrap();
    }
    disk.set_capacity(disk.used_bytes());
    let error = store.flush().expect_err("the disk is full");
    assert!(
        matches!(&error, Error::Storage(cause) if cause.is_no_space()) || matches!(error, Error::NoSpace(_)),
        "{error}"
    );
    let refused = (100..3000).find_map(|n| put(n).err().map(|e| (n, e)));
    let (refused, error) = refused.expect("the log's segment is full at some time");
    assert!(matches!(error, Error::NoSpace(_)), "{error}");
    assert!(!store.get(tree, &refused.to_be_bytes(), &mut Vec::new()).unwrap(), "a refused batch left something");
    disk.set_capacity(u64::MAX);
    store.wait_for_compaction().unwrap();
    put(refused).unwrap();
    store.wait_for_compaction().unwrap();
    assert_eq!(store.stats().background_error, None);
    for n in 0..=refused {
        assert!(store.get(tree, &n.to_be_bytes(), &mut Vec::new()).unwrap(), "{n} is lost");
    }
    store.close().unwrap();
}
