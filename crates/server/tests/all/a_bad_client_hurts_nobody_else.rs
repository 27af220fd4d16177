//! Clients that send garbage, half messages or wrong checksums, that disconnect, or that stay silent: their connections
//! end, the work that they have begun ends, and other clients are served.

use crate::common::{Client, OP_MSG, Running};
use alluvium::{Map, Value, doc};
use alluvium_server::Config;
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

/// The number of running operations, without this request itself.
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
            // Half a header, or a header and the beginning of a long message.
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

/// A query that takes at least half a minute on a collection with 20,000 documents.
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
    // Repeated, because the result must not depend on the threads that run the requests.
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
        // Further bytes of a request do not hide the end of the connection.
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
    // More bytes than the socket buffers hold.
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

/// A server with the users `root` and `reader`, whose passwords are their names.
fn with_users(config: Config) -> Running {
    let server = Running::with(config);
    let mut admin = server.client();
    admin.ok("admin", doc! {"createUser": "root", "pwd": "root", "roles": ["root"]});
    assert_eq!(admin.log_in("admin", "root", "root"), None);
    admin.ok("admin", doc! {"createUser": "reader", "pwd": "reader", "roles": ["readAnyDatabase"]});
    server
}

fn logged_in(server: &Running, user: &str) -> Client {
    let mut client = server.client();
    assert_eq!(client.log_in("admin", user, user), None);
    client
}

/// A command with a string of this length.
fn padded(bytes: usize) -> Map {
    doc! {"ping": 1, "$db": "admin", "comment": ("x".repeat(bytes))}
}

/// A compressed message with this content, which declares this length.
fn compressed(declared: i32, content: &[u8]) -> Vec<u8> {
    [&OP_MSG.to_le_bytes(), &declared.to_le_bytes(), &[2_u8][..], content].concat()
}

const OP_COMPRESSED: i32 = 2012;

#[test]
fn before_a_login_messages_are_small() {
    let server = with_users(Config::default());
    // A message is refused by its length, even before all of it has arrived. A compressed message is also refused by
    // its declared length.
    let mut client = server.client();
    client.send_raw(OP_MSG, &payload(0, &padded(17_000)));
    assert_eq!(client.reply().get("code"), Some(&Value::Int32(13)));
    assert!(client.is_closed());
    for declared in [17_000, 47_000_000] {
        let mut client = server.client();
        client.send_raw(OP_COMPRESSED, &compressed(declared, &[0; 100]));
        assert_eq!(client.reply().get("code"), Some(&Value::Int32(13)));
        assert!(client.is_closed());
    }
    // A small compressed message that declares a wrong length.
    let mut client = server.client();
    client.send_raw(OP_COMPRESSED, &compressed(1000, &[0; 100]));
    assert!(client.is_closed());
    let mut client = server.client();
    client.send_raw(OP_MSG, &payload(0, &padded(15_000)));
    assert_eq!(client.reply().get("ok").and_then(Value::as_f64), Some(1.0));
    assert_eq!(client.log_in("admin", "reader", "reader"), None);
    client.send_raw(OP_MSG, &payload(0, &padded(1_000_000)));
    assert_eq!(client.reply().get("ok").and_then(Value::as_f64), Some(1.0));
}

/// A body of elements of two bytes. Each of them takes 32 bytes of memory when it is decoded.
fn smallest_elements(count: usize) -> Vec<u8> {
    let array = [(count as u32 * 2 + 5).to_le_bytes().to_vec(), [0x0a, 0].repeat(count), vec![0]].concat();
    let mut fields = Vec::new();
    alluvium_document::bson::encode_document(&ping(), &mut fields).expect("BSON");
    let body = [&fields[4..fields.len() - 1], &b"\x04comment\0"[..], &array, &[0]].concat();
    [vec![0; 5], (body.len() as u32 + 4).to_le_bytes().to_vec(), body].concat()
}

#[test]
fn a_request_that_needs_more_memory_than_there_is_for_requests_is_refused() {
    let server = Running::with(Config { request_bytes_max: 32 << 20, ..Default::default() });
    let (mut client, mut other) = (server.client(), server.client());
    for _ in 0..3 {
        client.send_raw(OP_MSG, &smallest_elements(2_000_000));
        let reply = client.reply();
        assert_eq!(reply.get("code"), Some(&Value::Int32(462)), "{reply}");
        assert!(reply.get("errorLabels").is_none(), "it never fits, so drivers are not asked to repeat it");
        other.ok("admin", doc! {"ping": 1});
    }
    // Each request releases its memory. A request that fits is therefore answered every time.
    for _ in 0..10 {
        client.send_raw(OP_MSG, &smallest_elements(400_000));
        assert_eq!(client.reply().get("ok").and_then(Value::as_f64), Some(1.0));
    }
}

#[test]
fn the_fields_of_a_command_are_no_longer_than_a_document() {
    let server = Running::new();
    let mut client = server.client();
    client.send_raw(OP_MSG, &payload(0, &padded(17 << 20)));
    assert_eq!(client.reply().get("code"), Some(&Value::Int32(10334)));
    client.ok("admin", doc! {"ping": 1});
}

#[test]
fn statements_do_not_take_the_memory_of_all_at_once() {
    // Decoded, the statements would take 20 MB.
    let server = Running::with(Config { request_bytes_max: 8 << 20, ..Default::default() });
    let mut client = server.client();
    let statement = |n: i32| doc! {"q": {"_id": n}, "u": {"$set": {"n": n}}, "upsert": true};
    let updates: Vec<Map> = (0..20_000).map(statement).collect();
    client.send("shop", doc! {"update": "pets"}, &[("updates", &updates)], 0);
    let reply = client.reply();
    assert_eq!(reply.get("n"), Some(&Value::Int32(20_000)), "{:?}", reply.get("errmsg"));
    // The statements are in the body, as some drivers send them.
    let updates = updates.into_iter().map(Value::Map).collect();
    let reply = client.ok("shop", doc! {"update": "pets", "updates": (Value::Array(updates))});
    assert_eq!((reply.get("n"), reply.get("nModified")), (Some(&Value::Int32(20_000)), Some(&Value::Int32(0))));
    let deletes: Vec<Map> = (0..20_000).map(|n| doc! {"q": {"_id": n}, "limit": 1}).collect();
    client.send("shop", doc! {"delete": "pets"}, &[("deletes", &deletes)], 0);
    assert_eq!(client.reply().get("n"), Some(&Value::Int32(20_000)));
}

#[test]
fn control_is_answered_while_no_ordinary_request_is() {
    let server = Running::with(Config { threads: 1, ..Default::default() });
    let pets = server.db.collection("shop.pets");
    pets.insert_many((0..20_000).map(|n| doc! {"_id": n})).expect("space");
    let mut other = server.client();
    let mut clients: Vec<Client> = (0..4).map(|_| server.client()).collect();
    clients.iter_mut().for_each(|client| client.send("shop", long_query(), &[], 0));
    wait_until("one runs", || running(&mut other) == 1);
    for command in ["ping", "hello", "isMaster", "serverStatus", "connectionStatus", "startSession"] {
        other.ok("admin", Map::from([(command, Value::Int32(1))]));
    }
    let finds = |other: &mut Client| -> Vec<Value> {
        let reply = other.ok("admin", doc! {"aggregate": 1, "pipeline": [{"$currentOp": {}}], "cursor": {}});
        let batch = reply.get("cursor").and_then(Value::as_map).and_then(|cursor| cursor.get("firstBatch"));
        let all = batch.and_then(Value::as_array).expect("a batch").iter().filter_map(Value::as_map);
        let is_find = |map: &&Map| map.get("command").and_then(Value::as_map).is_some_and(|it| it.contains("find"));
        all.filter(is_find).filter_map(|map| map.get("opid").cloned()).collect()
    };
    for _ in 0..4 {
        wait_until("the next one runs", || !finds(&mut other).is_empty());
        let number = finds(&mut other)[0].clone();
        other.ok("admin", Map::from([("killOp", Value::Int32(1)), ("op", number.clone())]));
        wait_until("it ends", || !finds(&mut other).contains(&number));
    }
    for mut client in clients {
        assert_eq!(client.reply().get("code"), Some(&Value::Int32(11601)));
    }
}

#[test]
fn one_user_does_not_keep_others_from_reading() {
    let server = with_users(Config { threads: 2, ..Default::default() });
    let pets = server.db.collection("shop.pets");
    pets.insert_many((0..20_000).map(|n| doc! {"_id": n})).expect("space");
    let mut root = logged_in(&server, "root");
    let mut readers: Vec<Client> = (0..8).map(|_| logged_in(&server, "reader")).collect();
    readers.iter_mut().for_each(|client| client.send("shop", long_query(), &[], 0));
    wait_until("as many run as one user may", || running(&mut root) == 2);
    for n in 0..20 {
        root.ok("shop", doc! {"find": "pets", "filter": {"_id": n}});
    }
    assert_eq!(running(&mut root), 2);
    drop(readers);
    wait_until("they end", || running(&mut root) == 0);
}

/// A server with 16 documents of this length, and with memory for the replies of one client that reads all documents.
fn with_large_documents(bytes: usize, unread_max: Duration) -> Running {
    let server = Running::with(Config { request_bytes_max: 24 * bytes, unread_max, ..Default::default() });
    let text = "x".repeat(bytes);
    let large = server.db.collection("shop.large");
    large.insert_many((0..16).map(|n| doc! {"_id": n, "text": (text.as_str())})).expect("space");
    server
}

fn ids(documents: &[Map]) -> Vec<i64> {
    documents.iter().filter_map(|document| document.get("_id").and_then(Value::as_i64)).collect()
}

#[test]
fn replies_that_are_not_read_make_those_of_others_smaller() {
    let server = with_large_documents(1 << 20, Duration::from_secs(3600));
    let mut silent = server.client();
    silent.send("shop", doc! {"find": "large"}, &[], 0);
    let mut other = server.client();
    wait_until("little memory is left", || {
        let reply = other.ok("shop", doc! {"find": "large", "batchSize": 16});
        let cursor = reply.get("cursor").and_then(Value::as_map).expect("a cursor");
        cursor.get("firstBatch").and_then(Value::as_array).is_some_and(|batch| batch.len() < 16)
    });
    // All documents are still returned, in more batches. The same holds with a limit.
    assert_eq!(ids(&other.documents("shop", doc! {"find": "large"})), (0..16).collect::<Vec<_>>());
    assert_eq!(ids(&other.documents("shop", doc! {"find": "large", "limit": 12})), (0..12).collect::<Vec<_>>());
}

#[test]
fn a_client_that_does_not_read_loses_its_connection_while_memory_lacks() {
    let server = with_large_documents(300_000, Duration::from_millis(100));
    let mut silent: Vec<Client> = (0..6).map(|_| server.client()).collect();
    // More bytes than the buffers of the system hold.
    for _ in 0..8 {
        silent.iter_mut().for_each(|client| client.send("shop", doc! {"find": "large"}, &[], 0));
    }
    let mut other = server.client();
    let batch = |reply: &Map| {
        let cursor = reply.get("cursor").and_then(Value::as_map).expect("a cursor");
        cursor.get("firstBatch").and_then(Value::as_array).map_or(0, <[Value]>::len)
    };
    wait_until("little memory is left", || batch(&other.ok("shop", doc! {"find": "large", "batchSize": 16})) < 16);
    // A batch that may not be split waits until the connection of a silent client is closed.
    wait_until("a silent client has lost its connection", || {
        let whole = other.ok("shop", doc! {"find": "large", "singleBatch": true, "batchSize": 16});
        assert_eq!(batch(&whole), 16);
        let status = other.ok("admin", doc! {"serverStatus": 1});
        let connections = status.get("connections").and_then(Value::as_map).cloned().expect("connections");
        connections.get("current").and_then(Value::as_i64).expect("a count") < 7
    });
}

#[test]
fn a_limit_is_reached_by_more_than_one_batch() {
    let server = Running::new();
    let text = "x".repeat(1 << 20);
    let large = server.db.collection("shop.large");
    large.insert_many((0..24).map(|n| doc! {"_id": n, "text": (text.as_str())})).expect("space");
    let found = server.client().documents("shop", doc! {"find": "large", "limit": 20});
    assert_eq!(ids(&found), (0..20).collect::<Vec<_>>());
}

#[test]
fn a_reader_of_many_snapshots_keeps_nobody_from_reading() {
    let server = with_users(Config::default());
    let pets = server.db.collection("shop.pets");
    let (mut root, mut reader) = (logged_in(&server, "root"), logged_in(&server, "reader"));
    let read = || doc! {"find": "pets", "filter": {"_id": 0}, "readConcern": {"level": "snapshot"}};
    let at = |reply: &Map| reply.get("cursor").and_then(Value::as_map).and_then(|it| it.get("atClusterTime")).cloned();
    pets.put(0, doc! {"_id": 0}).expect("space");
    let first = at(&root.ok("shop", read())).expect("a time");
    for n in 1..1100 {
        pets.put(n, doc! {"_id": n}).expect("space");
        reader.ok("shop", read());
    }
    root.ok("shop", read());
    let again = Map::from([("level", Value::from("snapshot")), ("atClusterTime", first)]);
    root.ok("shop", doc! {"find": "pets", "readConcern": (Value::Map(again))});
}
