//! A process is killed with -9 at random moments, a hundred times over one directory. It writes from several threads,
//! with batches that include deltas and in all other ways, flushes, compacts, makes checkpoints, and creates and drops
//! collections and indexes. In a third of the rounds, it is also killed while it opens the database after the last
//! kill, and some more processes are killed while they create a database. After each kill, every acknowledged batch
//! exists, and every other batch exists completely or not at all. The newest checkpoint is complete and has the content
//! from the time that was reported, and every directory with the name of a checkpoint is complete. In some rounds the
//! directory is moved while the process writes, and another database is created at its path: both keep everything that
//! they acknowledged.

// The test uses real processes, a real directory, and real time.
#![allow(clippy::disallowed_methods)]

use alluvium::backup;
use alluvium::{Database, Durability};
use alluvium_env::sync::Mutex;
use alluvium_testkit::concurrency::trails::TrailView;
use alluvium_testkit::seed;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

const WRITERS: u64 = 4;
/// The number of writers, plus the client of single writes.
const CLIENTS: usize = WRITERS as usize + 1;
/// The minimum number of kills in the usual run.
const KILLS: u64 = 100;

/// Only one test may run at a time: between fork and exec, a process that one test starts would hold the lock files of
/// the other test.
static ALONE: LazyLock<Mutex<()>> = LazyLock::new(Mutex::default);

/// The name of this file.
const FILE: &str = "a_killed_process_loses_nothing_acknowledged";

type Counts = [u64; CLIENTS];

/// A checkpoint that a victim (a process that will be killed) has reported.
struct ReportedCheckpoint {
    name: String,
    /// The writes that were acknowledged before the checkpoint was begun.
    begun: Counts,
    /// The maximum number of writes when the checkpoint was done; `None` if it was not reported as done.
    done: Option<Counts>,
}

/// All that is known about the directory in which victims work.
struct Known {
    path: PathBuf,
    acknowledged: Counts,
    /// The newest checkpoint of the last check, and all checkpoints begun since. A checkpoint is included even if the
    /// process was killed before it reported the checkpoint as done.
    checkpoints: Vec<ReportedCheckpoint>,
    opened: u64,
    not_opened: u64,
    restored: u64,
    untold: u64,
    /// The number of victims whose directory was moved.
    moved: u64,
    /// The number of kills since the last check. Each may have kept one write of each client from being reported.
    kills: u64,
}

/// The directory in which victims work. It is kept if a test fails.
struct Dir {
    dir: Option<tempfile::TempDir>,
    /// The name of the test, and the seed of its first round.
    test: &'static str,
    first: u64,
    /// The number of rounds that were begun.
    rounds: u64,
}

impl Dir {
    fn new(test: &'static str, first: u64) -> Self {
        Self { dir: Some(tempfile::tempdir().unwrap()), test, first, rounds: 0 }
    }

    fn db(&self) -> PathBuf {
        self.dir.as_ref().unwrap().path().join("db")
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let Some(dir) = self.dir.take().filter(|_| std::thread::panicking()) else { return };
        let Self { test, first, rounds, .. } = *self;
        eprintln!("what was left is in {}; seed {}, run again:", dir.keep().display(), first + rounds - 1);
        eprintln!(
            "ALLUVIUM_FIRST={first} ALLUVIUM_SEQUENCES={rounds} cargo test -p alluvium-testkit --test {FILE} {test}"
        );
    }
}

/// A database at the old path of a directory that was moved while a process had its database open.
struct OtherDatabase {
    db: Database,
    path: PathBuf,
    aside: PathBuf,
}

impl OtherDatabase {
    const DOCUMENTS: u64 = 20;

    fn in_place_of(path: &Path) -> Self {
        let aside = path.with_extension("aside");
        fs::rename(path, &aside).unwrap();
        let db = Database::builder().memory(8 << 20).open(path).unwrap();
        let collection = db.collection("main.other").with_durability(Durability::Sync);
        for id in 0..Self::DOCUMENTS {
            collection.put(id as i64, r#"{"other": true}"#).unwrap();
        }
        Self { db, path: path.to_owned(), aside }
    }

    /// Checks that the database has its documents, and no file of the moved database. Then removes it, and moves the
    /// other directory back.
    fn check_and_leave(self) {
        self.db.close().unwrap();
        let db = Database::builder().memory(8 << 20).open(&self.path).unwrap();
        assert_eq!(db.collection("main.other").count().unwrap(), Self::DOCUMENTS);
        let damage = db.verify().run().unwrap().damage;
        assert!(damage.is_empty(), "another database at the path of a moved one: {damage:?}");
        db.close().unwrap();
        fs::remove_dir_all(&self.path).unwrap();
        fs::rename(&self.aside, &self.path).unwrap();
    }
}

impl Known {
    fn new(path: PathBuf) -> Self {
        let acknowledged = Counts::default();
        Self {
            path,
            acknowledged,
            checkpoints: Vec::new(),
            opened: 0,
            not_opened: 0,
            restored: 0,
            untold: 0,
            moved: 0,
            kills: 0,
        }
    }

    fn checkpoints_dir(&self) -> PathBuf {
        PathBuf::from(format!("{}.checkpoints", self.path.display()))
    }

    /// Runs a victim, and kills it after the time `lives`, which is counted from its start or from when it has opened
    /// the database. With `moved`, its directory is moved to another path and back while it runs.
    fn kill_one(&mut self, seed: u64, lives: Duration, from_opening: bool, moved: bool) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_victim"))
            .args([self.path.as_os_str(), seed.to_string().as_ref(), WRITERS.to_string().as_ref()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        if !from_opening {
            let mut line = String::new();
            lines.read_line(&mut line).unwrap();
            assert_eq!(line, "open\n", "seed {seed}: the victim does not open the database");
            self.opened += 1;
        }
        let reader = std::thread::spawn(move || lines.lines().map(Result::unwrap).collect::<Vec<String>>());
        if moved {
            std::thread::sleep(lives / 2);
            let other = OtherDatabase::in_place_of(&self.path);
            std::thread::sleep(lives / 2);
            other.check_and_leave();
            self.moved += 1;
        } else {
            std::thread::sleep(lives);
        }
        assert!(child.try_wait().unwrap().is_none(), "seed {seed}: the victim ended by itself");
        child.kill().unwrap();
        child.wait().unwrap();
        self.kills += 1;
        let lines = reader.join().unwrap();
        if from_opening {
            let opened = lines.first().is_some_and(|line| line == "open");
            (self.opened, self.not_opened) = match opened {
                true => (self.opened + 1, self.not_opened),
                false => (self.opened, self.not_opened + 1),
            };
        }
        lines.iter().for_each(|line| self.hear(seed, line));
    }

    /// Records a line. A line that the process did not complete before it was killed counts as not reported.
    fn hear(&mut self, seed: u64, line: &str) {
        assert!(!line.starts_with("broken"), "seed {seed}: {line}");
        if let Some((words, count)) = line.strip_prefix("rare\t").and_then(|rare| rare.split_once('\t')) {
            seed::tally(&seed::rare_row(words), count.parse().unwrap_or(0));
        } else if let Some(name) = line.strip_prefix("checkpoint begins ") {
            self.checkpoints.push(ReportedCheckpoint { name: name.to_owned(), begun: self.acknowledged, done: None });
        } else if let Some(name) = line.strip_prefix("checkpoint done ") {
            let last = self.checkpoints.last_mut().unwrap();
            assert_eq!(last.name, name, "seed {seed}");
            last.done = Some(self.acknowledged.map(|count| count + self.kills));
        } else if let Some((client, count)) = line.split_once(' ') {
            let (client, count): (usize, u64) = (client.parse().unwrap(), count.parse().unwrap());
            assert!(count > self.acknowledged[client], "seed {seed}: {line} after {:?}", self.acknowledged);
            self.acknowledged[client] = count;
        }
    }

    /// The count of each client in a database, which must be between `least` and `most`.
    fn counts(&self, db: &Database, least: &Counts, most: &Counts, reverse: bool, when: &str) -> Counts {
        let snapshot = db.snapshot();
        let look = TrailView::at(db, &snapshot);
        let mut found = Counts::default();
        for (client, found) in found.iter_mut().enumerate() {
            *found = match client as u64 {
                WRITERS => look.single(),
                writer => look.whole(writer, reverse),
            }
            .unwrap_or_else(|broken| panic!("{when}: {broken}"));
            assert!(
                (least[client]..=most[client]).contains(found),
                "{when}: client {client} had acknowledged {}, and at most {} can be there: {found} is found",
                least[client],
                most[client]
            );
        }
        found
    }

    /// Opens the database, and checks that it has all acknowledged writes, and of each writer at most one more for each
    /// kill.
    fn check(&mut self, seed: u64, round: u64) {
        let options =
            alluvium_store::Options { memory_bytes: 8 << 20, background: false, ..alluvium_store::Options::default() };
        let db = Database::builder().options(options).open(&self.path);
        let db = db.unwrap_or_else(|e| panic!("seed {seed}: it does not open: {e}"));
        let sound = || {
            alluvium_testkit::model::indexes::check_now(&db).unwrap_or_else(|broken| panic!("seed {seed}: {broken}"))
        };
        sound();
        db.finish_indexes().unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        sound();
        let kills = std::mem::take(&mut self.kills);
        let (least, most) = (self.acknowledged, self.acknowledged.map(|count| count + kills));
        let found = self.counts(&db, &least, &most, round % 2 == 1, &format!("seed {seed}"));
        self.untold += found.iter().sum::<u64>() - self.acknowledged.iter().sum::<u64>();
        self.acknowledged = found;
        let damage = db.verify().run().unwrap().damage;
        assert!(damage.is_empty(), "seed {seed}: verify finds {damage:?}");
        if round.is_multiple_of(3) {
            db.close().unwrap();
        }
    }

    /// Checks that each directory with the name of a checkpoint is complete, and that each checkpoint reported as done
    /// exists. Restores the newest one, and keeps only that one.
    fn check_checkpoints(&mut self, seed: u64) {
        let dir = self.checkpoints_dir();
        let is_there = |name: &str| dir.join(name).exists();
        let newest = self.checkpoints.iter().rposition(|one| is_there(&one.name));
        for (at, reported) in self.checkpoints.iter().enumerate() {
            assert!(
                reported.done.is_none() || is_there(&reported.name),
                "seed {seed}: checkpoint {} is not there",
                reported.name
            );
            // The newest checkpoint is restored, which also checks the blocks that are copied.
            if is_there(&reported.name) && newest != Some(at) {
                let found = backup::check(dir.join(&reported.name)).run();
                let found = found.unwrap_or_else(|e| panic!("seed {seed}: checkpoint {}: {e}", reported.name));
                assert!(found.damage.is_empty(), "seed {seed}: checkpoint {}: {:?}", reported.name, found.damage);
            }
        }
        self.checkpoints.retain(|one| is_there(&one.name));
        let Some(newest) = self.checkpoints.pop() else { return };
        let to = self.path.with_extension("restored");
        let restored = backup::restore(dir.join(&newest.name), &to).run();
        restored.unwrap_or_else(|e| panic!("seed {seed}: {} is not restored: {e}", newest.name));
        let options =
            alluvium_store::Options { memory_bytes: 8 << 20, background: false, ..alluvium_store::Options::default() };
        let db = Database::builder().options(options).open(&to);
        let db = db.unwrap_or_else(|e| panic!("seed {seed}: restored from {}, it does not open: {e}", newest.name));
        let most = newest.done.unwrap_or(self.acknowledged.map(|count| count + 1));
        self.counts(&db, &newest.begun, &most, false, &format!("seed {seed}, restored from {}", newest.name));
        db.close().unwrap();
        fs::remove_dir_all(&to).unwrap();
        self.restored += 1;
        // Other checkpoints, and incomplete directories left by kills, would fill the disk.
        for entry in fs::read_dir(&dir).unwrap().map(Result::unwrap).filter(|e| *e.file_name() != *newest.name) {
            fs::remove_dir_all(entry.path()).unwrap();
        }
        self.checkpoints = vec![newest];
    }
}

#[test]
fn a_killed_process_loses_nothing_acknowledged() {
    const ROUNDS: u64 = 70;
    let _alone = ALONE.lock();
    let first = seed::first();
    let mut dir = Dir::new(FILE, first);
    let mut known = Known::new(dir.db());
    let (started, mut round, mut kills) = (Instant::now(), 0, 0);
    while seed::continues(started, round, ROUNDS) {
        let seed = first + round;
        dir.rounds += 1;
        let mut rng = fastrand::Rng::with_seed(seed);
        known.kill_one(seed, Duration::from_millis(rng.u64(0..180)), false, round % 5 == 1);
        kills += 1;
        // The next process is killed while it opens the database, which includes the replay of a long log.
        for again in 0..if round % 3 == 2 { rng.u64(1..4) } else { 0 } {
            known.kill_one(seed ^ (again + 1) << 40, Duration::from_micros(rng.u64(0..30_000)), true, false);
            kills += 1;
        }
        known.check(seed, round);
        known.check_checkpoints(seed);
        round += 1;
    }
    seed::tally("kills", kills);
    seed::tally_rare();
    println!(
        "{kills} kills in {:?}, {} of them before the database was open; {} batches acknowledged, {} found that were not \
         reported; {} checkpoints restored; {} directories moved",
        started.elapsed(),
        known.not_opened,
        known.acknowledged.iter().sum::<u64>(),
        known.untold,
        known.restored,
        known.moved
    );
    if seed::is_usual(ROUNDS) {
        assert!(kills >= KILLS, "{kills} kills");
        assert!(known.not_opened > 0, "no process was killed while opening");
        assert!(known.restored > 20, "{} checkpoints were restored", known.restored);
        assert!(known.moved > 5, "{} directories were moved", known.moved);
    }
    assert!(known.acknowledged.iter().all(|count| *count > 0), "{:?}", known.acknowledged);
}

#[test]
fn a_process_that_is_killed_while_it_creates_a_database_leaves_one_or_none() {
    const ROUNDS: u64 = 25;
    let _alone = ALONE.lock();
    let first = seed::first();
    let (started, mut round, mut kills, mut not_opened) = (Instant::now(), 0, 0, 0);
    while seed::continues(started, round, ROUNDS) {
        let seed = first + round;
        let mut dir = Dir::new("a_process_that_is_killed_while_it_creates_a_database_leaves_one_or_none", seed);
        dir.rounds += 1;
        let mut known = Known::new(dir.db());
        let mut rng = fastrand::Rng::with_seed(seed ^ 0xc4ea7e);
        for again in 0..rng.u64(1..4) {
            // The seeds differ, because each process names its checkpoints by its seed.
            known.kill_one(seed ^ again << 40, Duration::from_micros(rng.u64(0..25_000)), true, false);
            kills += 1;
        }
        known.check(seed, round);
        known.check_checkpoints(seed);
        not_opened += known.not_opened;
        round += 1;
    }
    seed::tally("kills", kills);
    seed::tally_rare();
    println!("{kills} kills in {:?}, {not_opened} of them before the database was open", started.elapsed());
    assert!(!seed::is_usual(ROUNDS) || not_opened > 0, "no process was killed while creating");
}
