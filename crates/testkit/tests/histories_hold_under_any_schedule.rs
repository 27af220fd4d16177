//! Concurrent clients over several crashes, with background threads, where every lock, atomic and thread is under a
//! seeded scheduler. Some order of all calls explains every result, and a seed repeats its run exactly, to the last
//! byte on the disk. If a history fails, calls are left out as long as it still fails. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium::Durability;
use alluvium_env::mem::MemFs;
use alluvium_env::schedules::OF_A_SEED;
use alluvium_env::sync::Arc;
use alluvium_env::thread::spawn;
use alluvium_env::{Env, OpenMode};
use alluvium_testkit::concurrency::histories::{self, Size};
use alluvium_testkit::{World, seed, sequence};
use std::path::Path;

const SIZE: Size = Size { clients: 3, calls: 72, crashes: 2 };

#[test]
fn histories_hold_under_any_schedule() {
    let test = "histories_hold_under_any_schedule --features shuttle histories_hold";
    seed::each(test, 0, 20, |seed| {
        sequence::check(SIZE.calls_of_a_client(), |numbers| {
            let some = (numbers.len() < SIZE.calls_of_a_client() as usize).then(|| numbers.to_vec());
            alluvium_env::schedules::run(seed, move || drop(histories::run_some(seed, SIZE, some.as_deref())));
        });
        seed::tally("histories under schedules", OF_A_SEED);
    });
}

/// A hash of `so_far` and of all files below a directory, with their contents.
fn digest(env: &Env, dir: &Path, so_far: u64) -> u64 {
    let mut entries = env.fs.list(dir).unwrap();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries.into_iter().fold(so_far, |so_far, entry| {
        let path = dir.join(&entry.name);
        let named = alluvium_codec::checksum64(path.to_string_lossy().as_bytes(), so_far);
        if entry.is_dir {
            return digest(env, &path, named);
        }
        let mut bytes = vec![0; entry.len as usize];
        env.fs.open(&path, OpenMode::Read).unwrap().read_exact_at(&mut bytes, 0).unwrap();
        alluvium_codec::checksum64(&bytes, named)
    })
}

/// Runs three clients and background threads, and returns a hash of the disk afterwards.
fn clients(seed: u64) -> u64 {
    let world = World::over(MemFs::new(), seed);
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut options = alluvium_testkit::random_options(&mut rng, 2, Durability::Periodic);
    (options.background, options.threads) = (true, Some(2));
    let db = world.open(&options).unwrap();
    let pets = db.create_collection("pets").run().unwrap();
    pets.create_index(r#"{"n":1}"#).run().unwrap();
    let threads: Vec<_> = (0..3)
        .map(|client| {
            let (db, pets) = (db.clone(), pets.clone());
            spawn("client", move || {
                for n in 0..12i32 {
                    pets.put(n, format!(r#"{{"n":{client},"text":"{}"}}"#, "some text ".repeat(n as usize))).unwrap();
                    pets.update_blind(n, r#"{"$inc":{"n":1}}"#).unwrap();
                }
                if client == 0 { db.compact().run().unwrap() } else { db.flush().unwrap() }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    db.close().unwrap();
    digest(&world.env, Path::new("db"), 0)
}

/// The hashes of the disk after each schedule of a seed.
// This lock is outside of the scheduler: acquiring it is not a step.
#[allow(clippy::disallowed_types)]
fn digests(seed: u64) -> Vec<u64> {
    let found: Arc<std::sync::Mutex<Vec<u64>>> = Arc::default();
    let into = found.clone();
    alluvium_env::schedules::run(seed, move || {
        let digest = clients(seed);
        into.lock().unwrap().push(digest);
    });
    let found = found.lock().unwrap();
    found.clone()
}

#[test]
fn a_seed_gives_the_same_bytes_again() {
    for seed in 0..4 {
        let (once, again) = (digests(seed), digests(seed));
        assert_eq!(once, again, "seed {seed}");
        let mut different = once;
        different.sort_unstable();
        different.dedup();
        assert!(different.len() > 1, "seed {seed}: no two schedules differ");
    }
}
