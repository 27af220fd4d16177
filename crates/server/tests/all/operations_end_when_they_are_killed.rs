//! `getMore` continues a query that another request has begun. It ends when it is killed, or when its client
//! disconnects.

use crate::common::{Client, Running};
use alluvium::{Map, Value, doc};
use alluvium_server::Config;
use std::time::{Duration, Instant};

/// The most time that a test waits for an effect that should be immediate.
const SOON: Duration = Duration::from_secs(10);

/// Begins a query whose first document is found at once and whose further documents take a minute. Returns the cursor
/// number.
fn begin(client: &mut Client) -> i64 {
    let documents = (0..500).map(|id| Value::Map(doc! {"_id": id})).collect();
    client.ok("zoo", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    let sum = doc! {"$reduce": {"input": {"$range": [0, 300_000]}, "initialValue": 0, "in": {"$add": ["$$value", 1]}}};
    let slow = doc! {"$expr": {"$or": [{"$eq": ["$_id", 0]}, {"$gt": [sum, 0]}]}};
    let reply = client.ok("zoo", doc! {"find": "pets", "filter": slow, "sort": {"_id": 1}, "batchSize": 1});
    let cursor = reply.get("cursor").and_then(Value::as_map).expect("a cursor");
    cursor.get("id").and_then(Value::as_i64).expect("a number")
}

/// The numbers of the running commands with this name.
fn running(client: &mut Client, name: &str) -> Vec<Value> {
    let listed = client.ok("admin", doc! {"currentOp": 1});
    let all = listed.get("inprog").and_then(Value::as_array).expect("a list").iter().filter_map(Value::as_map);
    let is_named = |command: &Value| command.as_map().is_some_and(|command| command.contains(name));
    let found = all.filter(|operation| operation.get("command").is_some_and(is_named));
    found.filter_map(|operation| operation.get("opid")).cloned().collect()
}

/// Waits until this number of commands with this name run. Returns their numbers.
fn started(client: &mut Client, name: &str, count: usize) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let numbers = running(client, name);
        if numbers.len() == count {
            return numbers;
        }
        assert!(began.elapsed() < SOON, "they do not run");
    }
}

/// An aggregation of one document that takes minutes, because each step of its expression takes long.
fn long(step: Map) -> Map {
    let documents = doc! {"$documents": [{"_id": 1}]};
    let loops = doc! {"$reduce": {"input": {"$range": [0, 100_000]}, "initialValue": 0, "in": {"$let": {"vars": {"step": step}, "in": 1}}}};
    let pipeline = Value::Array(vec![Value::Map(documents), Value::Map(doc! {"$project": {"x": loops}})]);
    doc! {"aggregate": 1, "pipeline": pipeline, "cursor": {}}
}

/// Aggregations whose expressions take minutes for different reasons. Together they fit into the memory for queries.
fn long_ones() -> [Map; 3] {
    let sorted = doc! {"$setUnion": [{"$range": [0, 200_000]}, {"$range": [200_000, 0, -1]}]};
    let text = |doublings: i32| {
        let twice = doc! {"$concat": ["$$value", "$$value"]};
        doc! {"$reduce": {"input": {"$range": [0, doublings]}, "initialValue": "a", "in": twice}}
    };
    // Each search ends before its own limit.
    let searched = doc! {"$regexMatch": {"input": (text(10)), "regex": "(?=a*b)a"}};
    [long(sorted), long(doc! {"$toUpper": (text(22))}), long(doc! {"$ifNull": [null, searched]})]
}

#[test]
fn operations_end_when_they_are_killed() {
    let server = Running::new();
    let (mut client, mut other) = (server.client(), server.client());
    let id = begin(&mut client);
    client.send("zoo", doc! {"getMore": id, "collection": "pets"}, &[], 0);
    let number = started(&mut other, "getMore", 1).remove(0);
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
    started(&mut other, "getMore", 1);
    drop(client);
    let began = Instant::now();
    while !running(&mut other, "getMore").is_empty() {
        assert!(began.elapsed() < SOON, "it still runs");
    }
    other.fails(43, "zoo", doc! {"getMore": id, "collection": "pets"});
}

#[test]
fn long_steps_of_expressions_end_when_they_are_killed() {
    let server = Running::new();
    let mut other = server.client();
    for command in long_ones() {
        let mut client = server.client();
        client.send("zoo", command, &[], 0);
        let number = started(&mut other, "aggregate", 1).remove(0);
        let began = Instant::now();
        other.ok("admin", doc! {"killOp": 1, "op": number});
        assert_eq!(client.reply().get("code"), Some(&Value::Int32(11601)));
        assert!(began.elapsed() < SOON);
    }
}

#[test]
fn long_steps_of_expressions_end_in_time() {
    let server = Running::new();
    let mut client = server.client();
    for mut command in long_ones() {
        command.push("maxTimeMS", 300);
        let began = Instant::now();
        client.fails(50, "zoo", command);
        assert!(began.elapsed() < SOON);
    }
}

/// The validator takes hours to check one document.
#[test]
fn checks_of_validators_end() {
    let server = Running::new();
    let (mut client, mut other) = (server.client(), server.client());
    let loops = |inner: Value| {
        doc! {"$reduce": {"input": {"$range": [0, 100_000]}, "initialValue": 0, "in": {"$add": ["$$value", inner]}}}
    };
    let sum = loops(Value::Map(loops(Value::Int32(1))));
    let rules = doc! {"$expr": {"$or": [{"$eq": ["$_id", 1]}, {"$gt": [sum, 0]}]}};
    client.ok("zoo", doc! {"create": "pets", "validator": rules});
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    let insert = doc! {"insert": "pets", "documents": [{"_id": 2}]};
    let updates = vec![Value::Map(doc! {"q": {"_id": 1}, "u": [{"$set": {"_id": 1, "x": 1}}], "upsert": true})];
    let ended = |reply: &Map, code: i32| {
        let error = reply.get("writeErrors").and_then(Value::as_array).and_then(|errors| errors.first());
        let found = error.and_then(Value::as_map).unwrap_or(reply).get("code").cloned();
        assert_eq!(found, Some(Value::Int32(code)), "{reply}");
    };
    client.ok("zoo", doc! {"update": "pets", "updates": (Value::Array(updates))});
    for (name, code) in [("maxTimeMS", 50), ("", 11601)] {
        let mut insert = insert.clone();
        if !name.is_empty() {
            insert.push(name, 300);
        }
        let began = Instant::now();
        client.send("zoo", insert, &[], 0);
        if name.is_empty() {
            let number = started(&mut other, "insert", 1).remove(0);
            other.ok("admin", doc! {"killOp": 1, "op": number});
        }
        ended(&client.reply(), code);
        assert!(began.elapsed() < SOON);
    }
}

/// If the server did not end its commands, it would wait for them for twenty seconds.
#[test]
fn operations_end_when_the_server_ends() {
    let server = Running::with(Config { threads: 8, ..Config::default() });
    let mut other = server.client();
    let mut clients: Vec<Client> = long_ones()
        .into_iter()
        .map(|command| {
            let mut client = server.client();
            client.send("zoo", command, &[], 0);
            client
        })
        .collect();
    started(&mut other, "aggregate", clients.len());
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < SOON, "it ended after {:?}", began.elapsed());
    for client in &mut clients {
        assert_eq!(client.reply().get("code"), Some(&Value::Int32(11600)));
    }
}
