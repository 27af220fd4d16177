//! Attacks with invalid or unusual bytes in messages.

use super::{Attacker, framed, message};
use alluvium::{Map, Value, doc};
use alluvium_wire::compression::{Compressor, compress};
use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;

const OP_MSG: i32 = 2013;

/// Commands that are sent damaged.
fn commands() -> Vec<Map> {
    vec![
        doc! {"hello": 1, "client": {"driver": {"name": "x", "version": "1"}}, "compression": ["zstd"]},
        doc! {"ping": 1, "lsid": {"id": 1}},
        doc! {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": "biwsbj1hLHI9Yg==", "options": {}},
        doc! {"find": "many", "filter": {"n": {"$in": [1, 2, {"$regex": "a.b"}]}}, "limit": 3},
        doc! {"insert": "spare", "documents": [{"a": 1, "b": [1, "x", {"c": null}]}], "ordered": true},
        doc! {"update": "spare", "updates": [{"q": {"_id": 1}, "u": {"$set": {"a.b": 1}}, "upsert": true}]},
        doc! {"delete": "spare", "deletes": [{"q": {"a": {"$gt": 5.5}}, "limit": 1}]},
        doc! {"aggregate": "many", "pipeline": [{"$match": {"n": 7}}, {"$group": {"_id": "$n"}}], "cursor": {}},
        doc! {"findAndModify": "spare", "query": {"a": 1}, "update": {"$inc": {"n": 1}}, "new": true},
        doc! {"createIndexes": "spare", "indexes": [{"key": {"a": 1}, "name": "a_1"}]},
        doc! {"getMore": (Value::Int64(12345)), "collection": "many"},
        doc! {"explain": {"find": "many", "filter": {}}, "verbosity": "queryPlanner"},
        doc! {"bulkWrite": 1, "ops": [{"insert": 0, "document": {}}], "nsInfo": [{"ns": "guests.spare"}]},
        doc! {"killCursors": "many", "cursors": [(Value::Int64(1))]},
        doc! {"listCollections": 1, "filter": {"name": "x"}},
    ]
}

/// Changes some bytes of a message.
fn damage(message: &mut Vec<u8>, rng: &mut fastrand::Rng) {
    for _ in 0..rng.usize(1..6) {
        let at = rng.usize(..message.len().max(1));
        let Some(byte) = message.get_mut(at) else { return };
        match rng.u8(..7) {
            0 => *byte ^= 1 << rng.u8(..8),
            1 => *byte = [0, 1, 0x7f, 0x80, 0xff][rng.usize(..5)],
            2 => drop(message.drain(at..(at + rng.usize(..9)).min(message.len()))),
            3 => {
                let copy = message[at..(at + rng.usize(..64)).min(message.len())].to_vec();
                drop(message.splice(at..at, copy));
            }
            4 => drop(message.splice(at..at, (0..rng.usize(..9)).map(|_| rng.u8(..)))),
            // A length or a number at the limits of its type.
            5 => {
                let word = [0, 1, -1, 4, 5, i32::MAX, i32::MIN, 16 << 20, 48_000_000][rng.usize(..9)];
                message.iter_mut().skip(at).zip(word.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            }
            _ => message.truncate(at),
        }
    }
}

/// Valid messages with some bytes changed. In half of them, the length in the header is right.
pub(super) fn mutations(attacker: &mut Attacker<'_>) {
    // A login takes as much time as a hundred messages, and is therefore rare.
    let is_guest = attacker.rng.u8(..8) == 0;
    let stream = if is_guest { attacker.connect_as_guest() } else { attacker.connect() };
    let Some(mut stream) = stream else { return };
    for _ in 0..100 {
        let all = commands();
        let command = all[attacker.rng.usize(..all.len())].clone();
        let mut message = message("guests", command);
        damage(&mut message, &mut attacker.rng);
        if attacker.rng.bool() && message.len() >= 4 {
            let length = u32::try_from(message.len()).unwrap_or_default();
            message[..4].copy_from_slice(&length.to_le_bytes());
        }
        if !attacker.send(&mut stream, &message) || attacker.stage.is_over() {
            return;
        }
    }
}

/// Messages with wrong lengths.
pub(super) fn lengths(attacker: &mut Attacker<'_>) {
    let ping = message("admin", doc! {"ping": 1});
    let with = |at: usize, word: i32| {
        let mut changed = ping.clone();
        changed[at..at + 4].copy_from_slice(&word.to_le_bytes());
        changed
    };
    let section = |length: i32| {
        let mut payload = vec![0, 0, 0, 0, 1];
        payload.extend_from_slice(&length.to_le_bytes());
        payload.extend_from_slice(b"documents\0");
        framed(OP_MSG, &payload)
    };
    let text = |length: i32| {
        let mut body = ping.clone();
        // The length of the last string, `admin`.
        let at = body.len() - 11;
        body[at..at + 4].copy_from_slice(&length.to_le_bytes());
        body
    };
    let words = [0, 1, 4, 5, 15, 16, 17, 47_999_999, 48_000_000, 48_000_001, i32::MAX, -1, i32::MIN];
    for word in words {
        for message in [with(0, word), with(21, word), section(word), text(word)] {
            let Some(mut stream) = attacker.connect() else { return };
            attacker.send(&mut stream, &message);
        }
    }
}

/// A body of 48 MB, made of elements of two bytes, which compresses to some kilobytes.
static BOMBS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let elements = 23_000_000;
    let document = |inner: &[u8], kind: u8| {
        // `{a: inner}`.
        let mut body = vec![0; 4];
        body.extend_from_slice(&[kind, b'a', 0]);
        body.extend_from_slice(inner);
        body.push(0);
        let length = u32::try_from(body.len()).expect("short");
        body[..4].copy_from_slice(&length.to_le_bytes());
        body
    };
    // Nulls with empty names.
    let mut nulls = vec![0; 4];
    nulls.extend(std::iter::repeat_n([10, 0], elements).flatten());
    nulls.push(0);
    let length = u32::try_from(nulls.len()).expect("short");
    nulls[..4].copy_from_slice(&length.to_le_bytes());
    let mut bombs = Vec::new();
    for kind in [3, 4] {
        let payload = [&[0; 5], document(&nulls, kind).as_slice()].concat();
        let message = framed(OP_MSG, &payload);
        for compressor in [Compressor::Zstd, Compressor::Zlib, Compressor::Snappy] {
            bombs.push(compress(&message, compressor).expect("a message"));
        }
    }
    bombs
});

/// Messages that need much memory when they are decompressed and parsed. They are sent without a login.
pub(super) fn bombs(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect() else { return };
    let _as_it_was = stream.set_read_timeout(Some(Duration::from_secs(20)));
    let bomb = &BOMBS[attacker.rng.usize(..BOMBS.len())];
    attacker.send(&mut stream, bomb);
}

/// Beginnings of messages. The connections stay open.
pub(super) fn half_messages(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect() else { return };
    let mut begin = message("admin", doc! {"ping": 1, "text": (" ".repeat(1 << 16))});
    begin[..4].copy_from_slice(&47_000_000_u32.to_le_bytes());
    begin.truncate(attacker.rng.usize(1..begin.len()));
    if stream.write_all(&begin).is_ok() {
        attacker.tally.attempts += 1;
        attacker.tally.silent += 1;
        attacker.hold(stream, 400);
    }
}

/// A message that is sent one byte at a time.
pub(super) fn slow_senders(attacker: &mut Attacker<'_>) {
    let Some(mut stream) = attacker.connect() else { return };
    let message = message("admin", doc! {"ping": 1});
    for byte in &message[..message.len() - 1] {
        if stream.write_all(&[*byte]).is_err() || attacker.stage.is_over() {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    attacker.send(&mut stream, &message[message.len() - 1..]);
}

/// Nested documents, deeper than the limit.
pub(super) fn deep_documents(attacker: &mut Attacker<'_>) {
    let levels = [100, 200, 1000, 20_000, 1_000_000][attacker.rng.usize(..5)];
    let kind = if attacker.rng.bool() { 3 } else { 4 };
    // Each level has a length, an element with a name of one character, and an end.
    let mut body = Vec::new();
    for level in 0..levels {
        let length = u32::try_from((levels - level) * 8 + 5).expect("short");
        body.extend_from_slice(&length.to_le_bytes());
        body.extend_from_slice(&[kind, b'0', 0]);
    }
    body.extend_from_slice(&[5, 0, 0, 0, 0]);
    body.resize(body.len() + levels, 0);
    let mut payload = vec![0; 5];
    payload.extend_from_slice(&body);
    let stream = if attacker.rng.bool() { attacker.connect_as_guest() } else { attacker.connect() };
    let Some(mut stream) = stream else { return };
    let _as_it_was = stream.set_read_timeout(Some(Duration::from_secs(5)));
    attacker.send(&mut stream, &framed(OP_MSG, &payload));
}
