//! Point reads are counted, and also the blocks that they read. Each block is read once while the cache has room for
//! all.

use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, Options, Store};
use std::path::Path;

#[test]
fn gets_and_their_blocks() {
    let options = Options { background: false, partitions: Some(1), ..Options::default() };
    let store = Store::open(Env::in_memory(3), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    (0..1000u32).for_each(|n| batch.put(tree, &n.to_be_bytes(), &[7; 100]));
    store.write(batch, Durability::Periodic).unwrap();
    let mut value = Vec::new();
    let before = store.stats();
    assert!(store.get(tree, &5u32.to_be_bytes(), &mut value).unwrap());
    let in_memory = store.stats();
    assert_eq!((in_memory.gets - before.gets, in_memory.blocks_read_by_gets), (1, 0));
    store.compact().unwrap();
    let before = store.stats();
    for _ in 0..2 {
        (0..1000u32).for_each(|n| assert!(store.get(tree, &n.to_be_bytes(), &mut value).unwrap()));
    }
    let after = store.stats();
    assert_eq!(after.gets - before.gets, 2000);
    let read = after.blocks_read_by_gets - before.blocks_read_by_gets;
    assert!((40..80).contains(&read), "{read} blocks of 2 KiB for 1000 values of 100 bytes");
    assert!(after.cache_hit_rate().unwrap() > 0.9 && after.blocks_read_per_get().unwrap() < 0.05);
    // A scan does not count as a get.
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    while scan.next().unwrap().is_some() {}
    let scanned = store.stats();
    assert_eq!((scanned.gets, scanned.blocks_read_by_gets), (after.gets, after.blocks_read_by_gets));
    assert!(scanned.cache_hits > after.cache_hits);
}
