//! A write without a transaction waits for the transaction that has written its document, and stops no one else.

use crate::common::{Client, Running};
use alluvium::{Binary, Map, Value, doc};
use alluvium_server::Config;

/// A command of the only transaction.
fn within(mut body: Map, starts: bool) -> Map {
    let session = Map::from([("id", Value::Binary(Binary { subtype: 4, bytes: vec![7; 16] }))]);
    body.push("lsid", Value::Map(session));
    body.push("txnNumber", Value::Int64(1));
    body.push("autocommit", false);
    if starts {
        body.push("startTransaction", true);
    }
    body
}

fn add_to(id: i32) -> Map {
    doc! {"update": "pets", "updates": [{"q": {"_id": id}, "u": {"$inc": {"n": 1}}}]}
}

/// A server whose open transaction has written the first of three documents.
fn server(threads: usize) -> (Running, Client) {
    let server = Running::with(Config { threads, ..Config::default() });
    let mut client = server.client();
    client
        .ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1, "n": 0}, {"_id": 2, "n": 0}, {"_id": 3, "n": 0}]});
    client.ok("zoo", within(add_to(1), true));
    (server, client)
}

fn numbers(client: &mut Client) -> Vec<Value> {
    let pets = client.documents("zoo", doc! {"find": "pets", "sort": {"_id": 1}});
    pets.iter().filter_map(|pet| pet.get("n").cloned()).collect()
}

fn waiting(client: &mut Client) -> Vec<Value> {
    let listed = client.ok("admin", doc! {"currentOp": 1, "waitingForLock": true});
    listed.get("inprog").and_then(Value::as_array).unwrap_or_default().to_vec()
}

#[test]
fn writes_wait_for_transactions_without_a_thread() {
    let (server, mut client) = server(2);
    let mut writers: Vec<Client> = (0..64).map(|_| server.client()).collect();
    for (at, writer) in writers.iter_mut().enumerate() {
        let write = match at % 4 {
            0 => add_to(1),
            1 => doc! {"findAndModify": "pets", "query": {"_id": 1}, "update": {"$inc": {"n": 1}}},
            2 => {
                doc! {"update": "pets", "updates": [{"q": {"n": {"$lte": 1_000}, "_id": 1}, "u": {"$inc": {"n": 1}}, "multi": true}]}
            }
            _ => doc! {"update": "pets", "updates": [{"q": {"_id": 1}, "u": {"$inc": {"n": 1}}, "upsert": true}]},
        };
        writer.send("zoo", write, &[], 0);
    }
    while waiting(&mut client).len() < 64 {}
    // Others read and write while 64 writes wait for two threads, and the transaction goes on.
    let mut other = server.client();
    other.ok("zoo", add_to(2));
    other.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 4, "n": 0}]});
    client.ok("zoo", within(add_to(1), false));
    assert_eq!(numbers(&mut other), [0, 1, 0, 0].map(Value::Int32));
    client.ok("admin", within(doc! {"commitTransaction": 1}, false));
    for writer in &mut writers {
        let reply = writer.reply();
        assert!(reply.get("ok") == Some(&Value::from(1.0)) && !reply.contains("writeErrors"), "{reply}");
    }
    assert_eq!(numbers(&mut other), [66, 1, 0, 0].map(Value::Int32));
    assert_eq!(waiting(&mut other), []);
}

#[test]
fn a_write_that_waits_is_ended_by_its_limit_by_a_client_and_with_its_connection() {
    let (server, mut client) = server(1);
    let mut limited = add_to(1);
    limited.push("maxTimeMS", 50);
    let reply = server.client().run("zoo", limited);
    let code = |reply: &Map| reply.get("code").cloned();
    assert_eq!(code(&reply), Some(Value::Int32(50)), "{reply}");
    let mut killed = server.client();
    killed.send("zoo", add_to(1), &[], 0);
    let listed = loop {
        if let [Value::Map(listed)] = &waiting(&mut client)[..] {
            break listed.clone();
        }
    };
    client.ok("admin", doc! {"killOp": 1, "op": (listed.get("opid").cloned().expect("a number"))});
    let reply = killed.reply();
    assert_eq!(code(&reply), Some(Value::Int32(11601)), "{reply}");
    let mut gone = server.client();
    gone.send("zoo", add_to(1), &[], 0);
    while waiting(&mut client).is_empty() {}
    drop(gone);
    while !waiting(&mut client).is_empty() {}
    client.ok("admin", within(doc! {"abortTransaction": 1}, false));
    assert_eq!(numbers(&mut client), [0, 0, 0].map(Value::Int32));
}

#[test]
fn a_command_that_has_written_something_waits_on_its_thread() {
    let updates = doc! {"update": "pets", "updates": [
        {"q": {"_id": 2}, "u": {"$inc": {"n": 1}}}, {"q": {"_id": 1}, "u": {"$inc": {"n": 1}}},
    ]};
    let (server, mut client) = server(4);
    let mut writer = server.client();
    writer.send("zoo", updates.clone(), &[], 0);
    while numbers(&mut client)[1] == Value::Int32(0) {}
    client.ok("admin", within(doc! {"commitTransaction": 1}, false));
    let reply = writer.reply();
    assert_eq!(reply.get("nModified"), Some(&Value::Int32(2)), "{reply}");
    assert_eq!(numbers(&mut client), [2, 1, 0].map(Value::Int32));

    // A single thread is left for the commit.
    let (server, mut client) = self::server(1);
    let reply = server.client().run("zoo", updates);
    let errors = reply.get("writeErrors").and_then(Value::as_array).unwrap_or_default();
    let error = errors.first().and_then(Value::as_map).cloned().unwrap_or_default();
    assert_eq!((error.get("index"), error.get("code")), (Some(&Value::Int32(1)), Some(&Value::Int32(24))), "{reply}");
    client.ok("admin", within(doc! {"commitTransaction": 1}, false));
    assert_eq!(numbers(&mut client), [1, 1, 0].map(Value::Int32));
}

#[test]
fn a_lost_connection_leaves_its_transaction_to_others() {
    let (server, client) = server(1);
    drop(client);
    let mut other = server.client();
    other.ok("zoo", within(add_to(2), false));
    other.ok("admin", within(doc! {"commitTransaction": 1}, false));
    assert_eq!(numbers(&mut other), [1, 1, 0].map(Value::Int32));
}
