//! Attacks with large numbers: of connections, commands, cursors, sessions, and replies that are not read.

use super::{Answer, Attacker, message, receive};
use crate::common::Client;
use alluvium::{Binary, Map, Value, doc};
use std::io::{Read, Write};
use std::time::Duration;

/// Opens three hundred connections at a time.
pub(super) fn connections(attacker: &mut Attacker<'_>) {
    let mut open = Vec::new();
    for _ in 0..300 {
        let Some(mut stream) = attacker.connect() else { break };
        if attacker.rng.u8(..10) == 0 {
            attacker.send(&mut stream, &message("admin", doc! {"hello": 1}));
        } else {
            attacker.tally.attempts += 1;
            attacker.tally.silent += 1;
        }
        open.push(stream);
    }
    std::thread::sleep(Duration::from_millis(20));
}

/// Sends a thousand greetings at once, with long client metadata.
pub(super) fn hellos(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect() else { return };
    let _as_it_was = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let about = "x".repeat(attacker.rng.usize(..20_000));
    let hello = doc! {"hello": 1, "client": {"application": {"name": (about.as_str())}}, "compression": ["zstd"]};
    let one = message("admin", hello);
    let Ok(mut writing) = stream.try_clone() else { return };
    let writer = std::thread::spawn(move || (0..1000).take_while(|_| writing.write_all(&one).is_ok()).count());
    for _ in 0..1000 {
        let answer = receive(&mut stream);
        attacker.note(&answer);
        if !matches!(answer, Answer::Reply(_)) {
            break;
        }
    }
    drop(stream.shutdown(std::net::Shutdown::Both));
    drop(writer.join());
}

/// Guesses passwords of the honest user, and of a user who does not exist.
pub(super) fn guesses(attacker: &mut Attacker<'_>) {
    let Some(stream) = attacker.stage.connect() else { return };
    let user = if attacker.rng.bool() { "stranger" } else { "root" };
    let reply = Client::new(stream).try_log_in("admin", user, "guess");
    attacker.note(&reply.map_or(Answer::Closed, Answer::Reply));
}

/// Opens cursors and does not close them.
pub(super) fn cursors(attacker: &mut Attacker<'_>) {
    let filter = doc! {"n": (attacker.rng.i32(..100))};
    let find = doc! {"find": "many", "filter": (filter), "batchSize": 1};
    let scan = doc! {"aggregate": "many", "pipeline": [{"$sort": {"text": 1}}], "cursor": {"batchSize": 0}};
    let command = if attacker.rng.bool() { find } else { scan };
    attacker.run_as_guest("guests", command);
}

/// Sessions that are used once.
pub(super) fn sessions(attacker: &mut Attacker<'_>) {
    let bytes = attacker.rng.u128(..).to_le_bytes().to_vec();
    let id = Map::from([("id", Value::Binary(Binary { subtype: 4, bytes }))]);
    if attacker.rng.u8(..4) > 0 {
        attacker.run_as_guest("admin", doc! {"ping": 1, "lsid": id});
        return;
    }
    let insert = doc! {"insert": "spare", "documents": [{"a": 1}], "lsid": id, "txnNumber": (Value::Int64(1))};
    attacker.run_as_guest("guests", insert);
}

/// Requests replies of 16 MB and does not read them.
pub(super) fn unread_replies(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect_as_guest() else { return };
    let find = message("guests", doc! {"find": "large", "batchSize": 16});
    for _ in 0..4 {
        if stream.write_all(&find).is_ok() {
            attacker.tally.attempts += 1;
            attacker.tally.silent += 1;
        }
    }
    attacker.hold(stream, 64);
    std::thread::sleep(Duration::from_millis(20));
}

/// Requests replies of 16 MB and reads few bytes of them.
pub(super) fn slow_readers(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect_as_guest() else { return };
    if stream.write_all(&message("guests", doc! {"find": "large", "batchSize": 16})).is_err() {
        return;
    }
    attacker.tally.attempts += 1;
    attacker.tally.silent += 1;
    for _ in 0..100 {
        if attacker.stage.is_over() || matches!(stream.read(&mut [0; 16]), Ok(0)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
