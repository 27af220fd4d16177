//! Writers, flushes, compactions and closing run concurrently. No thread hangs, and acknowledged writes exist.

use alluvium_env::Env;
use alluvium_store::{Durability, Error, Options, Store};
use std::path::Path;
use std::time::Duration;

#[test]
fn what_was_acknowledged_before_the_close_is_there_after_it() {
    let env = Env::in_memory(5);
    let path = Path::new("db");
    let options = Options { memory_bytes: 8 << 20, partitions: Some(5), ..Options::default() };
    for round in 0..8u32 {
        let store = Store::open(env.clone(), path, options.clone()).unwrap();
        let tree = match store.trees().first() {
            Some((tree, _)) => *tree,
            None => store.create_trees(&[b"tree"]).unwrap()[0],
        };
        let mut acknowledged = Vec::new();
        std::thread::scope(|scope| {
            let store = &store;
            let write = |thread: u32, n: u32| {
                let mut batch = store.batch();
                for copy in 0..3u32 {
                    let key = [round, thread, n, copy].map(u32::to_be_bytes).concat();
                    batch.put(tree, &key, &[thread as u8; 400]);
                }
                let durability = [Durability::Bulk, Durability::Periodic, Durability::Sync][n as usize % 3];
                store.write(batch, durability)
            };
            let writers: Vec<_> = (0..6u32)
                .map(|thread| {
                    scope.spawn(move || {
                        for n in 0.. {
                            match write(thread, n) {
                                Ok(_) => {}
                                Err(Error::Closed) => return n,
                                Err(error) => panic!("{error}"),
                            }
                        }
                        0
                    })
                })
                .collect();
            let flusher = scope.spawn(|| {
                loop {
                    if let Err(error) = store.flush().and_then(|()| store.wait_for_compaction()) {
                        assert!(matches!(error, Error::Closed), "{error}");
                        return;
                    }
                }
            });
            std::thread::sleep(Duration::from_millis(60 + 20 * u64::from(round)));
            store.close().unwrap();
            store.close().unwrap();
            acknowledged = writers.into_iter().map(|w| w.join().unwrap()).collect();
            flusher.join().unwrap();
        });
        drop(store);
        let store = Store::open(env.clone(), path, options.clone()).unwrap();
        assert!(store.report().clean);
        for (thread, count) in (0u32..).zip(&acknowledged) {
            for n in 0..=*count {
                let found = |copy: u32| {
                    let key = [round, thread, n, copy].map(u32::to_be_bytes).concat();
                    store.get(tree, &key, &mut Vec::new()).unwrap()
                };
                assert_eq!([found(0), found(1), found(2)], [n < *count; 3], "round {round} thread {thread} batch {n}");
            }
        }
    }
}
