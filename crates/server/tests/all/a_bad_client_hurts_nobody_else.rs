//! Clients that send garbage, half messages or wrong checksums, that vanish, or stay silent: their connections end, the
//! work that they began ends, and others are served.

use crate::common::{Client, OP_MSG, Running};
use alluvium::{Map, Value, doc};
use std::time::Duration;

/// A command as the payload of `OP_MSG`.
fn payload(flags: u32, command: &Map) -> Vec<u8> {
    let mut payload = flags.to_le_bytes().to_vec();
    payload.push(0);
    alluvium_document::bson::encode_document(command, &mut payload).expect("BSON");
    payload
}

fn ping() -> Map {
    doc! {"ping": 1, "$db": "admin"}
}

/// The number of operations that run, without the one that asks.
fn running(client: &mut Client) -> usize {
    let reply = client.ok("admin", doc! {"currentOp": 1});
    let list = reply.get("inprog").and_then(Value::as_array).expect("a list");
    let is_other = |operation: &&Value| {
        let command = operation.as_map().and_then(|map| map.get("command")).and_then(Value::as_map);
        !command.is_some_and(|command| command.contains("currentOp"))
    };
    list.iter().filter(is_other).count()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    for _ in 0..3000 {
        if done() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never happened: {what}");
}

#[test]
fn what_is_no_message_ends_its_connection() {
    let server = Running::new();
    let mut other = server.client();
    let header = |length: i32, op_code: i32| {
        let words = [length, 1, 0, op_code];
        words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>()
    };
    let broken: Vec<Vec<u8>> = vec![
        header(0, OP_MSG),
        header(15, OP_MSG),
        header(-1, OP_MSG),
        header(48_000_001, OP_MSG),
        header(100, 9999),
        [header(30, 1), vec![0; 14]].concat(),
        [header(20, OP_MSG), vec![0xff; 4]].concat(),
        [header(26, OP_MSG), vec![0, 0, 0, 0, 7, 5, 0, 0, 0, 0]].concat(),
        [header(30, 2012), vec![0; 14]].concat(),
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
    ];
    for bytes in broken {
        let mut client = server.client();
        client.send_bytes(&bytes);
        assert!(client.is_closed(), "{bytes:?}");
        other.ok("admin", doc! {"ping": 1});
    }
}

#[test]
fn a_wrong_checksum_ends_its_connection() {
    let server = Running::new();
    let mut client = server.client();
    let mut with_checksum = payload(1, &ping());
    with_checksum.extend_from_slice(&[1, 2, 3, 4]);
    client.send_raw(OP_MSG, &with_checksum);
    assert!(client.is_closed());
}

#[test]
fn a_damaged_document_is_answered_and_the_connection_continues() {
    let server = Running::new();
    let mut client = server.client();
    let mut damaged = payload(0, &ping());
    damaged[9] = 0x7e; // The type of `ping`.
    client.send_raw(OP_MSG, &damaged);
    assert_eq!(client.reply().get("code"), Some(&Value::Int32(22)));
    client.ok("admin", doc! {"ping": 1});
}

#[test]
fn clients_that_are_silent_or_vanish_hold_nothing() {
    let server = Running::new();
    let mut other = server.client();
    let silent: Vec<Client> = (0..300)
        .map(|at| {
            let mut client = server.client();
            // Half a header, or a header and the begin of a long message.
            let header = [48_000_000_i32, 1, 0, OP_MSG].map(i32::to_le_bytes).concat();
            client.send_bytes(&header[..if at % 2 == 0 { 7 } else { 16 }]);
            client
        })
        .collect();
    for n in 0..50 {
        other.ok("shop", doc! {"insert": "pets", "documents": [{"_id": n}]});
    }
    let open = |client: &mut Client| {
        let status = client.ok("admin", doc! {"serverStatus": 1});
        let connections = status.get("connections").and_then(Value::as_map).cloned().expect("connections");
        connections.get("current").and_then(Value::as_i64).expect("a count")
    };
    wait_until("all are accepted", || open(&mut other) == 301);
    drop(silent);
    wait_until("they are gone", || open(&mut other) == 1);
}

#[test]
fn the_work_of_a_client_that_is_gone_ends() {
    let server = Running::new();
    let pets = server.db.collection("shop.pets");
    pets.insert_many((0..20_000).map(|n| doc! {"_id": n})).expect("space");
    let mut other = server.client();
    // Again and again: whether others are served must not depend on which thread runs what.
    for _ in 0..8 {
        let mut client = server.client();
        // Ten thousand steps for each document: half a minute and more, where a second is enough to notice.
        let reduce = doc! {"input": {"$range": [0, 10_000]}, "initialValue": "$_id", "in": {"$add": ["$$value", 1]}};
        let filter = doc! {"$expr": {"$lt": [{"$reduce": (Value::Map(reduce))}, 0]}};
        client.send("shop", doc! {"find": "pets", "filter": (Value::Map(filter))}, &[], 0);
        wait_until("it begins", || running(&mut other) == 1);
        drop(client);
        wait_until("it ends", || running(&mut other) == 0);
    }
}
