//! Capped collections keep the newest documents within their limits, in the order of insertion. The tests compare
//! random operations and restarts with a model, and check the order after every power cut and failure, under many
//! writers, and after dumps and repairs.

// The threads of these tests belong to the tests themselves.

use alluvium::{CappedLimits, Collection, Database, Durability, Map, Result, Value, doc};
use alluvium_env::fault::{Fault, FaultFs, Op};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, Fs, ManualClock, OpenMode, SeededRng};
use alluvium_store::Options;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Arc<FaultFs>, Env) {
    let mem = Arc::new(mem);
    let faults = Arc::new(FaultFs::over(mem.clone()));
    let (clock, rng) = (Arc::new(ManualClock::new()), Arc::new(SeededRng::new(3)));
    (mem, faults.clone(), Env { fs: faults, clock, rng })
}

fn open(env: &Env) -> Database {
    let durability = Durability::Sync;
    let options =
        Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, durability, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open("db").unwrap()
}

fn create(db: &Database, size_bytes: u64, documents: Option<u64>) -> Collection {
    db.create_collection("log").capped(CappedLimits { size_bytes, documents }).run().unwrap();
    db.collection("log")
}

/// The `_id`s in the natural order.
fn ids(log: &Collection) -> Vec<i64> {
    let ids = |document: Result<alluvium::Document>| document.unwrap().id().as_i64().unwrap();
    let natural: Vec<i64> = log.find(Map::new()).run().unwrap().map(ids).collect();
    let mut backward: Vec<i64> = log.find(Map::new()).sort(doc! {"$natural": -1}).run().unwrap().map(ids).collect();
    backward.reverse();
    assert_eq!(natural, backward);
    let mut sorted: Vec<i64> = log.find(Map::new()).sort(doc! {"_id": 1}).run().unwrap().map(ids).collect();
    let mut same = natural.clone();
    same.sort_unstable();
    assert_eq!(sorted, same);
    sorted.dedup();
    assert_eq!(sorted.len(), natural.len());
    natural
}

fn verify(db: &Database) {
    let report = db.verify().run().unwrap();
    assert!(report.damage.is_empty(), "{:?}", report.damage);
}

/// A model of a capped collection: a list of its documents.
struct Model {
    limits: CappedLimits,
    /// The `_id` and the size of each document, the oldest document first.
    documents: Vec<(i64, u64)>,
}

impl Model {
    fn insert(&mut self, id: i64, size: u64) {
        self.documents.push((id, size));
        self.trim();
    }

    fn trim(&mut self) {
        let exceeds = |documents: &[(i64, u64)]| {
            let bytes: u64 = documents.iter().map(|(_, size)| size).sum();
            bytes > self.limits.size_bytes || self.limits.documents.is_some_and(|most| documents.len() as u64 > most)
        };
        while self.documents.len() > 1 && exceeds(&self.documents) {
            self.documents.remove(0);
        }
    }

    fn ids(&self) -> Vec<i64> {
        self.documents.iter().map(|(id, _)| *id).collect()
    }
}

/// A document with a text of `n` characters, and its size as BSON.
fn document(id: i64, n: usize) -> (Map, u64) {
    let document = doc! {"_id": id, "x": (id % 7), "text": ("t".repeat(n))};
    let mut bytes = Vec::new();
    alluvium_document::bson::encode_document(&document, &mut bytes).unwrap();
    (document, bytes.len() as u64)
}

/// The random numbers of a test.
struct Random(SeededRng);

impl Random {
    fn below(&self, most: u64) -> u64 {
        use alluvium_env::Rng as _;
        self.0.next_u64() % most
    }
}

// long: one arm for each operation, on the collection and on the list.
#[test]
fn any_operations_keep_what_fits() {
    for seed in 0..40 {
        let random = Random(SeededRng::new(seed));
        let (_, _, env) = env_of(MemFs::new());
        let mut db = open(&env);
        let documents = (random.below(2) == 0).then(|| 1 + random.below(20));
        let limits = CappedLimits { size_bytes: 100 + random.below(4000), documents };
        let mut log = create(&db, limits.size_bytes, limits.documents);
        if random.below(2) == 0 {
            log.create_index(doc! {"x": 1}).run().unwrap();
        }
        let mut model = Model { limits, documents: Vec::new() };
        let mut next = 1000;
        for step in 0..120 {
            let some =
                (!model.documents.is_empty()).then(|| random.below(model.documents.len().max(1) as u64) as usize);
            match (random.below(12), some) {
                (0..=4, _) | (_, None) => {
                    let count = 1 + random.below(6) as usize;
                    // The `_id`s do not ascend, so that the order of insertion differs from the order of `_id`s.
                    let new: Vec<i64> = (0..count as i64).map(|n| (next + n) * 7919 % 100_003).collect();
                    next += count as i64;
                    let new: Vec<(Map, u64)> =
                        new.into_iter().map(|id| document(id, random.below(400) as usize)).collect();
                    let maps: Vec<Map> = new.iter().map(|(map, _)| map.clone()).collect();
                    for (map, size) in &new {
                        model.documents.push((map.get("_id").and_then(Value::as_i64).unwrap(), *size));
                    }
                    model.trim();
                    log.insert_many(maps).unwrap();
                }
                (5, Some(at)) => {
                    let (id, _) = model.documents.remove(at);
                    log.delete(id).unwrap();
                }
                (6, Some(at)) => {
                    let (id, _) = model.documents.remove(at);
                    assert_eq!(log.delete_one(doc! {"_id": id}).run().unwrap().deleted_count, 1);
                }
                (7, Some(at)) => {
                    let id = model.documents[at].0;
                    let (map, size) = document(id, random.below(600) as usize);
                    model.documents[at].1 = size;
                    log.put(id, map).unwrap();
                }
                (8, Some(at)) => {
                    let id = model.documents[at].0;
                    let text = "u".repeat(random.below(500) as usize);
                    model.documents[at].1 = document(id, text.len()).1;
                    log.update_one(doc! {"_id": id}, doc! {"$set": {"text": (text.as_str())}}).run().unwrap();
                }
                (9, Some(at)) => {
                    // A document that one batch deletes and inserts again becomes the newest.
                    let id = model.documents.remove(at).0;
                    let (map, size) = document(id, random.below(50) as usize);
                    let mut batch = db.write_batch();
                    batch.delete(&log, id).unwrap();
                    batch.put(&log, id, map).unwrap();
                    batch.commit().unwrap();
                    model.insert(id, size);
                }
                (10, _) => {
                    let documents = (random.below(2) == 0).then(|| 1 + random.below(20));
                    model.limits = CappedLimits { size_bytes: 100 + random.below(4000), documents };
                    log.set_capped(model.limits).unwrap();
                }
                _ => {
                    if random.below(2) == 0 {
                        db.flush().unwrap();
                    }
                    db.close().unwrap();
                    db = open(&env);
                    log = db.collection("log");
                }
            }
            assert_eq!(ids(&log), model.ids(), "seed {seed}, step {step}");
        }
        verify(&db);
        assert_eq!(log.capped().unwrap(), Some(model.limits));
        let by_index: usize = (0..7).map(|x| log.find(doc! {"x": x}).count().unwrap() as usize).sum();
        assert_eq!(by_index, model.documents.len(), "seed {seed}");
    }
}

/// Inserts twelve documents one after the other, and deletes the last; calls `acknowledged` with the count of writes.
fn write(log: &Collection, mut acknowledged: impl FnMut(i64)) -> Result<()> {
    for n in 0..12 {
        log.insert_one(document(n * 5 % 13, 20).0)?;
        acknowledged(n + 1);
    }
    log.delete_one(doc! {"_id": (11 * 5 % 13)}).run()?;
    acknowledged(13);
    Ok(())
}

/// The expected `_id`s before the first write and after each write.
fn states() -> Vec<Vec<i64>> {
    let mut states = vec![Vec::new()];
    let mut kept = Vec::new();
    for n in 0..12 {
        kept.push(n * 5 % 13);
        if kept.len() > 3 {
            kept.remove(0);
        }
        states.push(kept.clone());
    }
    kept.pop();
    states.push(kept);
    states
}

#[test]
fn a_power_cut_at_any_step() {
    let (mem, faults, env) = env_of(MemFs::new());
    let db = open(&env);
    let log = create(&db, 10_000, Some(3));
    let (cuts, done) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    let (seen, count) = (cuts.clone(), done.clone());
    faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        for style in [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept] {
            let what = format!("{style:?} before {:?} of {}", op.kind, op.path.display());
            seen.lock().push((mem.crash_clone(op.number, style), *count.lock(), what));
        }
    })));
    write(&log, |count| *done.lock() = count).unwrap();
    faults.set_hook(None);
    let cuts = std::mem::take(&mut *cuts.lock());
    assert!(cuts.len() > 20, "{}", cuts.len());
    for (mem, acknowledged, what) in cuts {
        let db = open(&env_of(mem).2);
        let log = db.collection("log");
        let found = ids(&log);
        let at = states().iter().rposition(|state| *state == found);
        let at = at.unwrap_or_else(|| panic!("{what}: {found:?} is no state"));
        assert!(at as i64 >= acknowledged, "{what}: {found:?} lacks what was acknowledged");
        verify(&db);
        log.insert_one(doc! {"_id": 99}).unwrap();
        assert_eq!(ids(&log).last(), Some(&99), "{what}");
        assert!(ids(&log).len() <= 3, "{what}");
    }
}

#[test]
fn an_error_at_any_step() {
    let mut struck = 0;
    for nth in 1.. {
        let (_, faults, env) = env_of(MemFs::new());
        let db = open(&env);
        let log = create(&db, 10_000, Some(3));
        faults.inject(Fault::nth(nth).of_changes());
        let mut acknowledged = 0;
        let written = write(&log, |count| acknowledged = count);
        faults.clear();
        if faults.fired() == 0 {
            written.unwrap();
            break;
        }
        struck += 1;
        drop((log, db));
        let db = open(&env);
        let found = ids(&db.collection("log"));
        let at = states().iter().rposition(|state| *state == found).expect("a state");
        assert!(at as i64 >= acknowledged, "operation {nth}: {found:?}");
        verify(&db);
    }
    assert!(struck > 5, "{struck}");
}

#[test]
fn a_conversion_that_is_cut_is_finished_later() {
    let (mem, faults, env) = env_of(MemFs::new());
    let db = open(&env);
    let log = db.collection("log");
    for n in 0..9 {
        log.insert_one(document(n * 5 % 13, 20).0).unwrap();
    }
    let cuts = Arc::new(Mutex::new(Vec::new()));
    let seen = cuts.clone();
    faults.set_hook(Some(Arc::new(move |op: &Op<'_>| {
        for style in [CrashStyle::Any, CrashStyle::AllLost, CrashStyle::AllKept] {
            seen.lock().push((mem.crash_clone(op.number, style), op.number));
        }
    })));
    log.convert_to_capped(CappedLimits { size_bytes: 10_000, documents: Some(4) }).unwrap();
    faults.set_hook(None);
    let all: Vec<i64> = (0..9).map(|n| n * 5 % 13).collect();
    assert_eq!(ids(&log), all[5..]);
    for (mem, number) in std::mem::take(&mut *cuts.lock()) {
        let db = open(&env_of(mem).2);
        let log = db.collection("log");
        let is_capped = log.capped().unwrap().is_some();
        // Some of the oldest documents may have been deleted already.
        let found = ids(&log);
        assert!(!is_capped || all.ends_with(&found), "operation {number}: {found:?}");
        log.insert_one(doc! {"_id": 99}).unwrap();
        let expected = if is_capped {
            [&all[6..], &[99]].concat()
        } else {
            log.scan().run().unwrap().map(|d| d.unwrap().id().as_i64().unwrap()).collect()
        };
        assert_eq!(ids(&log), expected, "operation {number}");
        verify(&db);
    }
}

#[test]
fn numbers_of_many_writers_are_seen_in_their_order() {
    let db = Database::in_memory().unwrap();
    let log = create(&db, 1 << 20, None);
    log.insert_one(doc! {"_id": "first"}).unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                let log = log.clone();
                scope.spawn(move || {
                    for n in 0..200 {
                        log.insert_one(doc! {"_id": (format!("{writer}-{n}")), "writer": writer, "n": n}).unwrap();
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let mut tail = log.find(Map::new()).tail().unwrap();
            let (mut next, mut count) = ([0; 4], 0);
            loop {
                let is_last = ended.load(std::sync::atomic::Ordering::SeqCst);
                while let Some(document) = tail.next_document().unwrap() {
                    count += 1;
                    let map = document.to_map().unwrap();
                    let Some(writer) = map.get("writer").and_then(Value::as_i64) else { continue };
                    assert_eq!(map.get("n").and_then(Value::as_i64), Some(next[writer as usize]));
                    next[writer as usize] += 1;
                }
                if is_last {
                    return count;
                }
                tail.wait(Duration::from_millis(50));
            }
        });
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        ended.store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(reader.join().unwrap(), 801);
    });
    verify(&db);
}

#[test]
fn a_tail_ends_when_its_place_is_lost() {
    let db = Database::in_memory().unwrap();
    let log = create(&db, 1 << 20, Some(3));
    assert!({
        let mut tail = log.find(Map::new()).tail().unwrap();
        tail.next_document().unwrap().is_none() && tail.is_dead()
    });
    log.insert_many([doc! {"_id": 1}, doc! {"_id": 2}]).unwrap();
    let mut tail = log.find(doc! {"_id": {"$gt": 1}}).tail().unwrap();
    assert_eq!(tail.next_document().unwrap().unwrap().id().as_i64(), Some(2));
    assert!(tail.next_document().unwrap().is_none() && !tail.is_dead());
    assert!(!tail.wait(Duration::from_millis(1)));
    log.insert_many([doc! {"_id": 3}, doc! {"_id": 4}]).unwrap();
    assert!(tail.wait(Duration::ZERO));
    assert_eq!(tail.next_document().unwrap().unwrap().id().as_i64(), Some(3));
    log.insert_many([doc! {"_id": 5}, doc! {"_id": 6}, doc! {"_id": 7}]).unwrap();
    // The cursor reads all documents of one batch at one snapshot, so it still returns document 4.
    assert_eq!(tail.next_document().unwrap().unwrap().id().as_i64(), Some(4));
    assert!(tail.next_document().unwrap().is_none());
    assert_eq!(tail.next_document().unwrap_err().code(), Some((136, "CappedPositionLost")));
    assert!(tail.is_dead() && tail.next_document().unwrap().is_none());

    let mut tail = log.find(Map::new()).tail().unwrap();
    assert!(tail.next_document().unwrap().is_some());
    tail.pause();
    log.drop().unwrap();
    assert_eq!(tail.next_document().unwrap_err().code(), Some((175, "QueryPlanKilled")));
    db.collection("pets").insert_one(doc! {"_id": 1}).unwrap();
    let refused = db.collection("pets").find(Map::new()).tail().err().unwrap();
    assert_eq!(refused.code(), Some((2, "BadValue")));
}

#[test]
fn a_lowered_limit_deletes_many_documents() {
    let db = Database::in_memory().unwrap();
    let log = create(&db, 1 << 20, None);
    log.insert_many((0..5000).map(|n| doc! {"_id": (5000 - n)}).collect::<Vec<_>>()).unwrap();
    log.set_capped(CappedLimits { size_bytes: 1 << 20, documents: Some(2) }).unwrap();
    assert_eq!(log.count().unwrap(), 5000);
    log.insert_one(doc! {"_id": 0}).unwrap();
    assert_eq!(ids(&log), [1, 0]);
    verify(&db);
    // One batch that is larger than the limits of the collection.
    log.insert_many((1..3000).map(|n| doc! {"_id": (n * 7 % 3001 + 10)}).collect::<Vec<_>>()).unwrap();
    assert_eq!(ids(&log), [2998 * 7 % 3001 + 10, 2999 * 7 % 3001 + 10]);
    verify(&db);
}

#[test]
fn dumps_and_repairs_keep_the_order() {
    let (_, _, env) = env_of(MemFs::new());
    let db = open(&env);
    let log = create(&db, 10_000, Some(5));
    for n in 0..12 {
        log.insert_one(document(n * 5 % 13, 20).0).unwrap();
    }
    let expected: Vec<i64> = (7..12).map(|n| n * 5 % 13).collect();
    db.dump("dump").run().unwrap();
    let before = db.snapshot();
    db.rename_collection("log", "log2").unwrap();
    db.drop_collection("log2").unwrap();
    let at: Vec<i64> = db
        .collection("log")
        .at(&before)
        .find(Map::new())
        .run()
        .unwrap()
        .map(|d| d.unwrap().id().as_i64().unwrap())
        .collect();
    assert_eq!(at, expected);
    let dump = alluvium::dump::read("dump").env(env.clone()).run().unwrap();
    dump.restore(&db).run().unwrap();
    let log = db.collection("log");
    assert_eq!(ids(&log), expected);
    assert_eq!(log.capped().unwrap().unwrap().documents, Some(5));
    db.close().unwrap();
    let report = alluvium::repair::repair("db", "saved").env(env.clone()).run().unwrap();
    assert!(report.is_whole(), "{report:?}");
    let db = Database::builder().env(env.clone()).open("saved").unwrap();
    let log = db.collection("log");
    // The repaired database has the order even before its first write.
    assert_eq!(ids(&log), expected);
    let mut tail = log.find(Map::new()).tail().unwrap();
    let tailed = std::iter::from_fn(|| tail.next_document().unwrap()).map(|document| document.id().as_i64().unwrap());
    assert_eq!(tailed.collect::<Vec<_>>(), expected);
    db.dump("dump2").run().unwrap();
    let restored = Database::builder().env(env.clone()).open("restored").unwrap();
    alluvium::dump::read("dump2").env(env).run().unwrap().restore(&restored).run().unwrap();
    assert_eq!(ids(&restored.collection("log")), expected);
    log.insert_one(doc! {"_id": 77}).unwrap();
    assert_eq!(ids(&log), [&expected[1..], &[77]].concat());
    verify(&db);
}

/// The sorted files of a database.
fn sorted_files(mem: &MemFs) -> Vec<PathBuf> {
    let partitions = ["db/p000", "db/p001"].map(PathBuf::from);
    let all = partitions.iter().flat_map(|dir| mem.list(dir).unwrap().into_iter().map(|entry| dir.join(entry.name)));
    all.filter(|path| path.extension().is_some_and(|extension| extension == "sst")).collect()
}

/// After the loss of any part of the order, the documents keep their order, or the report counts the documents that may
/// have lost their place.
#[test]
fn a_repair_says_what_of_the_order_is_lost() {
    let (mem, _, env) = env_of(MemFs::new());
    let small = Options { block_bytes: 1 << 10, durability: Durability::Sync, ..Options::default() };
    let options = Options { memory_bytes: 8 << 20, partitions: Some(2), background: false, ..small };
    let db = Database::builder().env(env).options(options).open("db").unwrap();
    let log = create(&db, 1 << 20, None);
    let inserted: Vec<i64> = (0..150).map(|n| n * 67 % 151).collect();
    for id in &inserted {
        log.insert_one(doc! {"_id": (*id), "text": "text".repeat(4)}).unwrap();
    }
    // A later update moves no document.
    for id in inserted.iter().step_by(3) {
        log.update_one(doc! {"_id": (*id)}, doc! {"$set": {"changed": true}}).run().unwrap();
    }
    db.flush().unwrap();
    assert_eq!(ids(&log), inserted);
    db.close().unwrap();
    let (mut lost, mut kept) = (0, 0);
    for path in sorted_files(&mem) {
        let len = mem.open(&path, OpenMode::Read).unwrap().len().unwrap();
        // Damage one block, and then several blocks, so that both the numbers and the positions of some documents are
        // lost.
        let every =
            |width: u64, step: u64| (0..len).step_by(usize::try_from(step + 1).unwrap()).map(move |at| (at, width));
        for (at, width) in every(1, len / 40).chain(every(len / 3, len / 20)) {
            let damaged = mem.kill_clone();
            let file = damaged.open(&path, OpenMode::ReadWrite).unwrap();
            let mut bytes = vec![0; usize::try_from(width.min(len - at)).unwrap()];
            file.read_exact_at(&mut bytes, at).unwrap();
            bytes.iter_mut().for_each(|byte| *byte ^= 0x10);
            file.write_at(&bytes, at).unwrap();
            let (_, _, env) = env_of(damaged);
            let report = alluvium::repair::repair("db", "saved").env(env.clone()).run().unwrap();
            let Some(saved) = report.collections.iter().find(|collection| collection.name == "main.log") else {
                continue;
            };
            let db = Database::builder().env(env).open("saved").unwrap();
            if db.collection("log").capped().unwrap().is_none() {
                continue;
            }
            let found = ids(&db.collection("log"));
            let expected: Vec<i64> = inserted.iter().copied().filter(|id| found.contains(id)).collect();
            let what = format!("{}, {width} bytes at {at}: {saved:?}", path.display());
            match saved.unordered {
                0 => {
                    assert_eq!(found, expected, "{what}");
                    kept += 1;
                }
                _ => {
                    assert!(!report.is_whole(), "{what}");
                    lost += 1;
                }
            }
            verify(&db);
        }
    }
    assert!(lost > 0 && kept > 10, "{lost} and {kept}");
}

#[test]
fn an_out_stage_does_not_replace_one() {
    let db = Database::in_memory().unwrap();
    create(&db, 10_000, None);
    db.collection("pets").insert_one(doc! {"_id": 1}).unwrap();
    let mut cursor = db.collection("pets").aggregate([doc! {"$out": "log"}]).run().unwrap();
    assert_eq!(cursor.next().unwrap().unwrap_err().code(), Some((17152, "Location17152")));
}
