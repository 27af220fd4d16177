//! A damaged file that many trees share. Its undamaged blocks are searched once, and a scan reads only the blocks of
//! its tree. Reading ends when it is stopped.

use crate::common::disk::{self, copies};
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Fs};
use alluvium_store::{Durability, Error, Options, Salvage, Store};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const TREES: usize = 200;

/// A file with this many small trees, without the end of the file.
fn damaged() -> (Arc<MemFs>, Vec<alluvium_store::TreeId>) {
    let mem = Arc::new(MemFs::new());
    let sizes = Options { memory_bytes: 8 << 20, block_bytes: 1 << 10, ..Options::default() };
    let options = Options { partitions: Some(1), background: false, ..sizes };
    let store = Store::open(disk::env_of(&(mem.clone() as Arc<dyn Fs>)), Path::new("db"), options).unwrap();
    let names: Vec<_> = (0..TREES).map(|n| format!("tree {n}")).collect();
    let trees = store.create_trees(&names.iter().map(|name| name.as_bytes()).collect::<Vec<_>>()).unwrap();
    let mut batch = store.batch();
    for (n, tree) in trees.iter().enumerate() {
        // Some trees have several blocks. Most trees share a block with others.
        for key in 0..if n % 50 == 7 { 60 } else { 3u8 } {
            batch.put(*tree, &[key], format!("{n}: {}", n * 7919 + usize::from(key) * 104_729).repeat(4).as_bytes());
        }
    }
    store.write(batch, Durability::Sync).unwrap();
    store.flush().unwrap();
    store.close().unwrap();
    let files = copies(&*mem, "db/p000", ".sst");
    assert_eq!(files.len(), 1);
    disk::cut_end(&mem, &files[0].0);
    (mem, trees)
}

#[test]
fn what_is_left_of_a_file_is_looked_for_once() {
    let (mem, trees) = damaged();
    let counting = Arc::new(FaultFs::over(mem));
    let env: Env = disk::env_of(&(counting.clone() as Arc<dyn Fs>));
    let salvage = Salvage::read(&env, Path::new("db")).unwrap();
    assert_eq!((salvage.losses.is_empty(), salvage.blocks > 30), (false, true), "{} blocks", salvage.blocks);
    let before = counting.count(OpKind::Read);
    let mut keys = 0;
    for tree in &trees {
        let mut last = None;
        let visit = &mut |key: &alluvium_store::SalvagedKey<'_>| {
            assert!(last.replace(key.key.to_vec()) < Some(key.key.to_vec()));
            keys += 1;
            Ok(())
        };
        salvage.scan(tree.0, visit).unwrap();
    }
    assert_eq!(keys, 4 * 60 + (TREES - 4) * 3);
    let reads = counting.count(OpKind::Read) - before;
    // A tree may begin in the block in which the previous tree ends.
    let most = 2 * (salvage.blocks + 2 * TREES as u64);
    assert!(reads <= most, "{reads} reads of a file with {} blocks", salvage.blocks);
}

#[test]
fn reading_ends_when_it_is_stopped() {
    let (mem, trees) = damaged();
    let failing = Arc::new(FaultFs::over(mem));
    let env: Env = disk::env_of(&(failing.clone() as Arc<dyn Fs>));
    let stop = Arc::new(AtomicBool::new(false));
    let salvage = Salvage::read_unless(&env, Path::new("db"), &stop).unwrap();
    failing.inject(Fault::nth(1).of(OpKind::Open).on(".sst").from_then_on());
    assert!(matches!(salvage.scan(trees[0].0, &mut |_| Ok(())), Err(Error::Storage(_))));
    assert_eq!(failing.fired(), 1);
    stop.store(true, Ordering::Relaxed);
    assert!(matches!(salvage.scan(trees[0].0, &mut |_| Ok(())), Err(Error::Stopped)));
    drop(salvage);
    assert!(matches!(Salvage::read_unless(&env, Path::new("db"), &stop), Err(Error::Stopped)));
    assert_eq!(failing.fired(), 1, "a file was opened all the same");
}
