use super::*;
use crate::options::{Durability, Options};
use crate::store::Store;
use alluvium_env::{Env, OpenMode};
use std::path::Path;

#[test]
fn a_thread_that_waits_for_a_flush_does_not_get_the_error_of_a_compaction() {
    let env = Env::in_memory(1);
    let options = Options { memory_bytes: 8 << 20, partitions: Some(1), background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    // More runs than the limit. All of them are damaged before they are first read.
    for round in 0..14u32 {
        let mut batch = store.batch();
        (0..50u32).for_each(|n| batch.put(tree, &n.to_be_bytes(), &round.to_le_bytes()));
        store.write(batch, Durability::Bulk).unwrap();
        store.flush().unwrap();
    }
    let dir = Path::new("db/p000");
    for entry in env.fs.list(dir).unwrap().into_iter().filter(|entry| entry.name.ends_with("sst")) {
        let file = env.fs.open(&dir.join(&entry.name), OpenMode::ReadWrite).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, 20).unwrap();
        file.write_at(&[byte[0] ^ 1], 20).unwrap();
    }
    // Some work has failed, so a waiting thread checks whether progress is possible.
    let failed = || store.upkeep.failures.note(Some(Error::WorkerFailed("merging".to_owned())));
    failed();
    assert!(store.upkeep.check_flushes().is_ok(), "flushes go on");
    failed();
    let error = store.upkeep.check_progress().unwrap_err();
    assert!(error.is_corruption(), "{error}");
}

#[test]
fn a_thread_that_waits_for_busy_workers_does_not_keep_them_busy() {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(1), ..Options::default() };
    let store = Store::open(Env::in_memory(1), Path::new("db"), options).unwrap();
    let (work, is_over) = (store.upkeep.work.clone(), AtomicBool::new(false));
    let (store, work, is_over) = (&store, &work, &is_over);
    let signals = alluvium_env::thread::scope(|scope| {
        scope.spawn(|| {
            work.run(|| {
                while !is_over.load(Ordering::SeqCst) {
                    work.wait_for_worker();
                }
                WorkOutcome::Nothing
            });
        });
        while work.busy() == 0 {
            work.wait_for_worker();
        }
        let before = work.signals();
        let waiting = scope.spawn(|| store.wait_for_compaction());
        // The wait is several times as long as the interval at which the waiting thread checks again.
        (0..10).for_each(|_| work.wait_for_worker());
        let signals = work.signals() - before;
        is_over.store(true, Ordering::SeqCst);
        waiting.join().unwrap().unwrap();
        store.close().unwrap();
        signals
    });
    // The seal of the memtable sends one signal, for the flush.
    assert!(signals <= 1, "{signals} signals");
}
