//! `hello` returns the address that a client connected to, or the address that was set for all clients. It also returns
//! the name of the replica set, which is unique to the database.

use crate::common::{Client, Running};
use alluvium::{Database, Map, Value, doc};
use alluvium_server::{Config, Host, Server, SetName};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;

fn text(map: &Map, field: &str) -> String {
    map.get(field).and_then(Value::as_str).unwrap_or_else(|| panic!("no {field} in {map}")).to_owned()
}

fn document(map: &Map, field: &str) -> Map {
    map.get(field).and_then(Value::as_map).unwrap_or_else(|| panic!("no {field} in {map}")).clone()
}

/// The address in a reply to `hello`, which is the same in all fields.
fn address(hello: &Map) -> String {
    let me = text(hello, "me");
    assert_eq!(hello.get("hosts"), Some(&Value::Array(vec![Value::from(me.as_str())])));
    assert_eq!(text(hello, "primary"), me);
    me
}

fn hello(address: SocketAddr) -> Map {
    Client::connect(address).ok("admin", doc! {"hello": 1})
}

fn open(listen: &[&str]) -> Config {
    let listen = listen.iter().map(|address| address.parse().unwrap()).collect();
    Config { listen, authentication: false, ..Config::default() }
}

fn host(text: &str) -> Option<Host> {
    Some(text.parse().unwrap())
}

#[test]
fn each_client_is_given_the_address_at_which_it_arrived() {
    let server = Running::with(open(&["0.0.0.0:0", "127.0.0.1:0"]));
    let ports: Vec<u16> = server.addresses.iter().map(SocketAddr::port).collect();
    for (ip, port) in [("127.0.0.1", ports[0]), ("127.0.0.2", ports[0]), ("127.0.0.1", ports[1])] {
        let reached = format!("{ip}:{port}");
        assert_eq!(address(&hello(reached.parse().unwrap())), reached);
    }
}

/// An IPv4 address that connects to an IPv6 listener is reported as an IPv4 address.
#[test]
fn an_address_of_ipv6_has_brackets() {
    let Ok(probe) = std::net::TcpListener::bind("[::1]:0") else {
        return println!("left out: this machine has no IPv6");
    };
    drop(probe);
    let server = Running::with(open(&["[::]:0"]));
    let port = server.address.port();
    for reached in [format!("[::1]:{port}"), format!("127.0.0.1:{port}")] {
        assert_eq!(address(&hello(reached.parse().unwrap())), reached);
    }
}

#[test]
fn a_client_of_a_socket_is_given_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sock");
    let config = Config { sockets: vec![path.clone()], ..Config::default() };
    let server = Running::with(config);
    let mut client = Client::new(UnixStream::connect(&path).unwrap());
    assert_eq!(address(&client.ok("admin", doc! {"hello": 1})), path.display().to_string());
    assert_eq!(address(&hello(server.address)), server.address.to_string());
}

#[test]
fn an_advertised_address_is_for_all_clients() {
    let advertise = host("db.example:27018");
    let server = Running::with(Config { advertise, ..Config::default() });
    assert_eq!(address(&hello(server.address)), "db.example:27018");
    let mut client = server.client();
    let member = |host: &str| doc! {"_id": "rs0", "members": [{"_id": 0, "host": host}]};
    // Clients cannot change settings that were given at the start of the server.
    client.fails(93, "admin", doc! {"replSetInitiate": (member("other.example:1"))});
    client.ok("admin", doc! {"replSetInitiate": (member("db.example:27018"))});
    client.fails(103, "admin", doc! {"replSetReconfig": (member("other.example:1"))});
    assert_eq!(address(&client.ok("admin", doc! {"hello": 1})), "db.example:27018");
}

#[test]
fn a_database_has_a_set_name_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let name = |database: &str| {
        let db = Database::open(dir.path().join(database)).unwrap();
        let name = text(&hello(Running::of(&db, Config::default()).address), "setName");
        db.close().unwrap();
        name
    };
    let first = name("first");
    assert!(first.starts_with("alluvium-") && first.len() == 17, "{first}");
    assert_eq!(name("first"), first);
    assert_ne!(name("second"), first);

    // A database that is restored from a checkpoint is another server. Clients of the first server are not sent to it.
    let db = Database::open(dir.path().join("first")).unwrap();
    let initiate = doc! {"replSetInitiate": {"_id": "rs0", "members": [{"_id": 0, "host": "db.example:1"}]}};
    Running::of(&db, Config::default()).client().ok("admin", initiate);
    db.checkpoint(dir.path().join("checkpoint")).run().unwrap();
    db.close().unwrap();
    assert_eq!(name("first"), "rs0");
    alluvium::backup::restore(dir.path().join("checkpoint"), dir.path().join("restored")).run().unwrap();
    let restored = Database::open(dir.path().join("restored")).unwrap();
    let server = Running::of(&restored, Config::default());
    let answer = hello(server.address);
    assert_eq!(address(&answer), server.address.to_string());
    assert!(text(&answer, "setName").starts_with("alluvium-") && text(&answer, "setName") != first, "{answer}");
    // The restored server can be given a name, too.
    server.client().ok("admin", doc! {"replSetInitiate": {"_id": "rs1", "members": [{"_id": 0, "host": "b.example"}]}});
    assert_eq!(address(&hello(server.address)), "b.example:27017");
}

// long: one set, from its first configuration to the next start
#[test]
fn a_set_is_initiated_once_and_changed_by_higher_versions() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path()).unwrap();
    let server = Running::of(&db, Config::default());
    let mut client = server.client();
    let before = client.ok("admin", doc! {"hello": 1});
    for (code, config) in [
        (93, doc! {"members": [{"_id": 0, "host": "a:1"}]}),
        (93, doc! {"_id": "", "members": [{"_id": 0, "host": "a:1"}]}),
        (93, doc! {"_id": "rs0"}),
        (93, doc! {"_id": "rs0", "members": []}),
        (93, doc! {"_id": "rs0", "members": [{"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"}]}),
        (93, doc! {"_id": "rs0", "members": [{"_id": 0}]}),
        (93, doc! {"_id": "rs0", "members": [{"_id": 0, "host": "0.0.0.0:27017"}]}),
        (93, doc! {"_id": "rs0", "members": [{"_id": 0, "host": "a:1", "priority": 0}]}),
        (93, doc! {"_id": "rs0", "members": [{"_id": 0, "host": "a:1", "hidden": true}]}),
        (93, doc! {"_id": "rs0", "version": 2, "members": [{"_id": 0, "host": "a:1"}]}),
    ] {
        client.fails(code, "admin", doc! {"replSetInitiate": (config)});
    }
    let several = doc! {"_id": "rs0", "members": [{"_id": 0, "host": "a:1"}, {"_id": 1, "host": "b:1"}]};
    assert!(text(&client.fails(93, "admin", doc! {"replSetInitiate": (several)}), "errmsg").contains("a:1, b:1"));
    assert_eq!(client.ok("admin", doc! {"hello": 1}).get("setName"), before.get("setName"));

    let config =
        |version: i32, host: &str| doc! {"_id": "rs0", "version": version, "members": [{"_id": 0, "host": host}]};
    client.ok("admin", doc! {"replSetInitiate": (config(1, "a.example"))});
    client.fails(23, "admin", doc! {"replSetInitiate": {}});
    client.fails(23, "admin", doc! {"replSetInitiate": (config(1, "a.example"))});
    client.fails(103, "admin", doc! {"replSetReconfig": (config(1, "b.example:5"))});
    client.fails(
        103,
        "admin",
        doc! {"replSetReconfig": {"_id": "rs1", "version": 2, "members": [{"_id": 0, "host": "a"}]}},
    );
    client.fails(103, "admin", doc! {"replSetReconfig": {"_id": "rs0", "version": 2, "members": [{}, {}]}});
    client.ok("admin", doc! {"replSetReconfig": (config(2, "b.example:5"))});
    client.ok("admin", doc! {"replSetReconfig": (config(1, "c.example:5")), "force": true});

    let expected = |client: &mut Client| {
        let hello = client.ok("admin", doc! {"hello": 1});
        assert_eq!((text(&hello, "setName").as_str(), hello.get("setVersion")), ("rs0", Some(&Value::Int32(3))));
        assert_eq!(address(&hello), "c.example:5");
        let config = document(&client.ok("admin", doc! {"replSetGetConfig": 1}), "config");
        assert!(
            config.to_string().contains(r#""host":"c.example:5""#) && config.to_string().contains(r#""version":3"#)
        );
        let status = client.ok("admin", doc! {"replSetGetStatus": 1}).to_string();
        assert!(status.contains(r#""set":"rs0""#) && status.contains(r#""name":"c.example:5""#), "{status}");
        let status = client.ok("admin", doc! {"serverStatus": 1});
        assert_eq!(text(&status, "host"), "c.example:5");
        assert_eq!(address(&document(&status, "repl")), "c.example:5");
        assert_eq!(text(&document(&status, "repl"), "setName"), "rs0");
        let arguments = client.ok("admin", doc! {"getCmdLineOpts": 1}).to_string();
        assert!(arguments.contains(r#""replSet":"rs0""#), "{arguments}");
        hello
    };
    let changed = expected(&mut client);
    // Drivers compare these fields: the answer has changed, and the process is the same.
    let version = |hello: &Map| document(hello, "topologyVersion");
    assert_eq!(version(&changed).get("processId"), version(&before).get("processId"));
    assert_eq!(version(&changed).get("counter"), Some(&Value::Int64(3)));
    // A client that knows an older answer gets the current answer at once.
    let old = doc! {"hello": 1, "topologyVersion": (version(&before)), "maxAwaitTimeMS": 100_000};
    assert_eq!(text(&client.ok("admin", old), "setName"), "rs0");
    drop((client, server));
    db.close().unwrap();

    let db = Database::open(dir.path()).unwrap();
    let server = Running::of(&db, Config::default());
    let later = expected(&mut server.client());
    assert!(later.get("electionId").unwrap().to_string() > changed.get("electionId").unwrap().to_string());
    server.client().fails(23, "admin", doc! {"replSetInitiate": {}});
}

/// The client sends what `rs.reconfig(rs.conf())` sends, with another setting changed.
#[test]
fn a_configuration_that_is_sent_back_ties_no_other_client() {
    let server = Running::with(open(&["0.0.0.0:0"]));
    let mut client = server.client();
    let mut config = document(&client.ok("admin", doc! {"replSetGetConfig": 1}), "config");
    config.insert("version", 2);
    client.ok("admin", doc! {"replSetReconfig": (config)});
    let other: SocketAddr = format!("127.0.0.2:{}", server.address.port()).parse().unwrap();
    let hello = hello(other);
    assert_eq!((address(&hello), hello.get("setVersion")), (other.to_string(), Some(&Value::Int32(2))));
}

#[test]
fn a_name_of_the_settings_is_the_name() {
    let replica_set = Some(SetName::Given("rs0".to_owned()));
    let server = Running::with(Config { replica_set, ..Config::default() });
    let mut client = server.client();
    assert_eq!(text(&hello(server.address), "setName"), "rs0");
    client.fails(93, "admin", doc! {"replSetInitiate": {"_id": "rs1", "members": [{"_id": 0, "host": "a:1"}]}});
    client.ok("admin", doc! {"replSetInitiate": {}});
    assert_eq!(address(&hello(server.address)), server.address.to_string());
    let alone = Running::with(Config { replica_set: None, ..Config::default() });
    alone.client().fails(76, "admin", doc! {"replSetInitiate": {}});
    alone.client().fails(76, "admin", doc! {"replSetReconfig": {}});
    assert!(!hello(alone.address).contains("setName"));
}

#[test]
fn an_address_that_is_listed_twice_is_one() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let twice = format!("127.0.0.1:{port}");
    for listen in [vec![twice.clone(), twice.clone()], vec![twice, format!("0.0.0.0:{port}")]] {
        let listen: Vec<&str> = listen.iter().map(String::as_str).collect();
        let db = Database::in_memory().unwrap();
        assert_eq!(Server::bind(&db, open(&listen)).unwrap().addresses().len(), 1, "{listen:?}");
    }
}
