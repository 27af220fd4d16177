//! The operation log has each change once, in the order of the commits, in both directions and from any time on. A program
//! that follows the updates as MongoDB defines them has the same documents. After retention, and after the end of the
//! recording, it says what is missing.

use alluvium::{
    ChangeRetention, ChangeScope, ClusterTimes, Database, Find, Map, Oplog, OplogTail, Timestamp, Value, doc, json,
};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const NAMES: [&str; 2] = ["shop.pets", "shop.toys"];
const HOUR: Duration = Duration::from_secs(3600);

/// Ten numbers are in a second.
struct Numbers;

impl ClusterTimes for Numbers {
    fn time(&self, number: u64) -> Option<Timestamp> {
        let part = |number: u64| u32::try_from(number).ok();
        Some(Timestamp { time: part(number / 10)?, increment: part(number % 10)? })
    }

    fn number_at(&self, time: Timestamp) -> Option<u64> {
        Some(u64::from(time.time) * 10 + u64::from(time.increment.min(10)))
    }
}

struct World {
    clock: Arc<ManualClock>,
    db: Database,
    log: Oplog,
    random: fastrand::Rng,
}

impl World {
    fn new(seed: u64) -> Self {
        let clock = Arc::new(ManualClock::new());
        let env = Env { fs: Arc::new(MemFs::new()), clock: clock.clone(), rng: Arc::new(SeededRng::new(seed)) };
        let retention = ChangeRetention { time: HOUR, ..ChangeRetention::default() };
        let options = Options { memory_bytes: 8 << 20, partitions: Some(3), background: false, ..Options::default() };
        let db = Database::builder().env(env).options(options).change_retention(retention).open("db").unwrap();
        db.record_changes(ChangeScope::Everything).unwrap();
        let log = db.oplog(Arc::new(Numbers));
        Self { clock, db, log, random: fastrand::Rng::with_seed(seed) }
    }

    fn write(&mut self, number: i32) {
        let (db, random) = (&self.db, &mut self.random);
        let collection = db.collection(NAMES[random.usize(..2)]);
        let id = random.i32(..6);
        match random.u32(..9) {
            0 => collection.put(id, doc! {"n": number, "list": [1, {"a": 1}, 3], "deep": {"er": {"n": 1}}}).unwrap(),
            1 => {
                let update = doc! {
                    "$inc": {"n": 1, "deep.er.n": 1}, "$set": {"list.1.a": number, "new": {"x": number}},
                    "$push": {"more": number},
                };
                drop(collection.update_one(doc! {"_id": id}, update).upsert(true).run());
            }
            2 => collection.delete(id).unwrap(),
            3 => drop(collection.update_many(doc! {}, doc! {"$set": {"all": number}}).run()),
            4 => {
                drop(collection.update_many(doc! {}, doc! {"$pop": {"list": 1, "more": -1}, "$unset": {"n": ""}}).run())
            }
            5 => {
                let transaction = db.begin();
                transaction.note_in_changes(doc! {"txnNumber": number});
                for name in NAMES {
                    for id in 0..random.i32(..4) {
                        transaction.collection(name).put(id, doc! {"together": number}).unwrap();
                    }
                }
                transaction.commit().unwrap();
            }
            6 => drop(collection.insert_many((0..10).map(|at| doc! {"_id": 100 * number + at}))),
            7 if number % 10 == 0 => drop(db.drop_collection("shop.toys")),
            _ => drop(db.store().flush()),
        }
    }

    /// The documents of all collections.
    fn documents(&self) -> BTreeMap<(String, String), Map> {
        let mut all = BTreeMap::new();
        for name in NAMES {
            for document in self.db.collection(name).find("{}").run().unwrap() {
                let document = document.unwrap().to_map().unwrap();
                all.insert((name.to_owned(), document.get("_id").unwrap().to_string()), document);
            }
        }
        all
    }

    fn all(&self) -> Vec<Map> {
        entries(self.log.find("{}"))
    }
}

fn entries(find: Find) -> Vec<Map> {
    find.run().unwrap().map(|entry| entry.unwrap().to_map().unwrap()).collect()
}

fn time_of(entry: &Map) -> Timestamp {
    match entry.get("ts") {
        Some(Value::Timestamp(time)) => *time,
        _ => panic!("{entry}"),
    }
}

fn map_of<'a>(entry: &'a Map, name: &str) -> &'a Map {
    entry.get(name).and_then(Value::as_map).unwrap_or_else(|| panic!("{name}: {entry}"))
}

/// Changes a document as MongoDB defines it for version 2 of updates.
fn apply(document: &mut Map, diff: &Map) {
    let removed: Vec<&str> = diff.get("d").and_then(Value::as_map).into_iter().flat_map(names).collect();
    removed.iter().for_each(|name| drop(document.remove(name)));
    for (name, value) in diff.get("u").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        *document.get_mut(name.as_str().unwrap()).unwrap() = value.clone();
    }
    for (name, value) in diff.get("i").and_then(Value::as_map).into_iter().flat_map(Map::iter) {
        document.remove(name.as_str().unwrap());
        document.push(name.clone(), value.clone());
    }
    for (name, inside) in diff.iter().filter(|(name, _)| name.as_str().unwrap().starts_with('s')) {
        apply_to(document.get_mut(&name.as_str().unwrap()[1..]).unwrap(), inside.as_map().unwrap());
    }
}

fn apply_to(value: &mut Value, diff: &Map) {
    match value {
        Value::Map(document) => apply(document, diff),
        Value::Array(array) => {
            assert_eq!(diff.get("a"), Some(&true.into()));
            for (name, change) in diff.iter().filter(|(name, _)| name.as_str() != Some("a")) {
                let name = name.as_str().unwrap();
                if name == "l" {
                    array.truncate(usize::try_from(change.as_i64().unwrap()).unwrap());
                    continue;
                }
                let at: usize = name[1..].parse().unwrap();
                array.resize(array.len().max(at + 1), Value::Null);
                match &name[..1] {
                    "u" => array[at] = change.clone(),
                    _ => apply_to(&mut array[at], change.as_map().unwrap()),
                }
            }
        }
        other => panic!("{other}"),
    }
}

fn names(map: &Map) -> impl Iterator<Item = &str> {
    map.iter().filter_map(|(name, _)| name.as_str())
}

/// Follows an entry, as a program does that keeps a copy.
fn follow(copy: &mut BTreeMap<(String, String), Map>, entry: &Map) {
    let object = map_of(entry, "o");
    let namespace = entry.get("ns").and_then(Value::as_str).unwrap();
    let key = |document: &Map| (namespace.to_owned(), document.get("_id").unwrap().to_string());
    match entry.get("op").and_then(Value::as_str).unwrap() {
        "i" => assert!(copy.insert(key(object), object.clone()).is_none(), "{entry}"),
        "u" if object.contains("diff") => {
            apply(copy.get_mut(&key(map_of(entry, "o2"))).unwrap(), map_of(object, "diff"));
        }
        "u" => assert!(copy.insert(key(map_of(entry, "o2")), object.clone()).is_some(), "{entry}"),
        "d" => assert!(copy.remove(&key(object)).is_some(), "{entry}"),
        "c" => match (object.get("applyOps"), object.get("drop")) {
            (Some(operations), _) => {
                operations.as_array().unwrap().iter().for_each(|entry| follow(copy, entry.as_map().unwrap()));
            }
            (None, Some(dropped)) => copy.retain(|(of, _), _| *of != format!("shop.{}", dropped.as_str().unwrap())),
            (None, None) => assert!(object.contains("create"), "{entry}"),
        },
        _ => assert!(copy.is_empty(), "{entry}"),
    }
}

fn read(tail: &mut OplogTail, most: usize) -> Vec<Map> {
    let mut read = Vec::new();
    while read.len() < most
        && let Some(entry) = tail.next_document().unwrap()
    {
        read.push(entry.to_map().unwrap());
    }
    assert!(!tail.is_dead());
    read
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    let mut tail = world.log.find("{}").tail_oplog().unwrap();
    let mut read_by_tail = Vec::new();
    for number in 0..120 {
        world.write(number);
        let most = world.random.usize(..20);
        read_by_tail.extend(read(&mut tail, most));
    }
    read_by_tail.extend(read(&mut tail, usize::MAX));
    let all = world.all();
    assert_eq!(all[0].get("op"), Some(&"n".into()));
    assert!(all.len() > 50, "seed {seed}: {}", all.len());
    assert_eq!(read_by_tail, all, "seed {seed}");
    assert!(all.is_sorted_by(|a, b| time_of(a) < time_of(b)), "seed {seed}");
    let mut copy = BTreeMap::new();
    all.iter().for_each(|entry| follow(&mut copy, entry));
    assert_eq!(copy, world.documents(), "seed {seed}");

    let backward = |filter: Map| {
        let mut found = entries(world.log.find(filter).sort(doc! {"$natural": -1}));
        found.reverse();
        found
    };
    assert_eq!(backward(doc! {}), all, "seed {seed}");
    for _ in 0..60 {
        let mut time = || {
            let near = time_of(&all[world.random.usize(..all.len())]);
            Timestamp { increment: world.random.u32(..11), ..near }
        };
        let (from, to) = (time(), time());
        let between = doc! {"ts": {"$gt": (Value::Timestamp(from)), "$lte": (Value::Timestamp(to))}};
        let expected: Vec<Map> = all.iter().filter(|it| time_of(it) > from && time_of(it) <= to).cloned().collect();
        assert_eq!(entries(world.log.find(between.clone())), expected, "seed {seed}: {between}");
        assert_eq!(backward(between.clone()), expected, "seed {seed}: {between}");
        assert_eq!(world.log.find(between.clone()).count().unwrap(), expected.len() as u64);
        let stages = json!([{"$match": between}, {"$count": "n"}]);
        let counted = world.log.aggregate(stages).first().unwrap().map(|found| found.to_map().unwrap());
        let counted = counted.map_or(0, |found| found.get("n").and_then(Value::as_i64).unwrap());
        assert_eq!(counted, expected.len() as i64);
        let after = doc! {"ts": {"$gte": (Value::Timestamp(from))}};
        let expected: Vec<Map> = all.iter().filter(|it| time_of(it) >= from).cloned().collect();
        assert_eq!(read(&mut world.log.find(after).tail_oplog().unwrap(), usize::MAX), expected, "seed {seed}");
    }
}

#[test]
fn each_change_is_found_once_in_both_directions_and_from_any_time_on() {
    for seed in 0..12 {
        run(seed);
    }
}

#[test]
fn queries_choose_and_project_entries() {
    let world = World::new(1);
    let pets = world.db.collection("shop.pets");
    for id in 0..500 {
        pets.put(id, doc! {"n": id}).unwrap();
    }
    let last = world.log.find("{}").sort(doc! {"ts": -1}).projection(doc! {"o": 1}).first().unwrap().unwrap();
    assert_eq!(last.to_map().unwrap(), doc! {"o": {"_id": 499, "n": 499}});
    let ids = |find: Find| -> Vec<i64> {
        entries(find).iter().map(|entry| map_of(entry, "o").get("_id").and_then(Value::as_i64).unwrap()).collect()
    };
    let inserts = || world.log.find(doc! {"ns": "shop.pets", "op": {"$in": ["i", "u"]}});
    assert_eq!(ids(inserts().skip(3).limit(2)), [3, 4]);
    assert_eq!(ids(inserts().sort(doc! {"$natural": -1}).skip(1).limit(2)), [498, 497]);
    assert_eq!(ids(inserts().sort(doc! {"o._id": -1}).limit(2)), [499, 498], "a sort of its own");
    assert_eq!(ids(inserts().hint("ts_1").limit(1)), [0]);
    assert_eq!(world.log.find("{}").distinct("op").unwrap(), [json!("c"), json!("i"), json!("n")]);
    let mut tail = inserts().skip(498).projection(doc! {"o._id": 1}).tail_oplog().unwrap();
    assert_eq!(read(&mut tail, 9), [doc! {"o": {"_id": 498}}, doc! {"o": {"_id": 499}}]);
    assert!(inserts().sort(doc! {"$natural": -1}).tail_oplog().is_err());
    assert!(inserts().explain().is_err() && pets.find("{}").tail_oplog().is_err());
}

#[test]
fn what_retention_has_removed_is_known() {
    let mut world = World::new(2);
    for number in 0..30 {
        world.write(number);
    }
    // More than a cursor reads ahead.
    for id in 0..600 {
        world.db.collection("shop.pets").put(id, doc! {"id": id}).unwrap();
    }
    let mut overtaken = world.log.find(doc! {"op": {"$ne": "n"}}).tail_oplog().unwrap();
    let mut at_end = world.log.find("{}").tail_oplog().unwrap();
    let all = read(&mut at_end, usize::MAX);
    assert_eq!(read(&mut overtaken, 3), all[1..4]);
    world.clock.advance(3 * HOUR);
    world.db.trim_changes().unwrap();
    let kept = world.all();
    assert_eq!((kept.len(), kept[0].get("op")), (1, Some(&"n".into())), "the first entry says what is missing");
    assert_eq!(time_of(&kept[0]), time_of(all.last().unwrap()));
    world.db.collection("shop.pets").put(1000, doc! {}).unwrap();
    let from = doc! {"ts": {"$gt": (Value::Timestamp(time_of(&all[2])))}};
    assert_eq!(entries(world.log.find(from.clone())), world.all(), "a find from an old time begins with the oldest");
    assert_eq!(read(&mut world.log.find(from).tail_oplog().unwrap(), 9), world.all());
    assert_eq!(read(&mut at_end, 9), world.all()[1..], "a cursor at the end has lost nothing");
    let mut lost = overtaken.next_document();
    // Some entries were read before they were removed.
    while matches!(lost, Ok(Some(_))) {
        lost = overtaken.next_document();
    }
    assert_eq!(lost.unwrap_err().code(), Some((136, "CappedPositionLost")));
    assert!(overtaken.is_dead() && overtaken.next_document().unwrap().is_none());
    world.db.stop_recording(&ChangeScope::Everything).unwrap();
    assert_eq!(world.log.find("{}").run().err().unwrap().code(), at_end.next_document().unwrap_err().code());
    assert!(world.log.find("{}").sort(doc! {"$natural": -1}).run().is_err());
}
