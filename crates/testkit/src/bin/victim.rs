//! The process that the kill test kills: it writes from several threads until then.
//!
//! `victim DIRECTORY SEED WRITERS` opens the database in the directory and continues from the count of each writer. It
//! prints `writer count` after each acknowledged batch, before the next one. One additional thread is the client of
//! single writes. Checkpoints are made in `DIRECTORY.checkpoints`, with a line before and after each.

// A real process in a real directory, which is really killed.
#![allow(clippy::disallowed_methods)]

use alluvium::backup;
use alluvium::{Database, Durability, ErrorKind};
use alluvium_testkit::concurrency::trails::{self, TrailView};
use alluvium_testkit::marks;
use std::io::Write;
use std::path::{Path, PathBuf};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, path, seed, writers] = arguments.as_slice() else { panic!("victim DIRECTORY SEED WRITERS") };
    let (seed, writers): (u64, u64) = (seed.parse().unwrap(), writers.parse().unwrap());
    let mut rng = fastrand::Rng::with_seed(seed);
    let options = alluvium_store::Options {
        background: true,
        durability: [Durability::Sync, Durability::Periodic, Durability::Bulk][rng.usize(0..3)],
        threads: Some(2),
        // More than a small budget has by default. An existing database keeps its number.
        partitions: (!Path::new(path).join("ALLUVIUM").exists()).then_some(4),
        // The budget may be smaller than the one with which a large log was written.
        memory_bytes: [8 << 20, 64 << 20][rng.usize(0..2)],
        ..alluvium_testkit::random_options(&mut rng, 3, Durability::Periodic)
    };
    let db = Database::builder().options(options).open(path).unwrap_or_else(|e| panic!("open: {e}"));
    println!("open");
    std::thread::scope(|scope| {
        for writer in 0..writers {
            let db = &db;
            scope.spawn(move || write(db, writer));
        }
        let (db, checkpoints) = (&db, PathBuf::from(format!("{path}.checkpoints")));
        scope.spawn(move || maintain(db, &checkpoints, seed));
        scope.spawn(move || watch(db, writers));
        scope.spawn(move || write_singly(db, writers));
    });
}

/// Prints a line in a single write, which is atomic on a pipe. Returns false if the pipe is closed.
fn report(line: &str) -> bool {
    std::io::stdout().lock().write_all(format!("{line}\n").as_bytes()).is_ok()
}

fn write(db: &Database, writer: u64) {
    let mut count = TrailView::at(db, &db.snapshot()).counters(writer).unwrap_or_else(|broken| panic!("{broken}"));
    loop {
        count += 1;
        let batch = trails::batch(db, writer, count).unwrap();
        batch.commit().unwrap_or_else(|e| panic!("writer {writer}, count {count}: {e}"));
        if !report(&format!("{writer} {count}")) {
            return;
        }
    }
}

/// Writes single documents, in each possible way.
fn write_singly(db: &Database, number: u64) {
    let mut count = TrailView::at(db, &db.snapshot()).single().unwrap_or_else(|broken| panic!("{broken}"));
    loop {
        count += 1;
        match trails::single(db, count).unwrap_or_else(|e| panic!("single write {count}: {e}")) {
            Ok(()) if report(&format!("{number} {count}")) => {}
            Ok(()) => return,
            Err(broken) => {
                report(&format!("broken: {broken}"));
                return;
            }
        }
    }
}

/// Prints how often rare paths were taken since the last call, because a killed process cannot print the counts at its
/// end.
fn print_marks(printed: &mut [u64]) {
    for (mark, printed) in marks::all().zip(printed) {
        let now = mark.hits();
        if now > *printed {
            report(&format!("rare\t{}\t{}", mark.description(), now - *printed));
            *printed = now;
        }
    }
}

/// Makes a checkpoint, either complete or based on the newest one.
fn make_checkpoint(db: &Database, dir: &Path, name: &str, rng: &mut fastrand::Rng) {
    let mut there: Vec<PathBuf> = match std::fs::read_dir(dir) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    there.retain(|path| backup::is_checkpoint(path).is_ok_and(|is| is));
    there.sort();
    let mut checkpoint = db.checkpoint(dir.join(name));
    if let Some(base) = there.pop().filter(|_| rng.bool()) {
        checkpoint = checkpoint.base(base);
    }
    report(&format!("checkpoint begins {name}"));
    checkpoint.run().unwrap_or_else(|e| panic!("checkpoint {name}: {e}"));
    report(&format!("checkpoint done {name}"));
}

/// Flushes, compacts, creates and drops collections and indexes, and makes checkpoints.
fn maintain(db: &Database, checkpoints: &Path, seed: u64) {
    let mut rng = fastrand::Rng::with_seed(seed ^ 1);
    let mut printed = vec![0; marks::all().count()];
    for round in 0.. {
        print_marks(&mut printed);
        match rng.u32(0..14) {
            12..=13 => make_checkpoint(db, checkpoints, &format!("{seed:012}-{round:06}"), &mut rng),
            8..=9 => {
                let (name, keys) = trails::INDEXES[rng.usize(0..trails::INDEXES.len())];
                db.collection(name).create_index(keys).run().unwrap();
            }
            10 => {
                let (name, _) = trails::INDEXES[rng.usize(0..trails::INDEXES.len())];
                // The collection may not exist yet.
                let dropped = db.collection(name).drop_indexes();
                assert!(dropped.as_ref().err().is_none_or(|e| e.kind() == ErrorKind::Namespace), "{dropped:?}");
            }
            11 => drop(db.sweep_indexes().unwrap()),
            0 => db.compact().run().unwrap(),
            1 | 2 => db.wait_for_compaction().unwrap(),
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

/// Reads at snapshots, and later reads the same snapshots again.
fn watch(db: &Database, writers: u64) {
    loop {
        let snapshot = db.snapshot();
        let look = TrailView::at(db, &snapshot);
        for writer in 0..writers {
            let first = look.counters(writer);
            let second = look.whole(writer, false);
            if first.is_err() || first != second {
                // The parent process recognizes this line.
                report(&format!("broken: at one snapshot {first:?} and then {second:?}"));
                return;
            }
        }
    }
}
