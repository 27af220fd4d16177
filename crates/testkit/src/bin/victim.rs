//! The process that the kill test kills: writes from several threads until it dies.
//!
//! `victim DIRECTORY SEED WRITERS`: opens the database there, goes on from where each writer is,
//! and prints `writer count` after each acknowledged batch, before the next.

// It is a real process on a real directory, and dies by being killed.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::{Database, Durability};
use env::marks::{self, Rare};
use std::io::Write;
use testkit::crowd::{self, Look};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, seed, writers] = arguments.as_slice() else { panic!("victim DIRECTORY SEED WRITERS") };
    let (seed, writers): (u64, u64) = (seed.parse().unwrap(), writers.parse().unwrap());
    let mut rng = fastrand::Rng::with_seed(seed);
    let options = store::Options {
        background: true,
        durability: [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)],
        threads: Some(2),
        partitions: None,
        // What a large log is replayed into may be smaller.
        memory_bytes: [8 << 20, 64 << 20][rng.usize(0..2)],
        ..testkit::random_options(&mut rng, 3, Durability::Periodic)
    };
    let db = Database::builder().options(options).open(path).unwrap_or_else(|e| panic!("open: {e}"));
    println!("open");
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let db = &db;
            scope.spawn(move || write(db, writer));
        }
        for part in 0..2 {
            let (db, mut rng) = (&db, fastrand::Rng::with_seed(seed ^ (part + 1)));
            scope.spawn(move || if part == 0 { maintain(db, &mut rng) } else { watch(db, writers) });
        }
    });
}

fn write(db: &Database, writer: u64) {
    let mut count = Look::at(db, &db.snapshot()).counters(writer).unwrap_or_else(|broken| panic!("{broken}"));
    loop {
        count += 1;
        let batch = crowd::batch(db, writer, count).unwrap();
        batch.commit().unwrap_or_else(|e| panic!("writer {writer}, count {count}: {e}"));
        // One write for the whole line: the pipe takes it whole.
        let line = format!("{writer} {count}\n");
        if std::io::stdout().lock().write_all(line.as_bytes()).is_err() {
            return;
        }
    }
}

/// Prints how often rare paths were taken since it was told last: who is killed tells nothing more.
fn tell_rare(told: &mut [u64]) {
    for (rare, told) in Rare::ALL.iter().zip(told) {
        let now = marks::count(*rare);
        if now > *told {
            // One write, as for writers.
            let line = format!("rare\t{}\t{}\n", rare.words(), now - *told);
            // Nobody listens any more when the parent is gone.
            let _nobody = std::io::stdout().lock().write_all(line.as_bytes());
            *told = now;
        }
    }
}

/// Flushes, compacts, and makes and drops collections and indexes.
fn maintain(db: &Database, rng: &mut fastrand::Rng) {
    let mut told = vec![0; Rare::ALL.len()];
    for round in 0.. {
        tell_rare(&mut told);
        match rng.u32(0..12) {
            8..=9 => {
                let (name, keys) = crowd::INDEXES[rng.usize(0..crowd::INDEXES.len())];
                db.collection(name).create_index(keys).unwrap();
            }
            10 => {
                let (name, _) = crowd::INDEXES[rng.usize(0..crowd::INDEXES.len())];
                // There may be no such collection yet.
                let _none_to_drop = db.collection(name).drop_indexes();
            }
            11 => drop(db.sweep_indexes().unwrap()),
            0 => db.compact().unwrap(),
            1 | 2 => db.settle().unwrap(),
            3 => db.sync().unwrap(),
            4 => {
                let passing = db.collection(&format!("passing-{}", rng.u32(0..4)));
                passing.insert_many((0..20).map(|n| format!(r#"{{"n":{n},"round":{round}}}"#))).unwrap();
                if rng.bool() {
                    passing.drop().unwrap();
                }
            }
            _ => db.flush().unwrap(),
        }
    }
}

/// Looks at snapshots, and again later.
fn watch(db: &Database, writers: u64) {
    loop {
        let snapshot = db.snapshot();
        let look = Look::at(db, &snapshot);
        for writer in 0..writers {
            let first = look.counters(writer);
            let second = look.whole(writer, false);
            if first.is_err() || first != second {
                // The parent takes this line for what it is.
                println!("broken: at one snapshot {first:?} and then {second:?}");
                return;
            }
        }
    }
}
