//! One thread deletes a range, writes its keys again in the same batch, and then changes them by deltas. Readers
//! without a snapshot find every key at every moment, and never a delta on a value that was deleted before.

use alluvium_store::{Bounds, Durability, Fold, FoldError, Options, Store, TreeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KEYS: u8 = 12;
const ROUNDS: u32 = 3000;
const READERS: usize = 3;
const DELETES: u32 = 40_000;

/// A fold that appends deltas to the value.
#[derive(Debug)]
struct Append;

impl Fold for Append {
    fn fold(
        &self,
        _tree: TreeId,
        _key: &[u8],
        base: &[u8],
        deltas: &[&[u8]],
        out: &mut Vec<u8>,
    ) -> Result<Option<u64>, FoldError> {
        out.extend_from_slice(base);
        deltas.iter().for_each(|delta| out.extend_from_slice(delta));
        Ok(Some(0))
    }
}

/// The round in which a value was written. The value has this number once, and once more for each delta.
fn round(value: &[u8]) -> u32 {
    let numbers: Vec<u32> = value.chunks(4).map(|four| u32::from_le_bytes(four.try_into().unwrap())).collect();
    assert!(numbers.iter().all(|number| *number == numbers[0]), "values of several rounds: {numbers:?}");
    numbers[0]
}

fn read(store: &Store, tree: TreeId, seen: &mut [u32], steps: &AtomicU64) {
    let mut value = Vec::new();
    for key in 0..KEYS {
        assert!(store.get(tree, &[key], &mut value).unwrap(), "key {key} is gone");
        let round = round(&value);
        assert!(round >= seen[usize::from(key)], "key {key} goes back to round {round}");
        seen[usize::from(key)] = round;
    }
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    let mut rounds = Vec::new();
    while let Some((_, value)) = scan.next().unwrap() {
        rounds.push(round(value));
    }
    assert_eq!(rounds, vec![rounds[0]; usize::from(KEYS)], "a batch is seen whole");
    steps.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn while_it_is_rewritten() {
    let options = Options {
        partitions: Some(2),
        memory_bytes: 8 << 20,
        file_bytes: Some(16 << 10),
        fold: Some(Arc::new(Append)),
        ..Options::default()
    };
    let store = Store::open(alluvium_env::Env::in_memory(3), "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let write = |round: u32| {
        let mut batch = store.batch();
        batch.delete_range(tree, &[0], &[KEYS]);
        (0..KEYS).for_each(|key| batch.put(tree, &[key], &round.to_le_bytes()));
        store.write(batch, Durability::Bulk).unwrap();
        let mut batch = store.batch();
        (0..KEYS).filter(|key| (u32::from(*key) + round).is_multiple_of(3)).for_each(|key| {
            batch.delta(tree, &[key], &round.to_le_bytes());
        });
        store.write(batch, Durability::Bulk).unwrap();
        if round.is_multiple_of(500) {
            store.flush().unwrap();
        }
    };
    write(1);
    let (done, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut seen = [0; KEYS as usize];
                while !done.load(Ordering::Relaxed) {
                    read(&store, tree, &mut seen, &steps);
                }
            });
        }
        (2..ROUNDS).for_each(write);
        done.store(true, Ordering::Relaxed);
    });
    assert!(steps.load(Ordering::Relaxed) > 0);
    store.compact().unwrap();
    let mut value = Vec::new();
    assert!(store.get(tree, &[3], &mut value).unwrap());
    assert_eq!(round(&value), ROUNDS - 1);
    assert!(store.verify().unwrap().is_empty());
}

#[test]
fn a_deleted_key_stays_away_while_its_range_is_deleted_again_and_again() {
    let options = Options { partitions: Some(1), memory_bytes: 64 << 20, ..Options::default() };
    let store = Store::open(alluvium_env::Env::in_memory(4), "db".as_ref(), options).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Bulk).unwrap();
    let delete = |number: u32| {
        // A newer range covers all older ones, so these are dropped.
        store.delete_range(tree, b"k", &[b"l", &number.to_be_bytes()[..]].concat(), Durability::Bulk).unwrap();
    };
    delete(0);
    let (done, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                let mut value = Vec::new();
                while !done.load(Ordering::Relaxed) {
                    for _ in 0..100 {
                        assert!(!store.get(tree, b"key", &mut value).unwrap(), "the key is back");
                    }
                    steps.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        (1..DELETES).for_each(delete);
        done.store(true, Ordering::Relaxed);
    });
    assert!(steps.load(Ordering::Relaxed) > 0);
}
