//! The server is killed with -9, and its clients repeat unacknowledged writes with the same numbers, as drivers do.
//! After a restart, every write has been applied exactly once, and no acknowledged write is lost.

use crate::common::Place;
use crate::served::{Client, KilledServer, send};
use alluvium::{Binary, Map, Value, doc};
use std::net::TcpStream;

const CLIENTS: usize = 4;
const KILLS: usize = 4;
/// The number of acknowledged writes between two kills.
const WRITES_BETWEEN: u64 = 150;

/// One statement, with the client's session and its number.
fn statement(client: usize, number: i64) -> Map {
    let mut body = match number % 4 {
        0 => doc! {"update": "counters", "updates": [{"q": {"_id": client as i64}, "u": {"$inc": {"n": 1}}}]},
        1 => doc! {"insert": "log", "documents": [{"client": client as i64, "number": number}]},
        2 => {
            doc! {"findAndModify": "counters", "query": {"_id": client as i64}, "update": {"$inc": {"m": 1}}, "new": true}
        }
        _ => doc! {"update": "counters", "updates": [{"q": {"_id": "all"}, "u": {"$inc": {"n": 1}}, "upsert": true}]},
    };
    let session = Binary { subtype: 4, bytes: vec![client as u8 + 1; 16] };
    body.push("lsid", doc! {"id": Value::Binary(session)});
    body.push("txnNumber", Value::Int64(number));
    body
}

/// Sends writes until the end, each with its own number, and repeats each until it is acknowledged. Returns the number
/// of writes.
fn client(server: &KilledServer<'_>, client: usize) -> i64 {
    let mut number = 0;
    let mut connection = server.connection();
    while !server.is_done() {
        let reply = loop {
            // Every third write is first sent on a connection that is closed before it gets the reply.
            if number % 3 == 0
                && let Ok(mut lost) = TcpStream::connect(("127.0.0.1", server.port()))
            {
                send(&mut lost, statement(client, number));
            }
            if let Some(reply) = connection.once(statement(client, number)) {
                break reply;
            }
        };
        assert_eq!(reply.get("ok").and_then(Value::as_f64), Some(1.0), "{reply:?}");
        assert!(reply.get("writeErrors").is_none(), "{reply:?}");
        if number % 4 == 2 {
            let m = reply.get("value").and_then(Value::as_map).and_then(|value| value.get("m")).and_then(Value::as_i64);
            assert_eq!(m, Some(number / 4 + 1), "the document after this write, also of a repetition");
        }
        number += 1;
        server.note_call();
    }
    number
}

#[test]
fn a_killed_server_applies_retried_writes_once() {
    let place = Place::new();
    let server = KilledServer::start(&place);
    for client in 0..CLIENTS {
        let insert = doc! {"insert": "counters", "documents": [{"_id": client as i64, "n": 0, "m": 0}]};
        server.connection().repeated(&insert);
    }
    let shared = &server;
    let clients = (0..CLIENTS).map(|at| Box::new(move || client(shared, at)) as Client<'_, _>).collect();
    let counts = server.over_kills(KILLS, WRITES_BETWEEN, clients);
    server.end();
    let of_kind = |count: i64, kind: i64| (0..count).filter(|number| number % 4 == kind).count();
    for (client, count) in counts.iter().enumerate() {
        let text = place.json(&["get", "db", "shop.counters", &client.to_string()]);
        assert_eq!(text["n"], of_kind(*count, 0), "client {client}: {text}");
        assert_eq!(text["m"], of_kind(*count, 2), "client {client}: {text}");
        let filter = format!(r#"{{"client": {client}}}"#);
        assert_eq!(place.good(&["count", "db", "shop.log", &filter]).trim(), of_kind(*count, 1).to_string());
    }
    let all = place.json(&["get", "db", "shop.counters", "all"]);
    assert_eq!(all["n"], counts.iter().map(|count| of_kind(*count, 3)).sum::<usize>());
}
