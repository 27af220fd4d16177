//! SIGINT and SIGTERM end a server, and all acknowledged writes are kept; SIGHUP makes it open its audit log again.

use crate::common::{Place, signal};
use crate::served::{run, serve_with};
use alluvium::doc;
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn insert(stream: &mut TcpStream, id: i32) {
    let reply = run(stream, doc! {"insert": "pets", "documents": [{"_id": id}]}).expect("a reply");
    assert_eq!(reply.get("n").and_then(alluvium::Value::as_i64), Some(1), "{reply}");
}

#[test]
fn a_server_ends_by_signals_and_keeps_what_it_acknowledged() {
    let place = Place::new();
    for (at, name) in ["INT", "TERM"].into_iter().enumerate() {
        let (mut server, port) = serve_with(&place, &[]);
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        insert(&mut stream, at as i32);
        signal(&server, name);
        // An idle connection does not keep a server from ending.
        assert_eq!(server.wait().expect("a child").code(), Some(0), "{name}");
        assert!(run(&mut stream, doc! {"ping": 1}).is_none(), "the connection has ended");
        assert_eq!(place.good(&["count", "db", "shop.pets"]).trim(), (at + 1).to_string(), "after {name}");
    }
}

#[test]
fn sighup_opens_the_audit_log_again() {
    let place = Place::new();
    let (mut server, port) = serve_with(&place, &["--audit", "audit.jsonl"]);
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    // An administrative command, which is written to the audit log.
    let mut note = |role: &str| {
        let body = doc! {"createRole": role, "privileges": [], "roles": []};
        let reply = run(&mut stream, body).expect("a reply");
        assert_eq!(reply.get("ok").and_then(alluvium::Value::as_f64), Some(1.0), "{reply}");
    };
    note("before");
    std::fs::rename(place.path("audit.jsonl"), place.path("old.jsonl")).expect("a file");
    note("between");
    signal(&server, "HUP");
    let began = Instant::now();
    while !place.path("audit.jsonl").exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the file is not opened again");
        std::thread::sleep(Duration::from_millis(10));
    }
    note("after");
    let (old, new) = (place.read("old.jsonl"), place.read("audit.jsonl"));
    assert!(old.contains("before") && old.contains("between") && !old.contains("after"), "{old}");
    assert!(new.contains("after") && new.lines().count() == 1, "{new}");
    signal(&server, "TERM");
    server.wait().expect("a child");
}
