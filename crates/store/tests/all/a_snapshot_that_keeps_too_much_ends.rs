//! If files keep more than the limit for snapshots, the oldest snapshots are ended with a named error, and their space
//! is freed. Data that the remaining snapshots need may stay.

use alluvium_env::Env;
use alluvium_store::{Bounds, Compression, Durability, Error, Options, Snapshot, Store, TreeId};

const LIMIT: u64 = 10_000_000;
const KEYS: u32 = 100;
const VALUE: usize = 30_000;

fn open(limit: Option<u64>) -> Store {
    let options = Options {
        partitions: Some(2),
        background: false,
        compression: Compression::None,
        snapshot_max_debt_bytes: limit,
        ..Options::default()
    };
    Store::open(Env::in_memory(1), "db".as_ref(), options).unwrap()
}

/// Writes all keys, flushes them, and merges the files with the existing ones.
fn overwrite(store: &Store, tree: TreeId, round: u8) {
    for n in 0..KEYS {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[round; VALUE]);
        store.write(batch, Durability::Bulk).unwrap();
    }
    store.compact().unwrap();
}

fn read(store: &Store, snapshot: &Snapshot, tree: TreeId) -> Result<u8, Error> {
    let mut value = Vec::new();
    store.get_at(snapshot, tree, &7u32.to_be_bytes(), &mut value)?;
    Ok(value[0])
}

fn file_bytes(store: &Store) -> u64 {
    store.stats().partitions.iter().map(|p| p.bytes).sum()
}

#[test]
fn the_oldest_snapshots_end_and_their_versions_go() {
    let store = open(Some(LIMIT));
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    overwrite(&store, tree, 0);
    let mut snapshots = vec![store.snapshot()];
    let mut under_way = store.scan(tree, Bounds::all(), Some(&snapshots[0])).unwrap();
    let one = u64::from(KEYS) * VALUE as u64;
    let mut ended = 0;
    for round in 0..8u8 {
        overwrite(&store, tree, round + 1);
        store.run_pending().unwrap();
        let stats = store.stats();
        assert!(stats.snapshot_debt_bytes <= LIMIT, "round {round}: {}", stats.snapshot_debt_bytes);
        if round < 2 {
            let kept = one * (u64::from(round) + 1);
            assert!(stats.snapshot_debt_bytes.abs_diff(kept) < kept / 10, "{} of {kept}", stats.snapshot_debt_bytes);
            under_way.next().unwrap().unwrap();
        }
        let states: Vec<_> = snapshots.iter().map(|s| read(&store, s, tree)).collect();
        ended = states.iter().take_while(|s| s.is_err()).count();
        for (at, state) in states.iter().enumerate() {
            match state {
                Ok(value) => assert_eq!(usize::from(*value), at, "a snapshot never changes"),
                Err(Error::SnapshotTooOld) => assert!(at < ended, "an older one than {at} lives on"),
                Err(error) => panic!("{error}"),
            }
        }
        if ended > 0 {
            let error = under_way.next().expect_err("its snapshot was ended");
            let text = error.to_string();
            assert!(text.contains("snapshot_max_age") && text.contains("snapshot_max_debt_bytes"), "{text}");
        }
        assert!(ended == 0 || snapshots.len() - ended == 3, "three snapshots explain no more than the limit");
        snapshots.push(store.snapshot());
    }
    assert!(ended >= 5, "{ended} of 8 were ended");
    snapshots.clear();
    store.compact().unwrap();
    store.run_pending().unwrap();
    assert_eq!(store.stats().snapshot_debt_bytes, 0);
    assert!(file_bytes(&store) < one * 3 / 2, "{}", file_bytes(&store));
}

#[test]
fn a_dropped_tree_counts_while_a_snapshot_holds_it() {
    for (limit, ends) in [(10 << 20, false), (1 << 20, true)] {
        let store = open(Some(limit));
        let trees = store.create_trees(&[b"one", b"other"]).unwrap();
        overwrite(&store, trees[0], 1);
        let snapshot = store.snapshot();
        assert_eq!(store.stats().snapshot_debt_bytes, 0);
        store.drop_trees(&[trees[0]]).unwrap();
        let debt = store.stats().snapshot_debt_bytes;
        assert!(debt >= u64::from(KEYS) * VALUE as u64, "{debt}");
        let later = store.snapshot();
        store.run_pending().unwrap();
        match read(&store, &snapshot, trees[0]) {
            Ok(value) => assert!(!ends && value == 1),
            Err(Error::SnapshotTooOld) => assert!(ends),
            Err(error) => panic!("{error}"),
        }
        store.get_at(&later, trees[1], b"key", &mut Vec::new()).unwrap();
        assert_eq!(file_bytes(&store) < 1 << 20, ends, "{}", file_bytes(&store));
    }
}

#[test]
fn without_an_option_little_ends_nothing() {
    let store = open(None);
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    overwrite(&store, tree, 0);
    let snapshot = store.snapshot();
    for round in 1..8 {
        overwrite(&store, tree, round);
    }
    assert_eq!(read(&store, &snapshot, tree).unwrap(), 0);
    assert!(store.stats().snapshot_debt_bytes > 0);
}
