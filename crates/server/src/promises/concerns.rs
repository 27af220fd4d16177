//! Tests when a write is acknowledged and which writes a read sees, by power cuts right after the replies.

use super::{Connection, World, insert, with};
use crate::fields::Fields;
use alluvium::{Map, Value, doc};

/// Writes of documents. Each of them changes the digest of its collection.
fn writes() -> Vec<Map> {
    vec![
        doc! {"insert": "pets", "documents": [{"_id": 10}]},
        doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a": 1}}}]},
        doc! {"update": "pets", "updates": [{"q": {}, "u": [{"$set": {"b": 1}}], "multi": true}]},
        doc! {"delete": "pets", "deletes": [{"q": {"_id": 1}, "limit": 1}]},
        doc! {"findAndModify": "pets", "query": {"_id": 2}, "update": {"$set": {"c": 1}}},
        doc! {"findAndModify": "pets", "query": {"_id": 2}, "remove": true},
        doc! {"bulkWrite": 1, "nsInfo": [{"ns": "zoo.pets"}], "ops": [{"insert": 0, "document": {"_id": 11}}]},
    ]
}

fn db_of(body: &Map) -> &'static str {
    if body.contains("bulkWrite") { "admin" } else { "zoo" }
}

fn concern(concern: Map) -> Option<Value> {
    Some(Value::Map(concern))
}

fn contents(connection: &Connection<'_>) -> Vec<Map> {
    super::batch(&connection.ok("zoo", doc! {"find": "pets", "sort": {"_id": 1}}))
}

/// True if a write survives a power cut right after its reply.
fn survives(write: Map, given: Option<Value>, prepare: impl Fn(&Connection<'_>)) -> bool {
    let world = World::new();
    let connection = world.connect();
    let fill = doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}], "writeConcern": {"j": true}};
    connection.ok("zoo", fill);
    prepare(&connection);
    let before = contents(&connection);
    let body = with(write, given.into_iter().map(|given| ("writeConcern", given)));
    connection.ok(db_of(&body), body.clone());
    let after = contents(&connection);
    assert_ne!(before, after, "{body}");
    let found = contents(&world.after_a_cut().connect());
    assert!(found == before || found == after, "{body}: {found:?}");
    found == after
}

#[test]
fn writes_wait_for_the_disk_if_they_ask_for_it() {
    for write in writes() {
        for (given, expected) in [
            (None, false),
            (concern(doc! {"w": 1}), false),
            (concern(doc! {"w": 1, "j": false}), false),
            (concern(doc! {"j": true}), true),
            (concern(doc! {"w": 1, "j": true}), true),
            (concern(doc! {"w": "majority"}), true),
            (concern(doc! {"w": "majority", "wtimeout": 1}), true),
        ] {
            let survives = survives(write.clone(), given.clone(), |_| ());
            assert_eq!(survives, expected, "{write} with {given:?}");
        }
    }
}

#[test]
fn a_default_write_concern_holds_for_writes_without_one() {
    let set = |connection: &Connection<'_>, given: Map| {
        connection.ok("admin", doc! {"setDefaultRWConcern": 1, "defaultWriteConcern": (given)});
    };
    for write in writes() {
        let majority = |connection: &Connection<'_>| set(connection, doc! {"w": "majority"});
        assert!(survives(write.clone(), None, majority), "{write}");
        assert!(survives(write.clone(), None, |connection| set(connection, doc! {"w": 1, "j": true})), "{write}");
        // A write concern of the write itself overrides the default, and a later default overrides an earlier one.
        assert!(!survives(write.clone(), concern(doc! {"w": 1}), majority), "{write}");
        let changed = |connection: &Connection<'_>| {
            majority(connection);
            set(connection, doc! {"w": 1});
        };
        assert!(!survives(write.clone(), None, changed), "{write}");
    }
}

#[test]
fn a_default_read_concern_syncs_what_is_read() {
    let reads = || {
        [
            doc! {"find": "pets"},
            doc! {"aggregate": "pets", "pipeline": [], "cursor": {}},
            doc! {"count": "pets"},
            doc! {"distinct": "pets", "key": "_id"},
        ]
    };
    for read in reads() {
        for (level, expected) in [("majority", 2), ("local", 1)] {
            let world = World::new();
            let connection = world.connect();
            connection.ok("zoo", with(insert(1), [("writeConcern", Value::Map(doc! {"j": true}))]));
            let set = doc! {"setDefaultRWConcern": 1, "defaultReadConcern": {"level": level}};
            connection.ok("admin", set);
            connection.ok("zoo", insert(2));
            connection.ok("zoo", read.clone());
            assert_eq!(world.after_a_cut().count("zoo.pets"), expected, "{level}: {read}");
        }
    }
}

#[test]
fn more_members_than_one_are_error_100_and_the_write_is_there() {
    let world = World::new();
    let connection = world.connect();
    let reply = connection.ok("zoo", with(insert(1), [("writeConcern", Value::Map(doc! {"w": 2}))]));
    let error = reply.document("writeConcernError").expect("an error");
    assert_eq!((error.integer("code"), error.text("codeName")), (Some(100), Some("UnsatisfiableWriteConcern")));
    assert_eq!((reply.integer("n"), world.count("zoo.pets")), (Some(1), 1));
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let world = World::new();
    let connection = world.connect();
    for (id, given) in [(1, None), (2, concern(doc! {"w": 1}))] {
        connection.ok("zoo", with(insert(id), given.into_iter().map(|given| ("writeConcern", given))));
        assert_eq!(world.after_a_kill().count("zoo.pets"), id as u64);
    }
}

#[test]
fn fsync_syncs_what_was_written() {
    for lock in [false, true] {
        let world = World::new();
        let connection = world.connect();
        connection.ok("zoo", insert(1));
        assert_eq!(world.after_a_cut().count("zoo.pets"), 0, "not synced yet: otherwise this proves nothing");
        connection.ok("admin", doc! {"fsync": 1, "lock": lock});
        assert_eq!(world.after_a_cut().count("zoo.pets"), 1, "lock: {lock}");
    }
}

#[test]
fn change_streams_have_the_read_concern_majority() {
    let world = World::new();
    let connection = world.connect();
    let watch = |concern: Map| {
        let body = doc! {"aggregate": "pets", "pipeline": [{"$changeStream": {}}], "cursor": {}};
        with(body, [("readConcern", Value::Map(concern))])
    };
    connection.ok("zoo", watch(doc! {}));
    connection.ok("zoo", watch(doc! {"level": "majority"}));
    for level in ["local", "available", "linearizable", "snapshot"] {
        connection.fails(72, "zoo", watch(doc! {"level": level}));
    }
}

#[test]
fn names_of_the_library_are_those_of_clients() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("main", insert(1));
    connection.ok("shop", doc! {"insert": "orders", "documents": [{"_id": 1}, {"_id": 2}]});
    assert_eq!((world.count("pets"), world.count("shop.orders")), (1, 2));
}
