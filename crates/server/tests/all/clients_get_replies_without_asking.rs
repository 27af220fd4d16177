//! Exhaust cursors, and `hello` commands that wait.

use crate::common::{EXHAUST_ALLOWED, Running};
use alluvium::{Map, Value, doc};
use alluvium_server::Config;
use std::time::{Duration, Instant};

/// The number of the cursor in a reply, and the number of documents in the batch.
fn batch(reply: &Map) -> (i64, usize) {
    let Some(Value::Map(cursor)) = reply.get("cursor") else { panic!("no cursor: {reply}") };
    let documents = cursor.get("firstBatch").or(cursor.get("nextBatch")).and_then(Value::as_array);
    (cursor.get("id").and_then(Value::as_i64).expect("a number"), documents.expect("a batch").len())
}

fn filled() -> Running {
    let server = Running::new();
    let documents = (0..10).map(|id| Value::Map(doc! {"_id": id})).collect();
    server.client().ok("zoo", doc! {"insert": "pets", "documents": (Value::Array(documents))});
    server
}

#[test]
fn batches_follow_each_other_until_the_end() {
    let server = filled();
    let mut client = server.client();
    let (id, _) = batch(&client.ok("zoo", doc! {"find": "pets", "batchSize": 2}));
    client.send("zoo", doc! {"getMore": id, "collection": "pets", "batchSize": 3}, &[], EXHAUST_ALLOWED);
    let mut counts = Vec::new();
    loop {
        let reply = client.next_reply();
        let (id, count) = batch(&reply);
        counts.push(count);
        assert_eq!(client.has_more(), id != 0);
        if id == 0 {
            break;
        }
    }
    assert_eq!(counts, [3, 3, 2]);
    client.ok("zoo", doc! {"ping": 1});
    // Without the flag, there is only one reply.
    let (id, _) = batch(&client.ok("zoo", doc! {"find": "pets", "batchSize": 2}));
    client.ok("zoo", doc! {"getMore": id, "collection": "pets", "batchSize": 3});
    assert!(!client.has_more());
    client.ok("zoo", doc! {"ping": 1});
}

#[test]
fn an_error_is_the_last_reply() {
    let server = filled();
    let mut client = server.client();
    client.send("zoo", doc! {"getMore": 7_i64, "collection": "pets"}, &[], EXHAUST_ALLOWED);
    assert_eq!(client.next_reply().get("code"), Some(&Value::Int32(43)));
    assert!(!client.has_more());
}

#[test]
fn cursors_outlive_the_connection_that_opened_them() {
    let server = filled();
    let mut first = server.client();
    let (id, _) = batch(&first.ok("zoo", doc! {"find": "pets", "batchSize": 2}));
    drop(first);
    std::thread::sleep(Duration::from_millis(50));
    let mut second = server.client();
    let (_, count) = batch(&second.ok("zoo", doc! {"getMore": id, "collection": "pets"}));
    assert_eq!(count, 8);
}

#[test]
fn hello_waits_for_what_a_client_does_not_know() {
    let server = Running::with(Config { threads: 1, ..Config::default() });
    let mut client = server.client();
    let version = client.ok("admin", doc! {"hello": 1}).get("topologyVersion").cloned().expect("a version");
    let began = Instant::now();
    let other = doc! {"processId": (Value::ObjectId([1; 12])), "counter": 0_i64};
    client.ok("admin", doc! {"hello": 1, "topologyVersion": other, "maxAwaitTimeMS": 60_000});
    assert!(began.elapsed() < Duration::from_secs(30), "another process's answer is not known");
    let hello = doc! {"hello": 1, "topologyVersion": version, "maxAwaitTimeMS": 80};
    client.ok("admin", hello.clone());
    assert!(began.elapsed() >= Duration::from_millis(80));
    client.send("admin", hello.clone(), &[], EXHAUST_ALLOWED);
    let began = Instant::now();
    for _ in 0..3 {
        assert_eq!(client.next_reply().get("isWritablePrimary"), Some(&Value::Bool(true)));
        assert!(client.has_more());
    }
    assert!(began.elapsed() >= Duration::from_millis(240));
    // A client that waits for long occupies no thread, and does not delay the end of the server.
    let mut patient = server.client();
    let mut long = hello;
    long.insert("maxAwaitTimeMS", 3_600_000);
    patient.send("admin", long, &[], 0);
    server.client().ok("admin", doc! {"ping": 1});
    let began = Instant::now();
    drop(server);
    assert!(began.elapsed() < Duration::from_secs(5), "the server waited for a hello: {:?}", began.elapsed());
}
