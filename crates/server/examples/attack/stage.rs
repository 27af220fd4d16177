//! The state of the server as the clients see it: its address, and whether it is about to be killed.

use crate::common::Client;
use alluvium::{Map, Value, doc};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The administrator.
pub const ROOT: &str = "root";
/// The user of the honest client.
pub const HONEST: &str = "honest";
/// The user of attackers with a login.
pub const GUEST: &str = "guest";

/// The users: name, password, role, and the database of the role.
const USERS: [(&str, &str, &str, &str); 3] = [
    (ROOT, "secret", "root", "admin"),
    (HONEST, "honest", "readWrite", "shop"),
    (GUEST, "guest", "readWrite", "guests"),
];

/// The most time for a reply to the honest client.
const REPLY_MAX: Duration = Duration::from_secs(60);

/// The server that runs now.
#[derive(Default)]
pub struct Stage {
    address: Mutex<Option<SocketAddr>>,
    /// The number of servers that were started.
    generation: AtomicU64,
    /// No server runs, or the server is killed soon.
    ends: AtomicBool,
    /// There will be no further round.
    finished: AtomicBool,
}

impl Stage {
    /// Notes that a server listens.
    pub fn begin(&self, address: SocketAddr) {
        *self.address.lock().unwrap() = Some(address);
        self.generation.fetch_add(1, Ordering::SeqCst);
        self.ends.store(false, Ordering::SeqCst);
    }

    /// Notes that the server will be killed.
    pub fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
    }

    /// Notes that the clients may end.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::SeqCst);
    }

    /// True if the server may have been killed.
    pub fn is_over(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }

    /// True if the clients may end.
    pub fn is_finished(&self) -> bool {
        self.finished.load(Ordering::SeqCst)
    }

    /// The number of the server that runs.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Connects to the server.
    pub fn connect(&self) -> Option<TcpStream> {
        let address = (*self.address.lock().unwrap())?;
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(10)).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(REPLY_MAX)).ok()?;
        stream.set_write_timeout(Some(REPLY_MAX)).ok()?;
        Some(stream)
    }

    /// Opens a connection and logs in; returns `None` if the server does not answer. Panics if the login is refused.
    pub fn log_in(&self, name: &str) -> Option<Client> {
        let mut client = Client::new(self.connect()?);
        let (_, password, ..) = USERS.iter().find(|(user, ..)| *user == name).expect("a user");
        let reply = client.try_log_in("admin", name, password)?;
        assert!(reply.get("code").is_none(), "{name} cannot log in: {reply}");
        Some(client)
    }
}

/// Creates the users, and the documents that attackers read.
pub fn prepare(stage: &Stage) {
    let mut client = Client::new(stage.connect().expect("a server"));
    for (name, password, role, db) in USERS {
        let role = doc! {"role": role, "db": db};
        client.ok("admin", doc! {"createUser": name, "pwd": password, "roles": [role]});
        if name == ROOT {
            assert_eq!(client.log_in("admin", ROOT, password), None);
        }
    }
    // Sixteen documents of a megabyte, and many small ones.
    let text = "x".repeat(1 << 20);
    for id in 0..16 {
        client.ok("guests", doc! {"insert": "large", "documents": [{"_id": id, "text": (text.as_str())}]});
    }
    let small = |id: i32| {
        let text = format!("{id} {}", "the quick brown fox ".repeat(5));
        Value::Map(doc! {"_id": id, "n": (id % 100), "next": (id + 1), "text": text})
    };
    for from in (0..20_000).step_by(1000) {
        let documents: Vec<Value> = (from..from + 1000).map(small).collect();
        client.ok("guests", Map::from([("insert", Value::from("many")), ("documents", Value::Array(documents))]));
    }
    // The server may be killed after this sync.
    client.ok("admin", doc! {"fsync": 1});
}
