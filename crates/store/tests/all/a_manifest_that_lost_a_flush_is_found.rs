//! The log notes flushes before it removes their data. Therefore a manifest whose last frame is damaged is not mistaken
//! for a manifest whose last frame was torn.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;

#[test]
fn damage_to_the_last_flush_of_any_partition_is_reported() {
    let path = Path::new("db");
    for partition in 0..3 {
        let disk = Arc::new(MemFs::new());
        let env = Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
        let options = Options { partitions: Some(3), ..Options::default() };
        let store = Store::open(env.clone(), path, options.clone()).unwrap();
        let tree = store.create_trees(&[b"tree"]).unwrap()[0];
        for n in 0..100u32 {
            let mut batch = store.batch();
            batch.put(tree, &n.to_be_bytes(), b"value");
            store.write(batch, Durability::Sync).unwrap();
        }
        store.flush().unwrap();
        let killed = Arc::new(disk.kill_clone());
        drop(store);
        let dir = path.join(format!("p{partition:03}"));
        let manifests = killed.list(&dir).unwrap().into_iter().filter(|e| e.name.starts_with("MANIFEST-"));
        let manifest = manifests.map(|e| e.name).max().unwrap();
        let file = killed.open(&dir.join(manifest), OpenMode::ReadWrite).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        // The space after the last frame is reserved.
        let last = bytes.iter().rposition(|b| *b != 0).unwrap();
        file.write_at(&[bytes[last] ^ 1], last as u64).unwrap();
        let opened = Store::open(Env { fs: killed, ..env }, path, options);
        let error = opened.err().expect("100 keys are lost without an error");
        assert!(error.is_corruption(), "{error}");
    }
}
