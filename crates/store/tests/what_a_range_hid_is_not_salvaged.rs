//! Reading a store as a repair does: keys under a deleted range do not come back, neither from sorted files
//! nor from the log; what was put again does.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use env::Env;
use std::path::Path;
use store::{Durability, Options, Salvage, Store};

#[test]
fn neither_from_files_nor_from_the_log() {
    let env = Env::in_memory(5);
    let options = Options { partitions: Some(2), memory_bytes: 8 << 20, background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"t"]).unwrap()[0];
    let mut batch = store.batch();
    (0..100u8).for_each(|key| batch.put(tree, &[key], b"value"));
    store.write(batch, Durability::Sync).unwrap();
    store.flush().unwrap();
    store.delete_range(tree, &[10], &[20], Durability::Sync).unwrap();
    store.flush().unwrap();
    store.delete_range(tree, &[30], &[40], Durability::Sync).unwrap();
    let mut batch = store.batch();
    [15, 35].iter().for_each(|key| batch.put(tree, &[*key], b"again"));
    store.write(batch, Durability::Sync).unwrap();
    store.close().unwrap();
    let salvage = Salvage::read(&env, Path::new("db")).unwrap();
    let mut found = Vec::new();
    salvage
        .scan(tree.0, &mut |key| {
            found.push(key.key[0]);
            Ok(())
        })
        .unwrap();
    found.sort_unstable();
    let gone = |key: &u8| (10..20).contains(key) && *key != 15 || (30..40).contains(key) && *key != 35;
    assert_eq!(found, (0..100u8).filter(|key| !gone(key)).collect::<Vec<_>>());
}
