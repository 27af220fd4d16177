//! The recorded changes, replayed into maps, give the documents of each snapshot: over random writes of all kinds,
//! transactions, capped collections, expiry, pipelines that write, restarts, kills and power cuts, and with threads.

use alluvium::load::{Input, OnDuplicate};
use alluvium::{
    CappedLimits, Change, ChangeEvent, ChangeScope, ChangeToken, Database, Durability, Error, FullName, Map, Snapshot,
    Value, doc,
};
use alluvium_env::mem::{CrashStyle, MemFs};
use alluvium_env::{Env, ManualClock, SeededRng};
use alluvium_store::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

fn env_of(mem: MemFs) -> (Arc<MemFs>, Env) {
    let mem = Arc::new(mem);
    (mem.clone(), Env { fs: mem, clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) })
}

fn open(env: &Env) -> Database {
    let options = Options { memory_bytes: 8 << 20, partitions: Some(3), background: false, ..Options::default() };
    Database::builder().env(env.clone()).options(options).open("db").unwrap()
}

/// Documents by collection and `_id`.
type State = BTreeMap<(String, String), Map>;

/// Applies a change. Each kind must fit the state.
fn apply(state: &mut State, change: &Change) {
    let name = change.name.to_string();
    let key = (name.clone(), change.event.id().map(Value::to_string).unwrap_or_default());
    if let Some(before) = &change.before {
        assert_eq!(state.get(&key), Some(before), "{change:?}");
    }
    match &change.event {
        ChangeEvent::Insert { document } => {
            assert!(state.insert(key, document.clone()).is_none(), "{change:?}");
        }
        ChangeEvent::Update { difference, .. } => {
            let document = state.get_mut(&key).unwrap_or_else(|| panic!("no document: {change:?}"));
            assert!(!difference.is_empty(), "{change:?}");
            difference.apply(document).unwrap();
        }
        ChangeEvent::Replace { document } => {
            let before = state.insert(key, document.clone());
            assert!(before.is_some_and(|before| before != *document), "{change:?}");
        }
        ChangeEvent::Delete { .. } => assert!(state.remove(&key).is_some(), "{change:?}"),
        ChangeEvent::Create { .. }
        | ChangeEvent::CreateIndexes { .. }
        | ChangeEvent::DropIndexes { .. }
        | ChangeEvent::Modify { .. }
        | ChangeEvent::DropDatabase => {}
        ChangeEvent::Drop => state.retain(|(of, _), _| *of != name),
        ChangeEvent::Rename { to } => {
            state.retain(|(of, _), _| *of != to.to_string());
            let moved: Vec<_> = state.keys().filter(|(of, _)| *of == name).cloned().collect();
            for key in moved {
                let document = state.remove(&key).unwrap();
                state.insert((to.to_string(), key.1), document);
            }
        }
    }
}

const NAMES: [&str; 6] = ["shop.pets", "shop.toys", "shop.log", "shop.other", "shop.out", "shop.copy"];

/// The limits of `shop.log`.
const LIMITS: CappedLimits = CappedLimits { size_bytes: 1 << 20, documents: Some(5) };

fn documents(db: &Database, snapshot: &Snapshot) -> State {
    let mut found = State::new();
    for name in NAMES {
        for document in db.collection(name).at(snapshot).scan().run().unwrap() {
            let map = document.unwrap().to_map().unwrap();
            found.insert((name.to_owned(), map.get("_id").unwrap().to_string()), map);
        }
    }
    found
}

struct Replica {
    scope: ChangeScope,
    token: ChangeToken,
    state: State,
}

impl Replica {
    /// Applies all changes up to the present, and compares with it.
    fn catch_up(&mut self, db: &Database, what: &str) {
        let snapshot = db.snapshot();
        let until = db.change_token(&snapshot).unwrap();
        let mut last = self.token.number;
        // Collections that `$out` and copies have filled under another name, so that their documents have no events.
        let mut unread: BTreeSet<String> = BTreeSet::new();
        for change in db.changes(&self.scope, Some(self.token)).unwrap() {
            let change = change.unwrap();
            assert!(change.number > last, "{what}: {change:?} after {last}");
            last = change.number;
            // Others may write.
            if change.number > until.number {
                break;
            }
            let name = change.name.to_string();
            match &change.event {
                ChangeEvent::Rename { to } if name.starts_with("shop.system.out.") => {
                    self.state.retain(|(of, _), _| *of != to.to_string());
                    unread.insert(to.to_string());
                }
                ChangeEvent::Drop => {
                    unread.remove(&name);
                    apply(&mut self.state, &change);
                }
                _ if unread.contains(&name) => {}
                _ => apply(&mut self.state, &change),
            }
        }
        self.token = until;
        let found = documents(db, &snapshot);
        let read = found.iter().filter(|((of, _), _)| unread.contains(of));
        self.state.extend(read.map(|(key, document)| (key.clone(), document.clone())));
        assert_eq!(self.state, found, "{what}");
    }
}

// long: one arm for each way to write
fn run(seed: u64) -> BTreeSet<&'static str> {
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut mem, mut env) = env_of(MemFs::new());
    let mut db = open(&env);
    db.create_collection("shop.log").capped(LIMITS).run().unwrap();
    db.collection("shop.pets").put(0, doc! {"before": "the recording"}).unwrap();
    let scope = ChangeScope::Logical("shop".into());
    let began = db.record_changes(scope.clone()).unwrap();
    let mut replica = Replica { scope, token: began, state: documents(&db, &db.snapshot()) };
    let (mut kinds, mut number) = (BTreeSet::new(), 0);
    for step in 0..120 {
        let name = NAMES[random.usize(..2)];
        let collection = db.collection(name).with_durability(match random.u32(..3) {
            0 => Durability::Sync,
            1 => Durability::Periodic,
            _ => Durability::Bulk,
        });
        let id = random.i32(0..8);
        number += 1;
        let what = format!("seed {seed}, step {step}");
        match random.u32(..26) {
            0 => {
                drop(collection.insert_one(doc! {"_id": id, "n": number, "tags": vec![Value::from(1), Value::from(2)]}))
            }
            1 => collection.put(id, doc! {"n": number}).unwrap(),
            2 => collection.put(id, doc! {"n": 1}).unwrap(),
            3 => collection.put(id, format!(r#"{{"n": {number}, "text": "json"}}"#)).unwrap(),
            4 => collection.delete(id).unwrap(),
            5 => {
                drop(collection.update_one(doc! {"_id": id}, doc! {"$inc": doc! {"n": 1}}).upsert(random.bool()).run())
            }
            6 => drop(collection.update_blind(id, doc! {"$inc": doc! {"n": 1}})),
            7 => drop(collection.update_blind(id, doc! {"$set": doc! {"n": 1}})),
            8 => drop(collection.update_many(doc! {"n": doc! {"$gt": 10}}, doc! {"$set": doc! {"big": number}}).run()),
            9 => drop(collection.replace_one(doc! {"_id": id}, doc! {"whole": number}).upsert(random.bool()).run()),
            10 => drop(collection.delete_many(doc! {"n": doc! {"$lt": number / 2}}).run()),
            11 => {
                let mut batch = db.write_batch();
                let other = db.collection(NAMES[random.usize(..2)]);
                batch.put(&collection, id, doc! {"n": number, "in": "a batch"}).unwrap();
                batch.delete(&other, id + 1).unwrap();
                batch.update_blind(&other, id, doc! {"$set": doc! {"in": "the same"}}).unwrap();
                batch.commit().unwrap();
            }
            12 => {
                let done = db.transaction(|transaction| {
                    let (one, other) = (transaction.collection(name), transaction.collection(NAMES[1]));
                    one.put(id, doc! {"n": number, "in": "a transaction"})?;
                    one.update_one(doc! {"_id": id}, doc! {"$inc": doc! {"n": 1}}).run()?;
                    other.delete(id + 1)?;
                    if number % 3 == 0 { Err(Error::Stopped) } else { Ok(()) }
                });
                assert_eq!(done.is_err(), number % 3 == 0);
            }
            13 => {
                let log = db.collection("shop.log");
                log.insert_many((0..random.i32(1..4)).map(|_| doc! {"n": number})).unwrap();
            }
            14 => {
                let lines = format!("{{\"_id\": {id}, \"n\": {number}}}\n{{\"_id\": {}, \"n\": {number}}}\n", id + 1);
                let on_duplicate = if random.bool() { OnDuplicate::Replace } else { OnDuplicate::Skip };
                let input = Input::stream("lines", std::io::Cursor::new(lines));
                collection.load(input).on_duplicate(on_duplicate).run().unwrap();
            }
            15 if random.u32(..4) == 0 => drop(collection.drop()),
            15 => {
                drop(db.rename_collection(name, "shop.other").and_then(|()| db.rename_collection("shop.other", name)))
            }
            16 => db.flush().unwrap(),
            17 if random.bool() => drop(collection.create_index(doc! {"n": 1}).run()),
            17 => drop(db.compact().run()),
            18 => {
                drop(collection.create_index(doc! {"when": 1}).expire_after(Duration::from_secs(1)).run());
                collection.put(id, doc! {"n": number, "when": Value::DateTime(-1_000_000)}).unwrap();
                if db.delete_expired().unwrap() > 0 {
                    kinds.insert("(expiry)");
                }
            }
            19 => {
                collection.aggregate(r#"[{"$out": "out"}]"#).run().unwrap().for_each(drop);
                db.collection("shop.out").put(id, doc! {"n": number, "after": "$out"}).unwrap();
                kinds.insert("($out)");
            }
            20 => {
                let merge = r#"[{"$set": {"merged": 1}}, {"$merge": {"into": "toys", "whenMatched": "merge"}}]"#;
                collection.aggregate(merge).run().unwrap().for_each(drop);
                kinds.insert("($merge)");
            }
            21 => {
                let log = db.collection("shop.log");
                // A power cut may have left its drop and not its creation.
                let Ok(Some(_)) = log.capped() else { continue };
                let before = log.count().unwrap();
                log.convert_to_capped(CappedLimits { documents: Some(random.u64(1..4)), ..LIMITS }).unwrap();
                if log.count().unwrap() < before {
                    kinds.insert("(trim)");
                }
                log.set_capped(LIMITS).unwrap();
            }
            22 => {
                let copy = db.collection("shop.copy");
                drop(copy.drop());
                if collection.copy_to_capped(&copy, LIMITS).run().is_ok() {
                    copy.insert_one(doc! {"n": number}).unwrap();
                    kinds.insert("(copy)");
                }
            }
            23 => drop(collection.keep_before(random.bool())),
            24 if random.u32(..4) == 0 => {
                db.logical_database("shop").drop().unwrap();
                db.create_collection("shop.log").capped(LIMITS).run().unwrap();
            }
            24 => drop(collection.drop_indexes()),
            _ => {
                replica.catch_up(&db, &what);
                let power = random.bool();
                let copy = if power { mem.crash_clone(random.u64(..), CrashStyle::Any) } else { mem.kill_clone() };
                drop(db);
                (mem, env) = env_of(copy);
                db = open(&env);
                assert_eq!(db.recorded().len(), 1);
            }
        }
        if random.u32(..3) == 0 {
            let before = replica.token;
            replica.catch_up(&db, &what);
            for change in db.changes(&replica.scope, Some(before)).unwrap() {
                kinds.insert(match change.unwrap().event {
                    ChangeEvent::Insert { .. } => "insert",
                    ChangeEvent::Update { .. } => "update",
                    ChangeEvent::Replace { .. } => "replace",
                    ChangeEvent::Delete { .. } => "delete",
                    ChangeEvent::Drop => "drop",
                    ChangeEvent::Rename { .. } => "rename",
                    ChangeEvent::Create { .. } => "create",
                    ChangeEvent::CreateIndexes { .. } => "createIndexes",
                    ChangeEvent::DropIndexes { .. } => "dropIndexes",
                    ChangeEvent::Modify { .. } => "modify",
                    ChangeEvent::DropDatabase => "dropDatabase",
                });
            }
        }
    }
    replica.catch_up(&db, &format!("seed {seed}, at the end"));
    assert!(db.verify().run().unwrap().damage.is_empty());
    kinds
}

#[test]
fn any_writes_are_replayed() {
    let kinds: BTreeSet<_> = (0..60).flat_map(run).collect();
    let expected = [
        "($merge)",
        "($out)",
        "(copy)",
        "(expiry)",
        "(trim)",
        "create",
        "createIndexes",
        "delete",
        "drop",
        "dropDatabase",
        "dropIndexes",
        "insert",
        "modify",
        "rename",
        "replace",
        "update",
    ];
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn threads_are_replayed_in_the_order_of_their_commits() {
    let db = Database::in_memory().unwrap();
    let scope = ChangeScope::Everything;
    let token = db.record_changes(scope.clone()).unwrap();
    let write = |thread: u64| {
        let mut random = fastrand::Rng::with_seed(thread);
        let pets = db.collection("shop.pets");
        for number in 0..200 {
            let id = random.i32(0..6);
            match random.u32(..5) {
                0 => pets.put(id, doc! {"n": number}).unwrap(),
                1 => pets.delete(id).unwrap(),
                2 => pets.update_blind(id, doc! {"$inc": doc! {"n": 1}}).unwrap(),
                3 => drop(pets.insert_one(doc! {"_id": id, "n": number})),
                _ => drop(pets.update_one(doc! {"_id": id}, doc! {"$set": doc! {"by": thread as i32}}).run()),
            }
        }
    };
    let follow = || {
        let mut changes = db.changes(&scope, Some(token)).unwrap();
        let mut state = State::new();
        let mut checked = 0;
        while let Some(change) = changes.next_within(Duration::from_secs(2)).unwrap() {
            apply(&mut state, &change);
            checked += 1;
        }
        assert_eq!(state, documents(&db, &db.snapshot()));
        assert!(checked > 300, "{checked}");
    };
    std::thread::scope(|scope| {
        (0..4).for_each(|thread| drop(scope.spawn(move || write(thread))));
        scope.spawn(follow);
    });
}

#[test]
fn recording_begins_while_others_write() {
    for round in 0..20 {
        let db = Database::in_memory().unwrap();
        let pets = db.collection("shop.pets");
        let scope = ChangeScope::Collection(FullName::parse("shop.pets").unwrap());
        std::thread::scope(|threads| {
            for thread in 0..3 {
                let pets = pets.clone();
                threads.spawn(move || (0..100).for_each(|n| pets.put((n * 7 + thread) % 10, doc! {"n": n}).unwrap()));
            }
            db.record_changes(scope.clone()).unwrap();
            let snapshot = db.snapshot();
            let token = db.change_token(&snapshot).unwrap();
            let mut replica = Replica { scope: scope.clone(), token, state: documents(&db, &snapshot) };
            for _ in 0..5 {
                replica.catch_up(&db, &format!("round {round}"));
            }
        });
    }
}

#[test]
fn wrong_tokens_are_refused() {
    let (_, env) = env_of(MemFs::new());
    let db = open(&env);
    let (shop, pets) =
        (ChangeScope::Logical("shop".into()), ChangeScope::Collection(FullName::parse("shop.pets").unwrap()));
    assert!(matches!(db.changes(&shop, None).err(), Some(Error::ChangesNotRecorded { .. })));
    db.create_collection("shop.pets").run().unwrap();
    let before = db.change_token(&db.snapshot()).unwrap();
    let began = db.record_changes(shop.clone()).unwrap();
    assert_eq!(db.record_changes(shop.clone()).unwrap(), began, "it is recorded already");
    assert!(matches!(db.changes(&ChangeScope::Everything, None).err(), Some(Error::ChangesNotRecorded { .. })));
    assert!(matches!(db.changes(&shop, Some(before)).err(), Some(Error::ChangesLost { .. })));
    let other = ChangeToken { database: began.database ^ 1, ..began };
    let later = ChangeToken { number: 1 << 40, ..began };
    for wrong in [other, later] {
        assert!(matches!(db.changes(&pets, Some(wrong)).err(), Some(Error::ChangesLost { .. })));
    }
    db.collection("shop.pets").put(1, doc! {"n": 1}).unwrap();
    db.collection("other.pets").put(1, doc! {"n": 1}).unwrap();
    assert_eq!(db.changes(&pets, Some(began)).unwrap().count(), 1);
    let mut running = db.changes(&pets, Some(began)).unwrap();
    drop(db);
    drop(running.next());
    drop(running);
    let db = open(&env);
    let mut running = db.changes(&pets, Some(began)).unwrap();
    assert!(db.stop_recording(&shop).unwrap() && !db.stop_recording(&shop).unwrap());
    assert!(matches!(running.next(), Some(Err(Error::ChangesNotRecorded { .. }))));
    db.collection("shop.pets").put(2, doc! {"n": 1}).unwrap();
    let again = db.record_changes(shop.clone()).unwrap();
    assert!(matches!(running.next(), Some(Err(Error::ChangesLost { .. }))));
    assert_eq!(db.changes(&pets, Some(again)).unwrap().count(), 0);
}
