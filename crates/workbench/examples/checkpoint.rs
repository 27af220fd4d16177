//! How long a checkpoint takes, what space it needs, and how long it makes writers wait.
//!
//! `cargo run --release -p alluvium-workbench --example checkpoint -- DIR GIGABYTES` fills a database in DIR with documents
//! of some 1 KB that cannot be compressed, and then makes checkpoints while two threads write.

use alluvium::{Database, Durability, Map, Value};
use alluvium_document::value::Binary;
use alluvium_env::{Clock, Env, Rng, SeededRng, thread};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn document(rng: &SeededRng) -> Map {
    let bytes: Vec<u8> = std::iter::repeat_with(|| rng.next_u64().to_le_bytes()).take(125).flatten().collect();
    let mut map = Map::default();
    map.entries.push(("bytes".into(), Value::Binary(Binary { subtype: 0, bytes })));
    map
}

fn fill(db: &Database, documents: u64) {
    let writers: Vec<_> = (0..2u64)
        .map(|writer| {
            let collection = db.collection("filled").with_durability(Durability::Bulk);
            thread::spawn("fill", move || {
                let rng = SeededRng::new(writer);
                for n in (writer..documents).step_by(2) {
                    collection.put(n as i64, document(&rng)).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    db.wait_for_compaction().unwrap();
}

/// Writes until it is stopped; returns the number of writes, and the longest times of one.
fn write(db: &Database, clock: &Arc<dyn Clock>, stop: &AtomicBool, writer: u64) -> (u64, Duration) {
    let collection = db.collection("written");
    let rng = SeededRng::new(100 + writer);
    let (mut count, mut worst) = (0, Duration::ZERO);
    while !stop.load(Ordering::Relaxed) {
        let document = document(&rng);
        let started = clock.now();
        collection.put((rng.next_u64() % 1_000_000) as i64, document).unwrap();
        worst = worst.max(clock.now().saturating_sub(started));
        count += 1;
    }
    (count, worst)
}

/// Runs `act` while two threads write, and says how they fared.
fn beside_writers(db: &Database, env: &Env, what: &str, act: impl FnOnce()) {
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2u64)
        .map(|writer| {
            let (db, clock, stop) = (db.clone(), env.clock.clone(), stop.clone());
            thread::spawn("writer", move || write(&db, &clock, &stop, writer))
        })
        .collect();
    let started = env.clock.now();
    act();
    let took = env.clock.now().saturating_sub(started);
    stop.store(true, Ordering::Relaxed);
    let fared: Vec<_> = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
    let count: u64 = fared.iter().map(|(count, _)| count).sum();
    let worst = fared.iter().map(|(_, worst)| *worst).max().unwrap_or_default();
    println!("{what}: {took:.3?}, {count} concurrent writes, the slowest {worst:.3?}");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dir = arguments.next().expect("a directory");
    let gigabytes: f64 = arguments.next().expect("gigabytes").parse().expect("a number");
    let (env, dir) = (Env::os(), Path::new(&dir));
    let db = Database::open(dir.join("db")).unwrap();
    fill(&db, (gigabytes * 1e6) as u64);
    println!("{:.2} GB in {} sorted files", db.stats().disk_bytes as f64 / 1e9, files(&db));
    // For as long as a checkpoint takes, and longer: what writers wait without one.
    let pause = || {
        let (lock, never) = (alluvium_env::sync::Mutex::new(()), alluvium_env::sync::Condvar::new());
        never.wait_for(&mut lock.lock(), Duration::from_secs(10));
    };
    beside_writers(&db, &env, "nothing", pause);
    let mut base = None;
    for n in 0..3 {
        let to = dir.join(format!("checkpoint-{n}"));
        let checkpoint = match base.replace(to.clone()) {
            Some(base) => db.checkpoint(&to).base(base),
            None => db.checkpoint(&to),
        };
        beside_writers(&db, &env, &format!("checkpoint {n}"), || {
            println!("{:?}", checkpoint.run().unwrap());
        });
        beside_writers(&db, &env, "nothing", pause);
    }
    let to = dir.join("copied");
    beside_writers(&db, &env, "copied checkpoint", || {
        println!("{:?}", db.checkpoint(&to).copy(true).run().unwrap());
    });
    db.close().unwrap();
}

fn files(db: &Database) -> usize {
    db.stats().partitions.iter().map(|partition| partition.files).sum()
}
