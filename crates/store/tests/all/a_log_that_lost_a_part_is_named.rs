//! If a log has lost its newest groups or its oldest segment, the sorted files and the notes in the log show that, and
//! the opening reports the damage. A caller that accepts it gets the lost numbers, and the next opening succeeds.

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, Error as Disk, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::{Durability, EntryRun, Error, Options, Salvage, Store, TreeChanges, TreeId};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const LOG: &str = "db/wal";

fn env_of(fs: &Arc<MemFs>) -> Env {
    Env { fs: fs.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn options(segment_bytes: u64) -> Options {
    Options {
        memory_bytes: 8 << 20,
        partitions: Some(2),
        background: false,
        segment_bytes: Some(segment_bytes),
        ..Options::default()
    }
}

fn open(disk: &Arc<MemFs>, options: Options) -> alluvium_store::Result<Store> {
    Store::open(env_of(disk), Path::new("db"), options)
}

fn put(store: &Store, tree: TreeId, key: u32, value: &[u8]) {
    let mut batch = store.batch();
    batch.put(tree, &key.to_be_bytes(), value);
    store.write(batch, Durability::Sync).unwrap();
}

fn keys_of(store: &Store, partition: u32) -> impl Iterator<Item = u32> {
    (0..).filter(move |key: &u32| store.partition_of(&key.to_be_bytes()) == partition)
}

/// Fills a partition until a background flush has run.
fn fill(store: &Store, tree: TreeId, partition: u32) {
    for key in keys_of(store, partition) {
        put(store, tree, key, &[7; 4000]);
        if store.run_one_pending().unwrap() {
            return;
        }
    }
}

fn segments(disk: &MemFs) -> Vec<PathBuf> {
    disk.list(Path::new(LOG)).unwrap().into_iter().map(|e| Path::new(LOG).join(e.name)).collect()
}

/// Opening is refused with a named error, then accepted on request. After the damage is discarded, the database is
/// normal.
fn refused_then_accepted(disk: &Arc<MemFs>, options: Options) -> Store {
    let error = open(disk, options.clone()).err().expect("acknowledged writes are lost without an error");
    assert!(matches!(&error, Error::Storage(Disk::Corrupt { path, .. }) if path.starts_with(LOG)), "{error}");
    let willing = Options { accept_log_damage: true, ..options.clone() };
    let store = open(disk, willing).unwrap();
    assert!(!store.report().lost.is_empty(), "the loss is not reported");
    // Until the layer above discards the damage, opening is refused or reports the damage again.
    store.flush().unwrap();
    let still = open(&Arc::new(disk.kill_clone()), options.clone());
    assert!(still.map_or(true, |store| !store.report().lost.is_empty()), "the damage was discarded too early");
    store.discard_damage().unwrap();
    let tree = store.create_trees(&[b"new"]).unwrap()[0];
    put(&store, tree, 1, b"after");
    let killed = Arc::new(disk.kill_clone());
    drop(store);
    let store = open(&killed, options).expect("the damage was accepted");
    assert!(store.report().lost.is_empty(), "{:?}", store.report());
    assert!(store.contains(tree, &1u32.to_be_bytes()).unwrap());
    store
}

/// Makes a database with a key of partition 0 only in the log, and partition 1 in files.
fn flushed_in_part() -> (Arc<MemFs>, TreeId, u32) {
    let disk = Arc::new(MemFs::new());
    let store = open(&disk, options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let key = keys_of(&store, 0).next().unwrap();
    put(&store, tree, key, b"value");
    fill(&store, tree, 1);
    assert_eq!(store.stats().partitions[0].files, 0);
    (Arc::new(disk.kill_clone()), tree, key)
}

#[test]
fn its_end() {
    let (disk, _, _) = flushed_in_part();
    let log = segments(&disk).remove(0);
    disk.open(&log, OpenMode::ReadWrite).unwrap().set_len(8192 + 100).unwrap();
    refused_then_accepted(&disk, options(64 << 20));
}

/// The removal of segments fails because the disk is full. A later flush removes them. Without such a flush, background
/// work and the next flush remove them.
#[test]
fn what_could_not_be_let_go_goes_later() {
    for by_flush in [true, false] {
        let (disk, _, _) = flushed_in_part();
        let log = segments(&disk).remove(0);
        disk.open(&log, OpenMode::ReadWrite).unwrap().set_len(8192 + 100).unwrap();
        let faults = Arc::new(FaultFs::over(disk.clone()));
        let env = Env { fs: faults.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) };
        let willing = Options { accept_log_damage: true, ..options(64 << 20) };
        let store = Store::open(env, Path::new("db"), willing).unwrap();
        let tree = store.create_trees(&[b"new"]).unwrap()[0];
        put(&store, tree, 1, b"after");
        faults.inject(Fault::nth(1).of(OpKind::Create).on(".sst").no_space().from_then_on());
        assert!(store.discard_damage().is_err());
        faults.clear();
        match by_flush {
            true => store.flush().unwrap(),
            false => {
                store.run_pending().unwrap();
                store.flush().unwrap();
            }
        }
        let killed = Arc::new(disk.kill_clone());
        let store = open(&killed, options(64 << 20)).expect("the damage was discarded");
        assert!(store.report().lost.is_empty(), "{:?}", store.report());
        assert!(store.contains(tree, &1u32.to_be_bytes()).unwrap());
    }
}

/// The files of an index that was built have numbers that no flush has noted.
#[test]
fn its_end_below_the_files_of_an_index() {
    let disk = Arc::new(MemFs::new());
    let store = open(&disk, options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let index = |_: &_| TreeChanges { create: vec![b"index".to_vec()], ..TreeChanges::default() };
    let index = store.change_trees(1, index).unwrap()[0];
    put(&store, tree, 1, b"old");
    let log = segments(&disk).remove(0);
    let older = bytes_of(&disk, &log);
    let key = keys_of(&store, 0).next().unwrap();
    (0..9).for_each(|_| put(&store, tree, key, b"value"));
    let (written, mut run) = (store.visible(), EntryRun::new(index));
    run.push(b"entry", written, b"");
    store.ingest(0, &mut run).unwrap();
    let disk = Arc::new(disk.kill_clone());
    let file = disk.open(&log, OpenMode::ReadWrite).unwrap();
    file.set_len(0).unwrap();
    file.write_at(&older, 0).unwrap();

    let store = open(&disk, options(64 << 20)).unwrap();
    let lost = store.report().lost.clone();
    assert_eq!(lost.last().map(|lost| lost.last), Some(written), "the loss is not reported: {lost:?}");
    put(&store, tree, 2, b"new");
    assert!(store.visible() > written, "a number is given out twice");
    store.discard_damage().unwrap();
    let store = open(&Arc::new(disk.kill_clone()), options(64 << 20)).unwrap();
    assert!(store.report().lost.is_empty(), "{:?}", store.report());
}

fn bytes_of(disk: &MemFs, path: &Path) -> Vec<u8> {
    let file = disk.open(path, OpenMode::Read).unwrap();
    let mut bytes = vec![0; file.len().unwrap() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

#[test]
fn all_of_it() {
    let (disk, _, _) = flushed_in_part();
    segments(&disk).iter().for_each(|log| disk.remove(log).unwrap());
    refused_then_accepted(&disk, options(64 << 20));
}

#[test]
fn its_oldest_segment() {
    let disk = Arc::new(MemFs::new());
    let store = open(&disk, options(16 << 10)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    // This flush allows the removal of the first segments. The segments with the following writes are needed.
    store.flush().unwrap();
    for key in 0..40 {
        put(&store, tree, key, &[7; 1000]);
    }
    let disk = Arc::new(disk.kill_clone());
    drop(store);
    assert!(segments(&disk).len() > 2);
    disk.remove(&segments(&disk)[0]).unwrap();
    refused_then_accepted(&disk, options(16 << 10));
}

#[test]
fn a_group_in_its_middle() {
    let disk = Arc::new(MemFs::new());
    let store = open(&disk, options(1 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    for key in 0..40 {
        put(&store, tree, key, &[7; 1000]);
    }
    let disk = Arc::new(disk.kill_clone());
    drop(store);
    let log = segments(&disk).remove(0);
    disk.open(&log, OpenMode::ReadWrite).unwrap().write_at(&[8], 20_000).unwrap();
    let store = refused_then_accepted(&disk, options(1 << 20));
    let left = (0..40u32).filter(|key| store.contains(tree, &key.to_be_bytes()).unwrap()).count();
    assert_eq!(left, 39);
}

#[test]
fn a_tree_whose_creation_is_lost_gives_its_number_to_no_other() {
    let (disk, tree, _) = flushed_in_part();
    for log in segments(&disk) {
        disk.remove(&log).unwrap();
    }
    let willing = Options { accept_log_damage: true, ..options(64 << 20) };
    let store = open(&disk, willing).unwrap();
    let new = store.create_trees(&[b"new"]).unwrap()[0];
    assert!(new > tree, "{new:?} would show what is left of {tree:?}");
}

#[test]
fn a_newest_segment_that_is_lost_is_named_and_salvaged_around() {
    // The newest segment is missing, truncated, or all zeros.
    for (closed, left, zeros) in [(false, None, false), (true, None, false)]
        .into_iter()
        .chain([0, 100, 4096, 8191].into_iter().flat_map(|len| [(false, Some(len), false), (true, Some(len), true)]))
    {
        let disk = Arc::new(MemFs::new());
        let store = open(&disk, options(64 << 20)).unwrap();
        let tree = store.create_trees(&[b"t"]).unwrap()[0];
        put(&store, tree, 1, b"stays");
        store.close().unwrap();
        let store = open(&disk, options(64 << 20)).unwrap();
        put(&store, tree, 2, b"goes");
        if closed {
            store.close().unwrap();
        }
        let disk = Arc::new(disk.kill_clone());
        drop(store);
        let newest = segments(&disk).into_iter().max().unwrap();
        match left {
            None => disk.remove(&newest).unwrap(),
            Some(len) => {
                let file = disk.open(&newest, OpenMode::ReadWrite).unwrap();
                file.set_len(len).unwrap();
                if zeros {
                    file.write_at(&vec![0; len as usize], 0).unwrap();
                }
            }
        }
        let what = format!("closed {closed}, left {left:?}, zeros {zeros}");
        let salvage = Salvage::read(&env_of(&Arc::new(disk.kill_clone())), Path::new("db")).unwrap();
        assert!(!salvage.lost_numbers.is_empty(), "{what}: {:?}", salvage.notes);
        drop(salvage);
        let store = refused_then_accepted(&disk, options(64 << 20));
        let has = |key: u32| store.contains(tree, &key.to_be_bytes()).unwrap();
        assert!(has(1) && !has(2), "{what}");
    }
}
