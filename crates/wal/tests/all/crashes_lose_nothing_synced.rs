//! Power cuts at every operation of random histories, and again during recovery. Every synced
//! record is replayed, in order and without a gap, and nothing that was once cut off is replayed
//! later.
#![cfg(not(feature = "shuttle"))]

use crate::common;
use crate::common::{Owned, append, new_disk, options, over, random_record, recover, seed};
use alluvium_env::Env;
use alluvium_env::fault::FaultFs;
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_wal::{Options, Wal};
use std::sync::Arc;

/// The records that must exist after a crash.
#[derive(Clone, Default)]
struct Truth {
    /// Every record that was appended in the history of this disk, in order, except records that a
    /// crash has removed.
    written: Vec<Owned>,
    /// The last number whose sync has been confirmed.
    synced: u64,
    /// The last number whose append has been confirmed.
    appended: u64,
    /// Numbers below this were released.
    released: u64,
    closed: bool,
}

struct Crash {
    disk: MemFs,
    truth: Truth,
    killed: bool,
}

/// Collects copies of the disk as they would be after a crash before a change.
#[derive(Default)]
struct Collector {
    truth: Truth,
    rng: fastrand::Rng,
    /// On average one of this many changes is a crash.
    rarity: u32,
    crashes: Vec<Crash>,
}

fn collect_crashes(mem: &Arc<MemFs>, faults: &FaultFs, collector: &Arc<Mutex<Collector>>) {
    let (mem, collector) = (Arc::clone(mem), Arc::clone(collector));
    faults.set_hook(Some(Arc::new(move |_| {
        let mut c = collector.lock();
        let rarity = c.rarity;
        if c.rng.u32(0..rarity) != 0 {
            return;
        }
        let (seed, mut truth) = (c.rng.u64(..), c.truth.clone());
        let killed = c.rng.u8(0..6) == 0;
        if !killed {
            truth.appended = truth.synced;
        }
        let style = [CrashStyle::AllLost, CrashStyle::AllKept, CrashStyle::Any][c.rng.usize(0..9).min(2)];
        let disk = if killed { mem.kill_clone() } else { mem.crash_clone(seed, style) };
        c.crashes.push(Crash { disk, truth, killed });
    })));
}

#[test]
fn crashes_lose_nothing_synced() {
    let seed = seed();
    let mut crashes = 0;
    for round in 0..40 {
        let (mem, _, _) = new_disk();
        crashes += life(mem, Truth { closed: true, ..Truth::default() }, false, seed.wrapping_add(round), 3);
    }
    assert!(crashes > 2000, "{crashes}");
}

/// Runs one history on a disk, then checks the disk of each crash and continues the history on it.
/// Returns the number of crashes.
fn life(disk: Arc<MemFs>, truth: Truth, killed: bool, seed: u64, depth: u32) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    let (mem, faults, env) = over(disk);
    let rarity = if depth == 3 { 3 } else { 12 };
    let collector = Arc::new(Mutex::new(Collector { truth, rng: rng.fork(), rarity, crashes: Vec::new() }));
    collect_crashes(&mem, &faults, &collector);
    let options = options(rng.u64(0..30_000));
    let wal = recover_and_check(&env, &options, &collector, killed);
    for _ in 0..rng.usize(0..30) {
        step(&mut rng, &wal, &collector);
    }
    drop(wal);
    faults.set_hook(None);
    let crashes = std::mem::take(&mut collector.lock().crashes);
    let mut count = crashes.len();
    for crash in crashes {
        if depth > 0 {
            count += life(Arc::new(crash.disk), crash.truth, crash.killed, rng.u64(..), depth - 1);
        }
    }
    count
}

fn recover_and_check(env: &Env, options: &Options, collector: &Mutex<Collector>, killed: bool) -> Wal {
    let truth = collector.lock().truth.clone();
    // A crash during this recovery leaves a log that is open.
    collector.lock().truth.closed = false;
    let (wal, recovery, found) = recover(env, options.clone()).unwrap();
    let must = if killed { truth.appended } else { truth.synced };
    assert!(recovery.last_seq >= must, "{} of {must}", recovery.last_seq);
    assert!(recovery.first_seq <= truth.released.max(1));
    if truth.closed {
        assert!(recovery.clean && recovery.dropped.is_none());
    }
    let from = truth.written.partition_point(|record| record.first < recovery.first_seq);
    let expected = truth.written[from..].iter().take_while(|record| record.last <= recovery.last_seq);
    assert!(found.iter().eq(expected), "what was written, whole, and nothing else");
    let last = found.last().map_or(recovery.first_seq - 1, |record| record.last);
    assert_eq!(last, recovery.last_seq);
    let mut c = collector.lock();
    // From here on, records that were not found are lost for ever: other records get their numbers.
    c.truth.written.retain(|record| record.last <= last);
    c.truth.appended = last;
    c.truth.synced = last;
    wal
}

fn step(rng: &mut fastrand::Rng, wal: &Wal, collector: &Mutex<Collector>) {
    match rng.u8(0..20) {
        0..12 => {
            let mut group: Vec<Owned> = Vec::new();
            let next = collector.lock().truth.appended + 1;
            for _ in 0..rng.usize(1..4) {
                group.push(random_record(rng, group.last().map_or(next, |r| r.last + 1), 6000));
            }
            // From now on, a crash may leave this group.
            collector.lock().truth.written.extend(group.iter().cloned());
            append(wal, &group).unwrap();
            collector.lock().truth.appended = group[group.len() - 1].last;
        }
        12..16 => {
            let appended = collector.lock().truth.appended;
            wal.sync().unwrap();
            collector.lock().truth.synced = appended;
        }
        16..18 => {
            let appended = collector.lock().truth.appended;
            let seq = rng.u64(0..=appended + 1);
            let released = collector.lock().truth.released.max(seq);
            collector.lock().truth.released = released;
            wal.release_below(seq).unwrap();
        }
        _ => {}
    }
}

#[test]
fn a_clean_close_survives_any_crash_after_it() {
    let mut rng = fastrand::Rng::with_seed(seed());
    for _ in 0..50 {
        let (mem, faults, env) = new_disk();
        let collector = Collector {
            truth: Truth { closed: true, ..Truth::default() },
            rng: rng.fork(),
            rarity: 1,
            crashes: Vec::new(),
        };
        let collector = Arc::new(Mutex::new(collector));
        let wal = recover_and_check(&env, &options(20_000), &collector, false);
        (0..rng.usize(0..20)).for_each(|_| step(&mut rng, &wal, &collector));
        let appended = collector.lock().truth.appended;
        collect_crashes(&mem, &faults, &collector);
        wal.close().unwrap();
        collector.lock().truth.synced = appended;
        collector.lock().truth.closed = true;
        // The first change after the close belongs to the next history.
        env.fs.sync_dir(&common::dir()).unwrap();
        faults.set_hook(None);
        for crash in std::mem::take(&mut collector.lock().crashes) {
            let mut again = Collector { truth: crash.truth, rng: rng.fork(), rarity: 1, crashes: Vec::new() };
            again.truth.released = again.truth.released.max(1);
            let (_, _, env) = over(Arc::new(crash.disk));
            drop(recover_and_check(&env, &options(20_000), &Mutex::new(again), crash.killed));
        }
    }
}

#[test]
fn what_a_killed_process_left_is_durable_once_recovered() {
    let (mem, _, env) = new_disk();
    let (wal, _, _) = recover(&env, options(20_000)).unwrap();
    let record = Owned { first: 1, last: 1, payload: vec![7; 100] };
    append(&wal, std::slice::from_ref(&record)).unwrap();
    let (mem, _, env) = over(Arc::new(mem.kill_clone()));
    let (_, _, found) = recover(&env, options(20_000)).unwrap();
    assert!(found == std::slice::from_ref(&record));
    let (_, _, env) = over(Arc::new(mem.crash_clone(0, CrashStyle::AllLost)));
    let (_, _, found) = recover(&env, options(20_000)).unwrap();
    assert!(found == [record]);
}
