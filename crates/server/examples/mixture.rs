//! Runs a mixture of commands through a real server, and measures the memory and the descriptors of its process, which
//! must level off. `tests/soak/run` builds both and runs this.
//!
//! ```text
//! mixture PROGRAM SECONDS SEED [SAMPLES]
//! ```
//!
//! Prints a line for each sample. Fails if the memory or the descriptors of the server at rest still grow in the second
//! half of the samples. State that is kept for a time has to level off by then. Runs of less than twenty minutes
//! therefore use a shorter timeout of cursors, and read no snapshots, which are kept for five minutes.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test over real processes and sockets, in real time"
)]

#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/all/common/mod.rs"]
mod common;

use alluvium::{Binary, Map, Value, doc};
use common::Client;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The value of `--memory`.
const MEMORY: &str = "64M";
/// The number of worker threads.
const WORKERS: u64 = 4;
/// A figure may grow by chance by this part of itself, and by this number of KiB or descriptors.
const GROWTH_PART: u64 = 16;
const GROWTH_MIN: u64 = 4;
/// The number of documents of each collection that is not dropped.
const DOCUMENTS: i32 = 2000;
/// Runs of at least this length use the server's own timeout of cursors, ten minutes.
const LONG: Duration = Duration::from_secs(20 * 60);
/// In a shorter run, cursors time out after this part of its length.
const CURSORS_PART: u32 = 6;
/// The server is measured at rest. The rest is this part of the time between two samples, or ten seconds.
const REST_PART: u32 = 3;

fn main() -> ExitCode {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| given.get(at).and_then(|text| text.parse::<u64>().ok());
    let (Some(program), Some(seconds), Some(seed)) = (given.first(), number(1), number(2)) else {
        eprintln!("usage: mixture PROGRAM SECONDS SEED [SAMPLES]");
        return ExitCode::from(2);
    };
    let samples = number(3).unwrap_or(seconds / 30).max(8);
    let dir = tempfile::tempdir().expect("a directory");
    let (mut server, address) = start(program, dir.path());
    let (taken, calls) = run(address, server.id(), seed, Duration::from_secs(seconds), samples);
    server.kill().expect("a child");
    server.wait().expect("a child");
    println!("{calls} calls");
    let failures =
        [growth("memory in KiB", &taken, |sample| sample.memory), growth("descriptors", &taken, |it| it.files)];
    for failure in failures.iter().flatten() {
        println!("FAILED: {failure}");
    }
    if failures.iter().all(Option::is_none) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A measurement of the server process at rest.
#[derive(Clone, Copy)]
struct Sample {
    /// The resident memory in KiB.
    memory: u64,
    files: u64,
}

impl Sample {
    fn of(process: u32) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
        let memory = line.split_whitespace().next().and_then(|kib| kib.parse().ok()).expect("a number");
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).expect("the server runs").count() as u64;
        Self { memory, files }
    }
}

/// Describes the growth of a figure in the second half of the samples. A figure grows if the median of the last third
/// is above all samples of the first third, and above the median of the first third by more than the allowed growth.
fn growth(name: &str, taken: &[Sample], figure: impl Fn(&Sample) -> u64) -> Option<String> {
    let settled = &taken[taken.len() / 2..];
    let third = settled.len().div_ceil(3);
    let sorted = |samples: &[Sample]| {
        let mut figures: Vec<u64> = samples.iter().map(&figure).collect();
        figures.sort_unstable();
        figures
    };
    let (first, last) = (sorted(&settled[..third]), sorted(&settled[settled.len() - third..]));
    let (before, after) = (first[third / 2], last[third / 2]);
    let grows = after > first[third - 1] && after > before + before / GROWTH_PART + GROWTH_MIN;
    println!("{name}: {before} at first, {after} at last");
    grows.then(|| format!("{name} grow from {before} to {after} after they should have settled"))
}

fn start(program: &str, dir: &std::path::Path) -> (Child, SocketAddr) {
    let mut child = Command::new(std::path::absolute(program).expect("a path"))
        .args(["serve", "db", "--listen", "127.0.0.1:0", "--memory", MEMORY])
        .current_dir(dir)
        .env("XDG_CONFIG_HOME", dir)
        .env("XDG_STATE_HOME", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(dir.join("log")).expect("a file"))
        .spawn()
        .expect("the program");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let address = lines.find_map(|line| line.ok()?.strip_prefix("listening at ")?.trim().parse().ok());
    (child, address.expect("the server listens"))
}

/// Runs the workers, with a rest before each sample. Returns the samples and the number of calls.
fn run(address: SocketAddr, process: u32, seed: u64, time: Duration, samples: u64) -> (Vec<Sample>, u64) {
    let (rests, ends, calls) = (AtomicBool::new(false), AtomicBool::new(false), AtomicU64::new(0));
    let between = time / u32::try_from(samples).expect("few");
    let rest = (between / REST_PART).min(Duration::from_secs(10));
    let began = Instant::now();
    let mut taken = Vec::new();
    let is_long = time >= LONG;
    if !is_long {
        let idle = i64::try_from((time / CURSORS_PART).as_millis()).expect("short");
        let timeout = doc! {"setParameter": 1, "cursorTimeoutMillis": (Value::Int64(idle))};
        Client::connect(address).ok("admin", timeout);
    }
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (rests, ends, calls) = (&rests, &ends, &calls);
            scope.spawn(move || {
                let mut worker = Worker::new(address, seed, worker, is_long);
                while !ends.load(Ordering::Relaxed) {
                    if rests.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(20));
                        continue;
                    }
                    worker.step();
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..samples {
            std::thread::sleep(between - rest);
            let busy = Sample::of(process);
            rests.store(true, Ordering::Relaxed);
            std::thread::sleep(rest);
            let idle = Sample::of(process);
            rests.store(false, Ordering::Relaxed);
            println!(
                "{:>5} s  busy {:>7} KiB {:>4} descriptors  at rest {:>7} KiB {:>4} descriptors  {} calls",
                began.elapsed().as_secs(),
                busy.memory,
                busy.files,
                idle.memory,
                idle.files,
                calls.load(Ordering::Relaxed),
            );
            taken.push(idle);
        }
        ends.store(true, Ordering::Relaxed);
    });
    (taken, calls.into_inner())
}

/// A worker thread.
struct Worker {
    address: SocketAddr,
    client: Client,
    rng: fastrand::Rng,
    number: u64,
    session: Map,
    transaction: i64,
    /// The number of collections that this worker has created; it drops each of them.
    made: u64,
    reads_snapshots: bool,
}

impl Worker {
    fn new(address: SocketAddr, seed: u64, number: u64, reads_snapshots: bool) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(100).wrapping_add(number));
        let session = new_session(&mut rng);
        let client = Client::connect(address);
        Self { address, client, rng, number, session, transaction: 0, made: 0, reads_snapshots }
    }

    /// The name of a collection that is not dropped.
    fn name(&mut self) -> String {
        format!("c{}", self.rng.u8(..3))
    }

    fn id(&mut self) -> i32 {
        self.rng.i32(..DOCUMENTS)
    }

    fn text(&mut self) -> String {
        let words = self.rng.usize(1..60);
        (0..words).map(|_| self.rng.u32(..).to_string()).collect::<Vec<_>>().join(" ")
    }

    /// Runs one command, or a few.
    fn step(&mut self) {
        match self.rng.u8(..100) {
            0..30 => self.insert(),
            30..50 => self.update(),
            50..65 => self.find(),
            65..75 => self.read_on(),
            75..82 => self.aggregate(),
            82..90 => self.delete(),
            90..96 => self.write_in_session(),
            96 if self.reads_snapshots => self.read_at_snapshot(),
            96 => self.find(),
            97 => self.make_and_drop(),
            98 => self.index(),
            _ => self.begin_again(),
        }
    }

    /// Runs a command that may fail because another thread changed the data first.
    fn run(&mut self, command: Map) -> Map {
        self.client.run("mixture", command)
    }

    fn insert(&mut self) {
        let name = self.name();
        let count = self.rng.usize(1..10);
        let documents: Vec<Value> = (0..count)
            .map(|_| {
                let (id, n, text) = (self.id(), self.rng.i32(..100), self.text());
                Value::Map(doc! {"_id": id, "n": n, "text": text, "tags": [n, (id % 7)], "when": (Value::Int64(i64::from(id)))})
            })
            .collect();
        let insert = Map::from([
            ("insert", Value::from(name)),
            ("documents", Value::Array(documents)),
            ("ordered", Value::Bool(false)),
        ]);
        self.run(insert);
    }

    fn update(&mut self) {
        let (name, id, text) = (self.name(), self.id(), self.text());
        let change = doc! {"q": {"_id": id}, "u": {"$inc": {"n": 1}, "$set": {"text": text}}, "upsert": (id % 5 == 0)};
        self.run(doc! {"update": name, "updates": [change]});
    }

    fn find(&mut self) {
        let (name, n) = (self.name(), self.rng.i32(..100));
        self.run(doc! {"find": name, "filter": {"n": n}, "sort": {"_id": 1}, "limit": 20});
    }

    /// Opens a cursor and reads it on, closes it, or sometimes abandons it.
    fn read_on(&mut self) {
        let name = self.name();
        let found = self.run(doc! {"find": (name.as_str()), "batchSize": 5});
        let id = found.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("id"));
        let id = id.and_then(Value::as_i64).unwrap_or_default();
        if id == 0 {
            return;
        }
        self.run(doc! {"getMore": (Value::Int64(id)), "collection": (name.as_str()), "batchSize": 50});
        if self.rng.u8(..20) > 0 {
            self.run(doc! {"killCursors": name, "cursors": [(Value::Int64(id))]});
        }
    }

    fn aggregate(&mut self) {
        let (name, n) = (self.name(), self.rng.i32(..100));
        let other = self.name();
        let lookup = doc! {"$lookup": {"from": other, "localField": "n", "foreignField": "_id", "as": "of"}};
        let pipeline = match self.rng.u8(..3) {
            0 => {
                doc! {"p": [{"$match": {"n": {"$lt": n}}}, {"$group": {"_id": "$n", "all": {"$sum": 1}}}, {"$sort": {"all": 1}}]}
            }
            1 => doc! {"p": [{"$match": {"n": n}}, (lookup), {"$limit": 5}]},
            _ => doc! {"p": [{"$unwind": "$tags"}, {"$sort": {"text": 1}}, {"$limit": 10}]},
        };
        let stages = pipeline.get("p").cloned().unwrap_or_default();
        self.run(doc! {"aggregate": name, "pipeline": stages, "cursor": {}});
    }

    fn delete(&mut self) {
        let (name, id) = (self.name(), self.id());
        let filter = if self.rng.u8(..10) > 0 {
            doc! {"_id": id}
        } else {
            doc! {"n": (id % 100)}
        };
        self.run(doc! {"delete": name, "deletes": [{"q": (filter), "limit": 0}]});
    }

    /// Runs a retryable write.
    fn write_in_session(&mut self) {
        if self.rng.u8(..10) == 0 {
            let ended = std::mem::replace(&mut self.session, new_session(&mut self.rng));
            self.transaction = 0;
            if self.rng.bool() {
                self.client.run("admin", doc! {"endSessions": [(ended)]});
            }
        }
        self.transaction += 1;
        let (name, id, number) = (self.name(), self.id(), Value::Int64(self.transaction));
        let session = self.session.clone();
        let change = doc! {"q": {"_id": id}, "u": {"$inc": {"n": 1}}};
        self.run(doc! {"update": name, "updates": [change], "lsid": (session), "txnNumber": number});
    }

    fn read_at_snapshot(&mut self) {
        let (name, session) = (self.name(), self.session.clone());
        self.run(
            doc! {"find": name, "batchSize": 3, "limit": 3, "lsid": (session), "readConcern": {"level": "snapshot"}},
        );
    }

    /// Creates a collection with an index, uses it, and drops it.
    fn make_and_drop(&mut self) {
        self.made += 1;
        let name = format!("made_{}_{}", self.number, self.made);
        let index = doc! {"key": {"n": 1}, "name": "n"};
        self.run(doc! {"create": (name.as_str())});
        self.run(doc! {"createIndexes": (name.as_str()), "indexes": [index]});
        for id in 0..20 {
            let document = doc! {"_id": id, "n": (id % 5), "text": (self.text())};
            self.run(doc! {"insert": (name.as_str()), "documents": [document]});
        }
        self.run(doc! {"find": (name.as_str()), "filter": {"n": 3}});
        self.run(doc! {"drop": name});
    }

    /// Creates or drops an index.
    fn index(&mut self) {
        let name = self.name();
        let index = doc! {"key": {"n": 1, "when": 1}, "name": "n_when"};
        match self.rng.bool() {
            true => self.run(doc! {"createIndexes": name, "indexes": [index, {"key": {"n": 1}, "name": "n"}]}),
            false => self.run(doc! {"dropIndexes": name, "index": "n_when"}),
        };
    }

    /// Opens a new connection.
    fn begin_again(&mut self) {
        self.client = Client::connect(self.address);
        self.client.ok("admin", doc! {"hello": 1});
    }
}

fn new_session(rng: &mut fastrand::Rng) -> Map {
    let bytes = rng.u128(..).to_le_bytes().to_vec();
    Map::from([("id", Value::Binary(Binary { subtype: 4, bytes }))])
}
