//! Messages of MongoDB's wire protocol, from the bytes of a request to the bytes of its reply.

use crate::{COMMENTS, Outcome, data, path, settle};
use alluvium::{Binary, Database, Document, Map, Value, doc};
use alluvium_document::bson::{RawField, decode_document, each_field, encode_document};
use alluvium_server::{Config, InProcess};
use alluvium_wire::{HEADER_BYTES, Header, OpCode};

const FINDS: u64 = 2000;
const RANGES: u64 = 100;
const INSERTS: u64 = 2000;
const GROUPS: u64 = 2;
/// The most documents of a range.
const LIMIT: u64 = 50;

/// The bytes before the body of a message: the header, the flags, and the kind of the section.
const BEFORE_BODY: usize = HEADER_BYTES + 5;

/// Finds by `_id`, ranges of an index, a group of a matched fifth of a collection, and inserts.
pub(crate) fn messages(database: &Database) -> Outcome {
    let notes = database.create_collection("notes").run()?;
    let texts: Vec<String> = (0..COMMENTS).map(data::comment).collect();
    notes.insert_many(texts.iter().map(String::as_str))?;
    notes.create_index(doc! {"created_utc": 1}).run()?;
    settle(database)?;
    let mut client = Client::connect(database)?;
    let mut random = fastrand::Rng::with_seed(3);

    let find =
        |id: u64| doc! {"find": "notes", "filter": {"_id": data::comment_id(id)}, "limit": 1, "singleBatch": true};
    let finds = client.messages((0..FINDS).map(|_| find(random.u64(0..COMMENTS))))?;
    client.answer_all(&finds, 1)?;
    path("wire-find", FINDS, || client.answer_all(&finds, 1))?;

    let range = |number: u64| {
        let from = doc! {"created_utc": {"$gte": data::time(number)}};
        doc! {"find": "notes", "filter": (from), "sort": {"created_utc": 1}, "limit": (LIMIT as i32)}
    };
    let ranges = client.messages((0..RANGES).map(|_| range(random.u64(0..COMMENTS - LIMIT))))?;
    client.answer_all(&ranges, LIMIT)?;
    path("wire-range", RANGES, || client.answer_all(&ranges, LIMIT))?;

    let fifth = doc! {"$match": {"score": {"$lt": (data::SCORES.start + (data::SCORES.end - data::SCORES.start) / 5)}}};
    let group = doc! {"$group": {"_id": "$subreddit", "count": {"$sum": 1}, "score": {"$avg": "$score"}}};
    let stages = Value::Array(vec![Value::Map(fifth), Value::Map(group)]);
    let groups = (0..GROUPS).map(|_| doc! {"aggregate": "notes", "pipeline": (stages.clone()), "cursor": {}});
    let groups = client.messages(groups)?;
    client.answer_all(&groups, data::PLACES)?;
    path("wire-group", GROUPS * COMMENTS, || client.answer_all(&groups, data::PLACES))?;

    let inserts = (0..2 * INSERTS).map(|number| client.insert(number)).collect::<Outcome<Vec<_>>>()?;
    let (first, rest) = inserts.split_at(INSERTS as usize);
    client.insert_all(first)?;
    path("wire-insert", INSERTS, || client.insert_all(rest))
}

/// A driver that is connected to a server in this process.
struct Client {
    server: InProcess,
    cluster_time: Value,
}

impl Client {
    fn connect(database: &Database) -> Outcome<Self> {
        let mut server = InProcess::open(database, Config::default())?;
        let reply = decode(&server.answer(&message(&doc! {"ping": 1, "$db": "admin"}, None)?)?)?;
        let cluster_time = reply.get("$clusterTime").cloned().ok_or("the server has no time")?;
        Ok(Self { server, cluster_time })
    }

    fn messages(&self, bodies: impl Iterator<Item = Map>) -> Outcome<Vec<Vec<u8>>> {
        bodies.map(|body| message(&self.completed(body), None)).collect()
    }

    /// An insert of one document, which the driver may repeat.
    fn insert(&self, number: u64) -> Outcome<Vec<u8>> {
        let document = Document::from_json(data::comment(number))?.to_map()?;
        let body = doc! {"insert": "inserted", "ordered": true, "txnNumber": (number as i64 + 1)};
        message(&self.completed(body), Some(("documents", &document)))
    }

    /// Adds the fields that drivers add to a command.
    fn completed(&self, mut body: Map) -> Map {
        body.push("lsid", doc! {"id": (Value::Binary(Binary { subtype: 4, bytes: vec![7; 16] }))});
        body.push("$clusterTime", self.cluster_time.clone());
        body.push("$db", "main");
        body
    }

    /// Sends queries, each of which has a number of results.
    fn answer_all(&mut self, messages: &[Vec<u8>], count: u64) -> Outcome {
        for message in messages {
            let reply = self.server.answer(message)?;
            if documents(&reply) != count {
                return Err(format!("not {count} documents in {}", decode(&reply)?).into());
            }
        }
        Ok(())
    }

    fn insert_all(&mut self, messages: &[Vec<u8>]) -> Outcome {
        for message in messages {
            let reply = self.server.answer(message)?;
            if !reply.windows(7).any(|window| window == *b"\x10n\0\x01\0\0\0") {
                return Err(format!("no document in {}", decode(&reply)?).into());
            }
        }
        Ok(())
    }
}

/// A message with a body, and a document beside it.
fn message(body: &Map, beside: Option<(&str, &Map)>) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; BEFORE_BODY];
    encode_document(body, &mut bytes)?;
    if let Some((name, document)) = beside {
        let mut section = [name.as_bytes(), &[0]].concat();
        encode_document(document, &mut section)?;
        bytes.push(1);
        bytes.extend_from_slice(&(section.len() as i32 + 4).to_le_bytes());
        bytes.extend_from_slice(&section);
    }
    let mut head = Vec::with_capacity(HEADER_BYTES);
    Header { length: bytes.len(), request_id: 1, response_to: 0, op_code: OpCode::Msg }.encode(&mut head);
    bytes[..HEADER_BYTES].copy_from_slice(&head);
    Ok(bytes)
}

fn decode(reply: &[u8]) -> Outcome<Map> {
    Ok(decode_document(reply.get(BEFORE_BODY..).unwrap_or_default())?)
}

/// The number of documents in the batch of a reply, which is not decoded, so that hardly anything but the server's work
/// is counted.
fn documents(reply: &[u8]) -> u64 {
    let cursor = field(reply.get(BEFORE_BODY..).unwrap_or_default(), b"cursor");
    let batch = cursor.and_then(|cursor| field(cursor, b"firstBatch")).unwrap_or_default();
    let mut count = 0;
    let walked = each_field(batch, |_| {
        count += 1;
        true
    });
    if walked.is_ok() { count } else { 0 }
}

/// The bytes of a field of a document.
fn field<'a>(document: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    each_field(document, |field: RawField<'a>| {
        found = (field.name == name).then_some(field.value);
        found.is_none()
    })
    .ok()?;
    found
}
