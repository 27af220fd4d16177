//! A server in a separate process, and connections to it.

use crate::common::Place;
use alluvium::Map;
use alluvium_document::bson::{decode_document, encode_document};
use alluvium_env::sync::Mutex;
use alluvium_testkit::seed;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering};
use std::time::Duration;

/// Starts the server, and returns it with its port.
pub fn serve(place: &Place) -> (Child, u16) {
    serve_with(place, &[])
}

/// Like [`serve`], with additional arguments.
#[allow(clippy::zombie_processes, reason = "a server that ends at once fails the test")]
pub fn serve_with(place: &Place, arguments: &[&str]) -> (Child, u16) {
    let usual = ["serve", "db", "--listen", "127.0.0.1:0", "--memory", "16M"];
    let mut command: Command = place.command(&[&usual, arguments].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("text") > 0, "the server ended");
        if let Some(address) = line.strip_prefix("listening at ") {
            let port = address.trim().rsplit(':').next().expect("a port").parse().expect("a port");
            return (child, port);
        }
    }
}

/// Kills the server with -9.
pub fn kill(server: &mut Child) {
    server.kill().expect("a child");
    server.wait().expect("a child");
}

/// Sends a command, to the database `shop` if it names no database; `None` if the server has ended.
pub fn send(stream: &mut TcpStream, mut body: Map) -> Option<()> {
    if !body.contains("$db") {
        body.push("$db", "shop");
    }
    let mut message = vec![0; 16];
    message[12..].copy_from_slice(&2013_i32.to_le_bytes());
    message.extend_from_slice(&[0; 5]);
    encode_document(&body, &mut message).expect("BSON");
    let length = u32::try_from(message.len()).expect("short");
    message[..4].copy_from_slice(&length.to_le_bytes());
    stream.write_all(&message).ok()
}

/// Like [`send`], and returns the reply.
pub fn run(stream: &mut TcpStream, body: Map) -> Option<Map> {
    send(stream, body)?;
    let mut head = [0; 16];
    stream.read_exact(&mut head).ok()?;
    let length = u32::from_le_bytes(*head.first_chunk().expect("16 bytes")) as usize;
    let mut rest = vec![0; length - 16];
    stream.read_exact(&mut rest).ok()?;
    Some(decode_document(&rest[5..]).expect("BSON"))
}

/// The wait of a client before it connects again, and of the thread that kills before it counts again.
const PAUSE: Duration = Duration::from_millis(2);

/// A server that is killed with -9 again and again while clients use it.
pub struct KilledServer<'a> {
    place: &'a Place,
    child: Mutex<Child>,
    port: AtomicU16,
    calls: AtomicU64,
    done: AtomicBool,
}

/// A client of a run: works until [`KilledServer::is_done`].
pub type Client<'c, T> = Box<dyn FnOnce() -> T + Send + 'c>;

impl<'a> KilledServer<'a> {
    pub fn start(place: &'a Place) -> Self {
        let (child, port) = serve(place);
        let (calls, done) = (AtomicU64::new(0), AtomicBool::new(false));
        Self { place, child: Mutex::new(child), port: AtomicU16::new(port), calls, done }
    }

    /// True when clients must end.
    pub fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// Counts a call of a client that has ended.
    pub fn note_call(&self) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    /// The port at which the server can be reached, until it is killed.
    pub fn port(&self) -> u16 {
        self.port.load(Ordering::SeqCst)
    }

    /// A connection, which is opened when it is used.
    pub fn connection(&self) -> Connection<'_> {
        Connection { server: &self.port, stream: None }
    }

    /// Kills the server, and starts it again.
    pub fn restart(&self) {
        let mut child = self.child.lock();
        kill(&mut child);
        let (next, port) = serve(self.place);
        *child = next;
        self.port.store(port, Ordering::SeqCst);
        seed::tally("kills of a server", 1);
    }

    /// Runs clients, each on a thread of its own, and kills the server this number of times, each time that the clients
    /// have made more calls. The clients end when they have made as many calls after the last kill.
    pub fn over_kills<T: Send>(&self, kills: usize, calls_between: u64, clients: Vec<Client<'_, T>>) -> Vec<T> {
        std::thread::scope(|scope| {
            let clients: Vec<_> = clients.into_iter().map(|client| scope.spawn(client)).collect();
            for killed in 0..=kills {
                let before = self.calls.load(Ordering::SeqCst);
                let is_failed = || clients.iter().any(|client| client.is_finished());
                while self.calls.load(Ordering::SeqCst) < before + calls_between && !is_failed() {
                    std::thread::sleep(PAUSE);
                }
                if killed < kills {
                    self.restart();
                }
            }
            self.done.store(true, Ordering::SeqCst);
            clients.into_iter().map(|client| client.join().expect("a client")).collect()
        })
    }

    /// Kills the server, and checks the database.
    pub fn end(self) {
        kill(&mut self.child.lock());
        self.place.good(&["verify", "db"]);
    }
}

impl Drop for KilledServer<'_> {
    /// A failed test leaves no server behind.
    fn drop(&mut self) {
        let mut child = self.child.lock();
        drop(child.kill());
        drop(child.wait());
    }
}

/// A connection to a server that is killed and started again.
pub struct Connection<'a> {
    server: &'a AtomicU16,
    stream: Option<TcpStream>,
}

impl Connection<'_> {
    /// The reply to a command; `None` if the connection was lost. The next command is sent over another connection.
    pub fn once(&mut self, body: Map) -> Option<Map> {
        if self.stream.is_none() {
            let port = self.server.load(Ordering::SeqCst);
            self.stream = TcpStream::connect(("127.0.0.1", port)).ok();
        }
        let reply = self.stream.as_mut().and_then(|stream| run(stream, body));
        if reply.is_none() {
            self.stream = None;
            std::thread::sleep(PAUSE);
        }
        reply
    }

    /// Sends a command until there is a reply.
    pub fn repeated(&mut self, body: &Map) -> Map {
        loop {
            if let Some(reply) = self.once(body.clone()) {
                return reply;
            }
        }
    }
}
