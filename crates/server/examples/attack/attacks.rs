//! The attacks. Each one is a loop of bounded attempts in one thread. The loop ends when the server is about to be
//! killed.

mod bytes;
mod floods;
mod queries;

use crate::common::Client;
use crate::stage::{GUEST, Stage};
use alluvium::{Map, Value};
use alluvium_document::bson::{decode_document, encode_document};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// An attack.
pub struct Attack {
    /// The name in the table.
    pub name: &'static str,
    /// Makes one attempt.
    run: fn(&mut Attacker<'_>),
}

/// All attacks.
pub const ALL: &[Attack] = &[
    Attack { name: "mutations", run: bytes::mutations },
    Attack { name: "lengths", run: bytes::lengths },
    Attack { name: "bombs", run: bytes::bombs },
    Attack { name: "half-messages", run: bytes::half_messages },
    Attack { name: "slow-senders", run: bytes::slow_senders },
    Attack { name: "deep-documents", run: bytes::deep_documents },
    Attack { name: "connections", run: floods::connections },
    Attack { name: "hellos", run: floods::hellos },
    Attack { name: "guesses", run: floods::guesses },
    Attack { name: "cursors", run: floods::cursors },
    Attack { name: "sessions", run: floods::sessions },
    Attack { name: "unread-replies", run: floods::unread_replies },
    Attack { name: "slow-readers", run: floods::slow_readers },
    Attack { name: "patterns", run: queries::patterns },
    Attack { name: "expressions", run: queries::expressions },
    Attack { name: "nesting", run: queries::nesting },
    Attack { name: "stages", run: queries::stages },
    Attack { name: "lost-clients", run: queries::lost_clients },
];

/// How long an attack waits for a reply that may not come.
const PATIENCE: Duration = Duration::from_millis(20);

/// The counts of an attack.
#[derive(Default, Clone, Copy)]
pub struct Tally {
    /// Attempts: messages, or connections.
    pub attempts: u64,
    /// Attempts that the server has carried out.
    pub accepted: u64,
    /// Attempts that the server has refused by an error.
    pub refused: u64,
    /// Attempts whose connection the server has closed.
    pub closed: u64,
    /// Attempts without a reply: the server waits for more bytes, or the attacker did not wait.
    pub silent: u64,
}

impl Tally {
    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Self) {
        self.attempts += other.attempts;
        self.accepted += other.accepted;
        self.refused += other.refused;
        self.closed += other.closed;
        self.silent += other.silent;
    }
}

/// The result of an attempt.
enum Answer {
    Reply(Map),
    Closed,
    Silence,
}

/// A thread that attacks.
pub struct Attacker<'a> {
    stage: &'a Stage,
    attack: &'a Attack,
    rng: fastrand::Rng,
    tally: Tally,
    /// A connection with a login.
    client: Option<Client>,
    /// Connections that are left open.
    held: Vec<TcpStream>,
}

impl<'a> Attacker<'a> {
    pub fn new(stage: &'a Stage, seed: u64, attack: &'a Attack) -> Self {
        let of_name = attack.name.bytes().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let rng = fastrand::Rng::with_seed(seed ^ of_name);
        Self { stage, attack, rng, tally: Tally::default(), client: None, held: Vec::new() }
    }

    /// Attacks until the server is about to be killed.
    pub fn run(mut self) -> Tally {
        while !self.stage.is_over() {
            (self.attack.run)(&mut self);
            // Pauses, so that the loop is not busy while no server runs.
            std::thread::sleep(Duration::from_micros(200));
        }
        self.tally
    }

    /// A connection without a login.
    fn connect(&mut self) -> Option<TcpStream> {
        let stream = self.stage.connect()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(stream)
    }

    /// A connection with a login, over which the attack sends its own bytes.
    fn connect_as_guest(&mut self) -> Option<TcpStream> {
        let stream = self.connect()?;
        let mut client = Client::new(stream.try_clone().ok()?);
        stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
        client.try_log_in("admin", GUEST, "guest")?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        Some(stream)
    }

    /// Keeps a connection open. Closes the oldest one if there are more than `most`.
    fn hold(&mut self, stream: TcpStream, most: usize) {
        if self.held.len() >= most {
            self.held.remove(0);
        }
        self.held.push(stream);
    }

    fn note(&mut self, answer: &Answer) {
        self.tally.attempts += 1;
        match answer {
            Answer::Reply(reply) if reply.get("ok").and_then(Value::as_f64) == Some(1.0) => self.tally.accepted += 1,
            Answer::Reply(_) => self.tally.refused += 1,
            Answer::Closed => self.tally.closed += 1,
            Answer::Silence => self.tally.silent += 1,
        }
    }

    /// Sends a message over a connection, and counts the result. Returns true if the connection can be used again.
    fn send(&mut self, stream: &mut TcpStream, message: &[u8]) -> bool {
        let answer = match stream.write_all(message) {
            Ok(()) => receive(stream),
            Err(_) => Answer::Closed,
        };
        self.note(&answer);
        matches!(answer, Answer::Reply(_))
    }

    /// Runs a command as the user of the attackers.
    fn run_as_guest(&mut self, db: &str, command: Map) -> Option<Map> {
        if self.client.is_none() {
            self.client = self.stage.log_in(GUEST);
        }
        let reply = self.client.as_mut().and_then(|client| client.try_run(db, command));
        let answer = reply.map_or(Answer::Closed, Answer::Reply);
        self.note(&answer);
        match answer {
            Answer::Reply(reply) => Some(reply),
            Answer::Closed | Answer::Silence => {
                self.client = None;
                None
            }
        }
    }
}

/// A message with a header: the length, the request number 1, and the operation code.
fn framed(op_code: i32, payload: &[u8]) -> Vec<u8> {
    let length = i32::try_from(payload.len() + 16).expect("short");
    let mut message: Vec<u8> = [length, 1, 0, op_code].iter().flat_map(|word| word.to_le_bytes()).collect();
    message.extend_from_slice(payload);
    message
}

/// A command as `OP_MSG`.
fn message(db: &str, mut command: Map) -> Vec<u8> {
    command.push("$db", db);
    let mut payload = vec![0; 5];
    encode_document(&command, &mut payload).expect("BSON");
    framed(2013, &payload)
}

/// Reads one reply, until the read timeout of the connection.
fn receive(stream: &mut TcpStream) -> Answer {
    let mut head = [0; 16];
    if let Err(error) = stream.read_exact(&mut head) {
        return match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Answer::Silence,
            _ => Answer::Closed,
        };
    }
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let mut rest = vec![0; length.saturating_sub(16)];
    match stream.read_exact(&mut rest) {
        Ok(()) => Answer::Reply(rest.get(5..).and_then(|body| decode_document(body).ok()).unwrap_or_default()),
        Err(_) => Answer::Closed,
    }
}
