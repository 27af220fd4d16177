//! Recorded changes have the documents before them, exactly from the number on at which this was switched on.

use alluvium::{CappedLimits, Change, ChangeEvent, ChangeScope, Database, doc};
use alluvium_env::mem::MemFs;
use alluvium_env::{Env, ManualClock, SeededRng};
use std::sync::Arc;

fn open(mem: &Arc<MemFs>) -> Database {
    let env = Env { fs: mem.clone(), clock: Arc::new(ManualClock::new()), rng: Arc::new(SeededRng::new(3)) };
    Database::builder().env(env).open("db").unwrap()
}

fn changes(db: &Database) -> Vec<Change> {
    db.changes(&ChangeScope::Everything, None).unwrap().map(Result::unwrap).collect()
}

/// The field `n` of the documents before the changes of documents; -1 for a change without one.
fn before(db: &Database) -> Vec<i64> {
    let of_documents = changes(db).into_iter().filter(|change| change.event.id().is_some());
    let n = |change: Change| change.before.map_or(-1, |before| before.get("n").unwrap().as_i64().unwrap());
    of_documents.map(n).collect()
}

#[test]
fn they_are_kept_also_after_a_restart() {
    let mem = Arc::new(MemFs::new());
    let db = open(&mem);
    db.record_changes(ChangeScope::Everything).unwrap();
    let pets = db.create_collection("shop.pets").keep_before(true).run().unwrap();
    pets.put(1, doc! {"n": 1}).unwrap();
    pets.update_blind(1, doc! {"$inc": doc! {"n": 1}}).unwrap();
    pets.replace_one(doc! {"_id": 1}, doc! {"n": 3}).run().unwrap();
    db.transaction(|transaction| transaction.collection("shop.pets").put(1, doc! {"n": 4})).unwrap();
    pets.delete(1).unwrap();
    assert_eq!(before(&db), [-1, 1, 2, 3, 4]);
    drop((pets, db));
    let db = open(&mem);
    let pets = db.collection("shop.pets");
    assert!(pets.options().unwrap().contains("changeStreamPreAndPostImages"));
    pets.put(1, doc! {"n": 5}).unwrap();
    pets.put(1, doc! {"n": 6}).unwrap();
    pets.keep_before(false).unwrap();
    pets.put(1, doc! {"n": 7}).unwrap();
    assert_eq!(before(&db)[5..], [-1, 5, -1]);
    assert!(pets.options().unwrap().is_empty());
    assert!(db.collection("shop.none").keep_before(true).is_err());
    let modified = changes(&db).into_iter().find(|change| matches!(change.event, ChangeEvent::Modify { .. }));
    let expected = doc! {"changeStreamPreAndPostImages": doc! {"enabled": false}};
    assert_eq!(modified.unwrap().event, ChangeEvent::Modify { description: expected });
}

#[test]
fn a_capped_collection_keeps_its_oldest_documents_in_its_changes() {
    let db = Database::in_memory().unwrap();
    db.record_changes(ChangeScope::Everything).unwrap();
    let limits = CappedLimits { size_bytes: 4096, documents: Some(2) };
    let log = db.create_collection("shop.log").capped(limits).keep_before(true).run().unwrap();
    for n in 1..4 {
        log.insert_one(doc! {"_id": n, "n": n}).unwrap();
    }
    let mut found = before(&db);
    found.sort_unstable();
    assert_eq!(found, [-1, -1, -1, 1]);
}

#[test]
fn the_change_of_the_option_is_the_boundary() {
    for round in 0..20 {
        let db = Database::in_memory().unwrap();
        db.record_changes(ChangeScope::Everything).unwrap();
        let pets = db.create_collection("shop.pets").run().unwrap();
        (0..4).for_each(|id| pets.put(id, doc! {"n": 0}).unwrap());
        std::thread::scope(|threads| {
            for thread in 1..4 {
                let (db, pets) = (&db, &pets);
                threads.spawn(move || {
                    for n in 1..80 {
                        let (id, n) = (n % 4, n * 10 + thread);
                        match n % 3 {
                            0 => pets.put(id, doc! {"n": n}).unwrap(),
                            1 => drop(pets.update_one(doc! {"_id": id}, doc! {"$inc": doc! {"n": 1}}).run().unwrap()),
                            _ => db.transaction(|transaction| transaction.within(pets).put(id, doc! {"n": n})).unwrap(),
                        }
                    }
                });
            }
            for keep in [true, false, true] {
                pets.keep_before(keep).unwrap();
            }
        });
        let (mut keeps, mut switched) = (false, 0);
        for change in changes(&db) {
            match change.event {
                ChangeEvent::Modify { .. } => (keeps, switched) = (!keeps, switched + 1),
                ChangeEvent::Update { .. } | ChangeEvent::Replace { .. } => {
                    assert_eq!(change.before.is_some(), keeps, "round {round}: {change:?}");
                }
                _ => assert_eq!(change.before, None),
            }
        }
        assert_eq!(switched, 3);
    }
}
