//! The state that all connections share.

use crate::admission::Admission;
use crate::cluster_time::ClusterTime;
use crate::config::Config;
use crate::cursors::Cursors;
use crate::default_concerns::DefaultConcerns;
use crate::error::CommandResult;
use crate::fail_points::FailPoints;
use crate::figures::Figures;
use crate::latencies::Latencies;
use crate::memory::{Memory, SMALL};
use crate::operations::Operations;
use crate::parameters::Parameters;
use crate::peers::Peers;
use crate::plan_filters::PlanFilters;
use crate::recent_log::{RecentLog, Severity};
use crate::replica_set::ReplicaSet;
use crate::retries;
use crate::security::Security;
use crate::sessions::{Ending, Sessions};
use crate::slow::SlowOperations;
use crate::snapshots::Snapshots;
use crate::threads::{self, Threads};
use crate::tls::Tls;
use crate::write_block::WriteBlock;
use crate::write_gate::WriteGate;
use alluvium::env::Env;
use alluvium::{Database, Patience, Timestamp};
use alluvium_env::sync::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize};
use std::time::Duration;
use tokio::sync::Notify;

/// The arguments of `autoCompact`: megabytes, and whether the compaction runs once.
type AutoCompact = (i64, bool);

/// The part of the permits that writes may hold while they wait for transactions, so that transactions can end.
const WAITING_PART: usize = 4;

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
    /// The snapshots that clients read.
    pub snapshots: Snapshots,
    /// The times of writes.
    pub cluster_time: Arc<ClusterTime>,
    /// The certificates, if the server uses TLS.
    pub tls: Option<Tls>,
    /// The number of connections of each address.
    pub peers: Arc<Peers>,
    /// Users, logins and privileges.
    pub security: Security,
    /// The permits of requests.
    pub admission: Admission,
    /// The memory of requests and replies.
    pub memory: Memory,
    /// The memory of requests on connections that have to log in.
    pub strangers: Memory,
    /// Running commands.
    pub operations: Operations,
    /// The arguments of `autoCompact` while it is enabled.
    pub auto_compact: Mutex<Option<AutoCompact>>,
    /// Parameters of the server that clients have set.
    pub parameters: Mutex<Parameters>,
    /// The time limit in milliseconds of reads that set none; zero means no limit.
    pub read_millis_max: AtomicU64,
    /// The filters that restrict the indexes of queries.
    pub plan_filters: Mutex<PlanFilters>,
    /// The default concerns, for commands that set none.
    pub default_concerns: DefaultConcerns,
    /// Refuses writes of users while it is on.
    pub write_block: WriteBlock,
    /// Blocks writes while `fsync` has locked the server.
    pub writes: Arc<WriteGate>,
    /// The number and duration of the operations on each collection.
    pub latencies: Latencies,
    /// Counts and latencies of commands.
    pub figures: Figures,
    /// The fail points for tests.
    pub fail_points: FailPoints,
    /// The last lines of the log.
    pub log: RecentLog,
    /// Slow operations, and the entries of the profiler.
    pub slow: SlowOperations,
    /// The name of the replica set, and the address that clients are given.
    pub replica_set: ReplicaSet,
    /// An identifier of this start of the server, which is larger than the identifiers of earlier starts.
    pub election_id: [u8; 12],
    /// The time when the server started, on the clock of `env`.
    pub started: Duration,
    /// The number of requests that are executed on threads of the runtime.
    pub executing: AtomicUsize,
    /// Notified when a client shuts the server down.
    pub shutdown: Notify,
    /// The threads of busy connections.
    pub threads: Arc<Threads>,
    /// The number of writes that wait on their threads for the transactions of others.
    pub writes_waiting: Arc<AtomicUsize>,
    /// True while the server stops.
    pub stopping: AtomicBool,
    /// The number of the last connection.
    pub last_connection: AtomicI32,
}

impl Shared {
    pub(crate) fn new(
        db: Database,
        config: Config,
        address: &str,
        replica_set: ReplicaSet,
        security: Security,
        tls: Option<Tls>,
    ) -> CommandResult<Self> {
        let env = db.as_ref().env.clone();
        if config.natural_order {
            db.set_natural_order(true);
        }
        let mut election_id = [0; 12];
        election_id[4..].copy_from_slice(&env.clock.unix_millis().to_be_bytes());
        Ok(Self {
            election_id,
            cursors: Cursors::new(env.clone(), db.stats().memory_budget_bytes),
            sessions: Sessions::new(env.clone()),
            snapshots: Snapshots::new(env.clone()),
            cluster_time: Arc::new(ClusterTime::open(&db, env.clone(), config.replica_set.is_some())),
            tls,
            peers: Peers::new(config.connections_per_address),
            security,
            admission: Admission::new(config.threads.max(1)),
            memory: match config.request_bytes_max {
                0 => Memory::of_database(db.stats().memory_budget_bytes),
                bytes => Memory::new(bytes, SMALL),
            },
            strangers: Memory::of_strangers(),
            operations: Operations::default(),
            auto_compact: Mutex::default(),
            parameters: Mutex::new(Parameters::open(&db)?),
            read_millis_max: AtomicU64::new(0),
            plan_filters: Mutex::default(),
            default_concerns: DefaultConcerns::open(&db, config.replica_set.is_some())?,
            write_block: WriteBlock::default(),
            writes: Arc::default(),
            latencies: Latencies::default(),
            figures: Figures::new(),
            fail_points: FailPoints::new(Arc::clone(&env.rng)),
            log: begun_log(&env, &config, address),
            slow: SlowOperations::new(config.profile, config.slow_ms),
            started: env.clock.now(),
            executing: AtomicUsize::new(0),
            shutdown: Notify::new(),
            threads: Arc::new(Threads::new(config.threads.min(threads::most()))),
            writes_waiting: Arc::default(),
            stopping: AtomicBool::new(false),
            last_connection: AtomicI32::new(0),
            db,
            env,
            config,
            replica_set,
        })
    }

    /// Ends cursors, sessions and snapshots that were not used for long.
    pub(crate) fn expire(&self) {
        let timeout = self.parameters.lock().cursor_timeout();
        self.cursors.expire(timeout);
        self.snapshots.expire();
        let collections = self.db.collections().into_iter().map(|info| format!("{}.{}", info.database, info.name));
        let existing: HashSet<String> = collections.chain(self.db.views().into_iter().map(|(name, _)| name)).collect();
        self.latencies.retain(|name| existing.contains(name));
        self.end_sessions(self.sessions.expire());
    }

    /// How the writes of a command wait for the transactions of others.
    pub(crate) fn patience(&self) -> Patience {
        let waiting_max = self.config.threads / WAITING_PART;
        Patience::new(Arc::clone(&self.writes_waiting), waiting_max)
    }

    /// Aborts the transactions that have been open for longer than `transactionLifetimeLimitSeconds`.
    pub(crate) fn expire_transactions(&self) {
        let limit = self.parameters.lock().transaction_lifetime();
        for session in self.sessions.expire_transactions(limit) {
            self.cursors.kill_of_transaction(&session);
        }
    }

    /// Closes the cursors of sessions that have ended, and deletes the records of their writes.
    pub(crate) fn end_sessions(&self, sessions: Ending<'_>) {
        self.cursors.kill_of_sessions(&sessions.ids);
        let Some(_writing) = self.writes.enter() else {
            // While `fsync` has locked the server, the records cannot be deleted. The sessions are kept, and end again
            // later.
            return sessions.give_up();
        };
        if let Err(error) = retries::forget(&self.db, &sessions.ids) {
            log::warn!("the records of ended sessions could not be deleted: {error}");
        }
    }

    /// Notes the sessions of an earlier run, so that their records are deleted when the sessions end.
    pub(crate) fn remember_sessions(&self) {
        match retries::sessions(&self.db) {
            Ok(sessions) => {
                for session in sessions {
                    if self.sessions.touch(&session).is_err() {
                        return;
                    }
                }
            }
            Err(error) => log::warn!("the records of retryable writes could not be read: {error}"),
        }
    }

    /// The cluster time: the time of the last visible write, or a later time that a client has sent.
    pub(crate) fn time(&self) -> Timestamp {
        self.cluster_time.now(&self.writes)
    }
}

/// The log with the lines of the start.
fn begun_log(env: &Env, config: &Config, address: &str) -> RecentLog {
    let log = RecentLog::default();
    let started = format!("alluvium {} has started at {address}", env!("CARGO_PKG_VERSION"));
    log.note(&*env.clock, Severity::Information, "CONTROL", &started);
    if !config.authentication {
        let warning = "Access control is not enabled for the database: any client may read and write everything";
        log.note(&*env.clock, Severity::Warning, "CONTROL", warning);
    }
    log
}
