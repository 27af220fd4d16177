//! Tailable cursors over the wire: a `getMore` waits for documents. It ends when documents arrive, when its time is
//! over, when the cursor or the collection is removed, and when the server stops. Other clients are served in the
//! meantime.

use crate::common::{Client, Running};
use alluvium::{Map, Value, doc};
use alluvium_server::Config;
use std::time::{Duration, Instant};

/// A capped collection with one document, and an open cursor at its end.
fn begin(client: &mut Client) -> i64 {
    client.ok("shop", doc! {"create": "log", "capped": true, "size": 4096, "max": 3});
    client.ok("shop", doc! {"insert": "log", "documents": [{"_id": 1}]});
    let reply = client.ok("shop", doc! {"find": "log", "tailable": true, "awaitData": true});
    assert_eq!(batch(&reply, "firstBatch"), 1);
    id(&reply)
}

fn cursor(reply: &Map) -> &Map {
    reply.get("cursor").and_then(Value::as_map).expect("a cursor")
}

fn id(reply: &Map) -> i64 {
    cursor(reply).get("id").and_then(Value::as_i64).expect("a number")
}

fn batch(reply: &Map, name: &str) -> usize {
    cursor(reply).get(name).and_then(Value::as_array).expect("a batch").len()
}

fn more(id: i64, millis: i32) -> Map {
    doc! {"getMore": (Value::Int64(id)), "collection": "log", "maxTimeMS": millis}
}

/// Waits until the `getMore` of the other connection waits for documents. Then only requests of `client` run.
fn settle() {
    std::thread::sleep(Duration::from_millis(300));
}

#[test]
fn a_wait_ends_with_a_document() {
    // Only one request runs at a time; a waiting request must not be counted.
    let server = Running::with(Config { threads: 1, ..Config::default() });
    let (mut reader, mut writer) = (server.client(), server.client());
    let id = begin(&mut reader);
    let began = Instant::now();
    reader.send("shop", more(id, 60_000), &[], 0);
    settle();
    writer.ok("admin", doc! {"ping": 1});
    writer.ok("shop", doc! {"insert": "other", "documents": [{"_id": 1}]});
    writer.ok("shop", doc! {"insert": "log", "documents": [{"_id": 2}, {"_id": 3}]});
    let reply = reader.reply();
    assert_eq!((batch(&reply, "nextBatch"), self::id(&reply)), (2, id));
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_wait_ends_with_its_time() {
    let server = Running::new();
    let mut client = server.client();
    let id = begin(&mut client);
    let began = Instant::now();
    let reply = client.ok("shop", more(id, 200));
    assert_eq!((batch(&reply, "nextBatch"), self::id(&reply)), (0, id));
    assert!(began.elapsed() >= Duration::from_millis(200));
    let began = Instant::now();
    client.ok("shop", doc! {"getMore": (Value::Int64(id)), "collection": "log"});
    assert!(began.elapsed() >= Duration::from_millis(900), "by default it waits a second");
}

#[test]
fn a_wait_ends_when_the_cursor_is_closed() {
    let server = Running::new();
    let (mut reader, mut other) = (server.client(), server.client());
    let id = begin(&mut reader);
    reader.send("shop", more(id, 60_000), &[], 0);
    settle();
    other.ok("shop", doc! {"killCursors": "log", "cursors": [(Value::Int64(id))]});
    assert_eq!(reader.reply().get("code"), Some(&Value::Int32(237)));
}

#[test]
fn a_wait_ends_when_the_collection_is_dropped() {
    let server = Running::new();
    let (mut reader, mut other) = (server.client(), server.client());
    let id = begin(&mut reader);
    reader.send("shop", more(id, 60_000), &[], 0);
    settle();
    other.ok("shop", doc! {"drop": "log"});
    assert_eq!(reader.reply().get("code"), Some(&Value::Int32(175)));
    other.fails(43, "shop", more(id, 1));
}

#[test]
fn a_wait_ends_when_documents_were_overwritten() {
    let server = Running::new();
    let mut client = server.client();
    let id = begin(&mut client);
    client.ok("shop", doc! {"insert": "log", "documents": [{"_id": 2}, {"_id": 3}, {"_id": 4}]});
    client.fails(136, "shop", more(id, 60_000));
}

#[test]
fn a_wait_ends_with_the_client_and_with_the_server() {
    let server = Running::new();
    let (mut gone, mut reader) = (server.client(), server.client());
    let id = begin(&mut gone);
    gone.send("shop", more(id, 60_000), &[], 0);
    let reply = reader.ok("shop", doc! {"find": "log", "tailable": true, "awaitData": true});
    reader.send("shop", more(self::id(&reply), 60_000), &[], 0);
    settle();
    drop(gone);
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn wrong_requests_are_refused() {
    let server = Running::new();
    let mut client = server.client();
    client.ok("shop", doc! {"create": "log", "capped": true, "size": 4096});
    let reply = client.ok("shop", doc! {"find": "log", "tailable": true});
    assert_eq!(id(&reply), 0, "a cursor over an empty collection has ended");
    client.ok("shop", doc! {"insert": "log", "documents": [{"_id": 1}]});
    client.fails(9, "shop", doc! {"find": "log", "awaitData": true});
    client.fails(2, "shop", doc! {"find": "log", "tailable": true, "sort": {"_id": 1}});
    client.fails(2, "shop", doc! {"find": "log", "tailable": true, "singleBatch": true});
    client.ok("shop", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    client.fails(2, "shop", doc! {"find": "pets", "tailable": true});
    client.fails(72, "shop", doc! {"create": "x", "capped": true});
    client.fails(72, "shop", doc! {"create": "x", "size": 5});
    client.fails(72, "shop", doc! {"collMod": "pets", "cappedSize": 5});
    let reply = client.ok("shop", doc! {"find": "log", "tailable": true});
    client.fails(2, "shop", more(id(&reply), 10));
    client.ok("shop", doc! {"getMore": (Value::Int64(id(&reply))), "collection": "log"});
}

#[test]
fn collections_become_capped() {
    let server = Running::new();
    let mut client = server.client();
    let documents: Vec<Value> = [5, 2, 8, 1].map(|n| Value::Map(doc! {"_id": n})).into();
    client.ok("shop", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    client.ok("shop", doc! {"cloneCollectionAsCapped": "pets", "toCollection": "copy", "size": 4096});
    client.ok("shop", doc! {"convertToCapped": "pets", "size": 4096});
    let found = client.documents("shop", doc! {"find": "pets"});
    assert_eq!(
        found.iter().map(|map| map.get("_id").and_then(Value::as_i64).expect("a number")).collect::<Vec<_>>(),
        [5, 2, 8, 1]
    );
    assert_eq!(client.documents("shop", doc! {"find": "copy"}).len(), 4);
    client.ok("shop", doc! {"collMod": "pets", "cappedMax": 2});
    let stats = client.ok("shop", doc! {"collStats": "pets"});
    assert_eq!((stats.get("capped"), stats.get("max")), (Some(&Value::Bool(true)), Some(&Value::Int32(2))));
    let list = client.documents("shop", doc! {"listCollections": 1, "filter": {"name": "pets"}});
    let options = list[0].get("options").and_then(Value::as_map).expect("options");
    assert_eq!(*options, doc! {"capped": true, "size": 4096, "max": 2});
}
