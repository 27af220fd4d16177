//! Writers, readers, flushes and compactions under many schedules: the commit queue, the switch of memtables, the
//! installation of versions, snapshots, deletes of ranges. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium_env::fault::{Fault, FaultFs};
use alluvium_env::mem::MemFs;
use alluvium_env::sync::Arc;
use alluvium_env::sync::atomic::{AtomicU64, Ordering};
use alluvium_env::thread::{JoinHandle, spawn};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Bounds, Durability, Error, Options, Snapshot, Store, TreeId};
use std::ops::Bound;
use std::path::Path;

const PATH: &str = "db";

fn options() -> Options {
    Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        threads: Some(1),
        durability: Durability::Bulk,
        segment_bytes: Some(16 << 10),
        disk_reserve_bytes: Some(0),
        background: false,
        ..Options::default()
    }
}

/// A store, its one tree, and the disk below it.
struct Opened {
    store: Arc<Store>,
    tree: TreeId,
    mem: Arc<MemFs>,
    faults: Arc<FaultFs>,
}

fn over(mem: &Arc<MemFs>) -> (Arc<FaultFs>, Env) {
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    (faults, env)
}

fn open() -> Opened {
    let mem = Arc::new(MemFs::new());
    let (faults, env) = over(&mem);
    let store = Arc::new(Store::open(env, Path::new(PATH), options()).unwrap());
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    Opened { store, tree, mem, faults }
}

/// Two keys that are in different partitions.
fn two_keys(store: &Store) -> [Vec<u8>; 2] {
    let in_partition = |wanted: u32| {
        let mut keys = (0..=u8::MAX).map(|n| vec![n]);
        keys.find(|key| store.partition_of(key) == wanted).unwrap()
    };
    [in_partition(0), in_partition(1)]
}

fn put(store: &Store, tree: TreeId, keys: &[Vec<u8>], count: u64) -> alluvium_store::Result<u64> {
    let mut batch = store.batch();
    keys.iter().for_each(|key| batch.put(tree, key, &count.to_be_bytes()));
    store.write(batch, Durability::Bulk)
}

fn number(value: &[u8]) -> u64 {
    u64::from_be_bytes(value.try_into().unwrap())
}

/// The number under a key; 0 without one.
fn get(store: &Store, tree: TreeId, key: &[u8]) -> u64 {
    let mut value = Vec::new();
    if store.get(tree, key, &mut value).unwrap() { number(&value) } else { 0 }
}

fn get_at(store: &Store, snapshot: &Snapshot, tree: TreeId, key: &[u8]) -> u64 {
    let mut value = Vec::new();
    if store.get_at(snapshot, tree, key, &mut value).unwrap() { number(&value) } else { 0 }
}

/// The numbers under all keys between bounds.
fn scan(store: &Store, snapshot: &Snapshot, tree: TreeId) -> Vec<u64> {
    let bounds = Bounds { lower: Bound::Unbounded, upper: Bound::Unbounded, reverse: false };
    let mut scan = store.scan(tree, bounds, Some(snapshot)).unwrap();
    let mut found = Vec::new();
    while let Some((_, value)) = scan.next().unwrap() {
        found.push(number(value));
    }
    found
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    threads.into_iter().for_each(|thread| thread.join().unwrap_or_else(|panicked| panic!("{panicked}")));
}

fn check(name: &str, usual: u64, scenario: impl Fn() + Send + Sync + 'static) {
    alluvium_env::schedules::check(&format!("-p alluvium-store --test schedules {name}"), usual, scenario);
}

/// A reader pauses between its two steps, and a flush drops all older versions in between. The reader must still find
/// the key. Nearly all steps here are reads, so that one of them is interrupted between its steps.
#[test]
fn a_read_that_a_flush_overtakes_finds_the_newest() {
    check("a_read_that_a_flush_overtakes_finds_the_newest", 600, || {
        let Opened { store, tree, .. } = open();
        let key = vec![1];
        put(&store, tree, std::slice::from_ref(&key), 1).unwrap();
        let (writing, written) = (store.clone(), key.clone());
        let writer = spawn("writer", move || {
            put(&writing, tree, &[written], 2).unwrap();
            writing.flush().unwrap();
        });
        for _ in 0..40 {
            let found = get(&store, tree, &key);
            assert!(found == 1 || found == 2, "{found} is found");
        }
        writer.join().unwrap();
    });
}

/// Files are created and removed while one key is written again and again. A read without a snapshot finds the key. It
/// never finds a value that is older than an earlier result or an earlier acknowledged write.
#[test]
fn a_read_across_a_switch_of_versions_finds_the_newest() {
    check("a_read_across_a_switch_of_versions_finds_the_newest", 300, || {
        let Opened { store, tree, .. } = open();
        let keys = two_keys(&store);
        put(&store, tree, &keys, 1).unwrap();
        let acknowledged = Arc::new(AtomicU64::new(1));
        let (writing, written, key) = (store.clone(), acknowledged.clone(), keys[0].clone());
        let writer = spawn("writer", move || {
            for count in 2..6 {
                put(&writing, tree, std::slice::from_ref(&key), count).unwrap();
                written.store(count, Ordering::SeqCst);
                if count % 2 == 0 {
                    writing.flush().unwrap();
                }
            }
        });
        let files = store.clone();
        let keeper = spawn("keeper", move || {
            files.flush().unwrap();
            files.compact().unwrap();
            files.run_pending().unwrap();
        });
        let (reading, written, key) = (store.clone(), acknowledged, keys[0].clone());
        let reader = spawn("reader", move || {
            let mut before = 0;
            for _ in 0..4 {
                let least = written.load(Ordering::SeqCst);
                let found = get(&reading, tree, &key);
                assert!(
                    found >= least.max(before),
                    "{found} is found, after {least} was acknowledged and {before} found"
                );
                before = found;
            }
        });
        join([writer, keeper, reader]);
        assert_eq!(keys.map(|key| get(&store, tree, &key)), [5, 1]);
    });
}

/// At each snapshot, a batch over two partitions is present as a whole or not at all, for every kind of read, and does
/// not change.
#[test]
fn a_snapshot_shows_batches_whole_and_never_changes() {
    check("a_snapshot_shows_batches_whole_and_never_changes", 300, || {
        let Opened { store, tree, .. } = open();
        let keys = two_keys(&store);
        put(&store, tree, &keys, 1).unwrap();
        let (writing, both) = (store.clone(), keys.clone());
        let writer = spawn("writer", move || {
            for count in 2..5 {
                put(&writing, tree, &both, count).unwrap();
            }
        });
        let files = store.clone();
        let keeper = spawn("keeper", move || {
            files.flush().unwrap();
            files.flush().unwrap();
            files.compact().unwrap();
        });
        let readers = (0..2).map(|_| {
            let (store, keys) = (store.clone(), keys.clone());
            spawn("reader", move || {
                let mut before = 0;
                for _ in 0..2 {
                    let snapshot = store.snapshot();
                    let first = get_at(&store, &snapshot, tree, &keys[0]);
                    assert!(first >= before.max(1), "{first} after {before}");
                    assert_eq!(get_at(&store, &snapshot, tree, &keys[1]), first, "half a batch");
                    assert_eq!(scan(&store, &snapshot, tree), [first, first], "a scan sees something else");
                    assert_eq!(get_at(&store, &snapshot, tree, &keys[0]), first, "the snapshot has changed");
                    before = first;
                }
            })
        });
        let threads: Vec<_> = [writer, keeper].into_iter().chain(readers).collect();
        join(threads);
        assert_eq!(keys.map(|key| get(&store, tree, &key)), [4, 4]);
    });
}

/// Batches get distinct numbers in the order of the log, and each is visible when it is acknowledged. A memtable that
/// is sealed concurrently loses no batch, also if the process is killed.
#[test]
fn every_batch_of_the_queue_is_in_the_log_and_in_a_memtable() {
    check("every_batch_of_the_queue_is_in_the_log_and_in_a_memtable", 300, || {
        let Opened { store, tree, mem, .. } = open();
        let first = store.visible();
        let numbers = Arc::new(alluvium_env::sync::Mutex::new(Vec::new()));
        let writers = (0..3u8).map(|writer| {
            let (store, numbers) = (store.clone(), numbers.clone());
            spawn("writer", move || {
                for count in 1..3 {
                    let keys = [vec![writer, count], vec![writer, count, 0]];
                    let last = put(&store, tree, &keys, u64::from(count)).unwrap();
                    assert!(store.visible() >= last, "acknowledged, and not visible");
                    keys.iter().for_each(|key| assert_eq!(get(&store, tree, key), u64::from(count), "own write"));
                    numbers.lock().extend([last - 1, last]);
                }
            })
        });
        let mut threads: Vec<_> = writers.collect();
        let sealing = store.clone();
        threads.push(spawn("sealer", move || {
            sealing.flush().unwrap();
            sealing.flush().unwrap();
        }));
        join(threads);
        let mut numbers = std::mem::take(&mut *numbers.lock());
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 12, "each operation has a number of its own");
        assert!(numbers[0] > first && store.visible() >= numbers[11]);
        let killed = Arc::new(mem.kill_clone());
        let again = Store::open(over(&killed).1, Path::new(PATH), options()).unwrap();
        for store in [&*store, &again] {
            assert_eq!(scan(store, &store.snapshot(), tree).len(), 12);
            assert!(store.verify().unwrap().is_empty());
        }
    });
}

/// The log fails once. Writers in that group and later ones get an error, and none waits forever. Readers see all
/// acknowledged writes, now and after the next opening.
#[test]
fn a_failed_log_is_reported_to_every_write_in_the_queue() {
    check("a_failed_log_is_reported_to_every_write_in_the_queue", 400, || {
        let Opened { store, tree, mem, faults } = open();
        faults.inject(Fault::nth(2).of_changes().on("wal-"));
        let writers: Vec<_> = (0..3u8)
            .map(|writer| {
                let store = store.clone();
                spawn("writer", move || {
                    let mut acknowledged = 0;
                    for count in 1..3u8 {
                        match put(&store, tree, &[vec![writer, count]], u64::from(count)) {
                            Ok(_) => acknowledged = count,
                            Err(Error::OutcomeUnknown(_) | Error::Poisoned(_)) => return acknowledged,
                            Err(other) => panic!("{other}"),
                        }
                    }
                    acknowledged
                })
            })
            .collect();
        let acknowledged: Vec<u8> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        faults.clear();
        assert!(put(&store, tree, &[vec![9]], 9).is_err(), "poisoned means poisoned");
        let killed = Arc::new(mem.kill_clone());
        let again = Store::open(over(&killed).1, Path::new(PATH), options()).unwrap();
        for store in [&*store, &again] {
            for (writer, count) in (0u8..).zip(&acknowledged) {
                (1..=*count).for_each(|n| assert_eq!(get(store, tree, &[writer, n]), u64::from(n), "{writer} {n}"));
            }
        }
    });
}

/// A tree is dropped while other threads write to it. Each acknowledged write came before the drop, and the next tree
/// has none of the dropped tree's keys.
#[test]
fn a_drop_lets_nothing_through() {
    check("a_drop_lets_nothing_through", 300, || {
        let Opened { store, tree, .. } = open();
        put(&store, tree, &[vec![1]], 1).unwrap();
        let before = store.snapshot();
        let writers = (0..2u8).map(|writer| {
            let store = store.clone();
            spawn("writer", move || {
                for count in 1..4 {
                    match put(&store, tree, &[vec![writer]], count) {
                        Ok(_) | Err(Error::NoSuchTree(_)) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            })
        });
        let mut threads: Vec<_> = writers.collect();
        let files = store.clone();
        threads.push(spawn("keeper", move || {
            files.flush().unwrap();
            files.run_pending().unwrap();
        }));
        store.drop_trees(&[tree]).unwrap();
        let next = store.create_trees(&[b"next"]).unwrap()[0];
        assert!(matches!(put(&store, tree, &[vec![7]], 7), Err(Error::NoSuchTree(_))));
        join(threads);
        assert_ne!(next, tree);
        assert_eq!(scan(&store, &store.snapshot(), next), [0u64; 0], "nothing was written to the next tree");
        assert_eq!(get_at(&store, &before, tree, &[1]), 1, "an older snapshot still reads it");
        assert_eq!(scan(&store, &before, tree), [1]);
        drop(before);
        store.compact().unwrap();
        assert!(store.verify().unwrap().is_empty());
    });
}

/// The key that only the batch with this count puts.
fn own_key(count: u64) -> Vec<u8> {
    vec![200, count as u8]
}

/// Writes a batch that deletes all keys as one range, and puts them and one more key again.
fn renew(store: &Store, tree: TreeId, keys: &[Vec<u8>], count: u64) {
    let mut batch = store.batch();
    batch.delete_range(tree, &[], &[255]);
    keys.iter().chain([&own_key(count)]).for_each(|key| batch.put(tree, key, &count.to_be_bytes()));
    store.write(batch, Durability::Bulk).unwrap();
}

/// A reader pauses between its steps while range tombstones are thinned. When the second newer tombstone is added, the
/// tombstone that the reader needs is dropped, unless the reader has registered a snapshot. Nearly all steps here are
/// reads, so that one of them is interrupted between its steps.
#[test]
fn a_read_that_deletes_of_ranges_overtake_finds_nothing_again() {
    check("a_read_that_deletes_of_ranges_overtake_finds_nothing_again", 600, || {
        let Opened { store, tree, .. } = open();
        let delete_all = move |store: &Store| {
            let mut batch = store.batch();
            batch.delete_range(tree, &[], &[255]);
            store.write(batch, Durability::Bulk).unwrap();
        };
        put(&store, tree, &[vec![1]], 1).unwrap();
        delete_all(&store);
        let writing = store.clone();
        let writer = spawn("writer", move || (0..2).for_each(|_| delete_all(&writing)));
        for _ in 0..40 {
            assert_eq!(get(&store, tree, &[1]), 0, "what was deleted is there");
        }
        writer.join().unwrap();
    });
}

/// A memtable is sealed while a batch that deletes a range is applied to it. Reads during the flush see the deleted
/// range.
#[test]
fn a_range_that_is_deleted_while_its_memtable_is_sealed_hides_its_keys() {
    check("a_range_that_is_deleted_while_its_memtable_is_sealed_hides_its_keys", 600, || {
        let Opened { store, tree, .. } = open();
        let keys = two_keys(&store);
        for _ in 0..2 {
            put(&store, tree, &keys, 1).unwrap();
            let files = store.clone();
            let keeper = spawn("keeper", move || files.flush().unwrap());
            let mut batch = store.batch();
            batch.delete_range(tree, &[], &[255]);
            store.write(batch, Durability::Bulk).unwrap();
            for key in keys.iter().chain(&keys) {
                assert_eq!(get(&store, tree, key), 0, "what was deleted is there");
            }
            assert_eq!(scan(&store, &store.snapshot(), tree), [0u64; 0]);
            keeper.join().unwrap();
            store.flush().unwrap();
        }
    });
}

/// Each batch deletes, by a range, all keys of the earlier batches, and range tombstones in memory are thinned for the
/// next batch. A read without a snapshot never finds a deleted key again. A snapshot shows exactly one batch, complete,
/// and never changes.
#[test]
fn deletes_of_ranges_hide_the_same_at_every_moment() {
    const LAST: u64 = 6;
    check("deletes_of_ranges_hide_the_same_at_every_moment", 400, || {
        let Opened { store, tree, .. } = open();
        let keys = two_keys(&store);
        renew(&store, tree, &keys, 1);
        let acknowledged = Arc::new(AtomicU64::new(1));
        let (writing, written, all) = (store.clone(), acknowledged.clone(), keys.clone());
        let writer = spawn("writer", move || {
            for count in 2..=LAST {
                renew(&writing, tree, &all, count);
                written.store(count, Ordering::SeqCst);
            }
        });
        let files = store.clone();
        let keeper = spawn("keeper", move || {
            files.flush().unwrap();
            files.compact().unwrap();
        });
        let (reading, all) = (store.clone(), keys.clone());
        let snapshots = spawn("snapshots", move || {
            let mut before = 1;
            for _ in 0..2 {
                let snapshot = reading.snapshot();
                let first = get_at(&reading, &snapshot, tree, &all[0]);
                assert!(first >= before, "{first} after {before}");
                assert_eq!(get_at(&reading, &snapshot, tree, &all[1]), first, "half a batch");
                assert_eq!(get_at(&reading, &snapshot, tree, &own_key(first - 1)), 0, "what was deleted is there");
                assert_eq!(scan(&reading, &snapshot, tree), [first; 3], "a scan sees something else");
                assert_eq!(get_at(&reading, &snapshot, tree, &all[0]), first, "the snapshot has changed");
                before = first;
            }
        });
        let (reading, key) = (store.clone(), keys[0].clone());
        let reader = spawn("reader", move || {
            let mut before = 1;
            for _ in 0..8 {
                let least = acknowledged.load(Ordering::SeqCst);
                assert_eq!(get(&reading, tree, &own_key(least - 1)), 0, "what was deleted is there");
                let found = get(&reading, tree, &key);
                assert!(found >= least.max(before), "{found}, after {least} was acknowledged and {before} found");
                before = found;
            }
        });
        join([writer, keeper, snapshots, reader]);
        assert_eq!(scan(&store, &store.snapshot(), tree), [LAST; 3]);
        store.compact().unwrap();
        assert!(store.verify().unwrap().is_empty());
    });
}
