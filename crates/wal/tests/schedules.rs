//! Committers under many schedules: there is no deadlock, confirmed records are durable, and
//! a failed sync is reported to all threads that it concerns. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

#[path = "all/common/mod.rs"]
mod common;

use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::{Arc, Mutex};
use alluvium_wal::Wal;
use common::{Owned, append, new_disk, options, over, recover};

const SCHEDULES: u64 = 300;

/// The state that committers share: the log, and the confirmed numbers.
struct Shared {
    wal: Wal,
    next: Mutex<u64>,
    confirmed: Mutex<u64>,
}

fn commit(shared: &Shared, groups: u64) -> bool {
    for _ in 0..groups {
        let mut next = shared.next.lock();
        let record = Owned { first: *next, last: *next, payload: vec![1; 3000] };
        let Ok(position) = append(&shared.wal, &[record]) else { return false };
        let mine = *next;
        *next += 1;
        drop(next);
        if shared.wal.sync_to(position).is_err() {
            return false;
        }
        assert!(shared.wal.synced() >= position);
        let mut confirmed = shared.confirmed.lock();
        *confirmed = mine.max(*confirmed);
    }
    true
}

/// Three committers and a thread that releases, on segments of a few groups.
fn run(mem: &Arc<MemFs>, faults: &Arc<FaultFs>, env: &alluvium_env::Env, fault: Option<Fault>) -> bool {
    let (wal, _, _) = recover(env, options(18_000)).unwrap();
    if let Some(fault) = fault {
        faults.inject(fault);
    }
    let shared = Arc::new(Shared { wal, next: Mutex::new(1), confirmed: Mutex::new(0) });
    let committers: Vec<_> = (0..3)
        .map(|_| {
            let shared = Arc::clone(&shared);
            alluvium_env::thread::spawn("committer", move || commit(&shared, 2))
        })
        .collect();
    let releasing = Arc::clone(&shared);
    let releaser = alluvium_env::thread::spawn("releaser", move || {
        let durable = *releasing.confirmed.lock();
        let _ = releasing.wal.release_below(durable);
        releasing.wal.oldest_seq() <= durable.max(1)
    });
    let all = committers.into_iter().map(|committer| committer.join().unwrap()).fold(true, |a, b| a & b);
    assert!(releaser.join().unwrap());
    assert_eq!(all, shared.wal.poisoned().is_none());
    let confirmed = *shared.confirmed.lock();
    let (_, _, env) = over(Arc::new(mem.crash_clone(0, CrashStyle::AllLost)));
    let (_, recovery, _) = recover(&env, options(18_000)).unwrap();
    assert!(recovery.last_seq >= confirmed, "{} of {confirmed}", recovery.last_seq);
    all
}

#[test]
fn committers_share_syncs_and_segments() {
    alluvium_env::schedules::check(
        "-p alluvium-wal --test schedules committers_share_syncs_and_segments",
        SCHEDULES,
        || {
            let (mem, faults, env) = new_disk();
            assert!(run(&mem, &faults, &env, None));
        },
    );
}

#[test]
fn a_failed_sync_reaches_everybody() {
    for nth in 1..4 {
        alluvium_env::schedules::check(
            "-p alluvium-wal --test schedules a_failed_sync_reaches_everybody",
            SCHEDULES,
            move || {
                let (mem, faults, env) = new_disk();
                let whole = run(&mem, &faults, &env, Some(Fault::nth(nth).of(OpKind::Sync).losing_pages()));
                assert_eq!(whole, faults.fired() == 0);
            },
        );
    }
}
