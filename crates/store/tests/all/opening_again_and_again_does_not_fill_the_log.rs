//! Every open adds a segment to the log. These segments do not accumulate.

use alluvium_env::Env;
use alluvium_store::{Durability, Options, Store};
use std::path::Path;

#[test]
fn a_hundred_opens_leave_a_few_segments() {
    let env = Env::in_memory(1);
    let options = Options { partitions: Some(2), ..Options::default() };
    let path = Path::new("db");
    let store = Store::open(env.clone(), path, options.clone()).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let mut batch = store.batch();
    batch.put(tree, b"key", b"value");
    store.write(batch, Durability::Periodic).unwrap();
    store.close().unwrap();
    drop(store);
    let mut most = 0;
    for _ in 0..120 {
        let store = Store::open(env.clone(), path, options.clone()).unwrap();
        assert!(store.get(tree, b"key", &mut Vec::new()).unwrap());
        drop(store);
        most = most.max(env.fs.list(&path.join("wal")).unwrap().len());
    }
    assert!(most < 60, "{most} segments");
}
