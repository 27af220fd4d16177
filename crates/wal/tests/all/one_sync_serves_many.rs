//! Threads that wait for the disk share syncs, and a failure reaches all of them.
#![cfg(not(feature = "shuttle"))]

use crate::common::{Owned, append, new_disk, options, recover};
use alluvium_env::fault::{Fault, OpKind};
use alluvium_env::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const THREADS: u64 = 8;

/// A gate that holds the first sync until all threads have arrived.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

fn run(fail: bool) -> (u64, u64) {
    let (_, faults, env) = new_disk();
    let (wal, _, _) = recover(&env, options(64 << 10)).unwrap();
    let wal = Arc::new(wal);
    let syncs = faults.count(OpKind::Sync);
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    faults.set_hook(Some(Arc::new(move |op| {
        let mut open = held.open.lock();
        while op.kind == OpKind::Sync && !*open {
            held.changed.wait(&mut open);
        }
    })));
    if fail {
        faults.inject(Fault::nth(2).of(OpKind::Sync));
    }
    let (appended, failed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let leader = Arc::new(Mutex::new(1));
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let (wal, leader, gate) = (Arc::clone(&wal), Arc::clone(&leader), Arc::clone(&gate));
            let (appended, failed) = (Arc::clone(&appended), Arc::clone(&failed));
            alluvium_env::thread::spawn("committer", move || {
                let mut next = leader.lock();
                let position = append(&wal, &[Owned { first: *next, last: *next, payload: vec![1; 100] }]).unwrap();
                *next += 1;
                drop(next);
                // Appends continue while the first sync is held at the gate.
                if appended.fetch_add(1, Ordering::SeqCst) + 1 == THREADS {
                    *gate.open.lock() = true;
                    gate.changed.notify_all();
                }
                match wal.sync_to(position) {
                    Ok(()) => assert!(wal.synced() >= position),
                    Err(_) => drop(failed.fetch_add(1, Ordering::SeqCst)),
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    (faults.count(OpKind::Sync) - syncs, failed.load(Ordering::SeqCst))
}

#[test]
fn one_sync_serves_many() {
    for _ in 0..50 {
        let (syncs, failed) = run(false);
        assert!((1..=2).contains(&syncs), "{syncs}");
        assert_eq!(failed, 0);
    }
}

#[test]
fn a_failure_reaches_all_that_wait() {
    let mut seen = 0;
    for _ in 0..50 {
        let (syncs, failed) = run(true);
        // The first sync covers at least one of the threads; all others wait for the second sync.
        assert!(failed < THREADS && (failed > 0) == (syncs == 2), "{syncs} {failed}");
        seen += failed;
    }
    assert!(seen > 0);
}
