//! Trees are created and dropped repeatedly. No data of a dropped tree is kept, on disk or in memory.

use alluvium_env::Env;
use alluvium_lsm::image::walk_manifest;
use alluvium_store::{Durability, Options, Store};
use std::path::Path;

#[test]
fn a_dropped_tree_leaves_nothing() {
    let env = Env::in_memory(1);
    let options = Options { partitions: Some(1), background: false, ..Options::default() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let stays = store.create_trees(&[b"stays"]).unwrap()[0];
    for round in 0..60u32 {
        let tree = store.create_trees(&[b"goes"]).unwrap()[0];
        for value in [b"one", b"two"] {
            let mut batch = store.batch();
            batch.put(tree, b"key", value);
            batch.put(stays, b"key", value);
            store.write(batch, Durability::Bulk).unwrap();
            if round % 2 == 0 {
                store.flush().unwrap();
            }
        }
        store.flush().unwrap();
        store.drop_trees(&[tree]).unwrap();
        store.run_pending().unwrap();
        if round % 5 == 0 {
            store.compact().unwrap();
        }
    }
    store.compact().unwrap();
    store.close().unwrap();
    let names = env.fs.list(Path::new("db/p000")).unwrap();
    let manifest = names.iter().find(|entry| entry.name.starts_with("MANIFEST-")).expect("a manifest");
    let walked = walk_manifest(&env, &Path::new("db/p000").join(&manifest.name), None).unwrap();
    let trees: Vec<u32> = walked.version.superseded.iter().map(|(tree, _)| tree).filter(|tree| *tree > 0).collect();
    assert_eq!(trees, [stays.0]);
}
