//! A retryable write is applied once, even if its session was idle, or the server was killed or lost power between the
//! attempts.

use super::{Connection, MINUTE, World, lsid, with};
use crate::fields::Fields;
use alluvium::{Map, Value, doc};

/// Retryable writes of each kind. Each write adds one to the field `n` of a document, or inserts a document.
fn writes() -> Vec<Map> {
    let add = || doc! {"$inc": {"n": 1}};
    vec![
        doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": (add())}, {"q": {"_id": 2}, "u": (add())}]},
        doc! {"findAndModify": "pets", "query": {"_id": 3}, "update": (add()), "new": true},
        doc! {"insert": "pets", "documents": [{"_id": 10}, {"_id": 11}]},
        doc! {"delete": "pets", "deletes": [{"q": {"kind": "spare"}, "limit": 1}]},
        doc! {"findAndModify": "pets", "query": {"kind": "spare"}, "remove": true},
        doc! {"bulkWrite": 1, "nsInfo": [{"ns": "zoo.pets"}], "ops": [
            {"update": 0, "filter": {"_id": 4}, "updateMods": (add())},
            {"insert": 0, "document": {"_id": 12}},
            {"delete": 0, "filter": {"kind": "spare"}}
        ]},
    ]
}

/// Creates a collection that is on the disk.
fn fill(connection: &Connection<'_>) {
    let mut documents: Vec<Value> = (1..=4).map(|id| Value::Map(doc! {"_id": id, "n": 0})).collect();
    documents.extend((5..10).map(|id| Value::Map(doc! {"_id": id, "kind": "spare"})));
    let fill = doc! {"insert": "pets", "documents": (Value::Array(documents)), "writeConcern": {"j": true}};
    connection.ok("zoo", fill);
}

fn contents(connection: &Connection<'_>) -> Vec<Map> {
    super::batch(&connection.ok("zoo", doc! {"find": "pets", "sort": {"_id": 1}}))
}

fn of_session(body: Map, number: i64, concern: &Map) -> Map {
    let fields =
        [("lsid", lsid(1)), ("txnNumber", Value::Int64(number)), ("writeConcern", Value::Map(concern.clone()))];
    with(body, fields)
}

/// The reply without the fields that differ between a reply and its repetition.
fn result(mut reply: Map) -> Map {
    // A repetition lists the statements that were repeated, and has its own times.
    reply.entries.retain(|(name, _)| {
        let name = name.as_str().unwrap_or_default();
        !["$clusterTime", "operationTime", "retriedStmtIds", "retriedStmtId", "electionId", "opTime"].contains(&name)
    });
    reply
}

fn db_of(body: &Map) -> &'static str {
    if body.contains("bulkWrite") { "admin" } else { "zoo" }
}

#[test]
fn a_repeated_write_is_applied_once() {
    for (at, write) in writes().into_iter().enumerate() {
        let world = World::new();
        let connection = world.connect();
        fill(&connection);
        let body = of_session(write.clone(), 1, &doc! {"w": 1});
        let before = contents(&connection);
        let first = connection.ok(db_of(&body), body.clone());
        let after = contents(&connection);
        assert_ne!(before, after, "{body}");
        // Others change the same documents, the session is idle, and then the write is repeated.
        world.wait(29 * MINUTE);
        let again = connection.ok(db_of(&body), body.clone());
        assert_eq!(result(first), result(again), "{at}: {body}");
        assert_eq!(contents(&connection), after, "{at}: {body}");
        // The next transaction number is another write.
        connection.run(db_of(&body), of_session(write, 2, &doc! {"w": 1}));
        connection.fails(225, db_of(&body), body);
    }
}

#[test]
fn a_write_that_is_repeated_after_a_kill_is_applied_once() {
    for write in writes() {
        let world = World::new();
        let connection = world.connect();
        fill(&connection);
        let body = of_session(write, 1, &doc! {"w": 1});
        connection.ok(db_of(&body), body.clone());
        let after = contents(&connection);
        let next = world.after_a_kill();
        let connection = next.connect();
        assert_eq!(contents(&connection), after, "what was acknowledged is there: {body}");
        // A late message of the session.
        connection.fails(225, "zoo", of_session(super::insert(99), 0, &doc! {"w": 1}));
        connection.ok(db_of(&body), body.clone());
        assert_eq!(contents(&connection), after, "{body}");
    }
}

#[test]
fn a_synced_write_that_is_repeated_after_a_power_cut_is_applied_once() {
    for write in writes() {
        let world = World::new();
        let connection = world.connect();
        fill(&connection);
        let body = of_session(write, 1, &doc! {"w": "majority"});
        connection.ok(db_of(&body), body.clone());
        let after = contents(&connection);
        let next = world.after_a_cut();
        let connection = next.connect();
        assert_eq!(contents(&connection), after, "what was acknowledged is there: {body}");
        connection.ok(db_of(&body), body.clone());
        assert_eq!(contents(&connection), after, "{body}");
    }
}

#[test]
fn a_server_without_a_set_refuses_retryable_writes() {
    let world = World::with(crate::config::Config { replica_set: None, ..Default::default() });
    let connection = world.connect();
    assert!(!connection.ok("admin", doc! {"hello": 1}).contains("setName"));
    let set = World::new().connect().ok("admin", doc! {"hello": 1}).text("setName").map(str::to_owned);
    assert!(set.is_some(), "drivers retry writes only of a set");
    let body = with(super::insert(1), [("lsid", lsid(1)), ("txnNumber", Value::Int64(1))]);
    connection.fails(20, "zoo", body);
}
