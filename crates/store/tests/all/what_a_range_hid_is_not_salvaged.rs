//! Salvage reads a store as a repair does. Keys in a deleted range do not reappear, neither from sorted files nor from
//! the log. Keys that were put again after the delete are salvaged.

use crate::common::disk::{self, Copies, copies, put_back};
use alluvium_env::fault::{FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs};
use alluvium_store::{Durability, Options, Salvage, Store, TreeId};
use std::path::Path;
use std::sync::Arc;

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

/// A store of one partition that writes its log in small segments, and a copy of the segments that it has removed.
struct Kept {
    mem: Arc<MemFs>,
    store: Store,
    gone: Arc<alluvium_env::sync::Mutex<Copies>>,
}

impl Kept {
    fn new() -> Self {
        let mem = Arc::new(MemFs::new());
        let gone = Arc::new(alluvium_env::sync::Mutex::new(Copies::new()));
        let (of, to) = (mem.clone(), gone.clone());
        let watched = FaultFs::over(mem.clone());
        watched.set_hook(Some(Arc::new(move |op| {
            if op.kind == OpKind::Remove && op.path.starts_with("db/wal") {
                to.lock().push((op.path.to_owned(), disk::read(&*of, op.path)));
            }
        })));
        let sizes = Options { memory_bytes: 8 << 20, segment_bytes: Some(16 << 10), ..Options::default() };
        let options = Options { partitions: Some(1), background: false, ..sizes };
        let env = disk::env_of(&(Arc::new(watched) as Arc<dyn Fs>));
        let store = Store::open(env, Path::new("db"), options).unwrap();
        Self { mem, store, gone }
    }

    /// Fills a segment of the log with writes to another tree, then flushes. The log notes the flush.
    fn flush(&self, other: TreeId) {
        for n in 0..40u32 {
            let mut batch = self.store.batch();
            batch.put(other, &n.to_be_bytes(), format!("filler {n} {}", "x".repeat(1000)).as_bytes());
            self.store.write(batch, Durability::Sync).unwrap();
        }
        self.store.flush().unwrap();
    }

    /// Salvages the store as if it had crashed before any segment of the log was removed. The group with the text `gap`
    /// is damaged, and without `manifests` the manifests are missing.
    fn with_gap(&self, gap: &str, manifests: bool) -> Salvage {
        let mem = Arc::new(self.mem.kill_clone());
        if !manifests {
            put_back(&*mem, "db/p000", "MANIFEST", &Copies::new());
        }
        let log = [self.gone.lock().clone(), copies(&*mem, "db/wal", "wal-")].concat();
        put_back(&*mem, "db/wal", "wal-", &log);
        disk::damage_log(&mem, gap);
        let salvage = Salvage::read(&disk::env_of(&(mem as Arc<dyn Fs>)), Path::new("db")).unwrap();
        assert_eq!(salvage.lost_numbers, [], "it was all flushed, as the log says: {:?}", salvage.notes);
        assert!(salvage.notes.iter().any(|note| note.contains("the checksum of a group")), "{:?}", salvage.notes);
        salvage
    }
}

/// The salvaged keys, and whether each is doubtful.
fn left_in(salvage: &Salvage, tree: TreeId) -> Vec<(Vec<u8>, bool)> {
    let mut found = Vec::new();
    let visit = &mut |key: &alluvium_store::SalvagedKey<'_>| {
        found.push((key.key.to_vec(), key.doubtful));
        Ok(())
    };
    salvage.scan(tree.0, visit).unwrap();
    found
}

#[test]
fn nor_where_only_a_log_with_a_gap_has_it() {
    let kept = Kept::new();
    let trees = kept.store.create_trees(&[b"t", b"other"]).unwrap();
    let put = |store: &Store, keys: &[u8]| {
        let mut batch = store.batch();
        keys.iter().for_each(|key| batch.put(trees[0], &[*key], b"value"));
        store.write(batch, Durability::Sync).unwrap();
    };
    put(&kept.store, &(0..100).collect::<Vec<_>>());
    kept.store.flush().unwrap();
    kept.store.delete_range(trees[0], &[10], &[20], Durability::Sync).unwrap();
    put(&kept.store, &[15]);
    kept.flush(trees[1]);
    for manifests in [true, false] {
        let salvage = kept.with_gap("filler 20", manifests);
        let found = left_in(&salvage, trees[0]);
        let expected = (0..100).filter(|key| !(10..20).contains(key) || *key == 15);
        assert_eq!(found, expected.map(|key| (vec![key], false)).collect::<Vec<_>>(), "with manifests: {manifests}");
    }
}

/// After a range was deleted, a later write loses its sequence number once no other entry needs the tombstone.
#[test]
fn what_came_after_a_range_and_has_lost_its_number_is_kept() {
    let kept = Kept::new();
    let values = kept.store.create_multivalue_tree(b"values").unwrap();
    let other = kept.store.create_trees(&[b"other"]).unwrap()[0];
    let put = |store: &Store, value: &str| {
        let mut batch = store.batch();
        batch.put_value(values, b"key", value.as_bytes());
        store.write(batch, Durability::Sync).unwrap();
    };
    put(&kept.store, "before");
    kept.flush(other);
    kept.store.delete_range(values, b"", b"z", Durability::Sync).unwrap();
    put(&kept.store, "afterwards");
    kept.flush(other);
    // The first compaction leaves no entry below the tombstone. Afterwards no entry below it is reported.
    kept.store.compact().unwrap();
    kept.store.compact().unwrap();
    put(&kept.store, "now");
    kept.flush(other);
    kept.store.compact().unwrap();
    for manifests in [true, false] {
        let salvage = kept.with_gap("afterwards", manifests);
        let mut found = Vec::new();
        let visit = &mut |key: &alluvium_store::SalvagedKey<'_>| {
            let after = String::from_utf8_lossy(key.key).contains("afterwards");
            found.extend(after.then_some((key.versions[0].seq, key.doubtful)));
            Ok(())
        };
        salvage.scan(values.0, visit).unwrap();
        assert_eq!(found, [(alluvium_lsm::NUMBERLESS, !manifests)], "with manifests: {manifests}");
    }
}
