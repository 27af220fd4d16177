//! Requests that are encoded once. Afterwards only numbers in their bytes change.

use super::connection::{document, message};
use super::{BATCH, DATABASE, Operation};
use alluvium::{Binary, Map, Value};
use alluvium_env::Env;
use std::io;

/// The collection of the documents that are found and updated.
const DOCUMENTS: &str = "documents";
/// The collection of the documents that are inserted one by one.
const SINGLE: &str = "single";
/// A placeholder for an `_id`. Its eight bytes occur nowhere else in a request.
const ID: i64 = 0x5a1d_c3f7_90b2_e64d;
/// A placeholder for the number of a retryable write.
const NUMBER: i64 = 0x2e97_b40c_d6f1_835b;

/// A request of one session.
pub(super) struct Request {
    bytes: Vec<u8>,
    /// The offsets of the `_id`s. The `_id`s are consecutive numbers.
    ids: Vec<usize>,
    /// The offsets of the number of the write.
    numbers: Vec<usize>,
    /// The expected content of the reply, in addition to success.
    expected: Expected,
    id: i64,
}

/// A part of a reply.
#[derive(Clone, Copy)]
enum Expected {
    Nothing,
    /// A document with the `_id`.
    Document,
    /// The number of documents that were written.
    Written(i32),
}

impl Request {
    /// A request of a new session.
    ///
    /// # Errors
    /// Never returned in practice, because the documents can be encoded.
    pub fn new(operation: Operation, cluster_time: Option<&Value>) -> io::Result<Self> {
        let id = || Map::from([("_id", Value::Int64(ID))]);
        match operation {
            Operation::InsertMany => Self::of_many(BATCH, cluster_time),
            Operation::Ping => Self::of(Map::from([("ping", 1)]), &[], Expected::Nothing, cluster_time),
            Operation::FindOne => {
                let mut body = Map::from([("find", Value::from(DOCUMENTS)), ("filter", Value::Map(id()))]);
                body.push("limit", 1);
                body.push("singleBatch", true);
                Self::of(body, &[], Expected::Document, cluster_time)
            }
            Operation::InsertOne => {
                let beside = [("documents", vec![stored()])];
                Self::of(write("insert", SINGLE), &beside, Expected::Written(1), cluster_time)
            }
            Operation::UpdateOne => {
                let change = Map::from([("$inc", Value::Map(Map::from([("score", 1)])))]);
                let mut statement = Map::from([("q", Value::Map(id())), ("u", Value::Map(change))]);
                statement.push("multi", false);
                statement.push("upsert", false);
                let beside = [("updates", vec![statement])];
                Self::of(write("update", DOCUMENTS), &beside, Expected::Written(1), cluster_time)
            }
        }
    }

    /// An `insert` of `count` documents.
    ///
    /// # Errors
    /// As [`Request::new`].
    pub fn of_many(count: u64, cluster_time: Option<&Value>) -> io::Result<Self> {
        let documents = (0..count).map(|_| stored()).collect();
        let written = Expected::Written(i32::try_from(count).map_err(io::Error::other)?);
        Self::of(write("insert", DOCUMENTS), &[("documents", documents)], written, cluster_time)
    }

    /// A request with the fields that drivers add.
    fn of(
        mut body: Map,
        beside: &[(&str, Vec<Map>)],
        expected: Expected,
        cluster_time: Option<&Value>,
    ) -> io::Result<Self> {
        // The id of the session is a UUID of random bits.
        let rng = Env::os().rng;
        let bytes = [rng.next_u64().to_le_bytes(), rng.next_u64().to_le_bytes()].concat();
        body.push("lsid", Map::from([("id", Value::Binary(Binary { subtype: 4, bytes }))]));
        if let Some(time) = cluster_time {
            body.push("$clusterTime", time.clone());
        }
        body.push("$db", DATABASE);
        let bytes = message(&body, beside)?;
        let places = |hole: i64| {
            let windows = bytes.windows(size_of::<i64>()).enumerate();
            windows.filter(|(_, window)| *window == hole.to_le_bytes()).map(|(at, _)| at).collect::<Vec<_>>()
        };
        Ok(Self { ids: places(ID), numbers: places(NUMBER), bytes, expected, id: 0 })
    }

    /// Returns the message with an `_id` and the number of the write filled in. If the message has
    /// several documents, `id` is the `_id` of the first.
    pub fn fill(&mut self, id: i64, number: i64) -> &[u8] {
        self.id = id;
        let ids = self.ids.iter().zip(id..);
        for (at, value) in ids.chain(self.numbers.iter().map(|at| (at, number))) {
            self.bytes[*at..at + size_of::<i64>()].copy_from_slice(&value.to_le_bytes());
        }
        &self.bytes
    }

    /// Checks the reply to the message that was filled last.
    ///
    /// # Errors
    /// A reply that reports a failure, or lacks the requested result.
    pub fn check(&self, reply: &[u8]) -> io::Result<()> {
        let has = |field: &[u8]| reply.windows(field.len()).any(|window| window == field);
        let is_expected = match self.expected {
            Expected::Nothing => true,
            Expected::Document => has(&[b"\x12_id\0".as_slice(), &self.id.to_le_bytes()].concat()),
            Expected::Written(count) => has(&[b"\x10n\0".as_slice(), &count.to_le_bytes()].concat()),
        };
        let ok = [b"\x01ok\0".as_slice(), &1_f64.to_le_bytes()].concat();
        // Only the cluster time follows `ok`, so the search begins at the end.
        if is_expected && reply.windows(ok.len()).rev().any(|window| window == ok) {
            return Ok(());
        }
        Err(io::Error::other(format!("the server answered {}", document(reply)?)))
    }
}

fn write(command: &str, collection: &str) -> Map {
    let mut body = Map::from([(command, Value::from(collection)), ("ordered", Value::from(true))]);
    body.push("txnNumber", NUMBER);
    body
}

/// The document that is inserted, of 1.1 KB.
fn stored() -> Map {
    let words: Vec<String> = (0..110).map(|n| format!("word{}", n * 7919 % 5003)).collect();
    Map::from([
        ("_id", Value::Int64(ID)),
        ("author", Value::from("author")),
        ("score", Value::Int32(31)),
        ("time", Value::Int64(1_600_000_000)),
        ("tags", Value::Array(vec![Value::from("a"), Value::from("b")])),
        ("body", Value::from(words.join(" "))),
    ])
}
