//! Values of unexpected types: dates of other crates are stored as dates, and the log or an error reports a date that
//! is compared with texts, and a document that does not fit its type.

use alluvium::{Database, Error, ErrorKind, Value, doc};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Event {
    #[serde(rename = "_id")]
    id: uuid::Uuid,
    at: DateTime<Utc>,
    seen: jiff::Timestamp,
}

/// The dates of a struct are stored as dates, so filters with dates find them. Its UUID is an `_id`, which `get`
/// accepts.
#[test]
fn structs_are_found_by_the_values_they_have() {
    let db = Database::in_memory().unwrap();
    let events = db.typed_collection::<Event>("events");
    let at = DateTime::from_timestamp_millis(1_767_225_600_000).unwrap();
    let seen = jiff::Timestamp::from_millisecond(1_767_225_600_000).unwrap();
    let event = Event { id: uuid::Uuid::from_u128(7), at, seen };
    events.insert_one(&event).unwrap();
    let before = at - chrono::TimeDelta::seconds(1);
    assert_eq!(events.find_one(doc! {"at": {"$gt": before}}).unwrap().as_ref(), Some(&event));
    assert_eq!(events.find(doc! {"seen": seen}).count().unwrap(), 1);
    assert_eq!(events.get(event.id).unwrap(), Some(event.clone()));
    let stored = events.typed::<alluvium::Document>().get(event.id).unwrap().unwrap();
    assert_eq!(stored.get("at").unwrap().and_then(|at| at.as_millis()), Some(1_767_225_600_000));
    assert_eq!(uuid::Uuid::try_from(stored.id()).unwrap(), event.id);
}

#[test]
fn a_document_that_does_not_fit_is_named_with_the_type() {
    let db = Database::in_memory().unwrap();
    db.collection("events").insert_one(r#"{"_id": 1, "at": "yesterday"}"#).unwrap();
    let error = db.typed_collection::<Event>("events").get(1).unwrap_err();
    assert!(matches!(error, Error::UnfittingDocument { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = error.to_string();
    assert!(message.starts_with("document 1 of main.events is no value of the type"), "{message}");
    assert!(message.contains("Event: ") && !message.contains("cannot be stored"), "{message}");
}

/// An `_id` can be given as a reference to a `String` or a `Value`.
#[test]
fn an_id_may_be_a_reference() {
    let db = Database::in_memory().unwrap();
    let pets = db.collection("pets");
    let (name, id) = ("rex".to_owned(), Value::from(7));
    pets.put(&name, r#"{"age": 3}"#).unwrap();
    pets.put(&id, r#"{"age": 4}"#).unwrap();
    assert!(pets.get(&name).unwrap().is_some() && pets.get(&id).unwrap().is_some());
    let age = pets.get(&name).unwrap().unwrap();
    assert_eq!(age.get("age").unwrap().and_then(|age| age.as_i64()), Some(3));
}

#[test]
fn a_second_opening_in_one_process_is_named_as_such() {
    let dir = tempfile::tempdir().unwrap();
    let first = Database::open(dir.path().join("db")).unwrap();
    let error = Database::open(dir.path().join("db")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InUse);
    assert!(error.to_string().contains("is open in this process already"), "{error}");
    first.close().unwrap();
    Database::open(dir.path().join("db")).unwrap();
}

/// A logger that keeps the messages about queries.
struct Kept;

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl log::Log for Kept {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "alluvium::query"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            MESSAGES.lock().unwrap().push(record.args().to_string());
        }
    }

    fn flush(&self) {}
}

#[test]
fn a_date_that_is_compared_with_texts_is_logged_once() {
    log::set_logger(&Kept).expect("no other test of this program has a logger");
    log::set_max_level(log::LevelFilter::Warn);
    let db = Database::in_memory().unwrap();
    let (texts, dates) = (db.collection("texts"), db.collection("dates"));
    texts.insert_one(r#"{"at": "2026-01-31T00:00:00Z"}"#).unwrap();
    dates.insert_one(doc! {"at": Value::DateTime(0)}).unwrap();
    let filter = doc! {"at": {"$gt": Value::DateTime(1)}};
    for _ in 0..2 {
        assert_eq!(texts.find(filter.clone()).run().unwrap().count(), 0);
        assert_eq!(texts.find(filter.clone()).count().unwrap(), 0);
        assert_eq!(dates.find(filter.clone()).count().unwrap(), 0, "a date that no document has is no mistake");
    }
    let expected =
        "a query of main.texts found nothing: at is compared with a value of type date, and has values of type string";
    assert_eq!(*MESSAGES.lock().unwrap(), [expected]);
}
