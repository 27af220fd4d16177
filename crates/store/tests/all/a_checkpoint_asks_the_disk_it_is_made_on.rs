//! A checkpoint on another disk needs space for the copied files there, and no reserve for the database. On the disk of
//! the database, the reserve is kept.

use crate::common::{Ruled, Rules};
use alluvium_env::Env;
use alluvium_store::{CheckpointOptions, Durability, Options, Store};
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn with_free(free: u64) -> Store {
    let memory = Env::in_memory(1);
    let rules = Rules { other_disk: Some((PathBuf::from("backups"), free)), ..Rules::default() };
    memory.fs.create_dir_all(Path::new("backups")).unwrap();
    let env = Env { fs: Arc::new(Ruled { inner: memory.fs.clone(), rules }), ..memory };
    let options = Options { memory_bytes: 64 << 20, partitions: Some(1), background: false, ..Options::default() };
    let store = Store::open(env, Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..20_u8 {
        let mut batch = store.batch();
        batch.put(tree, &[n], &[n; 10_000]);
        store.write(batch, Durability::Sync).unwrap();
    }
    store
}

#[test]
fn a_checkpoint_asks_the_disk_it_is_made_on() {
    // The log has reserved far more than it contains, and the reserve of the database is even larger.
    let store = with_free(1 << 20);
    assert!(store.disk_reserve_bytes() > 8 << 20);
    let report = store.checkpoint(Path::new("backups/monday"), &CheckpointOptions::default()).unwrap();
    assert!((200_000..1 << 20).contains(&report.log_bytes), "{report:?}");
    store.close().unwrap();
    let store = with_free(100_000);
    let refused = store.checkpoint(Path::new("backups/monday"), &CheckpointOptions::default());
    let said = refused.unwrap_err().to_string();
    assert!(said.contains("bytes are needed, and 100000 are free") && !said.contains("kept"), "{said}");
    store.close().unwrap();
}
