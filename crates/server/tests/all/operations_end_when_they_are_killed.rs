//! `getMore` reads what another request has begun, and ends when it is killed, or its client is gone.

use crate::common::{Client, Running};
use alluvium::{Value, doc};
use std::time::{Duration, Instant};

/// The most time for what ends at once.
const SOON: Duration = Duration::from_secs(10);

/// Begins a query that takes a minute after its first document. Returns the number of its cursor.
fn begin(client: &mut Client) -> i64 {
    let documents = (0..500).map(|id| Value::Map(doc! {"_id": id})).collect();
    client.ok("zoo", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    let sum = doc! {"$reduce": {"input": {"$range": [0, 300_000]}, "initialValue": 0, "in": {"$add": ["$$value", 1]}}};
    let slow = doc! {"$expr": {"$or": [{"$eq": ["$_id", 0]}, {"$gt": [sum, 0]}]}};
    let reply = client.ok("zoo", doc! {"find": "pets", "filter": slow, "sort": {"_id": 1}, "batchSize": 1});
    let cursor = reply.get("cursor").and_then(Value::as_map).expect("a cursor");
    cursor.get("id").and_then(Value::as_i64).expect("a number")
}

/// The number of the `getMore` that runs.
fn running(client: &mut Client) -> Option<Value> {
    let listed = client.ok("admin", doc! {"currentOp": 1});
    let all = listed.get("inprog").and_then(Value::as_array).expect("a list").iter().filter_map(Value::as_map);
    let is_get_more = |command: &Value| command.as_map().is_some_and(|command| command.contains("getMore"));
    let found = all.into_iter().find(|operation| operation.get("command").is_some_and(is_get_more));
    found.and_then(|operation| operation.get("opid")).cloned()
}

/// The number of the `getMore` once it runs.
fn started(client: &mut Client) -> Value {
    let began = Instant::now();
    loop {
        match running(client) {
            Some(number) => return number,
            None => assert!(began.elapsed() < SOON, "it does not run"),
        }
    }
}

#[test]
fn operations_end_when_they_are_killed() {
    let server = Running::new();
    let (mut client, mut other) = (server.client(), server.client());
    let id = begin(&mut client);
    client.send("zoo", doc! {"getMore": id, "collection": "pets"}, &[], 0);
    let number = started(&mut other);
    let began = Instant::now();
    other.ok("admin", doc! {"killOp": 1, "op": number});
    assert_eq!(client.reply().get("code"), Some(&Value::Int32(11601)));
    assert!(began.elapsed() < SOON);
    client.fails(43, "zoo", doc! {"getMore": id, "collection": "pets"});
}

#[test]
fn operations_end_when_their_client_is_gone() {
    let server = Running::new();
    let (mut client, mut other) = (server.client(), server.client());
    let id = begin(&mut client);
    client.send("zoo", doc! {"getMore": id, "collection": "pets"}, &[], 0);
    started(&mut other);
    drop(client);
    let began = Instant::now();
    while running(&mut other).is_some() {
        assert!(began.elapsed() < SOON, "it still runs");
    }
    other.fails(43, "zoo", doc! {"getMore": id, "collection": "pets"});
}
