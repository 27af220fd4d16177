//! Deltas are folded by readers, flushes, compactions and recovery, with any number of threads; none is lost or applied
//! twice. A delta on a missing value does nothing, and a delta that cannot be applied is counted.

use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, Fold, FoldError, Options, Store, TreeId};
use std::path::Path;
use std::sync::Arc;

/// Each value is a sum and a count. A delta is added unless it is not a number.
#[derive(Debug)]
struct Sums;

fn encode(sum: i64, count: i64) -> [u8; 16] {
    let mut value = [0; 16];
    value[..8].copy_from_slice(&sum.to_le_bytes());
    value[8..].copy_from_slice(&count.to_le_bytes());
    value
}

fn decode(value: &[u8]) -> (i64, i64) {
    let number = |at: usize| i64::from_le_bytes(value[at..at + 8].try_into().unwrap());
    (number(0), number(8))
}

impl Fold for Sums {
    fn fold(
        &self,
        _tree: TreeId,
        _key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        let (mut sum, mut count) = decode(base);
        let mut refused = 0;
        for delta in deltas {
            match <[u8; 8]>::try_from(*delta) {
                Ok(bytes) => (sum, count) = (sum + i64::from_le_bytes(bytes), count + 1),
                Err(_) => refused += 1,
            }
        }
        out.extend_from_slice(&encode(sum, count));
        Ok(Some(refused))
    }
}

fn options() -> Options {
    Options { memory_bytes: 8 << 20, partitions: Some(2), fold: Some(Arc::new(Sums)), ..Options::default() }
}

fn open(env: &Env) -> Store {
    Store::open(env.clone(), Path::new("db"), options()).unwrap()
}

fn get(store: &Store, tree: TreeId, key: &[u8]) -> Option<(i64, i64)> {
    let mut value = Vec::new();
    store.get(tree, key, &mut value).unwrap().then(|| decode(&value))
}

fn put(store: &Store, tree: TreeId, key: &[u8], sum: i64) {
    let mut batch = store.batch();
    batch.put(tree, key, &encode(sum, 0));
    store.write(batch, Durability::Periodic).unwrap();
}

fn add(store: &Store, tree: TreeId, key: &[u8], n: i64) {
    let mut batch = store.batch();
    batch.delta(tree, key, &n.to_le_bytes());
    store.write(batch, Durability::Periodic).unwrap();
}

/// All values by a forward scan. A backward scan must return the same values.
fn all(store: &Store, tree: TreeId) -> Vec<(Vec<u8>, (i64, i64))> {
    let mut forward = Vec::new();
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        forward.push((key.to_vec(), decode(value)));
    }
    let mut back = Vec::new();
    let mut scan = store.scan(tree, Bounds { reverse: true, ..Bounds::all() }, None).unwrap();
    while let Some((key, value)) = scan.next().unwrap() {
        back.push((key.to_vec(), decode(value)));
    }
    back.reverse();
    assert_eq!(forward, back);
    forward
}

#[test]
fn threads_add_to_few_keys_while_everything_moves() {
    let env = Env::in_memory(11);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    for key in 0..8u8 {
        put(&store, tree, &[key], 1000);
    }
    let (threads, each) = (4, 3000i64);
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let store = &store;
            scope.spawn(move || {
                for n in 0..each {
                    add(store, tree, &[((n + thread) % 8) as u8], 1);
                    if n % 500 == 0 {
                        store.flush().unwrap();
                    }
                    if n % 1500 == 700 {
                        store.compact().unwrap();
                    }
                    // Each value that is read is a sum of complete deltas.
                    let (sum, count) = get(store, tree, &[(n % 8) as u8]).unwrap();
                    assert_eq!(sum, 1000 + count);
                }
            });
        }
    });
    let per_key = i64::from(threads as i32) * each / 8;
    let expected: Vec<_> = (0..8u8).map(|key| (vec![key], (1000 + per_key, per_key))).collect();
    assert_eq!(all(&store, tree), expected);
    // After the process dies, the log restores the content of memory.
    let snapshot = store.snapshot();
    drop(store);
    let store = open(&env);
    assert_eq!(all(&store, tree), expected);
    store.compact().unwrap();
    assert_eq!(all(&store, tree), expected);
    drop(snapshot);
    let entries: u64 = store.stats().partitions.iter().map(|p| p.entries).sum();
    // The sums, and the two keys of the registry of trees.
    assert!(entries <= 8 + 4, "{entries} entries: chains were not folded");
}

#[test]
fn all_threads_add_to_one_key() {
    let env = Env::in_memory(16);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"a", 0);
    let (threads, each) = (8, 4000);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| (0..each).for_each(|_| add(&store, tree, b"a", 2)));
        }
    });
    assert_eq!(get(&store, tree, b"a"), Some((2 * threads * each, threads * each)));
}

#[test]
fn a_snapshot_sees_the_sum_of_its_moment() {
    let env = Env::in_memory(12);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"a", 0);
    let mut snapshots = Vec::new();
    for n in 1..=200i64 {
        add(&store, tree, b"a", n);
        if n % 20 == 0 {
            snapshots.push((n * (n + 1) / 2, n, store.snapshot()));
        }
        if n % 50 == 0 {
            store.flush().unwrap();
            store.wait_for_compaction().unwrap();
        }
    }
    store.compact().unwrap();
    for (sum, count, snapshot) in &snapshots {
        let mut value = Vec::new();
        assert!(store.get_at(snapshot, tree, b"a", &mut value).unwrap());
        assert_eq!(decode(&value), (*sum, *count));
    }
}

#[test]
fn a_scan_shows_the_sum_of_its_moment_while_others_add() {
    let env = Env::in_memory(17);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"a", 0);
    for n in 1..=200i64 {
        for reverse in [false, true] {
            let snapshot = store.snapshot();
            let before = get(&store, tree, b"a").unwrap();
            // The scan has not read the key when the chain is folded.
            let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, Some(&snapshot)).unwrap();
            add(&store, tree, b"a", n);
            let (key, value) = scan.next().unwrap().unwrap();
            assert_eq!((key, decode(value)), (&b"a"[..], before), "{n}");
        }
    }
}

#[test]
fn on_what_is_absent_deltas_do_nothing() {
    let env = Env::in_memory(13);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"gone", 7);
    store.flush().unwrap();
    for _ in 0..100 {
        add(&store, tree, b"never", 1);
    }
    let mut batch = store.batch();
    batch.delta(tree, b"gone", &1i64.to_le_bytes());
    batch.delete(tree, b"gone");
    batch.delta(tree, b"gone", &2i64.to_le_bytes());
    store.write(batch, Durability::Periodic).unwrap();
    for step in 0..3 {
        assert_eq!(get(&store, tree, b"never"), None, "{step}");
        assert_eq!(get(&store, tree, b"gone"), None, "{step}");
        assert!(all(&store, tree).is_empty(), "{step}");
        if step == 0 { store.flush().unwrap() } else { store.compact().unwrap() }
    }
    // A key that is put again after a delete starts without deltas.
    put(&store, tree, b"gone", 1);
    assert_eq!(get(&store, tree, b"gone"), Some((1, 0)));
}

#[test]
fn what_cannot_apply_changes_nothing_and_is_counted_once() {
    let env = Env::in_memory(14);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"a", 5);
    for n in 0..100 {
        let mut batch = store.batch();
        if n % 10 == 0 {
            batch.delta(tree, b"a", b"no number");
        } else {
            batch.delta(tree, b"a", &1i64.to_le_bytes());
        }
        store.write(batch, Durability::Periodic).unwrap();
        assert_eq!(get(&store, tree, b"a").unwrap().1, n - n / 10);
    }
    store.flush().unwrap();
    store.compact().unwrap();
    assert_eq!(get(&store, tree, b"a"), Some((95, 90)));
    assert_eq!(store.stats().deltas_refused, 10);
}

#[test]
fn a_store_opened_without_a_fold_keeps_the_deltas() {
    let env = Env::in_memory(15);
    let store = open(&env);
    let tree = store.create_trees(&[b"sums"]).unwrap()[0];
    put(&store, tree, b"a", 5);
    add(&store, tree, b"a", 1);
    store.close().unwrap();
    drop(store);
    let store = Store::open(env.clone(), Path::new("db"), Options { fold: None, ..options() }).unwrap();
    assert!(store.get(tree, b"a", &mut Vec::new()).is_err());
    store.flush().unwrap();
    store.compact().unwrap();
    assert!(store.get(tree, b"a", &mut Vec::new()).unwrap_err().to_string().contains("fold"));
    drop(store);
    let store = open(&env);
    assert_eq!(get(&store, tree, b"a"), Some((6, 1)));
    store.compact().unwrap();
    assert_eq!(get(&store, tree, b"a"), Some((6, 1)));
}
