//! A write that depends on the content of a document takes effect only if that content has not changed. This is tested
//! for expiry, for deletes and updates by filter, and for inserts, under many schedules. Run with `--features shuttle`.
#![cfg(feature = "shuttle")]

use alluvium::{Collection, Database, ErrorKind, Map, Value};
use alluvium_env::thread::{JoinHandle, spawn};
use alluvium_testkit::World;
use alluvium_testkit::concurrency::schedules::{self, small_options};

const DOCUMENTS: i64 = 3;

/// Runs a scenario with an empty collection under many schedules.
fn schedules(name: &str, scenario: impl Fn(&Database, &Collection) + Send + Sync + 'static) {
    schedules::schedules("writes_hold_what_they_checked_under_any_schedule", name, 600, move || {
        let db = World::new(7).open(&small_options()).unwrap();
        let pets = db.create_collection("pets").run().unwrap();
        scenario(&db, &pets);
    });
}

/// Starts a thread that uses the collection.
fn beside<T: Send + 'static>(pets: &Collection, act: impl FnOnce(Collection) -> T + Send + 'static) -> JoinHandle<T> {
    let pets = pets.clone();
    spawn("thread", move || act(pets))
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread.join().unwrap_or_else(|e| panic!("{e}"))
}

/// The `_id`s of the documents that an update with this filter and change matched, where each call updates one
/// document.
fn updated(pets: &Collection, filter: &str, change: &str) -> Vec<i64> {
    let matched = |id: &i64| {
        let filter = filter.replace("ID", &id.to_string());
        pets.update_one(filter.as_str(), change).run().unwrap().matched_count == 1
    };
    (0..DOCUMENTS).filter(matched).collect()
}

fn exist(pets: &Collection, ids: &[i64]) {
    for id in ids {
        assert!(pets.get(*id).unwrap().is_some(), "document {id} was changed before, and deleted all the same");
    }
}

#[test]
fn a_document_that_is_renewed_does_not_expire() {
    schedules("a_document_that_is_renewed_does_not_expire", |db, pets| {
        pets.create_index(r#"{"when":1}"#).options(r#"{"expireAfterSeconds":1}"#).run().unwrap();
        for id in 0..DOCUMENTS {
            pets.put(id, Map::from([("when", Value::DateTime(0))])).unwrap();
        }
        let renewer = beside(pets, |pets| {
            updated(&pets, r#"{"_id":ID}"#, r#"{"$set":{"when":{"$date":"2999-01-01T00:00:00Z"}}}"#)
        });
        db.delete_expired().unwrap();
        exist(pets, &join(renewer));
    });
}

#[test]
fn a_delete_by_filter_spares_what_does_not_match_any_more() {
    schedules("a_delete_by_filter_spares_what_does_not_match_any_more", |_, pets| {
        for id in 0..DOCUMENTS {
            pets.put(id, r#"{"state":"free"}"#).unwrap();
        }
        let taker =
            beside(pets, |pets| updated(&pets, r#"{"_id":ID,"state":"free"}"#, r#"{"$set":{"state":"taken"}}"#));
        let free = r#"{"state":"free"}"#;
        pets.find_one_and_delete(free).run().unwrap();
        pets.delete_one(free).run().unwrap();
        pets.delete_many(free).run().unwrap();
        let taken = join(taker);
        exist(pets, &taken);
        assert_eq!(pets.count().unwrap(), taken.len() as u64);
    });
}

#[test]
fn of_two_updates_by_filter_one_takes_a_document() {
    schedules("of_two_updates_by_filter_one_takes_a_document", |_, pets| {
        for id in 0..DOCUMENTS {
            pets.put(id, r#"{"state":"free"}"#).unwrap();
        }
        let take = |pets: &Collection, by: &str| {
            let taken = format!(r#"{{"$set":{{"state":"{by}"}}}}"#);
            let one = updated(pets, r#"{"_id":ID,"state":"free"}"#, &taken).len() as u64;
            one + pets.update_many(r#"{"state":"free"}"#, taken.as_str()).run().unwrap().matched_count
        };
        let other = beside(pets, move |pets| take(&pets, "b"));
        let taken = take(pets, "a");
        assert_eq!(taken + join(other), DOCUMENTS as u64, "each document was free once");
    });
}

#[test]
fn one_of_several_inserts_succeeds() {
    schedules("one_of_several_inserts_succeeds", |db, pets| {
        // Batches that read documents take their locks in another way than batches that read none.
        pets.create_index(r#"{"n":1}"#).run().unwrap();
        for id in 100..102 {
            pets.put(id, r#"{"n":0}"#).unwrap();
        }
        let batch = |db: &Database, pets: &Collection, id: i64, also: i64| {
            let mut batch = db.write_batch();
            batch.insert(pets, format!(r#"{{"_id":{id},"by":"a batch"}}"#))?;
            if id != 0 {
                batch.update_blind(pets, also, r#"{"$inc":{"n":1}}"#)?;
            }
            batch.commit().map(drop)
        };
        let count = |results: Vec<alluvium::Result<()>>| {
            let refused = results.iter().filter_map(|result| result.as_ref().err());
            refused.for_each(|error| assert_eq!(error.kind(), ErrorKind::DuplicateKey, "{error}"));
            results.iter().filter(|result| result.is_ok()).count()
        };
        let other = db.clone();
        let batches = beside(pets, move |pets| count((0..DOCUMENTS).map(|id| batch(&other, &pets, id, 100)).collect()));
        let single = beside(pets, move |pets| {
            let insert = |id| pets.insert_one(format!(r#"{{"_id":{id},"by":"itself"}}"#)).map(drop);
            count((0..DOCUMENTS).map(insert).collect())
        });
        let here = count((0..DOCUMENTS).map(|id| batch(db, pets, id, 101)).collect());
        assert_eq!(here + join(batches) + join(single), DOCUMENTS as usize);
    });
}
