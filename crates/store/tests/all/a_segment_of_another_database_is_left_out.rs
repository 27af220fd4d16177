//! A segment of another database was put into a log. The segment is ignored, and so is its record of the end of the
//! previous segment.

use crate::common::disk::{copies, env_of};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs, OpenMode, SeededRng};
use alluvium_store::{Durability, Options, Salvage, SalvagedKey, Store, TreeId};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

/// Makes a database of one partition with `writes` keys in its log, all of them acknowledged.
fn database(mem: &Arc<MemFs>, seed: u64, dir: &str, writes: u32) -> (Store, TreeId) {
    let env = Env { rng: Arc::new(SeededRng::new(seed)), ..env_of(&(mem.clone() as Arc<dyn Fs>)) };
    let options = Options { partitions: Some(1), background: false, ..Options::default() };
    let store = Store::open(env, Path::new(dir), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..writes {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[7; 500]);
        store.write(batch, Durability::Sync).unwrap();
    }
    (store, tree)
}

fn saved(mem: &Arc<MemFs>, tree: TreeId) -> (Salvage, BTreeSet<Vec<u8>>) {
    let salvage = Salvage::read(&env_of(&(mem.clone() as Arc<dyn Fs>)), Path::new("a")).unwrap();
    let mut found = BTreeSet::new();
    let visit = &mut |key: &SalvagedKey<'_>| {
        found.insert(key.key.to_vec());
        Ok(())
    };
    salvage.scan(tree.0, visit).unwrap();
    (salvage, found)
}

#[test]
fn it_does_not_say_where_the_log_ends() {
    let mem = Arc::new(MemFs::new());
    let (_ours, tree) = database(&mem, 1, "a", 100);
    // The other database has a second segment, and its first segment ends after a few groups.
    let (theirs, _) = database(&mem, 2, "b", 2);
    theirs.close().unwrap();
    let (_theirs, _) = database(&mem, 3, "b", 0);
    let mem = Arc::new(mem.kill_clone());
    let number = |path: &Path| alluvium_wal::segment_number(&path.file_name().unwrap().to_string_lossy()).unwrap();
    let last = copies(&*mem, "a/wal", "wal-").iter().map(|(path, _)| number(path)).max().unwrap();
    let log = copies(&*mem, "b/wal", "wal-");
    let (path, bytes) = log.iter().find(|(path, _)| number(path) == last + 1).unwrap();
    let beside = Path::new("a/wal").join(path.file_name().unwrap());
    mem.open(&beside, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();

    let (salvage, found) = saved(&mem, tree);
    assert_eq!(found.len(), 100, "{:?}", salvage.notes);
    assert!(salvage.notes.iter().any(|note| note.contains("another database")), "{:?}", salvage.notes);
}

#[test]
fn in_the_place_of_the_last_segment_it_does_not_hide_that_this_is_lost() {
    let mem = Arc::new(MemFs::new());
    let (ours, _) = database(&mem, 1, "a", 10);
    ours.close().unwrap();
    let (_ours, tree) = database(&mem, 1, "a", 20);
    let (theirs, _) = database(&mem, 2, "b", 2);
    theirs.close().unwrap();
    let (_theirs, _) = database(&mem, 3, "b", 0);
    let mem = Arc::new(mem.kill_clone());
    let (last, _) = copies(&*mem, "a/wal", "wal-").pop().unwrap();
    let theirs = copies(&*mem, "b/wal", "wal-");
    let (_, bytes) = theirs.iter().find(|(path, _)| path.file_name() == last.file_name()).unwrap();
    mem.remove(&last).unwrap();
    mem.open(&last, OpenMode::CreateNew).unwrap().write_at(bytes, 0).unwrap();

    let (salvage, _) = saved(&mem, tree);
    assert!(salvage.lost_numbers.iter().any(|lost| lost.last == u64::MAX), "{:?}", salvage.lost_numbers);
}
