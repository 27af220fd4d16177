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

/// A query that takes half a minute and more, of a collection with 20,000 documents.
fn long_query() -> Map {
    // Ten thousand steps for each document.
    let reduce = doc! {"input": {"$range": [0, 10_000]}, "initialValue": "$_id", "in": {"$add": ["$$value", 1]}};
    let filter = doc! {"$expr": {"$lt": [{"$reduce": (Value::Map(reduce))}, 0]}};
    doc! {"find": "pets", "filter": (Value::Map(filter))}
}

fn with_pets() -> Running {
    let server = Running::new();
    let pets = server.db.collection("shop.pets");
    pets.insert_many((0..20_000).map(|n| doc! {"_id": n})).expect("space");
    server
}

#[test]
fn the_work_of_a_client_that_is_gone_ends() {
    let server = with_pets();
    let mut other = server.client();
    // Again and again: whether others are served must not depend on which thread runs what.
    for _ in 0..8 {
        let mut client = server.client();
        client.send("shop", long_query(), &[], 0);
        wait_until("it begins", || running(&mut other) == 1);
        drop(client);
        wait_until("it ends", || running(&mut other) == 0);
    }
}

#[test]
fn the_work_of_a_busy_client_that_is_gone_ends() {
    let server = with_pets();
    let mut other = server.client();
    for _ in 0..4 {
        let mut client = server.client();
        become_busy(&mut client);
        client.send("shop", long_query(), &[], 0);
        wait_until("it begins", || running(&mut other) == 1);
        // Bytes of a further request do not hide the end.
        client.send_bytes(&[100, 0, 0, 0, 1]);
        drop(client);
        wait_until("it ends", || running(&mut other) == 0);
    }
}

/// Sends requests until the connection has a thread of its own.
fn become_busy(client: &mut Client) {
    let threaded = |client: &mut Client| {
        let status = client.ok("admin", doc! {"serverStatus": 1});
        let connections = status.get("connections").and_then(Value::as_map).cloned().expect("connections");
        connections.get("threaded").and_then(Value::as_i64).expect("a count")
    };
    for requests in 0..10_000 {
        if threaded(client) > 0 && requests > 10 {
            return;
        }
    }
    panic!("no connection has a thread");
}

#[test]
fn a_busy_client_that_pauses_within_a_message_is_answered() {
    let server = Running::new();
    let mut client = server.client();
    let message = |id: i32| {
        let payload = payload(0, &ping());
        let words = [payload.len() as i32 + 16, id, 0, OP_MSG].map(i32::to_le_bytes).concat();
        [words, payload].concat()
    };
    for pause in [0, 5, 15, 25, 60] {
        become_busy(&mut client);
        let bytes = message(client.next_number());
        for part in bytes.chunks(bytes.len().div_ceil(3)) {
            client.send_bytes(part);
            std::thread::sleep(Duration::from_millis(pause));
        }
        assert_eq!(client.reply().get("ok").and_then(Value::as_f64), Some(1.0));
    }
}

#[test]
fn a_busy_client_that_does_not_read_holds_no_one_up() {
    let server = Running::with(alluvium_server::Config { threads: 1, ..Default::default() });
    let mut other = server.client();
    let text = "x".repeat(1 << 20);
    for n in 0..8 {
        other.ok("shop", doc! {"insert": "large", "documents": [{"_id": n, "text": (text.as_str())}]});
    }
    let mut client = server.client();
    become_busy(&mut client);
    // More than the buffers of a socket have room for.
    for _ in 0..4 {
        client.send("shop", doc! {"find": "large"}, &[], 0);
    }
    for _ in 0..100 {
        other.ok("admin", doc! {"ping": 1});
    }
}

#[test]
fn a_server_ends_while_clients_are_busy() {
    let server = Running::new();
    let began = std::time::Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let mut client = server.client();
            become_busy(&mut client);
            scope.spawn(move || while client.try_run("admin", doc! {"ping": 1}).is_some() {});
        }
        drop(server);
    });
    assert!(began.elapsed() < Duration::from_secs(9), "it did not wait for its clients");
}
