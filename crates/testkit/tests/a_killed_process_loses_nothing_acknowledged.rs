//! A process that writes from several threads, flushes, compacts, and makes and drops
//! collections and indexes is killed with -9 at random moments, a hundred times over one directory. After
//! each kill every acknowledged batch is there, and every other is there whole or not at all.

// Real processes, a real directory, real time.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use alluvium::Database;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::crowd::Look;
use testkit::seed;

const WRITERS: u64 = 4;

/// Runs the victim and kills it; returns the last count that each writer had acknowledged.
fn kill_one(path: &Path, seed: u64, lives: Duration, acknowledged: &mut [u64]) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_victim"))
        .args([path.as_os_str(), seed.to_string().as_ref(), WRITERS.to_string().as_ref()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "open\n", "seed {seed}: the victim does not open the database");
    let reader = std::thread::spawn(move || lines.lines().map(Result::unwrap).collect::<Vec<String>>());
    std::thread::sleep(lives);
    assert!(child.try_wait().unwrap().is_none(), "seed {seed}: the victim ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    for line in reader.join().unwrap() {
        assert!(!line.starts_with("broken"), "seed {seed}: {line}");
        if let Some((words, count)) = line.strip_prefix("rare\t").and_then(|rare| rare.split_once('\t')) {
            seed::tally(&seed::rare_row(words), count.parse().unwrap_or(0));
            continue;
        }
        // What a dying process has begun to print has no end, and was not told.
        let Some((writer, count)) = line.split_once(' ') else { continue };
        let (writer, count): (usize, u64) = (writer.parse().unwrap(), count.parse().unwrap());
        assert!(count > acknowledged[writer], "seed {seed}: {line} after {}", acknowledged[writer]);
        acknowledged[writer] = count;
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("db");
    let mut acknowledged = [0; WRITERS as usize];
    let mut in_flight = 0;
    let started = Instant::now();
    let mut round = 0;
    let first = seed::replayed().unwrap_or(0);
    while seed::goes_on(started, round, 100) {
        let seed = first + round;
        let lives = Duration::from_millis(fastrand::Rng::with_seed(seed).u64(0..250));
        kill_one(&path, seed, lives, &mut acknowledged);
        let options = store::Options { memory_bytes: 8 << 20, background: false, ..store::Options::default() };
        let db = Database::builder().options(options).open(&path);
        let db = db.unwrap_or_else(|e| panic!("seed {seed}: it does not open: {e}"));
        let sound = || testkit::indexes::check_now(&db).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
        sound();
        db.finish_indexes().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        sound();
        let snapshot = db.snapshot();
        let look = Look::at(&db, &snapshot);
        for writer in 0..WRITERS {
            let found = look.whole(writer, round % 2 == 1).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"));
            let told = acknowledged[writer as usize];
            assert!(
                found == told || found == told + 1,
                "seed {seed}: writer {writer} had acknowledged {told}, and {found} is found"
            );
            in_flight += found - told;
            acknowledged[writer as usize] = found;
        }
        if round % 10 == 9 {
            let damage = db.verify().unwrap();
            assert!(damage.is_empty(), "seed {seed}: verify finds {damage:?}");
        }
        if round % 3 == 0 {
            db.close().unwrap();
        }
        round += 1;
    }
    seed::tally("kills", round);
    seed::tally_rare();
    println!(
        "{round} kills in {:?}; {} batches acknowledged, {in_flight} found that were not told",
        started.elapsed(),
        acknowledged.iter().sum::<u64>()
    );
}
