//! Limits of connections, the listener for monitors, Unix sockets next to TLS, and the time limit of a handshake.

use crate::common::{Client, Running};
use alluvium::{Binary, Database, Map, Value, doc};
use alluvium_document::bson::document_size;
use alluvium_server::{Config, Server, TlsFiles};
use rcgen::generate_simple_self_signed;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

fn is_served(client: &mut Client) -> bool {
    client.try_run("admin", doc! {"ping": 1}).is_some()
}

#[test]
fn there_are_as_many_connections_as_allowed() {
    let server = Running::with(Config { connections_max: 3, ..Config::default() });
    let mut clients: Vec<Client> = (0..3).map(|_| server.client()).collect();
    assert!(clients.iter_mut().all(is_served));
    assert!(!is_served(&mut server.client()), "a fourth one");
    assert!(clients.iter_mut().all(is_served), "the others are not disturbed");
    // After a connection has ended, another one is accepted.
    drop(clients.pop());
    let found = (0..1000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        is_served(&mut server.client())
    });
    assert!(found);
}

/// The server can store documents of `maxBsonObjectSize`, which `hello` announces, even with the least memory.
#[test]
fn the_largest_document_is_stored_with_the_least_memory() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(8 << 20).open(dir.path().join("db")).unwrap();
    let server = Running::of(&db, Config::default());
    let mut client = server.client();
    let hello = client.ok("admin", doc! {"hello": 1});
    let most = hello.get("maxBsonObjectSize").and_then(Value::as_i64).and_then(|most| usize::try_from(most).ok());
    let mut document = doc! {"_id": 1, "n": 1, "text": ""};
    let room = most.unwrap() - document_size(&document);
    document.insert("text", "x".repeat(room).as_str());
    client.send("shop", doc! {"insert": "pets"}, &[("documents", &[document.clone()])], 0);
    let reply = client.reply();
    assert_eq!(reply.get("n").and_then(Value::as_i64), Some(1), "{:?}", reply.get("writeErrors"));
    let change = doc! {"q": {"_id": 1}, "u": {"$inc": {"n": 1}}};
    let reply = client.ok("shop", doc! {"update": "pets", "updates": [change]});
    assert_eq!(reply.get("nModified").and_then(Value::as_i64), Some(1), "{reply}");
    document.insert("n", 2);
    assert!(client.documents("shop", doc! {"find": "pets"}) == [document.clone()]);
    // The record of the write contains the returned document, and is written together with the new document.
    let lsid = || Map::from([("id", Value::Binary(Binary { subtype: 4, bytes: vec![7; 16] }))]);
    let text = "y".repeat(room);
    for (number, new, change) in [
        (1, true, doc! {"$inc": {"n": 1}}),
        (2, true, doc! {"$set": {"text": (text.as_str())}}),
        (3, false, doc! {"$set": {"text": "z"}}),
    ] {
        let command = doc! {"findAndModify": "pets", "query": {"_id": 1}, "update": (change), "new": new,
        "lsid": (lsid()), "txnNumber": (Value::Int64(number))};
        // A repetition returns the same document from the record.
        let first = client.ok("shop", command.clone());
        let value = first.get("value").and_then(Value::as_map).unwrap();
        assert_eq!(document_size(value), most.unwrap(), "{number}");
        assert!(client.ok("shop", command).get("value") == first.get("value"), "{number}");
    }
    let found = client.documents("shop", doc! {"find": "pets"});
    assert_eq!(found, [doc! {"_id": 1, "n": 3, "text": "z"}]);
}

/// Go's driver 2.10.0 fills messages up to the length that `hello` announces (in its test "bulk write with large
/// messages"). Such a request holds its message and the largest document, decoded, while other requests do the same.
/// The default budget has the least memory for requests.
#[test]
fn the_longest_messages_are_executed() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::builder().memory(256 << 20).open(dir.path().join("db")).unwrap();
    let server = Running::of(&db, Config::default());
    let large =
        |id: i32, bytes: usize| Map::from([("_id", Value::Int32(id)), ("text", Value::from("x".repeat(bytes)))]);
    std::thread::scope(|scope| {
        for client in 0..3 {
            let mut connection = server.client();
            scope.spawn(move || {
                // Of 48,000,000 bytes, less than a kilobyte remains.
                let documents = [(0, 16_777_000), (1, 16_777_000), (2, 14_445_000)].map(|(id, bytes)| {
                    Map::from([("insert", Value::Int32(0)), ("document", Value::Map(large(3 * client + id, bytes)))])
                });
                let spaces = [doc! {"ns": "zoo.pets"}];
                let command = doc! {"bulkWrite": 1, "ordered": true};
                connection.send("admin", command, &[("ops", &documents), ("nsInfo", &spaces)], 0);
                let reply = connection.reply();
                assert_eq!(reply.get("nInserted"), Some(&Value::Int32(3)), "{reply}");
            });
        }
    });
}

/// The header and the body of an HTTP response.
fn get(address: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

#[test]
fn monitors_get_figures_without_a_login() {
    let db = Database::in_memory().unwrap();
    let local: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let config = Config { listen: vec![local], admin_listen: vec![local], ..Config::default() };
    let server = Server::bind(&db, config).unwrap();
    let (address, monitors) = (server.addresses()[0], server.admin_addresses()[0]);
    // A command ends this server.
    let (_kept, stopped) = channel::<()>();
    let thread = std::thread::spawn(move || server.run(move || assert!(stopped.recv().is_err())));
    let mut client = Client::connect(address);
    client.ok("zoo", doc! {"insert": "pets", "documents": [{"_id": 1}]});
    client.ok("admin", doc! {"createUser": "root", "pwd": "secret", "roles": ["root"]});
    client.fails(13, "zoo", doc! {"find": "pets"});
    let (head, body) = get(monitors, "/metrics");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("application/openmetrics-text"), "{head}");
    assert!(body.lines().any(|line| line.starts_with("alluvium_")) && body.ends_with("# EOF\n"), "{body}");
    for path in ["/health", "/ready"] {
        assert!(get(monitors, path).0.starts_with("HTTP/1.1 200"), "{path}");
    }
    assert!(get(monitors, "/others").0.starts_with("HTTP/1.1 404"));
    assert_eq!(client.log_in("admin", "root", "secret"), None);
    client.ok("admin", doc! {"shutdown": 1});
    thread.join().unwrap();
}

/// The files of a self-signed certificate.
#[allow(clippy::disallowed_methods)]
fn tls(dir: &Path) -> TlsFiles {
    let own = generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (dir.join("server.pem"), dir.join("key.pem"));
    std::fs::write(&certificate, own.cert.pem()).unwrap();
    std::fs::write(&key, own.signing_key.serialize_pem()).unwrap();
    TlsFiles { certificate, key: Some(key), authorities: None, requires_client_certificate: false }
}

#[test]
fn a_unix_socket_stays_plain_beside_tls() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("db")).unwrap();
    let path = dir.path().join("alluvium.sock");
    let config = Config { tls: Some(tls(dir.path())), sockets: vec![path.clone()], ..Config::default() };
    let served = Running::of(&db, config);
    let mut plain = Client::new(UnixStream::connect(&path).unwrap());
    assert_eq!(plain.ok("admin", doc! {"ping": 1}).get("ok").and_then(Value::as_f64), Some(1.0));
    assert!(!is_served(&mut served.client()), "a plain connection at the address");
    drop(served);
    assert!(UnixStream::connect(&path).is_err(), "the file ends with the server");
}

#[test]
fn a_handshake_that_takes_too_long_ends_its_connection() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path().join("db")).unwrap();
    let served = Running::of(&db, Config { tls: Some(tls(dir.path())), ..Config::default() });
    let mut silent = TcpStream::connect(served.address).unwrap();
    // Six times the time limit of a handshake.
    silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_eq!(silent.read(&mut [0]).ok(), Some(0), "the server closes it");
}
