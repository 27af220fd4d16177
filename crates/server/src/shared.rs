//! What all connections share.

use crate::config::Config;
use crate::cursors::Cursors;
use crate::operations::Operations;
use crate::sessions::Sessions;
use alluvium::env::Env;
use alluvium::{Database, Timestamp};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The state of a server.
pub(crate) struct Shared {
    /// The database.
    pub db: Database,
    /// Clock and randomness.
    pub env: Env,
    /// The settings.
    pub config: Config,
    /// Open cursors.
    pub cursors: Cursors,
    /// Sessions in use.
    pub sessions: Sessions,
    /// Running commands.
    pub operations: Operations,
    /// Counts for `serverStatus`.
    pub counters: Counters,
    /// The address in `hello`, `host:port`.
    pub address: String,
    /// Another one for each start of the server, larger than those before it.
    pub election_id: [u8; 12],
    /// When the server started, on the clock of `env`.
    pub started: Duration,
    /// True once the server ends.
    pub stopping: AtomicBool,
    /// The number of the last connection.
    pub last_connection: AtomicI32,
}

/// Counts since the start.
#[derive(Default)]
pub(crate) struct Counters {
    pub inserts: AtomicU64,
    pub queries: AtomicU64,
    pub updates: AtomicU64,
    pub deletes: AtomicU64,
    pub get_mores: AtomicU64,
    pub commands: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    pub requests: AtomicU64,
    pub connections: AtomicUsize,
    pub connections_total: AtomicU64,
}

impl Counters {
    /// Adds to a count.
    pub(crate) fn add(count: &AtomicU64, n: u64) {
        count.fetch_add(n, Ordering::Relaxed);
    }
}

impl Shared {
    pub(crate) fn new(db: Database, config: Config, address: String) -> Self {
        let env = db.as_ref().env.clone();
        let mut election_id = [0; 12];
        election_id[4..].copy_from_slice(&env.clock.unix_millis().to_be_bytes());
        Self {
            election_id,
            cursors: Cursors::new(env.clone()),
            sessions: Sessions::new(env.clone()),
            operations: Operations::default(),
            counters: Counters::default(),
            started: env.clock.now(),
            stopping: AtomicBool::new(false),
            last_connection: AtomicI32::new(0),
            db,
            env,
            config,
            address,
        }
    }

    /// The time of the last visible write: the number of the operation, as a timestamp.
    pub(crate) fn time(&self) -> Timestamp {
        timestamp(self.db.store().visible())
    }
}

/// The timestamp of an operation. The first 32 bits are at least 1, because clients take zero for no time.
fn timestamp(number: u64) -> Timestamp {
    let [high, low] = [number >> 32, number & 0xffff_ffff].map(|half| u32::try_from(half).unwrap_or(u32::MAX));
    Timestamp { time: high.saturating_add(1), increment: low.max(1) }
}
