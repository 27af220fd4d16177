//! Small requests on many connections to a server with MongoDB's protocol. Measures the rate, the latency, and the
//! processor time of the server for each request.
//!
//! The client sends bytes that are encoded before the measurement begins, and looks for only a few bytes in the reply.
//! Therefore it takes little processor time from the server if both run on the same machine.

mod connection;
mod request;

use super::run::{Latency, Plan, run};
use alluvium::{Map, Value};
use alluvium_cli::process::{self, Times};
use alluvium_env::Env;
use connection::Connection;
use request::Request;
use serde::Serialize;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The database of the documents, which is dropped first.
const DATABASE: &str = "wire";
/// The distance between the first `_id`s of two connections.
const STRIDE: i64 = 1 << 32;
/// The number of documents in an `insert_many`.
const BATCH: u64 = 1000;

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// `insert` of 1,000 documents in a request.
    InsertMany,
    /// `ping`, which measures the cost of a request that does nothing.
    Ping,
    /// `find` of one document by its `_id`.
    FindOne,
    /// `insert` of one document, retryable.
    InsertOne,
    /// `update` of one document by its `_id`, `{$inc: {score: 1}}`, retryable.
    UpdateOne,
}

impl Operation {
    /// All operations, in the order in which they are run.
    pub const ALL: [Self; 5] = [Self::InsertMany, Self::Ping, Self::FindOne, Self::InsertOne, Self::UpdateOne];

    /// The name of the driver's function.
    pub fn name(self) -> &'static str {
        match self {
            Self::InsertMany => "insert_many",
            Self::Ping => "ping",
            Self::FindOne => "find_one",
            Self::InsertOne => "insert_one",
            Self::UpdateOne => "update_one",
        }
    }
}

/// Parameters of the requests.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The server, `HOST:PORT`.
    pub address: String,
    /// The kinds of requests that are reported. The documents are always inserted.
    pub operations: Vec<Operation>,
    /// The number of connections, each with a thread.
    pub connections: usize,
    /// The number of documents.
    pub documents: u64,
    /// How long each kind of request is sent.
    pub duration: Duration,
    /// The seed of the random choices.
    pub seed: u64,
}

/// The results of one kind of request.
#[derive(Debug, Clone, Serialize)]
pub struct Measured {
    /// The kind of request.
    pub operation: &'static str,
    /// The number of connections.
    pub connections: usize,
    /// The number of requests; for `insert_many`, the number of documents.
    pub operations: u64,
    /// Seconds of wall clock.
    pub seconds: f64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time of the server for each operation, if the server is on this machine.
    pub server: Option<Processor>,
    /// Processor time of the client for each operation, in microseconds.
    pub client_us: f64,
    /// The latency of a request.
    pub latency: Latency,
}

/// Processor time in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Processor {
    /// Processor time in the program.
    pub user_us: f64,
    /// Processor time in the kernel.
    pub system_us: f64,
}

/// Drops the database `wire` of the server, fills it, and sends the requests.
///
/// # Errors
/// Errors of the connections, and replies that report a failure.
pub fn wire(settings: &Settings) -> io::Result<Vec<Measured>> {
    let mut first = Connection::open(&settings.address)?;
    let command = |name: &str, db: &str| Map::from([(name, Value::Int32(1)), ("$db", Value::from(db))]);
    first.command(&command("dropDatabase", DATABASE))?;
    let status = first.command(&command("serverStatus", "admin"))?;
    let server = status.get("pid").and_then(Value::as_i64).filter(|_| first.is_local());
    let cluster_time = first.command(&command("ping", "admin"))?.get("$clusterTime").cloned();
    let mut all = Vec::new();
    for operation in Operation::ALL {
        let is_wanted = settings.operations.contains(&operation);
        if is_wanted || operation == Operation::InsertMany {
            let measured = measure(settings, operation, server, cluster_time.as_ref())?;
            all.extend(is_wanted.then_some(measured));
        }
    }
    Ok(all)
}

fn measure(
    settings: &Settings,
    operation: Operation,
    server: Option<i64>,
    cluster_time: Option<&Value>,
) -> io::Result<Measured> {
    let share = (settings.documents / settings.connections as u64).max(1);
    let is_load = operation == Operation::InsertMany;
    let plan = Plan {
        name: operation.name().to_owned(),
        threads: settings.connections,
        duration: if is_load { Duration::MAX } else { settings.duration },
        operations: 0,
    };
    let before = server.and_then(process::times_of);
    let outcome = run(&plan, &Env::os().clock, &|| (0, 0.0), &|worker| {
        let mut connection = Connection::open(&settings.address)?;
        let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
        let first = worker.index as i64 * STRIDE;
        let mut next = 0;
        let mut request = Request::new(operation, cluster_time)?;
        while worker.goes_on() && !(is_load && next == share) {
            let at = match operation {
                Operation::FindOne | Operation::UpdateOne => random.u64(..share),
                _ => next,
            };
            let count = if is_load { BATCH.min(share - next) } else { 1 };
            if is_load && count < BATCH {
                request = Request::of_many(count, cluster_time)?;
            }
            let message = request.fill(first + at.cast_signed(), next.cast_signed() + 1);
            let reply = worker.timed(|| connection.call(message))?;
            request.check(reply)?;
            next += count;
            worker.counters.put.fetch_add(count, Ordering::Relaxed);
        }
        Ok::<_, io::Error>(())
    })?;
    let after = server.and_then(process::times_of);
    let each = |time: Duration| time.as_secs_f64() * 1e6 / outcome.operations.max(1) as f64;
    let processor = |(before, after): (Times, Times)| Processor {
        user_us: each(after.user.saturating_sub(before.user)),
        system_us: each(after.system.saturating_sub(before.system)),
    };
    Ok(Measured {
        operation: operation.name(),
        connections: settings.connections,
        operations: outcome.operations,
        seconds: outcome.seconds,
        rate: outcome.rate,
        server: before.zip(after).map(processor),
        client_us: outcome.cpu_us,
        latency: outcome.latency,
    })
}

/// The results as a table.
pub fn table(all: &[Measured]) -> String {
    let mut text = format!(
        "{:<12} {:>11} {:>12} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
        "", "connections", "a second", "user µs", "system µs", "client µs", "p50 µs", "p99 µs"
    );
    for one in all {
        let server = |part: fn(Processor) -> f64| one.server.map_or("-".to_owned(), |it| format!("{:.1}", part(it)));
        text.push_str(&format!(
            "{:<12} {:>11} {:>12.0} {:>10} {:>10} {:>10.1} {:>10.1} {:>10.1}\n",
            one.operation,
            one.connections,
            one.rate,
            server(|it| it.user_us),
            server(|it| it.system_us),
            one.client_us,
            one.latency.p50,
            one.latency.p99
        ));
    }
    text
}
