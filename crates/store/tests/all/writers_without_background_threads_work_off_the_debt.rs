//! A store without background threads never waits for background threads.

use alluvium_env::Env;
use alluvium_store::{Durability, Options, Store};

#[test]
fn a_store_without_background_threads_takes_any_number_of_writes() {
    for partitions in [1, 3] {
        let options =
            Options { memory_bytes: 8 << 20, partitions: Some(partitions), background: false, ..Options::default() };
        let store = Store::open(Env::in_memory(4), "db".as_ref(), options).unwrap();
        let tree = store.create_trees(&[b"tree"]).unwrap()[0];
        for n in 0..4000u32 {
            let mut batch = store.batch();
            batch.put(tree, &n.to_be_bytes(), &[1; 4000]);
            store.write(batch, Durability::Bulk).unwrap();
        }
        let stats = store.stats();
        assert!(stats.memtable_bytes <= (8 << 20) / 5 * 2, "{} bytes in memtables", stats.memtable_bytes);
        assert!(stats.flushed_bytes > 0);
    }
}
