//! A process was killed while it merged, and the disk is full with what that has left. The next one
//! opens with a smaller budget, has to flush while it replays, and finds the space there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use env::mem::MemFs;
use env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use std::path::Path;
use std::sync::Arc;
use store::{Durability, Options, Store};

fn options(memory_bytes: usize) -> Options {
    Options { memory_bytes, partitions: Some(2), background: false, segment_bytes: Some(1 << 20), ..Options::default() }
}

#[test]
fn a_full_disk_with_left_overs_opens() {
    let disk = Arc::new(MemFs::new());
    let env =
        |fs: &Arc<MemFs>| Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
    let store = Store::open(env(&disk), Path::new("db"), options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for n in 0..5000u32 {
        let mut batch = store.batch();
        batch.put(tree, &n.to_be_bytes(), &[n as u8; 1000]);
        store.write(batch, Durability::Bulk).unwrap();
    }
    let disk = Arc::new(disk.kill_clone());
    drop(store);
    for partition in ["p000", "p001"] {
        let left_over = Path::new("db").join(partition).join("00000100.sst");
        disk.open(&left_over, OpenMode::CreateNew).unwrap().write_at(&[1; 2 << 20], 0).unwrap();
    }
    disk.set_capacity(disk.used_bytes() + (64 << 10));
    let store = Store::open(env(&disk), Path::new("db"), options(8 << 20)).unwrap();
    let found = (0..5000u32).filter(|n| store.contains(tree, &n.to_be_bytes()).unwrap()).count();
    assert_eq!(found, 5000);
}
