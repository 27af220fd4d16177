//! A power cut can leave a manifest that ends within an edit. Nothing is lost, and the opening reports it.

use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Store};
use std::path::Path;
use std::sync::Arc;

fn open(disk: &Arc<MemFs>) -> Store {
    let env = Env { fs: disk.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let options = Options { partitions: Some(2), background: false, ..Options::default() };
    Store::open(env, "db".as_ref(), options).unwrap()
}

#[test]
fn the_torn_tail_of_a_manifest_is_reported() {
    let disk = Arc::new(MemFs::new());
    let store = open(&disk);
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..200u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[7; 100]);
        store.write(batch, Durability::Sync).unwrap();
        if n == 100 {
            store.flush().unwrap();
        }
    }
    assert!(store.report().manifest_tails.is_empty());

    let disk = Arc::new(disk.kill_clone());
    let dir = Path::new("db/p001");
    let name = disk.list(dir).unwrap().into_iter().find(|e| e.name.starts_with("MANIFEST-")).unwrap().name;
    let path = dir.join(name);
    let file = disk.open(&path, OpenMode::ReadWrite).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() as u64;
    file.write_at(b"half of an edit", end + 60).unwrap();

    let store = open(&disk);
    let [tail] = &store.report().manifest_tails[..] else { panic!("{:?}", store.report()) };
    assert_eq!(tail.path, path);
    let (offset, after) = (tail.offset, tail.offset + tail.bytes);
    assert!(offset > 32 && offset <= end + 60 && after >= end + 75, "{tail:?}");
    for n in 0..200u32 {
        assert!(store.get(tree, &n.to_be_bytes(), &mut Vec::new()).unwrap(), "{n} is lost");
    }
    store.close().unwrap();
    // The new manifest has no torn tail.
    assert!(open(&disk).report().manifest_tails.is_empty());
}
