//! Many threads write large batches concurrently. Their memory is reserved before it is filled.

use alluvium_env::Env;
use alluvium_store::{Durability, Options, Store};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[test]
fn memtables_keep_to_their_share_with_32_threads_and_large_batches() {
    let memory_bytes = 16 << 20;
    let options = Options { memory_bytes, partitions: Some(4), ..Options::default() };
    let store = Store::open(Env::in_memory(3), "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let (done, peak) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                peak.fetch_max(store.stats().memtable_bytes, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        let writers: Vec<_> = (0..32u32)
            .map(|thread| {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..2u32 {
                        let mut batch = store.batch();
                        for n in 0..2000u32 {
                            let key = [thread, round, n].map(u32::to_be_bytes).concat();
                            batch.put(tree, &key, &[thread as u8; 800]);
                        }
                        store.write(batch, Durability::Bulk).unwrap();
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|w| w.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
    let (peak, share) = (peak.into_inner(), memory_bytes / 5 * 2);
    assert!(peak <= share * 3 / 2, "memtables took {peak} bytes of {share}");
    assert_eq!(store.stats().visible as usize / 1000, 128);
}
