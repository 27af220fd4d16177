//! After `close`, the next opening succeeds at once, even if handles of the old store exist. These handles return the
//! error that the store is closed, and use no file.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::typed::{Text, Typed, U64};
use alluvium_store::{Bounds, Durability, Error, LockMode, Options, Store, TreeId};
use std::sync::Arc;
use std::time::Duration;

/// The same disk with its own count of operations.
fn door(disk: &Arc<MemFs>) -> (Arc<FaultFs>, Env) {
    let faults = Arc::new(FaultFs::over(disk.clone()));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    (faults, env)
}

/// The number of operations that have changed something.
fn changes(files: &FaultFs) -> u64 {
    OpKind::ALL.iter().filter(|kind| kind.changes()).map(|kind| files.count(*kind)).sum()
}

fn options(background: bool) -> Options {
    Options { partitions: Some(2), memory_bytes: 8 << 20, background, ..Options::default() }
}

fn put(store: &Store, tree: TreeId, n: u32, value: u8) -> Result<u64, Error> {
    let mut batch = store.batch();
    batch.put(tree, &n.to_be_bytes(), &[value; 500]);
    store.write(batch, Durability::Periodic)
}

fn is_closed<T: std::fmt::Debug>(result: Result<T, Error>) {
    assert!(matches!(result, Err(Error::Closed)), "{result:?}");
}

/// Checks that every operation of a handle is refused.
fn refuses_all(store: &Store, tree: TreeId) {
    let mut value = Vec::new();
    is_closed(store.get(tree, &1u32.to_be_bytes(), &mut value));
    is_closed(store.contains(tree, b"none"));
    is_closed(put(store, tree, 1, 9));
    is_closed(store.admit(10).map(drop));
    let locks = store.lock(tree, [b"key".as_slice()], LockMode::Exclusive);
    is_closed(store.write_locked(store.batch(), Durability::Sync, &locks));
    is_closed(store.scan(tree, Bounds::all(), None).map(drop));
    is_closed(store.get_at(&store.snapshot(), tree, b"key", &mut value));
    is_closed(store.create_trees(&[b"more"]));
    is_closed(store.describe_trees(&[(tree, b"other")]));
    is_closed(store.drop_trees(&[tree]));
    is_closed(store.sync());
    is_closed(store.flush());
    is_closed(store.wait_for_compaction());
    is_closed(store.compact());
    is_closed(store.run_pending());
    is_closed(store.run_one_pending());
    is_closed(store.verify());
    is_closed(store.check_open());
    store.close().unwrap();
}

#[test]
fn old_handles_say_closed_and_touch_no_file() {
    for background in [true, false] {
        let disk = Arc::new(MemFs::new());
        let (old_files, env) = door(&disk);
        let old = Arc::new(Store::open(env, "db".as_ref(), options(background)).unwrap());
        let tree = old.create_trees(&[b"tree"]).unwrap()[0];
        for round in 1..=3 {
            for n in 0..500 {
                put(&old, tree, n, round).unwrap();
            }
            old.flush().unwrap();
        }
        let snapshot = old.snapshot();
        let mut scan = old.scan(tree, Bounds::all(), Some(&snapshot)).unwrap();
        let mut latest = old.scan(tree, Bounds::all(), None).unwrap();
        scan.next().unwrap().unwrap();
        let typed = Typed::new(old.clone(), tree, Text, U64);
        // The files that the scans hold are obsolete after this compaction.
        old.compact().unwrap();
        for n in 500..600 {
            put(&old, tree, n, 4).unwrap();
        }
        old.close().unwrap();
        let operations = old_files.total();

        let (_, env) = door(&disk);
        let new = Store::open(env, "db".as_ref(), options(background)).unwrap();
        assert!(new.report().clean);
        refuses_all(&old, tree);
        is_closed(scan.next().map(drop));
        is_closed(latest.next().map(drop));
        is_closed(old.scan(tree, Bounds::all(), Some(&snapshot)).map(drop));
        is_closed(old.get_at(&snapshot, tree, &1u32.to_be_bytes(), &mut Vec::new()));
        is_closed(typed.get(&"key".to_owned()));
        is_closed(typed.put(&"key".to_owned(), &1));
        is_closed(typed.scan().map(drop));
        assert_eq!(old.trees().len(), 1);
        assert_eq!(old.stats().snapshots, 0);
        for n in 0..600 {
            put(&new, tree, n, 5).unwrap();
        }
        new.compact().unwrap();
        drop((scan, latest, snapshot, typed, old));
        assert_eq!(old_files.total(), operations, "an old handle has touched files");
        assert!(new.verify().unwrap().is_empty());
        new.close().unwrap();
    }
}

/// Compactions, flushes and checks on callers' threads end before the directory is unlocked.
#[test]
fn work_on_other_threads_ends_first() {
    let disk = Arc::new(MemFs::new());
    let mut tree = None;
    let mut next = 0;
    for round in 0..12u8 {
        let (old_files, env) = door(&disk);
        let store = Store::open(env, "db".as_ref(), options(round % 3 == 0)).unwrap();
        let tree = *tree.get_or_insert_with(|| store.create_trees(&[b"tree"]).unwrap()[0]);
        for n in 0..next {
            assert!(store.get(tree, &u32::to_be_bytes(n), &mut Vec::new()).unwrap(), "{n} is lost");
        }
        std::thread::scope(|scope| {
            let store = &store;
            let repeat = |work: fn(&Store) -> Result<(), Error>| {
                scope.spawn(move || {
                    loop {
                        match work(store) {
                            Ok(()) => {}
                            Err(Error::Closed) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                })
            };
            repeat(Store::flush);
            repeat(Store::compact);
            repeat(Store::run_pending);
            repeat(|store| store.verify().map(|damage| assert!(damage.is_empty(), "{damage:?}")));
            let writer = scope.spawn(move || {
                (next..).find_map(|n| put(store, tree, n, round).err().map(|error| (n, error))).unwrap()
            });
            std::thread::sleep(Duration::from_millis(30));
            store.close().unwrap();
            let before = changes(&old_files);
            let (_, env) = door(&disk);
            let again = Store::open(env, "db".as_ref(), options(false)).unwrap();
            let (refused, error) = writer.join().unwrap();
            assert!(matches!(error, Error::Closed), "{error}");
            next = refused;
            again.compact().unwrap();
            assert!(again.verify().unwrap().is_empty());
            // Reads that had already started may end.
            assert_eq!(changes(&old_files), before, "files of a closed store have changed");
        });
    }
}

/// If a write itself does the work of compactions, its error says that the store is closed, not that a partition is
/// closed.
#[test]
fn writers_that_compact_say_closed() {
    for round in 0..40u64 {
        let (_, env) = door(&Arc::new(MemFs::new()));
        let store = Store::open(env, "db".as_ref(), options(false)).unwrap();
        let tree = store.create_trees(&[b"tree"]).unwrap()[0];
        std::thread::scope(|scope| {
            let store = &store;
            for _ in 0..2 {
                scope.spawn(move || {
                    let large = |n: u32| {
                        let mut batch = store.batch();
                        batch.put(tree, &n.wrapping_mul(0x9e37_79b1).to_be_bytes(), &[n as u8; 60_000]);
                        store.write(batch, Durability::Periodic)
                    };
                    is_closed((0..).find_map(|n| large(n).err()).map_or(Ok(()), Err));
                });
            }
            std::thread::sleep(Duration::from_millis(20 + round));
            store.close().unwrap();
        });
    }
}

#[test]
fn a_poisoned_store_gives_its_directory_free_too() {
    let disk = Arc::new(MemFs::new());
    let (files, env) = door(&disk);
    let old = Store::open(env, "db".as_ref(), options(true)).unwrap();
    let tree = old.create_trees(&[b"tree"]).unwrap()[0];
    put(&old, tree, 1, 1).unwrap();
    files.inject(Fault::nth(1).of(OpKind::Write).on(".log"));
    put(&old, tree, 2, 1).unwrap_err();
    files.clear();
    assert!(old.get(tree, &1u32.to_be_bytes(), &mut Vec::new()).unwrap(), "reads go on");
    for _ in 0..2 {
        assert!(matches!(old.close(), Err(Error::Poisoned(_))));
    }
    is_closed(old.get(tree, &1u32.to_be_bytes(), &mut Vec::new()));
    let operations = files.total();
    let (_, env) = door(&disk);
    let new = Store::open(env, "db".as_ref(), options(true)).unwrap();
    assert!(new.get(tree, &1u32.to_be_bytes(), &mut Vec::new()).unwrap());
    drop(old);
    assert_eq!(files.total(), operations);
}
