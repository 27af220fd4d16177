//! The scenarios, each of which runs in its own process.

use super::{Figures, Meter, measured, reads, status};
use alluvium::load::{Input, OnBad};
use alluvium::{Collection, Database, Durability, Map, Snapshot, Value};
use alluvium_document::row::ValueRef;
use alluvium_store::Options;
use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Text that compresses like prose: words recur, and there is an occasional random number.
pub struct Text {
    rng: fastrand::Rng,
    /// Selects one of several spellings of the words.
    spelling: u64,
}

impl Text {
    /// The text for a seed, in one of several spellings.
    pub fn new(seed: u64, spelling: u64) -> Self {
        Self { rng: fastrand::Rng::with_seed(seed), spelling }
    }

    fn word(&mut self, out: &mut String) {
        // Some words are much more frequent than others.
        let rank = self.rng.u64(1..2000) * self.rng.u64(0..2000) / 2000;
        let mut word =
            (rank + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.spelling.wrapping_mul(0xd1b5_4a32_d192_ed03);
        for _ in 0..2 + rank % 9 {
            word = word.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            out.push(char::from(b'a' + (word >> 40) as u8 % 26));
        }
    }

    /// A document of about `bytes` bytes.
    pub fn document(&mut self, id: u64, bytes: usize) -> String {
        let mut out = format!(
            r#"{{"_id":{id},"author":"user{}","score":{},"body":""#,
            self.rng.u32(0..5000),
            self.rng.i32(-100..5000)
        );
        while out.len() < bytes.saturating_sub(2) {
            self.word(&mut out);
            out.push(' ');
            if self.rng.u8(0..12) == 0 {
                out += &self.rng.u64(..).to_string();
            }
        }
        out + r#""}"#
    }
}

/// Runs a scenario by its name.
///
/// # Panics
/// If no scenario has that name, or a check fails.
pub fn run(scenario: &str, path: &Path, amount: u64) -> Figures {
    match scenario {
        "more_text_than_memory" => measured(path, |path, meter, figures| more_text(path, meter, figures, amount)),
        "large_documents" => measured(path, |path, meter, figures| large_documents(path, meter, figures, amount)),
        "long_lines" => measured(path, |path, meter, figures| long_lines(path, meter, figures, amount)),
        "large_sorts" => measured(path, |path, meter, figures| large_sorts(path, meter, figures, amount)),
        "many_collections" => measured(path, |path, meter, figures| many_collections(path, meter, figures, amount)),
        "many_files" => measured(path, |path, meter, figures| many_files(path, meter, figures, amount)),
        other => panic!("there is no scenario {other}"),
    }
}

fn open(path: &Path, options: &Options, figures: &mut Figures) -> Database {
    figures.budget = options.memory_bytes as u64;
    Database::builder().options(options.clone()).open(path).expect("it opens")
}

/// Writes documents with consecutive numbers, from two threads, until `bytes` are written.
fn fill(collection: &Collection, bytes: u64, each: usize, written: &AtomicU64, ids: &AtomicU64) {
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                while written.load(Ordering::SeqCst) < bytes {
                    let first = ids.fetch_add(50, Ordering::SeqCst);
                    // The spelling of the words changes halfway.
                    let mut text = Text::new(first + thread, written.load(Ordering::SeqCst) * 2 / bytes);
                    let documents: Vec<String> = (first..first + 50).map(|id| text.document(id, each)).collect();
                    let sum: usize = documents.iter().map(String::len).sum();
                    collection.insert_many(documents).expect("room for it");
                    written.fetch_add(sum as u64, Ordering::SeqCst);
                }
            });
        }
    });
}

/// `amount` MB of documents of 1 kB with a budget of 32 MB; they are written, read, scanned, sorted and changed.
fn more_text(path: &Path, meter: &Meter, figures: &mut Figures, megabytes: u64) {
    let options = Options { memory_bytes: 32 << 20, durability: Durability::Periodic, ..Options::default() };
    let db = open(path, &options, figures);
    let documents = db.collection("documents");
    let (written, ids) = (AtomicU64::new(0), AtomicU64::new(0));
    meter.during(&db, || {
        documents.create_index(r#"{"score":1}"#).run().expect("an index");
        fill(&documents, megabytes << 20, 1000, &written, &ids);
        let count = ids.load(Ordering::SeqCst);
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..4000 {
            assert!(documents.get(rng.u64(0..count) as i64).expect("a get").is_some());
            let id = rng.u64(0..count) as i64;
            documents
                .update_one(Map::from([("_id", Value::from(id))]), r#"{"$inc":{"score":1}}"#)
                .run()
                .expect("an update");
        }
        let found = documents.find(r#"{"score":{"$gt":4900}}"#).count().expect("a question");
        assert!(found > 0);
        odd_paths(&db, &documents, count);
        let half = format!(r#"{{"_id":{{"$lt":{}}}}}"#, count.min(30_000));
        let mut sorted = documents.find(half.as_str()).sort(r#"{"author":1,"body":-1}"#).run().expect("a sort");
        assert!(sorted.next().is_some_and(|first| first.is_ok()));
        drop(sorted);
        assert_eq!(documents.scan().run().expect("a scan").take(20_000).filter(Result::is_err).count(), 0);
        stop_a_merge(&db);
    });
    figures.documents = documents.count().expect("a count");
    assert_eq!(figures.documents, ids.load(Ordering::SeqCst));
    figures.bytes = written.load(Ordering::SeqCst);
    meter.look(&db);
    figures.files = db.stats().partitions.iter().map(|partition| partition.files as u64).sum();
    db.close().expect("it closes");
}

/// Cases that pressure alone does not cause: one document that is rewritten again and again while the log waits for the
/// others, a chain of deltas on a value in a file, and index entries that are mostly stale.
fn odd_paths(db: &Database, documents: &Collection, count: u64) {
    let mut text = Text::new(9, 0);
    for _ in 0..20_000 {
        documents.put(0, text.document(0, 1000)).expect("room");
    }
    db.flush().expect("room");
    for _ in 0..500 {
        documents.update_blind(0, r#"{"$inc":{"likes":1}}"#).expect("a delta");
    }
    let likes = documents.get(0).expect("a get").expect("it is there").to_map().expect("a document");
    assert_eq!(likes.get("likes").and_then(alluvium::Value::as_i64), Some(500));
    for score in [6000, 1, 2] {
        for id in 1..3000.min(count) {
            documents.put(id as i64, format!(r#"{{"author":"many","score":{score},"body":""}}"#)).expect("room");
        }
    }
    for _ in 0..2 {
        assert_eq!(documents.find(r#"{"score":6000}"#).count().expect("a question"), 0);
    }
}

/// Merges everything, and stops the merge in the middle.
fn stop_a_merge(db: &Database) {
    db.wait_for_compaction().expect("room");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::park_timeout(Duration::from_millis(30));
            stop.store(true, Ordering::SeqCst);
        });
        let _whole_or_stopped = db.store().compact_unless(&stop).expect("room");
    });
}

/// Documents of almost 16 MB among `amount` small ones, with a budget of 128 MB. The text of the large documents is
/// created before the database.
fn large_documents(path: &Path, meter: &Meter, figures: &mut Figures, small: u64) {
    let options = Options { memory_bytes: 128 << 20, durability: Durability::Periodic, ..Options::default() };
    let (head, mut words) = (r#"{"_id":""#, Text::new(3, 0));
    let large_id = |n: u64| format!("large-{n}");
    let mut large = String::with_capacity(16 << 20);
    large.extend([head, &large_id(0), r#"","body":""#]);
    while large.len() < (16 << 20) - 4096 {
        words.word(&mut large);
        large.push(' ');
    }
    large += r#""}"#;
    figures.before = status("VmRSS");
    let db = open(path, &options, figures);
    let documents = db.collection("documents");
    meter.during(&db, || {
        let mut text = Text::new(1, 0);
        for id in 0..small {
            documents.insert_one(text.document(id, 300)).expect("room for a small one");
            if id % (small / 4) == small / 8 {
                let its = large_id(id / (small / 4));
                large.replace_range(head.len()..head.len() + its.len(), &its);
                documents.insert_one(large.as_str()).expect("room for a large one");
            }
        }
        db.wait_for_compaction().expect("room");
        for n in 0..4 {
            let found = documents.get(large_id(n)).expect("a get").expect("it is there");
            assert!(found.row_len() > 16_000_000);
        }
        assert_eq!(documents.count().expect("a count"), small + 4);
    });
    figures.documents = small + 4;
    figures.files = db.stats().partitions.iter().map(|partition| partition.files as u64).sum();
    db.close().expect("it closes");
}

/// The size in bytes of a document of [`large_sorts`].
pub const LARGE_SORTED_BYTES: u64 = 14 << 20;

/// `large` documents of 14 MB, and ten times as many documents of 1 MB, sorted with a budget of 8 MB.
fn large_sorts(path: &Path, meter: &Meter, figures: &mut Figures, large: u64) {
    let options = |memory_bytes| Options { memory_bytes, durability: Durability::Bulk, ..Options::default() };
    let documents = 11 * large;
    let db = Database::builder().options(options(256 << 20)).open(path).expect("it opens");
    for id in 0..documents {
        let bytes = if id % 11 == 0 { LARGE_SORTED_BYTES as usize } else { 1 << 20 };
        let n = Value::from((id * 31 % documents) as i64);
        let document = Map::from([("_id", Value::from(id as i64)), ("n", n), ("text", Value::from("x".repeat(bytes)))]);
        db.collection("documents").insert_one(document).expect("room");
    }
    db.flush().expect("room");
    db.close().expect("it closes");
    drop(db);

    let db = open(path, &options(8 << 20), figures);
    // The peak is measured from this point on.
    std::fs::write("/proc/self/clear_refs", "5").expect("the kernel resets the peak");
    figures.before = status("VmRSS");
    meter.during(&db, || {
        let cursor = db.collection("documents").find("{}").sort(r#"{"n":1}"#).run().expect("a sort");
        let ids = cursor.map(|found| found.expect("a document").id().as_i64().expect("a number") as u64);
        let places: Vec<u64> = ids.map(|id| id * 31 % documents).collect();
        assert_eq!(places, (0..documents).collect::<Vec<u64>>());
    });
    figures.documents = documents;
    db.close().expect("it closes");
}

/// The size in bytes of the longest line of [`long_lines`].
pub const LONG_LINE_BYTES: u64 = 12 << 20;

/// `lines` lines of up to 12 MB are loaded into a collection with an index on their longest value, and then sorted by
/// this value in two threads at once. The budget is 64 MB. At the end, a line of 150 MB is refused.
fn long_lines(path: &Path, meter: &Meter, figures: &mut Figures, lines: u64) {
    let options = Options { memory_bytes: 64 << 20, durability: Durability::Bulk, ..Options::default() };
    let input = path.with_extension("json");
    write_lines(&input, lines).expect("room for the lines");
    std::fs::write("/proc/self/clear_refs", "5").expect("the kernel resets the peak");
    figures.before = status("VmRSS");
    let db = open(path, &options, figures);
    let documents = db.collection("lines");
    documents.create_index(r#"{"text":1}"#).run().expect("an index");
    meter.during(&db, || {
        let file = Input::file(&input).expect("the lines are there");
        let loaded = documents.load(file).readers(4).on_bad(OnBad::Skip).run();
        let refused = loaded.expect_err("the last line is too long").to_string();
        assert!(refused.contains("line"), "{refused}");
        assert_eq!(documents.count().expect("a count"), lines);
        let found = documents.find(r#"{"text":{"$gte":"b"}}"#).hint("text_1").count().expect("a question");
        assert_eq!(found, lines);
        std::thread::scope(|scope| {
            for direction in ["1", "-1"] {
                let documents = &documents;
                scope.spawn(move || {
                    let sort = format!(r#"{{"text":{direction},"n":1}}"#);
                    let cursor = documents.find("{}").sort(sort.as_str()).run().expect("a sort");
                    let places = cursor.map(|found| {
                        let document = found.expect("a document");
                        let Ok(Some(ValueRef::String(text))) = document.get("text") else { panic!("it has text") };
                        let n = document.id().as_i64().expect("a number");
                        (text.as_bytes()[DIFFERENT_BYTE], text.len(), n)
                    });
                    let places: Vec<_> = places.collect();
                    let texts = |a: &(u8, usize, i64), b: &(u8, usize, i64)| (a.0, a.1).cmp(&(b.0, b.1));
                    let mut sorted = places.clone();
                    sorted.sort_by(|a, b| {
                        let by_text = if direction == "1" { texts(a, b) } else { texts(b, a) };
                        by_text.then(a.2.cmp(&b.2))
                    });
                    assert_eq!(places, sorted);
                    assert_eq!(places.len() as u64, lines);
                });
            }
        });
    });
    figures.documents = lines;
    db.close().expect("it closes");
    std::fs::remove_file(&input).expect("it was there");
}

/// The index of the byte by which the long values differ.
const DIFFERENT_BYTE: usize = 1 << 20;

/// Writes lines with long values. The values have a long common prefix, and differ in one byte after it. One in three
/// values has the maximum length. The last line is longer than allowed.
fn write_lines(path: &Path, lines: u64) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut line = |n: u64, rest: u64| -> std::io::Result<()> {
        write!(out, r#"{{"_id":{n},"n":{n},"text":""#)?;
        std::io::copy(&mut std::io::repeat(b'b').take(DIFFERENT_BYTE as u64), &mut out)?;
        write!(out, "{}", char::from(b'a' + (n * 7 % 5) as u8))?;
        std::io::copy(&mut std::io::repeat(b'c').take(rest), &mut out)?;
        writeln!(out, r#""}}"#)
    };
    for n in 0..lines {
        line(n, if n % 3 == 0 { LONG_LINE_BYTES - DIFFERENT_BYTE as u64 - 64 } else { 10 })?;
    }
    line(lines, 150 << 20)?;
    out.flush()
}

/// `amount` collections of ten documents each. The database is reopened, and each collection is read.
fn many_collections(path: &Path, meter: &Meter, figures: &mut Figures, count: u64) {
    let options = Options { memory_bytes: 64 << 20, durability: Durability::Bulk, ..Options::default() };
    let db = open(path, &options, figures);
    meter.during(&db, || {
        for n in 0..count {
            let collection = db.collection(&format!("c{n}"));
            collection.insert_many((0..10).map(|id| format!(r#"{{"_id":{id},"n":{n}}}"#))).expect("room");
        }
    });
    many_shapes(&db);
    db.close().expect("it closes");
    drop(db);
    let before = reads();
    let db = open(path, &options, figures);
    figures.opening = reads() - before;
    assert_eq!(db.collections().len() as u64, count + 1);
    meter.during(&db, || {
        for n in (0..count).rev() {
            let found = db.collection(&format!("c{n}")).get(3).expect("a get").expect("it is there");
            let map = found.to_map().expect("a document");
            assert_eq!(map.get("n").and_then(alluvium::Value::as_i64), Some(n as i64));
        }
    });
    figures.documents = count * 10;
    figures.files = db.stats().partitions.iter().map(|partition| partition.files as u64).sum();
    db.close().expect("it closes");
}

/// Documents with more combinations of fields than a collection remembers.
fn many_shapes(db: &Database) {
    let odd = db.collection("odd");
    for n in 0..5000 {
        odd.insert_many((0..2).map(|twice| format!(r#"{{"_id":{},"field-{n}":{n}}}"#, 2 * n + twice))).expect("room");
    }
    for id in [0, 4999, 9999] {
        assert!(odd.get(id).expect("a get").is_some());
    }
}

/// `amount` MB of documents in files of the smallest possible size. All files are read repeatedly, while a snapshot
/// pins many of them.
fn many_files(path: &Path, meter: &Meter, figures: &mut Figures, megabytes: u64) {
    let options = Options {
        memory_bytes: 32 << 20,
        partitions: Some(8),
        file_bytes: Some(64 << 10),
        durability: Durability::Bulk,
        ..Options::default()
    };
    let db = open(path, &options, figures);
    let documents = db.collection("documents");
    let (written, ids) = (AtomicU64::new(0), AtomicU64::new(0));
    meter.during(&db, || {
        fill(&documents, megabytes << 20, 1000, &written, &ids);
        let kept: Snapshot = db.snapshot();
        let count = ids.load(Ordering::SeqCst);
        let mut scan = documents.scan().at(&kept).run().expect("a scan");
        assert!(scan.next().is_some());
        db.compact().run().expect("room");
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..5000 {
            assert!(documents.get(rng.u64(0..count) as i64).expect("a get").is_some());
        }
        assert_eq!(scan.filter(Result::is_ok).count() as u64 + 1, count);
    });
    figures.documents = ids.load(Ordering::SeqCst);
    figures.bytes = written.load(Ordering::SeqCst);
    figures.files = db.stats().partitions.iter().map(|partition| partition.files as u64).sum();
    db.close().expect("it closes");
}
