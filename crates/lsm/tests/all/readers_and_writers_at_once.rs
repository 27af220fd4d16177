//! Reads without locks while one thread writes and two threads flush and compact. Every read finds
//! the newest visible value or a newer one, and a snapshot never changes.

use crate::common::{Db, TestPolicy, key, tiny_options};
use alluvium_codec::entry::{Entry, Kind};
use alluvium_lsm::{Options, Partition};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const KEYS: u64 = 97;
const WRITES: u64 = 12_000;

/// Writes key `seq % KEYS` at each number, so that the value of each key at a number is known.
fn write(partition: &Partition, policy: &TestPolicy, done: &AtomicBool) {
    for seq in 1..=WRITES {
        if seq % 400 == 0 {
            partition.rotate(seq);
            while partition.view().immutable_count() > 4 {
                // The thread that flushes may have failed.
                if done.load(Ordering::SeqCst) {
                    return;
                }
                std::thread::yield_now();
            }
        }
        let memtable = partition.active();
        memtable.register_writer();
        let (key, value) = (key(&format!("{:03}", seq % KEYS)), format!("{seq:08}").repeat(6));
        let kind = if seq % 13 == 0 { Kind::Delete } else { Kind::Put };
        let value = if kind == Kind::Put { value.as_bytes() } else { b"" };
        memtable.apply(std::iter::once(Entry { key: &key, seq, kind, value }));
        memtable.finish_writer();
        policy.visible.store(seq, Ordering::SeqCst);
    }
    done.store(true, Ordering::SeqCst);
}

/// The number of the newest write of key `k` up to `seq`.
fn newest(k: u64, seq: u64) -> Option<u64> {
    let newest = (seq / KEYS) * KEYS + k;
    let newest = if newest > seq { newest.checked_sub(KEYS)? } else { newest };
    (newest > 0).then_some(newest)
}

fn expected(k: u64, seq: u64) -> Option<String> {
    newest(k, seq).filter(|n| n % 13 != 0).map(|n| format!("{n:08}").repeat(6))
}

fn read(partition: &Partition, policy: &TestPolicy, done: &AtomicBool, seed: u64) -> u64 {
    println!("reader's seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mut value, mut reads) = (Vec::new(), 0);
    while !done.load(Ordering::SeqCst) {
        let k = rng.u64(..KEYS);
        let before = policy.visible.load(Ordering::SeqCst);
        // The view must be taken before the number: see `Partition::view`.
        let view = partition.pin();
        let seen = policy.visible.load(Ordering::SeqCst);
        let found = view.get(&key(&format!("{k:03}")), seen, &mut value).unwrap();
        drop(view);
        let found = found.then(|| String::from_utf8(value.clone()).unwrap());
        // The view may be older than the number, but not older than the call.
        let possible = (before..=seen).any(|seq| expected(k, seq) == found);
        assert!(possible, "key {k} between {before} and {seen}: {found:?}");
        reads += 1;
    }
    reads
}

fn scan(partition: &Partition, policy: &TestPolicy, done: &AtomicBool) -> u64 {
    let mut scans = 0;
    while !done.load(Ordering::SeqCst) {
        let snapshot = {
            let mut snapshots = policy.snapshots.lock();
            let seq = policy.visible.load(Ordering::SeqCst);
            snapshots.push(seq);
            seq
        };
        let mut iter = partition.iter(partition.view(), snapshot, Bound::Unbounded, Bound::Unbounded);
        let check = |found: &[(Vec<u8>, Vec<u8>)]| {
            let all: Vec<_> = (0..KEYS)
                .filter_map(|k| Some((key(&format!("{k:03}")), expected(k, snapshot)?.into_bytes())))
                .collect();
            assert_eq!(found, all, "at {snapshot}");
        };
        let mut found = Vec::new();
        iter.seek_first().unwrap();
        while iter.valid() {
            found.push((iter.key().to_vec(), iter.value().to_vec()));
            iter.next().unwrap();
        }
        check(&found);
        found.clear();
        iter.seek_last().unwrap();
        while iter.valid() {
            found.insert(0, (iter.key().to_vec(), iter.value().to_vec()));
            iter.prev().unwrap();
        }
        check(&found);
        policy.snapshots.lock().retain(|seq| *seq != snapshot);
        scans += 1;
    }
    scans
}

fn work(partition: &Partition, done: &AtomicBool, flushes: bool) {
    while !done.load(Ordering::SeqCst) {
        if flushes {
            partition.flush_oldest().unwrap();
        }
        if let Some(job) = partition.pick_compaction() {
            partition.run_compaction(job, &|| false).unwrap();
        }
    }
}

#[test]
fn all_at_once() {
    let mut options = Options { upper_floor_bytes: 1 << 10, ..tiny_options() };
    options.writer.compression = alluvium_sst::Compression::None;
    let db = Db::new(options);
    let done = Arc::new(AtomicBool::new(false));
    let (partition, policy) = (&*db.partition, &*db.policy);
    std::thread::scope(|scope| {
        let done = &*done;
        // If one thread fails, the others still end.
        struct Stop<'a>(&'a AtomicBool);
        impl Drop for Stop<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        scope.spawn(move || {
            let _stop = Stop(done);
            write(partition, policy, done);
        });
        for flushes in [true, false] {
            scope.spawn(move || {
                let _stop = Stop(done);
                work(partition, done, flushes);
            });
        }
        let readers = [1, 2].map(|seed| {
            scope.spawn(move || {
                let _stop = Stop(done);
                read(partition, policy, done, seed)
            })
        });
        let scans = scope.spawn(move || {
            let _stop = Stop(done);
            scan(partition, policy, done)
        });
        let reads: u64 = readers.into_iter().map(|reader| reader.join().unwrap()).sum();
        println!("{reads} reads, {} scans", scans.join().unwrap());
    });
    db.rotate();
    db.partition.rotate(WRITES + 1);
    while db.partition.flush_oldest().unwrap() {}
    db.compact();
    let stats = db.partition.stats();
    assert!(stats.compactions > 5, "{stats:?}");
    for k in 0..KEYS {
        let found = db.get(&key(&format!("{k:03}")), WRITES).map(|value| String::from_utf8(value).unwrap());
        assert_eq!(found, expected(k, WRITES));
    }
    assert!(db.partition.verify().damage.is_empty());
}
