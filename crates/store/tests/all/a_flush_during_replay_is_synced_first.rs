//! A process dies with a long unsynced log. The next process flushes during the replay of this log, and then loses
//! power. Every batch must still be complete or absent.

use alluvium_env::fault::{Fault, FaultFs};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::{Durability, Options, Store, TreeId};
use std::path::Path;
use std::sync::Arc;

fn env_of(fs: Arc<dyn alluvium_env::Fs>) -> Env {
    Env { fs, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(1)) }
}

fn options(memory_bytes: usize) -> Options {
    Options {
        memory_bytes,
        partitions: Some(3),
        background: false,
        segment_bytes: Some(16 << 20),
        ..Options::default()
    }
}

/// The keys of one batch, in several partitions.
fn keys(round: u32) -> Vec<Vec<u8>> {
    (0..6u32).map(|n| [round.to_be_bytes(), n.to_be_bytes()].concat()).collect()
}

fn check(store: &Store, tree: TreeId, rounds: u32) {
    let mut value = Vec::new();
    let mut absent = None;
    for round in 0..rounds {
        let found = keys(round).iter().filter(|key| store.get(tree, key, &mut value).unwrap()).count();
        assert!(found == 0 || found == 6, "batch {round} has {found} of its 6 keys");
        match absent {
            None if found == 0 => absent = Some(round),
            Some(first) => assert_eq!(found, 0, "batch {first} is absent and the later {round} is there"),
            None => {}
        }
    }
}

#[test]
fn batches_stay_whole_when_power_fails_during_a_replay_that_flushes() {
    let path = Path::new("db");
    let disk = Arc::new(MemFs::new());
    let store = Store::open(env_of(disk.clone()), path, options(64 << 20)).unwrap();
    let tree = store.create_trees(&[b"tree"]).unwrap()[0];
    store.sync().unwrap();
    let rounds = 500;
    for round in 0..rounds {
        let mut batch = store.batch();
        keys(round).iter().for_each(|key| batch.put(tree, key, &[7; 1500]));
        store.write(batch, Durability::Bulk).unwrap();
    }
    let killed = disk.kill_clone();
    drop(store);
    let mut hit = 0;
    for step in 1.. {
        let disk = Arc::new(killed.kill_clone());
        let faults = Arc::new(FaultFs::over(disk.clone()));
        faults.inject(Fault::nth(step).of_changes().from_then_on());
        let opened = Store::open(env_of(faults.clone()), path, options(8 << 20));
        let after = Arc::new(disk.crash_clone(step, CrashStyle::AllLost));
        let done = faults.fired() == 0;
        drop(opened);
        let store = Store::open(env_of(after), path, options(64 << 20)).unwrap();
        check(&store, tree, rounds);
        hit += 1;
        if done {
            break;
        }
    }
    assert!(hit > 20, "the replay was cut {hit} times only");
}
