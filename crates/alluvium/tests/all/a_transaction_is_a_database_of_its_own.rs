//! A transaction reads like a database that has its snapshot and its writes alone: every operation and every query gives
//! the same in both, by each index and without one. After the commit the whole database has its writes, and those of the
//! others.

use alluvium::{Collection, Database, Durability, ErrorKind, Transaction, doc};
use alluvium_env::Env;
use alluvium_env::fault::{Fault, FaultFs, OpKind};
use alluvium_env::mem::MemFs;
use std::collections::BTreeSet;
use std::sync::Arc;

const COLLECTIONS: [&str; 2] = ["pets", "owners"];
/// The index by which a query is to be answered.
const HINTS: [Option<&str>; 4] = [None, Some("kind"), Some("tags"), Some("email")];
/// The ids of each collection; the last third belongs to writers outside of the transaction.
const IDS: u32 = 18;

fn open(seed: u64) -> Database {
    let db = Database::builder().env(Env::in_memory(seed)).memory(8 << 20).partitions(2).open("db").unwrap();
    for name in COLLECTIONS {
        let collection = db.collection(name);
        collection.create_index(doc! {"kind": 1, "age": -1}).name("kind").run().unwrap();
        collection.create_index(doc! {"tags": 1}).name("tags").run().unwrap();
        collection.create_index(doc! {"email": 1}).name("email").unique(true).sparse(true).run().unwrap();
    }
    db
}

/// A text that names the outcome, the same for both.
fn outcome<T: std::fmt::Debug>(result: alluvium::Result<T>) -> String {
    match result {
        Ok(value) => format!("{value:?}"),
        Err(error) => format!("error {:?}", error.kind()),
    }
}

/// A random document, as JSON. Few values, so that keys of the unique index meet.
fn document(random: &mut fastrand::Rng, id: u32) -> String {
    let kind = random.choice(["dog", "cat", "fox"]).unwrap();
    let (age, tag, other) = (random.u32(..6), random.u32(..4), random.u32(..4));
    let tags = if random.bool() { format!("[{tag}, {other}]") } else { tag.to_string() };
    let email = if random.u32(..3) == 0 { format!(r#", "email": "e{}""#, random.u32(..20)) } else { String::new() };
    format!(r#"{{"_id": {id}, "kind": "{kind}", "age": {age}, "tags": {tags}{email}}}"#)
}

/// Executes one random operation, and describes what it gave. The same `random` gives the same operation.
fn write(random: &mut fastrand::Rng, collection: &Collection, from: u32, to: u32) -> String {
    let id = random.u32(from..to);
    let own = format!(r#""_id": {{"$gte": {from}, "$lt": {to}}}"#);
    let by_id = format!(r#"{{"_id": {id}}}"#);
    let by_kind = format!(r#"{{{own}, "kind": "{}"}}"#, random.choice(["dog", "cat", "fox"]).unwrap());
    let by_tag = format!(r#"{{{own}, "tags": {}}}"#, random.u32(..4));
    let text = document(random, id);
    match random.u32(..13) {
        0..3 => outcome(collection.insert_one(text.as_str())),
        3 => outcome(collection.put(id, text.as_str())),
        4 => outcome(collection.delete(id)),
        5 => outcome(collection.update_one(by_id.as_str(), r#"{"$inc": {"age": 1}}"#).run()),
        6 => outcome(collection.update_many(by_kind.as_str(), r#"{"$set": {"kind": "cat", "n": 1}}"#).run()),
        7 => outcome(collection.update_one(by_tag.as_str(), r#"{"$push": {"list": 1}}"#).upsert(false).run()),
        8 => outcome(collection.delete_many(by_tag.as_str()).run()),
        9 => outcome(collection.replace_one(by_id.as_str(), text.as_str()).upsert(true).run()),
        10 => outcome(
            collection
                .find_one_and_update(by_kind.as_str(), r#"{"$unset": {"email": 1}}"#)
                .sort(r#"{"_id": -1}"#)
                .run(),
        ),
        11 => outcome(collection.update_blind(id, r#"{"$set": {"seen": true}}"#)),
        _ => outcome(collection.find_one_and_delete(by_id.as_str()).run()),
    }
}

/// All documents that a query gives, in the order of their texts.
fn found(collection: &Collection, filter: &str, hint: Option<&str>) -> BTreeSet<String> {
    let mut find = collection.find(filter);
    if let Some(hint) = hint {
        find = find.hint(hint);
    }
    find.run().unwrap().map(|document| document.unwrap().to_string()).collect()
}

/// Compares everything that can be read.
fn compare(ours: &Collection, theirs: &Collection, about: &str) {
    for hint in HINTS {
        for filter in [
            r#"{"kind": "cat"}"#,
            r#"{"kind": "dog", "age": {"$gt": 2}}"#,
            r#"{"tags": 2}"#,
            r#"{"tags": {"$in": [0, 3]}}"#,
            r#"{"email": {"$gte": "e1"}}"#,
        ] {
            let field = filter.split('"').nth(1);
            if hint.is_some() && hint != field {
                continue;
            }
            assert_eq!(found(ours, filter, hint), found(theirs, filter, hint), "{about}: {filter} by {hint:?}");
        }
    }
    let all: Vec<String> = ours.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect();
    let expected: Vec<String> = theirs.scan().run().unwrap().map(|document| document.unwrap().to_string()).collect();
    assert_eq!(all, expected, "{about}: a scan");
    let back = |collection: &Collection| -> Vec<String> {
        collection.scan().reverse().run().unwrap().map(|document| document.unwrap().to_string()).collect()
    };
    assert_eq!(back(ours), back(theirs), "{about}: a scan backwards");
    assert_eq!(ours.count().unwrap(), theirs.count().unwrap(), "{about}");
    assert_eq!(ours.estimated_count().unwrap(), theirs.count().unwrap(), "{about}");
    let count = |collection: &Collection| collection.find(r#"{"kind": "cat"}"#).hint("kind").count().unwrap();
    assert_eq!(count(ours), count(theirs), "{about}: a count by an index");
    let distinct = |collection: &Collection| format!("{:?}", collection.find("{}").distinct("kind").unwrap());
    assert_eq!(distinct(ours), distinct(theirs), "{about}");
    let grouped = |collection: &Collection, stages: &str| -> Vec<String> {
        collection.aggregate(stages).run().unwrap().map(|document| document.unwrap().to_string()).collect()
    };
    for stages in [
        r#"[{"$group": {"_id": "$kind", "n": {"$sum": 1}, "age": {"$sum": "$age"}}}, {"$sort": {"_id": 1}}]"#,
        r#"[{"$sort": {"kind": 1, "age": -1, "_id": 1}}, {"$limit": 5}, {"$project": {"kind": 1}}]"#,
        r#"[{"$sortByCount": "$kind"}, {"$sort": {"count": 1, "_id": 1}}]"#,
        r#"[{"$lookup": {"from": "owners", "localField": "age", "foreignField": "tags", "as": "o"}},
            {"$project": {"n": {"$size": "$o"}}}, {"$sort": {"_id": 1}}]"#,
        r#"[{"$unionWith": "owners"}, {"$count": "n"}]"#,
    ] {
        assert_eq!(grouped(ours, stages), grouped(theirs, stages), "{about}: {stages}");
    }
    for id in 0..IDS {
        let get = |collection: &Collection| collection.get(id).unwrap().map(|document| document.to_string());
        assert_eq!(get(ours), get(theirs), "{about}: {id}");
        let one = |collection: &Collection| {
            let filter = format!(r#"{{"_id": {id}, "kind": "cat"}}"#);
            collection.find_one(filter.as_str()).unwrap().map(|document| document.to_string())
        };
        assert_eq!(one(ours), one(theirs), "{about}: {id}");
    }
}

/// A database with the documents that `db` has now.
fn copy(db: &Database, seed: u64) -> Database {
    let copy = open(seed);
    for name in COLLECTIONS {
        for document in db.collection(name).scan().run().unwrap() {
            copy.collection(name).insert_one(document.unwrap()).unwrap();
        }
    }
    copy
}

fn compare_all(ours: impl Fn(&str) -> Collection, theirs: &Database, about: &str) {
    for name in COLLECTIONS {
        compare(&ours(name), &theirs.collection(name), &format!("{about}, {name}"));
    }
}

/// How many transactions were committed, were refused at their commit, and were aborted by an error.
#[derive(Debug, Default)]
struct Ends {
    committed: u32,
    refused: u32,
    failed: u32,
}

fn run(seed: u64, ends: &mut Ends) {
    let mut random = fastrand::Rng::with_seed(seed);
    let db = open(seed);
    for _ in 0..30 {
        let name = random.choice(COLLECTIONS).unwrap();
        write(&mut random, &db.collection(name), 0, IDS);
    }
    if random.bool() {
        db.store().flush().unwrap();
    }
    for round in 0..3 {
        let alone = copy(&db, seed + 1);
        let transaction: Transaction = db.begin();
        // What the others do, to be done in the copy after the commit.
        let mut others = Vec::new();
        let mut is_running = true;
        for step in 0..random.u32(1..10) {
            let about = format!("seed {seed}, round {round}, step {step}");
            match random.u32(..6) {
                0 => {
                    let name = random.choice(COLLECTIONS).unwrap();
                    let mut same = random.fork();
                    let again = same.clone();
                    let given = write(&mut same, &db.collection(name), IDS * 2 / 3, IDS);
                    others.push((name, again, given));
                }
                1 => db.store().flush().unwrap(),
                2 => db.store().compact().unwrap(),
                _ => {
                    let name = random.choice(COLLECTIONS).unwrap();
                    let mut same = random.fork();
                    let expected = write(&mut same.clone(), &alone.collection(name), 0, IDS * 2 / 3);
                    let given = write(&mut same, &transaction.collection(name), 0, IDS * 2 / 3);
                    assert_eq!(given, expected, "{about}");
                    if given.starts_with("error") {
                        assert!(!transaction.is_running(), "{about}: {given}");
                        is_running = false;
                        ends.failed += 1;
                        break;
                    }
                }
            }
            compare_all(|name| transaction.collection(name), &alone, &about);
        }
        let about = format!("seed {seed}, round {round}");
        let before = copy(&db, seed + 2);
        let is_kept = is_running && random.u32(..4) > 0;
        let committed = is_kept.then(|| transaction.commit());
        drop(transaction);
        match committed {
            None => compare_all(|name| db.collection(name), &before, &about),
            Some(Ok(())) => {
                ends.committed += 1;
                // A unique key that the transaction frees or takes decides what the others could write before its commit.
                let is_same = others.into_iter().all(|(name, mut same, given)| {
                    write(&mut same, &alone.collection(name), IDS * 2 / 3, IDS) == given
                });
                if is_same {
                    compare_all(|name| db.collection(name), &alone, &about);
                }
            }
            // Only a key of the unique index can be written by both.
            Some(Err(error)) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{about}");
                assert!(!others.is_empty(), "{about}");
                ends.refused += 1;
                compare_all(|name| db.collection(name), &before, &about);
            }
        }
        db.verify().run().unwrap();
    }
}

#[test]
fn any_operations() {
    let mut ends = Ends::default();
    (0..100).for_each(|seed| run(seed, &mut ends));
    assert!(ends.committed > 100 && ends.failed > 20, "{ends:?}");
}

#[test]
fn unique_keys_are_those_that_the_transaction_sees() {
    let db = open(1);
    let pets = db.collection("pets");
    pets.insert_many([r#"{"_id": 1, "email": "a"}"#, r#"{"_id": 2, "email": "b"}"#]).unwrap();
    let kind = |result: alluvium::Result<()>| result.err().map(|error| error.kind());

    // A key that the transaction frees is free for it, and a key that it takes is taken.
    let transaction = db.begin();
    let inside = transaction.within(&pets);
    inside.update_one(r#"{"_id": 1}"#, r#"{"$unset": {"email": 1}}"#).run().unwrap();
    inside.insert_one(r#"{"_id": 3, "email": "a"}"#).unwrap();
    inside.delete_one(r#"{"email": "b"}"#).run().unwrap();
    inside.insert_one(r#"{"_id": 4, "email": "b"}"#).unwrap();
    assert_eq!(kind(pets.insert_one(r#"{"_id": 5, "email": "a"}"#).map(drop)), Some(ErrorKind::DuplicateKey));
    transaction.commit().unwrap();
    assert_eq!(found(&pets, r#"{"email": {"$gte": "a"}}"#, Some("email")).len(), 2);
    let transaction = db.begin();
    transaction.within(&pets).insert_one(r#"{"_id": 6, "email": "c"}"#).unwrap();
    let twice = transaction.within(&pets).insert_one(r#"{"_id": 7, "email": "c"}"#);
    assert_eq!(kind(twice.map(drop)), Some(ErrorKind::DuplicateKey));
    assert_eq!(kind(transaction.commit()), Some(ErrorKind::Invalid), "the error has aborted it");

    // A key that others have taken since is a conflict at the commit.
    let (first, second) = (db.begin(), db.begin());
    first.within(&pets).insert_one(r#"{"_id": 8, "email": "d"}"#).unwrap();
    second.within(&pets).insert_one(r#"{"_id": 9, "email": "d"}"#).unwrap();
    first.commit().unwrap();
    assert_eq!(kind(second.commit()), Some(ErrorKind::Conflict));
    assert!(pets.get(9).unwrap().is_none());

    // A key that the transaction gave up is free for others.
    let transaction = db.begin();
    transaction.within(&pets).insert_one(r#"{"_id": 10, "email": "e"}"#).unwrap();
    transaction.within(&pets).update_one(r#"{"_id": 10}"#, r#"{"$set": {"email": "f"}}"#).run().unwrap();
    pets.insert_one(r#"{"_id": 11, "email": "e"}"#).unwrap();
    transaction.commit().unwrap();
    assert_eq!(found(&pets, r#"{"email": {"$gte": "e"}}"#, Some("email")).len(), 2);
    db.verify().run().unwrap();
}

#[test]
fn a_transaction_ends_once() {
    let db = open(1);
    let pets = db.collection("pets");
    let kind = |result: alluvium::Result<()>| result.err().map(|error| error.kind());
    let transaction = db.begin();
    let inside = transaction.within(&pets);
    inside.put(1, r#"{"kind": "dog"}"#).unwrap();
    drop(transaction);
    assert_eq!(inside.get(1).unwrap_err().to_string(), "the transaction was aborted already: begin another one");
    assert_eq!(kind(inside.put(2, "{}")), Some(ErrorKind::Invalid));
    assert_eq!(pets.count().unwrap(), 0);

    let transaction = db.begin();
    transaction.within(&pets).put(1, r#"{"kind": "dog"}"#).unwrap();
    transaction.commit().unwrap();
    assert_eq!(
        transaction.commit().unwrap_err().to_string(),
        "the transaction was committed already: begin another one"
    );
    transaction.abort();
    assert_eq!(pets.count().unwrap(), 1);

    // What no transaction takes leaves it running.
    let transaction = db.begin();
    let inside = transaction.within(&pets);
    assert_eq!(kind(inside.drop()), Some(ErrorKind::Invalid));
    assert_eq!(kind(inside.create_index(r#"{"a": 1}"#).run().map(drop)), Some(ErrorKind::Invalid));
    assert_eq!(kind(inside.aggregate(r#"[{"$out": "other"}]"#).run().map(drop)), Some(ErrorKind::Invalid));
    let capped = alluvium::CappedLimits { size_bytes: 4096, documents: None };
    let created = transaction.create_collection("new").capped(capped).run();
    assert_eq!(kind(created.map(drop)), Some(ErrorKind::Invalid));
    inside.put(2, "{}").unwrap();
    transaction.commit().unwrap();
    assert_eq!(pets.count().unwrap(), 2);
}

#[test]
fn a_collection_that_changes_is_a_conflict() {
    let db = open(1);
    let pets = db.collection("pets");
    let kind = |result: alluvium::Result<()>| result.err().map(|error| error.kind());
    let changes: [&dyn Fn(); 3] =
        [&|| drop(pets.create_index(r#"{"age": 1}"#).run().unwrap()), &|| pets.drop().unwrap(), &|| {
            drop(db.create_collection("pets").run().unwrap())
        }];
    for (at, change) in changes.into_iter().enumerate() {
        let (before, during) = (db.begin(), db.begin());
        if at < 2 {
            during.within(&pets).put(1, r#"{"kind": "dog"}"#).unwrap();
        }
        change();
        let conflict = Some(ErrorKind::Conflict);
        if at != 0 {
            assert_eq!(kind(before.within(&pets).put(2, r#"{"kind": "cat"}"#)), conflict, "{at}");
        }
        assert_eq!(kind(during.commit()), conflict.filter(|_| at < 2), "{at}");
    }
}

#[test]
fn a_closure_is_repeated_after_a_conflict() {
    let db = open(1);
    db.collection("pets").put(1, r#"{"age": 0}"#).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    db.transaction(|transaction| {
                        let pets = transaction.collection("pets");
                        let age = pets.get(1)?.unwrap().get("age").unwrap().unwrap().as_i64().unwrap();
                        pets.update_one(r#"{"_id": 1}"#, doc! {"$set": {"age": (age + 1)}}).run()?;
                        Ok(())
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(db.collection("pets").get(1).unwrap().unwrap().get("age").unwrap().unwrap().as_i64(), Some(200));
}

#[test]
fn collections_are_created_by_the_commit() {
    let env = Env::in_memory(1);
    let open = || Database::builder().env(env.clone()).memory(8 << 20).partitions(2).open("db").unwrap();
    let db = open();
    let kind = |result: alluvium::Result<()>| result.err().map(|error| error.kind());
    let names = |db: &Database| -> Vec<String> { db.collections().into_iter().map(|one| one.name).collect() };

    // No other reader sees it before the commit, and an abort leaves nothing.
    let transaction = db.begin();
    transaction.collection("pets").insert_one(r#"{"_id": 1, "kind": "dog"}"#).unwrap();
    transaction.collection("pets").update_one(r#"{"kind": "dog"}"#, r#"{"$inc": {"n": 1}}"#).run().unwrap();
    assert_eq!(transaction.collection("pets").find(r#"{"n": 1}"#).count().unwrap(), 1);
    assert!(db.collections().is_empty() && db.collection("pets").count().unwrap() == 0);
    db.store().flush().unwrap();
    drop(transaction);
    assert!(db.collections().is_empty() && db.store().trees().is_empty());

    // Two creators of a name conflict, and a creator without a transaction comes first.
    let (first, second, third) = (db.begin(), db.begin(), db.begin());
    first.collection("pets").insert_one(r#"{"_id": 1}"#).unwrap();
    assert_eq!(kind(second.collection("pets").insert_one(r#"{"_id": 2}"#).map(drop)), Some(ErrorKind::Conflict));
    third.create_collection("owners").run().unwrap();
    assert_eq!(kind(third.create_collection("owners").run().map(drop)), Some(ErrorKind::Namespace));
    let fourth = db.begin();
    fourth.collection("homes").insert_one(r#"{"_id": 4}"#).unwrap();
    db.collection("homes").insert_one(r#"{"_id": 5}"#).unwrap();
    assert_eq!(kind(fourth.commit()), Some(ErrorKind::Conflict));
    first.commit().unwrap();
    drop((second, third));
    assert_eq!(names(&db), ["homes", "pets"]);
    assert_eq!(db.collection("homes").get(4).unwrap().map(|document| document.to_string()), None);

    // What was created is there after the next opening, and takes writes and indexes.
    let transaction = db.begin();
    transaction.collection("toys").insert_one(r#"{"_id": 1, "name": "ball"}"#).unwrap();
    transaction.collection("pets").insert_one(r#"{"_id": 2, "toy": 1}"#).unwrap();
    transaction.commit().unwrap();
    db.collection("toys").create_index(r#"{"name": 1}"#).name("name").run().unwrap();
    db.collection("toys").insert_one(r#"{"_id": 2, "name": "bone"}"#).unwrap();
    assert_eq!(found(&db.collection("toys"), r#"{"name": "ball"}"#, Some("name")).len(), 1);
    db.close().unwrap();
    drop(db);
    let db = open();
    assert_eq!(names(&db), ["homes", "pets", "toys"]);
    assert_eq!((db.collection("toys").count().unwrap(), db.collection("pets").count().unwrap()), (2, 2));
    db.verify().run().unwrap();
}

/// Many open transactions take little memory each, and are forgotten when they end.
#[test]
fn ten_thousand_open_transactions() {
    let db = open(1);
    let pets = db.collection("pets");
    let held = |db: &Database| db.query_memory().held();
    let before = held(&db);
    let open: Vec<Transaction> = (0..10_000)
        .map(|id| {
            let transaction = db.begin();
            transaction.within(&pets).insert_one(format!(r#"{{"_id": {id}, "kind": "dog"}}"#).as_str()).unwrap();
            transaction
        })
        .collect();
    assert!(held(&db) - before < 10_000 * (8 << 10), "{} bytes", held(&db) - before);
    assert_eq!(pets.count().unwrap(), 0);
    for (id, transaction) in open.iter().enumerate().step_by(1000) {
        assert!(transaction.within(&pets).get(id as i64).unwrap().is_some());
        assert_eq!(transaction.within(&pets).count().unwrap(), 1);
        transaction.commit().unwrap();
    }
    drop(open);
    assert_eq!((pets.count().unwrap(), held(&db)), (10, before));
    // No claim is left.
    pets.insert_one(r#"{"_id": 1}"#).unwrap();
}

/// A transaction of more bytes than one batch may have is refused by name, and leaves nothing.
#[test]
fn a_transaction_that_is_too_large_is_refused() {
    let db = open(1);
    let pets = db.collection("pets");
    let text = "x".repeat(1 << 20);
    let transaction = db.begin();
    let error = (0..200)
        .find_map(|id| transaction.within(&pets).put(id, doc! {"text": (text.as_str())}).err())
        .expect("the limit is reached");
    assert!(error.to_string().contains("budget") || error.to_string().contains("memory"), "{error}");
    assert!(!transaction.is_running() && pets.count().unwrap() == 0);
    assert_eq!(db.query_memory().held(), 0);
}

/// After a failed sync, it is unknown whether the transaction was written: it was neither committed nor aborted.
#[test]
fn a_commit_of_unknown_outcome_is_no_abort() {
    let faults = Arc::new(FaultFs::over(Arc::new(MemFs::new())));
    let env = Env { fs: faults.clone(), ..Env::in_memory(1) };
    let db = Database::builder().env(env).memory(8 << 20).open("db").unwrap();
    let pets = db.create_collection("pets").run().unwrap();
    let transaction = db.begin_with(Durability::Sync);
    transaction.within(&pets).put(1, r#"{"kind": "dog"}"#).unwrap();
    faults.inject(Fault::nth(1).of(OpKind::Sync));
    assert_eq!(transaction.commit().unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    let ended = transaction.commit().unwrap_err().to_string();
    assert_eq!(ended, "the transaction was ended with an unknown outcome already: begin another one");
    // It is not repeated.
    let mut calls = 0;
    let repeated = db.transaction(|transaction| {
        calls += 1;
        transaction.within(&pets).put(2, "{}")
    });
    assert!(repeated.is_err() && calls == 1, "{calls} calls");
}
