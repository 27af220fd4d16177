//! A checkpoint that is made during writes has every operation up to one number and none above, in all partitions,
//! memtables, files and the log. No file that the checkpoint needs is removed.

use alluvium_env::{Env, thread};
use alluvium_store::{Bounds, CheckpointOptions, Durability, Options, RestoreOptions, Store, TreeId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const WRITERS: u64 = 3;
const KEYS: u64 = 12;
/// The number of batches that are written between two checkpoints. It is large enough that checkpoints and writes
/// overlap on a slow machine.
const BATCHES: u64 = 250;

fn options() -> Options {
    let small = Options { segment_bytes: Some(16 << 10), file_bytes: Some(16 << 10), ..Options::default() };
    Options { memory_bytes: 8 << 20, partitions: Some(4), threads: Some(2), disk_reserve_bytes: Some(0), ..small }
}

fn key(writer: u64, n: u64) -> Vec<u8> {
    let mut key = writer.to_be_bytes().to_vec();
    key.extend(n.to_be_bytes());
    key
}

fn contents(store: &Store, tree: TreeId) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut scan = store.scan(tree, Bounds::all(), None).unwrap();
    let mut found = BTreeMap::new();
    while let Some((key, value)) = scan.next().unwrap() {
        found.insert(key.to_vec(), value.to_vec());
    }
    found
}

/// Opens a restored checkpoint, and returns its content and its last number.
fn restored(env: &Env, checkpoint: &Path, tree: TreeId) -> (BTreeMap<Vec<u8>, Vec<u8>>, u64) {
    let to = checkpoint.with_file_name("restored");
    let report = alluvium_store::restore_checkpoint(env, checkpoint, &to, RestoreOptions::default()).unwrap();
    let store = Store::open(env.clone(), &to, options()).unwrap();
    assert!(store.report().lost.is_empty() && store.report().dropped.is_none());
    assert!(store.visible() >= report.seq);
    assert_eq!(store.verify().unwrap().len(), 0);
    let found = contents(&store, tree);
    store.close().unwrap();
    env.fs.rename(&to, &checkpoint.with_file_name(format!("restored {}", report.seq))).unwrap();
    (found, report.seq)
}

#[test]
fn while_others_write() {
    let env = Env::in_memory(5);
    let store = Arc::new(Store::open(env.clone(), Path::new("db"), options()).unwrap());
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let stop = Arc::new(AtomicBool::new(false));
    let done: Arc<Vec<AtomicU64>> = Arc::new((0..WRITERS).map(|_| AtomicU64::new(0)).collect());
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, stop, done) = (store.clone(), stop.clone(), done.clone());
            thread::spawn("writer", move || {
                for n in 1u64.. {
                    let mut batch = store.batch();
                    for k in 0..KEYS {
                        batch.put(tree, &key(writer, k), &n.to_be_bytes());
                        // Many keys are overwritten, so that files are created and removed.
                        batch.put(tree, &key(writer + 100, n * KEYS + k), &[7; 100]);
                        batch.delete(tree, &key(writer + 100, n.saturating_sub(50) * KEYS + k));
                    }
                    let written = store.write(batch, Durability::Bulk);
                    stop.fetch_or(written.is_err(), Ordering::SeqCst);
                    written.unwrap();
                    done[writer as usize].store(n, Ordering::SeqCst);
                    if stop.load(Ordering::SeqCst) {
                        return;
                    }
                }
            })
        })
        .collect();
    let mut base = None;
    for round in 0..12u64 {
        while done.iter().map(|n| n.load(Ordering::SeqCst)).sum::<u64>() < (round + 1) * BATCHES {
            assert!(!stop.load(Ordering::SeqCst), "a writer failed");
            thread::yield_now();
        }
        let before: Vec<u64> = done.iter().map(|n| n.load(Ordering::SeqCst)).collect();
        let dir = Path::new("backups").join(format!("{round}"));
        let options = CheckpointOptions { base: base.take(), copy: round % 3 == 2, ..CheckpointOptions::default() };
        let report = store.checkpoint(&dir, &options).unwrap();
        let after: Vec<u64> = done.iter().map(|n| n.load(Ordering::SeqCst)).collect();
        let (found, seq) = restored(&env, &dir, tree);
        assert_eq!(seq, report.seq);
        for writer in 0..WRITERS {
            let of = |k: u64| found.get(&key(writer, k)).map_or(0, |v| u64::from_be_bytes(v[..].try_into().unwrap()));
            let n = of(0);
            assert!((0..KEYS).all(|k| of(k) == n), "writer {writer} is cut in two in round {round}");
            // A batch that was acknowledged after `after` was read may be included.
            assert!(before[writer as usize] <= n && n <= after[writer as usize] + 1, "round {round}: {n}");
            let live = found.range(key(writer + 100, 0)..key(writer + 101, 0)).count() as u64;
            assert_eq!(live, n.min(50) * KEYS, "round {round}, at {n}");
        }
        base = Some(dir);
        if round % 4 == 3 {
            store.compact().unwrap();
        }
    }
    stop.store(true, Ordering::SeqCst);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let stats = store.stats();
    assert!(
        stats.flushed_bytes > 64 << 10 && stats.log_bytes_written > 4 << 20,
        "too little to mean anything: {stats:?}"
    );
    store.close().unwrap();
}

#[test]
fn the_log_goes_on_being_let_go_afterwards() {
    let env = Env::in_memory(5);
    let options = Options { background: false, ..options() };
    let store = Store::open(env.clone(), Path::new("db"), options).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    let fill = |from: u64| {
        for n in from..from + 200 {
            let mut batch = store.batch();
            batch.put(tree, &n.to_be_bytes(), &[1; 1000]);
            store.write(batch, Durability::Sync).unwrap();
        }
    };
    fill(0);
    store.checkpoint(Path::new("one"), &CheckpointOptions::default()).unwrap();
    fill(200);
    let before = store.stats().log_bytes;
    store.flush().unwrap();
    assert!(store.stats().log_bytes < before / 2, "{} of {before}", store.stats().log_bytes);
    // Makes a checkpoint of a database that has removed the beginning of its log.
    store.checkpoint(Path::new("two"), &CheckpointOptions::default()).unwrap();
    let (found, _) = restored(&env, Path::new("two"), tree);
    assert_eq!(found, contents(&store, tree));
    assert_eq!(found.len(), 400);
}
