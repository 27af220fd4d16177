//! Sessions end after 30 minutes without use. Everything that belongs to a session ends with it.

use super::{Connection, MINUTE, SECOND, World, cursor_of, lsid, with};
use crate::sessions::SessionId;
use alluvium::{Value, doc};
use std::sync::atomic::AtomicBool;

const RECORDS: &str = "config.transactions";

fn ping(connection: &Connection<'_>, session: u8) {
    connection.ok("admin", with(doc! {"ping": 1}, [("lsid", lsid(session))]));
}

/// A retryable write of a session.
fn write(connection: &Connection<'_>, session: u8, number: i64) {
    let update = doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": true}]};
    connection.ok("zoo", with(update, [("lsid", lsid(session)), ("txnNumber", Value::Int64(number))]));
}

fn end(connection: &Connection<'_>, session: u8) {
    connection.ok("admin", doc! {"endSessions": [(lsid(session))]});
}

#[test]
fn an_idle_session_ends_after_30_minutes() {
    let world = World::new();
    let connection = world.connect();
    let minutes = connection.ok("admin", doc! {"hello": 1}).get("logicalSessionTimeoutMinutes").cloned();
    assert_eq!(minutes, Some(Value::Int32(30)));
    ping(&connection, 1);
    world.wait(30 * MINUTE);
    assert_eq!(world.shared.sessions.len(), 1);
    world.wait(SECOND);
    assert_eq!(world.shared.sessions.len(), 0);
}

#[test]
fn a_session_in_use_does_not_end() {
    let world = World::new();
    let connection = world.connect();
    for session in [1, 2, 3] {
        write(&connection, session, 1);
    }
    for _ in 0..5 {
        world.wait(20 * MINUTE);
        ping(&connection, 1);
        connection.ok("admin", doc! {"refreshSessions": [(lsid(2))]});
    }
    assert_eq!((world.shared.sessions.len(), world.count(RECORDS)), (2, 2), "the third was not used");
}

#[test]
fn a_session_whose_write_runs_does_not_end() {
    let world = World::new();
    let connection = world.connect();
    write(&connection, 1, 1);
    let id = SessionId { uuid: [1; 16], user: None };
    let running = world.shared.sessions.check_out(&id, 2, &AtomicBool::new(false)).expect("a session");
    world.wait(120 * MINUTE);
    assert_eq!((world.shared.sessions.len(), world.count(RECORDS)), (1, 1));
    drop(running);
    world.wait(120 * MINUTE);
    assert_eq!((world.shared.sessions.len(), world.count(RECORDS)), (0, 0));
}

#[test]
fn the_records_of_a_session_end_with_it() {
    let world = World::new();
    let connection = world.connect();
    for session in [1, 2] {
        write(&connection, session, 1);
    }
    assert_eq!(world.count(RECORDS), 2);
    end(&connection, 1);
    assert_eq!(world.count(RECORDS), 1, "those of the other session stay");
    world.wait(31 * MINUTE);
    assert_eq!(world.count(RECORDS), 0);
}

#[test]
fn the_records_of_an_earlier_run_end_with_their_sessions() {
    let world = World::new();
    write(&world.connect(), 1, 1);
    let next = world.after_a_kill();
    next.shared.remember_sessions();
    assert_eq!((next.shared.sessions.len(), next.count(RECORDS)), (1, 1));
    next.wait(31 * MINUTE);
    assert_eq!((next.shared.sessions.len(), next.count(RECORDS)), (0, 0));
}

#[test]
fn the_cursors_of_a_session_end_with_it() {
    let world = World::new();
    let connection = world.connect();
    connection.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}, {"_id": 2}, {"_id": 3}]});
    let find = |session: u8| with(doc! {"find": "pets", "batchSize": 1}, [("lsid", lsid(session))]);
    let more = |id: i64, session: u8| {
        with(doc! {"getMore": id, "collection": "pets", "batchSize": 1}, [("lsid", lsid(session))])
    };
    let [one, two] = [1, 2].map(|session| cursor_of(&connection.ok("zoo", find(session))));
    end(&connection, 1);
    connection.fails(43, "zoo", more(one, 1));
    connection.ok("zoo", more(two, 2));
}

#[test]
fn records_are_removed_only_while_writes_are_allowed() {
    let world = World::new();
    let connection = world.connect();
    write(&connection, 1, 1);
    connection.ok("admin", doc! {"fsync": 1, "lock": true});
    end(&connection, 1);
    world.wait(31 * MINUTE);
    assert_eq!(world.count(RECORDS), 1, "fsync holds all writes back");
    connection.ok("admin", doc! {"fsyncUnlock": 1});
    world.wait(31 * MINUTE);
    assert_eq!(world.count(RECORDS), 0);
}
