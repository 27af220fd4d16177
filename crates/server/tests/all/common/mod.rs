//! A server in this process, and a client with its own implementation of the wire protocol, so that a test controls
//! each byte.

// Each test file is a separate crate and uses a part of this module.

mod login;

use alluvium::{Database, Map, Value};
use alluvium_document::bson::{decode_document, encode_document};
use alluvium_server::{Config, Reloader, Server};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The operation codes of messages.
const OP_REPLY: i32 = 1;
const OP_QUERY: i32 = 2004;
pub const OP_MSG: i32 = 2013;

/// The flag of a message that expects no reply.
pub const MORE_TO_COME: u32 = 2;

/// The flag of a message that may have several replies.
pub const EXHAUST_ALLOWED: u32 = 1 << 16;

/// A server on a free port. The server ends when this value is dropped.
pub struct Running {
    pub db: Database,
    pub address: SocketAddr,
    pub addresses: Vec<SocketAddr>,
    pub reloader: Reloader,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    /// A server for a new database in memory.
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    /// As [`Running::new`], with other settings. If they have no address, the server listens on a free port.
    pub fn with(config: Config) -> Self {
        Self::of(&Database::in_memory().expect("a database"), config)
    }

    /// A server for an open database.
    pub fn of(db: &Database, config: Config) -> Self {
        let free = vec!["127.0.0.1:0".parse().expect("an address")];
        let listen = if config.listen.is_empty() { free } else { config.listen.clone() };
        let server = Server::bind(db, Config { listen, ..config }).expect("a free port");
        let (addresses, reloader) = (server.addresses(), Reloader::new(&server));
        let (stop, stopped) = channel::<()>();
        // `recv` returns when the sender is dropped.
        let wait = move || assert!(stopped.recv().is_err());
        let thread = std::thread::spawn(move || server.run(wait));
        Self { db: db.clone(), address: addresses[0], addresses, reloader, stop: Some(stop), thread: Some(thread) }
    }

    /// A new connection.
    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()) || std::thread::panicking(), "the server panicked");
    }
}

/// A connection.
pub struct Client<S = TcpStream> {
    stream: S,
    /// The number of the last message, which the next reply answers.
    last: i32,
    /// True if another reply follows the last one.
    has_more: bool,
}

impl Client {
    /// A connection to an address.
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("an option");
        Self::new(stream)
    }
}

impl<S: Read + Write> Client<S> {
    /// A client on an open connection.
    pub fn new(stream: S) -> Self {
        Self { stream, last: 0, has_more: false }
    }

    /// The reply to a command; `None` if the server has closed the connection.
    pub fn try_run(&mut self, db: &str, mut command: Map) -> Option<Map> {
        command.push("$db", db);
        let mut payload = vec![0; 5];
        encode_document(&command, &mut payload).expect("BSON");
        self.try_send(OP_MSG, &payload).ok()?;
        self.try_read().ok().map(|(reply, _)| reply)
    }

    /// The error code of a command; `None` if the command succeeds.
    pub fn code(&mut self, db: &str, command: Map) -> Option<i64> {
        self.run(db, command).get("code").and_then(Value::as_i64)
    }

    /// The reply to a command, which may be an error.
    pub fn run(&mut self, db: &str, command: Map) -> Map {
        self.send(db, command, &[], 0);
        self.reply()
    }

    /// The reply to a command. Panics if the command fails.
    pub fn ok(&mut self, db: &str, command: Map) -> Map {
        let shown = command.to_string();
        let reply = self.run(db, command);
        assert_eq!(reply.get("ok").and_then(Value::as_f64), Some(1.0), "{shown}: {reply}");
        reply
    }

    /// The reply to a command. Panics unless the command fails with this code.
    pub fn fails(&mut self, code: i32, db: &str, command: Map) -> Map {
        let shown = command.to_string();
        let reply = self.run(db, command);
        assert_eq!(reply.get("ok").and_then(Value::as_f64), Some(0.0), "{shown}: {reply}");
        assert_eq!(reply.get("code"), Some(&Value::Int32(code)), "{shown}: {reply}");
        reply
    }

    /// The documents in all batches of a command's cursor.
    pub fn documents(&mut self, db: &str, command: Map) -> Vec<Map> {
        let mut reply = self.ok(db, command);
        let mut all = Vec::new();
        loop {
            let Some(Value::Map(cursor)) = reply.get("cursor") else { panic!("no cursor: {reply}") };
            let batch = cursor.get("firstBatch").or(cursor.get("nextBatch")).and_then(Value::as_array);
            all.extend(batch.expect("a batch").iter().filter_map(Value::as_map).cloned());
            let id = cursor.get("id").cloned().unwrap_or_default();
            let namespace = cursor.get("ns").and_then(Value::as_str).expect("a namespace");
            if id == Value::Int64(0) {
                return all;
            }
            let (db, collection) = namespace.split_once('.').expect("two names");
            let more = Map::from([("getMore", id), ("collection", Value::from(collection))]);
            let db = db.to_owned();
            reply = self.ok(&db, more);
        }
    }

    /// Sends a command as `OP_MSG`, with arrays of documents next to the body.
    pub fn send(&mut self, db: &str, mut command: Map, sequences: &[(&str, &[Map])], flags: u32) {
        command.push("$db", db);
        let mut payload = flags.to_le_bytes().to_vec();
        payload.push(0);
        encode_document(&command, &mut payload).expect("BSON");
        for (name, documents) in sequences {
            let mut section = name.as_bytes().to_vec();
            section.push(0);
            for document in *documents {
                encode_document(document, &mut section).expect("BSON");
            }
            payload.push(1);
            payload.extend_from_slice(&(section.len() as u32 + 4).to_le_bytes());
            payload.extend_from_slice(&section);
        }
        self.send_raw(OP_MSG, &payload);
    }

    /// The reply to a command that is sent as `OP_QUERY`, as clients send their first command.
    pub fn query(&mut self, db: &str, command: &Map) -> Map {
        let mut payload = vec![0; 4];
        payload.extend_from_slice(format!("{db}.$cmd\0").as_bytes());
        payload.extend_from_slice(&0_i32.to_le_bytes());
        payload.extend_from_slice(&(-1_i32).to_le_bytes());
        encode_document(command, &mut payload).expect("BSON");
        self.send_raw(OP_QUERY, &payload);
        self.reply()
    }

    /// Sends a message with any bytes as its payload.
    pub fn send_raw(&mut self, op_code: i32, payload: &[u8]) {
        self.try_send(op_code, payload).expect("an open connection");
    }

    fn try_send(&mut self, op_code: i32, payload: &[u8]) -> io::Result<()> {
        self.last += 1;
        let mut message = Vec::new();
        for word in [payload.len() as i32 + 16, self.last, 0, op_code] {
            message.extend_from_slice(&word.to_le_bytes());
        }
        message.extend_from_slice(payload);
        self.stream.write_all(&message)
    }

    /// The number for a message that the test sends as bytes.
    pub fn next_number(&mut self) -> i32 {
        self.last += 1;
        self.last
    }

    /// Sends bytes without adding a header.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("an open connection");
    }

    /// The document of the next message. The message must answer the last message that was sent.
    pub fn reply(&mut self) -> Map {
        self.read().0
    }

    /// The document of the next message, and its number.
    fn read(&mut self) -> (Map, i32) {
        self.try_read().expect("a reply")
    }

    fn try_read(&mut self) -> io::Result<(Map, i32)> {
        let mut header = [0; 16];
        self.stream.read_exact(&mut header)?;
        let word = |at: usize| i32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(word(8), self.last, "the reply answers another request");
        let mut payload = vec![0; word(0) as usize - 16];
        self.stream.read_exact(&mut payload)?;
        let before = match word(12) {
            OP_MSG => 5,
            OP_REPLY => 20,
            other => panic!("a reply of operation {other}"),
        };
        self.has_more = word(12) == OP_MSG && payload[0] & 2 != 0;
        Ok((decode_document(&payload[before..]).expect("one document"), word(4)))
    }

    /// As [`Client::reply`]. A further reply must answer this reply.
    pub fn next_reply(&mut self) -> Map {
        let (reply, number) = self.read();
        if self.has_more {
            self.last = number;
        }
        reply
    }

    /// True if another reply follows the last one.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// True if the server has closed the connection.
    pub fn is_closed(&mut self) -> bool {
        matches!(self.stream.read(&mut [0]), Ok(0) | Err(_))
    }
}
