//! A snapshot read sees one state of all collections. The state is kept for five minutes after its last use.

use super::{Connection, MINUTE, SECOND, World, batch};
use crate::fields::Fields;
use alluvium::{Map, Value, doc};

fn read(collection: &str, at: Option<&Value>) -> Map {
    let mut concern = doc! {"level": "snapshot"};
    at.into_iter().for_each(|at| concern.push("atClusterTime", at.clone()));
    doc! {"find": collection, "readConcern": (concern)}
}

/// Writes to both collections.
fn write(connection: &Connection<'_>, id: i32) {
    for collection in ["cats", "dogs"] {
        connection.ok("zoo", doc! {"insert": collection, "documents": [{"_id": id}]});
    }
}

fn time_of(reply: &Map) -> Value {
    reply.document("cursor").and_then(|cursor| cursor.get("atClusterTime")).cloned().expect("a time")
}

#[test]
fn a_snapshot_is_one_state_of_all_collections() {
    let world = World::new();
    let connection = world.connect();
    write(&connection, 1);
    let first = connection.ok("zoo", read("cats", None));
    let at = time_of(&first);
    write(&connection, 2);
    connection.ok("zoo", doc! {"delete": "dogs", "deletes": [{"q": {}, "limit": 0}]});
    connection.ok("zoo", doc! {"insert": "birds", "documents": [{"_id": 1}]});
    for (collection, expected) in [("cats", 1), ("dogs", 1), ("birds", 0)] {
        let reply = connection.ok("zoo", read(collection, Some(&at)));
        assert_eq!((batch(&reply).len(), time_of(&reply)), (expected, at.clone()), "{collection}");
    }
    let later = connection.ok("zoo", read("dogs", None));
    assert_eq!(batch(&later).len(), 0);
    assert_ne!(time_of(&later), at);
}

#[test]
fn a_snapshot_ends_five_minutes_after_its_last_use() {
    let world = World::new();
    let connection = world.connect();
    write(&connection, 1);
    let at = time_of(&connection.ok("zoo", read("cats", None)));
    write(&connection, 2);
    for _ in 0..3 {
        world.wait(5 * MINUTE - SECOND);
        assert_eq!(batch(&connection.ok("zoo", read("dogs", Some(&at)))).len(), 1);
    }
    world.wait(5 * MINUTE);
    connection.fails(239, "zoo", read("dogs", Some(&at)));
}
