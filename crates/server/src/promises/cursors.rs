//! The cursors that are closed, and when they are closed.

use super::{Connection, MINUTE, SECOND, World, cursor_of};
use alluvium::{Map, doc};
use std::time::Duration;

/// The most open cursors (`docs/SERVER.md`).
const CURSORS_MAX: usize = 10_000;

fn fill(connection: &Connection<'_>) {
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}, {"_id": 4}]});
}

fn find() -> Map {
    doc! {"find": "pets", "batchSize": 1}
}

fn more(id: i64) -> Map {
    doc! {"getMore": id, "collection": "pets", "batchSize": 1}
}

#[test]
fn a_cursor_ends_ten_minutes_after_it_was_read() {
    let world = World::new();
    let connection = world.connect();
    fill(&connection);
    let id = cursor_of(&connection.ok("zoo", find()));
    for _ in 0..2 {
        world.wait(10 * MINUTE);
        connection.ok("zoo", more(id));
    }
    world.wait(10 * MINUTE + SECOND);
    connection.fails(43, "zoo", more(id));
}

#[test]
fn a_cursor_without_a_timeout_stays() {
    let world = World::new();
    let connection = world.connect();
    fill(&connection);
    let mut find = find();
    find.push("noCursorTimeout", true);
    let id = cursor_of(&connection.ok("zoo", find));
    world.wait(60 * MINUTE);
    connection.ok("zoo", more(id));
}

/// A cursor over a list, which uses little memory.
fn list(connection: &Connection<'_>) -> i64 {
    cursor_of(&connection.ok("zoo", doc! {"listCollections": 1, "cursor": {"batchSize": 0}}))
}

fn read_list(connection: &Connection<'_>, id: i64) -> Map {
    connection.run("zoo", doc! {"getMore": id, "collection": "$cmd.listCollections", "batchSize": 1})
}

#[test]
fn beyond_the_limit_the_cursors_that_were_not_read_longest_are_closed() {
    let world = World::new();
    let connection = world.connect();
    // With three collections, a cursor over their list is still open after two reads.
    for collection in ["cats", "dogs", "pets"] {
        connection.ok("zoo", doc! {"create": collection});
    }
    let mut ids = Vec::new();
    for _ in 0..CURSORS_MAX {
        ids.push(list(&connection));
        world.clock.advance(Duration::from_millis(1));
    }
    assert_eq!(world.shared.cursors.len(), CURSORS_MAX, "all of them are kept");
    // The oldest cursor is read last, and is therefore kept.
    assert!(cursor_of(&read_list(&connection, ids[0])) != 0);
    let newest = list(&connection);
    assert!(world.shared.cursors.len() <= CURSORS_MAX);
    let is_open = |id: i64| read_list(&connection, id).contains("cursor");
    assert!(is_open(ids[0]), "it was read");
    assert!(is_open(newest) && is_open(ids[CURSORS_MAX - 1]) && is_open(ids[CURSORS_MAX / 2]));
    assert!(!is_open(ids[1]), "the one that was not read for the longest time");
}
