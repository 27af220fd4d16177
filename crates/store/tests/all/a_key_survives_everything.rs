//! One key passes through every layer: written, read, flushed, compacted, reopened, read.

use alluvium_env::Env;
use alluvium_store::{Bounds, Durability, Options, Store, TreeId};

fn options() -> Options {
    Options { memory_bytes: 8 << 20, partitions: Some(3), ..Options::default() }
}

fn get(store: &Store, tree: TreeId, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    store.get(tree, key, &mut value).unwrap().then_some(value)
}

fn put(store: &Store, tree: TreeId, key: &[u8], value: &[u8]) {
    let mut batch = store.batch();
    batch.put(tree, key, value);
    store.write(batch, Durability::Periodic).unwrap();
}

#[test]
fn one_key_written_flushed_compacted_reopened_read() {
    let env = Env::in_memory(1);
    let path = std::path::Path::new("db");
    let store = Store::open(env.clone(), path, options()).unwrap();
    assert!(store.report().created);
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    put(&store, tree, b"key", b"value");
    assert_eq!(get(&store, tree, b"key").unwrap(), b"value");
    let before = store.snapshot();
    store.flush().unwrap();
    assert_eq!(get(&store, tree, b"key").unwrap(), b"value");
    put(&store, tree, b"key", b"second");
    store.wait_for_compaction().unwrap();
    store.compact().unwrap();
    assert_eq!(get(&store, tree, b"key").unwrap(), b"second");
    let mut value = Vec::new();
    assert!(store.get_at(&before, tree, b"key", &mut value).unwrap());
    assert_eq!(value, b"value", "a snapshot never changes");
    drop(before);
    assert!(store.verify().unwrap().is_empty());
    store.close().unwrap();
    drop(store);

    let store = Store::open(env, path, options()).unwrap();
    assert!(store.report().clean && !store.report().created);
    assert_eq!(store.trees(), [(tree, b"tree".to_vec())]);
    assert_eq!(get(&store, tree, b"key").unwrap(), b"second");
}

#[test]
fn many_keys_over_partitions_come_back_in_order() {
    let env = Env::in_memory(2);
    let path = std::path::Path::new("db");
    let store = Store::open(env.clone(), path, options()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let other = store.create_trees(&[b"other"]).unwrap()[0];
    for round in 0..5u32 {
        for start in (0..20_000u32).step_by(500) {
            let mut batch = store.batch();
            for n in start..start + 500 {
                let key = (n.wrapping_mul(2_654_435_761)).to_be_bytes();
                match (n + round) % 7 {
                    0 => batch.delete(tree, &key),
                    _ => batch.put(tree, &key, &[round as u8; 150]),
                }
                batch.put(other, &key, b"x");
            }
            store.write(batch, Durability::Bulk).unwrap();
        }
    }
    let check = |store: &Store| {
        let mut want: Vec<u32> =
            (0..20_000u32).filter(|n| (n + 4) % 7 != 0).map(|n| n.wrapping_mul(2_654_435_761)).collect();
        want.sort_unstable();
        for reverse in [false, true] {
            let mut scan = store.scan(tree, Bounds { reverse, ..Bounds::all() }, None).unwrap();
            let mut got = Vec::new();
            while let Some((key, value)) = scan.next().unwrap() {
                assert_eq!(value, [4; 150]);
                got.push(u32::from_be_bytes(key.try_into().unwrap()));
            }
            if reverse {
                got.reverse();
            }
            assert!(got == want, "{} keys, not {}", got.len(), want.len());
        }
    };
    check(&store);
    store.wait_for_compaction().unwrap();
    check(&store);
    let stats = store.stats();
    assert!(stats.partitions.iter().all(|p| p.files > 0), "{stats:?}");
    drop(store);
    let store = Store::open(env, path, options()).unwrap();
    check(&store);
    store.drop_trees(&[other]).unwrap();
    store.compact().unwrap();
    check(&store);
    assert!(store.verify().unwrap().is_empty());
}
