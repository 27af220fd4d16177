//! `serverStatus`: figures of the server.

use super::Command;
use super::build_info::VERSION;
use crate::call::Call;
use crate::error::CommandResult;
use crate::fields::is_true;
use crate::machine;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{CollectionInfo, Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

pub(super) const COMMAND: Command =
    Command { access: Access::Server(Action::ServerStatus), ..Command::reading("serverStatus", run).control() };

/// Sections that are in the reply only if the client asks for them.
const ASKED_FOR: [&str; 1] = ["mirroredReads"];

/// The fields that identify the server, and all sections except those that the client excludes.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let mut fields = identity(call);
    let is_wanted = |name: &str| match call.body.get(name) {
        Some(wanted) => is_true(wanted),
        None => !ASKED_FOR.contains(&name),
    };
    fields.entries.extend(sections(call).entries.into_iter().filter(|(name, _)| name.as_str().is_some_and(is_wanted)));
    call.answer(&fields)
}

fn identity(call: &Call<'_>) -> Map {
    let shared = call.shared;
    let uptime = shared.env.clock.now().saturating_sub(shared.started);
    Map::from([
        ("host", Value::from(call.host().as_str())),
        ("version", Value::from(VERSION)),
        // Clients check this field to detect a router (`mongos`).
        ("process", Value::from("mongod")),
        ("service", Value::Array(vec![Value::from("alluvium")])),
        ("pid", Value::Int64(i64::from(std::process::id()))),
        ("uptime", Value::from(uptime.as_secs() as f64)),
        ("uptimeMillis", Value::Int64(i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX))),
        ("uptimeEstimate", Value::Int64(i64::try_from(uptime.as_secs()).unwrap_or(i64::MAX))),
        ("localTime", Value::DateTime(shared.env.clock.unix_millis())),
    ])
}

fn sections(call: &Call<'_>) -> Map {
    let (shared, counters) = (call.shared, &call.shared.figures);
    let count = |count: &AtomicU64| Value::Int64(count.load(Ordering::Relaxed).cast_signed());
    let open = counters.connections.load(Ordering::Relaxed);
    let available = shared.config.connections_max.saturating_sub(open);
    let stats = shared.db.stats();
    let running = i64::try_from(shared.operations.list().len()).unwrap_or(i64::MAX);
    let mut fields = Map::from([("asserts", zeros(&["regular", "warning", "msg", "user", "rollovers"]))]);
    fields.push("catalogStats", catalog(call));
    fields.push(
        "connections",
        Map::from([
            ("current", Value::Int32(i32::try_from(open).unwrap_or(i32::MAX))),
            ("available", Value::Int32(i32::try_from(available).unwrap_or(i32::MAX))),
            ("totalCreated", count(&counters.connections_total)),
            ("active", Value::Int32(i32::try_from(running).unwrap_or(i32::MAX))),
            ("threaded", Value::Int32(i32::try_from(shared.threads.used()).unwrap_or(i32::MAX))),
        ]),
    );
    fields.push("extra_info", usage());
    add_traffic(call, &mut fields);
    fields.push("locks", Value::Map(Map::new()));
    fields.push("opcountersRepl", zeros(&["insert", "query", "update", "delete", "getmore", "command"]));
    fields.push("mem", memory(&stats));
    fields.push("metrics", metrics(call));
    fields.push("mirroredReads", zeros(&["seen", "sent"]));
    fields.push("logicalSessionRecordCache", counted("activeSessionsCount", shared.sessions.len()));
    if let Some(set) = repl(call) {
        fields.push("repl", set);
    }
    fields.push(
        "storageEngine",
        Map::from([
            ("name", Value::from("alluvium")),
            ("supportsCommittedReads", Value::Bool(true)),
            ("persistent", Value::Bool(true)),
            ("readOnly", Value::Bool(shared.db.is_read_only())),
        ]),
    );
    fields.push("transactions", transactions(call));
    fields.push("alluvium", Value::Map(engine(&stats)));
    fields
}

/// Counts of transactions.
fn transactions(call: &Call<'_>) -> Map {
    let counts = &call.shared.sessions.transactions;
    let now = |count: &AtomicUsize| count.load(Ordering::Relaxed) as u64;
    let total = |count: &AtomicU64| int(count.load(Ordering::Relaxed));
    let (active, open) = (now(&counts.active), now(&counts.open));
    Map::from([
        ("currentActive", int(active)),
        ("currentInactive", int(open.saturating_sub(active))),
        ("currentOpen", int(open)),
        ("totalAborted", total(&counts.aborted)),
        ("totalCommitted", total(&counts.committed)),
        ("totalStarted", total(&counts.started)),
    ])
}

/// The state of the replica set, and whether the writes of users are blocked.
fn repl(call: &Call<'_>) -> Option<Map> {
    let set = call.shared.replica_set.present()?;
    let address = Value::from(call.host().as_str());
    let reason = call.shared.write_block.reason();
    let mut map = Map::from([
        ("setName", Value::from(set.config.name)),
        ("setVersion", Value::Int32(set.config.version)),
        ("isWritablePrimary", Value::Bool(!call.shared.db.is_read_only())),
        ("secondary", Value::Bool(false)),
        ("primary", address.clone()),
        ("me", address.clone()),
        ("hosts", Value::Array(vec![address])),
        ("userWriteBlockMode", Value::Int32(if reason.is_some() { 2 } else { 1 })),
    ]);
    if let Some(reason) = reason {
        map.push("userWriteBlockReason", reason);
    }
    Some(map)
}

fn counted(name: &str, count: usize) -> Map {
    Map::from([(name, Value::Int64(i64::try_from(count).unwrap_or(i64::MAX)))])
}

fn memory(stats: &alluvium::Stats) -> Map {
    let megabytes = |bytes: u64| Value::Int32(i32::try_from(bytes >> 20).unwrap_or(i32::MAX));
    let used = stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes + stats.job_bytes + stats.query_bytes;
    let of_database = [stats.memory_budget_bytes as u64, used as u64];
    let [reserved, resident] = machine::memory_of_process().unwrap_or(of_database);
    Map::from([
        ("bits", Value::Int32(64)),
        ("resident", megabytes(resident)),
        ("virtual", megabytes(reserved)),
        ("supported", Value::Bool(true)),
    ])
}

/// The numbers of collections and views.
fn catalog(call: &Call<'_>) -> Map {
    let db = &call.shared.db;
    let collections = db.collections();
    let is_internal = |info: &&CollectionInfo| ["admin", "config", "local"].contains(&info.database.as_str());
    let internal = collections.iter().filter(is_internal).count();
    let is_capped = |info: &&CollectionInfo| {
        let collection = db.logical_database(&info.database).collection(&info.name);
        collection.capped().is_ok_and(|limits| limits.is_some())
    };
    Map::from([
        ("collections", int((collections.len() - internal) as u64)),
        ("capped", int(collections.iter().filter(is_capped).count() as u64)),
        ("clustered", int(0)),
        ("timeseries", int(0)),
        ("views", int(db.views().len() as u64)),
        ("internalCollections", int(internal as u64)),
        ("internalViews", int(0)),
    ])
}

/// The resources that the process has used so far.
fn usage() -> Map {
    let mut fields = Map::from([("note", Value::from("fields vary by platform"))]);
    if let Some([faults, user, system]) = machine::usage() {
        fields.push("user_time_us", Value::Int64(user.cast_signed()));
        fields.push("system_time_us", Value::Int64(system.cast_signed()));
        fields.push("page_faults", int(faults));
    }
    fields
}

/// The counts of each command, and of open cursors.
fn metrics(call: &Call<'_>) -> Map {
    let long = |n: u64| Value::Int64(n.cast_signed());
    let each = call.shared.figures.counts().into_iter().map(|(command, total, failed)| {
        let counts = Map::from([("total", long(total)), ("failed", long(failed))]);
        (Value::from(command), Value::Map(counts))
    });
    let commands = Map { entries: each.collect() };
    let open = counted("total", call.shared.cursors.len());
    Map::from([("commands", Value::Map(commands)), ("cursor", Value::Map(Map::from([("open", Value::Map(open))])))])
}

/// Adds the running commands, the network bytes, and the counts of commands.
fn add_traffic(call: &Call<'_>, fields: &mut Map) {
    let counters = &call.shared.figures;
    let count = |count: &AtomicU64| Value::Int64(count.load(Ordering::Relaxed).cast_signed());
    let running = i64::try_from(call.shared.operations.list().len()).unwrap_or(i64::MAX);
    let queue = |active: i64| {
        Value::Map(Map::from([
            ("total", Value::Int64(active)),
            ("readers", Value::Int64(active)),
            ("writers", Value::Int64(0)),
        ]))
    };
    let uptime = call.shared.env.clock.now().saturating_sub(call.shared.started);
    let micros = Value::Int64(i64::try_from(uptime.as_micros()).unwrap_or(i64::MAX));
    fields.push(
        "globalLock",
        Map::from([("totalTime", micros), ("currentQueue", queue(0)), ("activeClients", queue(running))]),
    );
    fields.push(
        "network",
        Map::from([
            ("bytesIn", count(&counters.bytes_in)),
            ("bytesOut", count(&counters.bytes_out)),
            ("numRequests", count(&counters.requests)),
        ]),
    );
    fields.push(
        "opcounters",
        Map::from([
            ("insert", count(&counters.inserts)),
            ("query", count(&counters.queries)),
            ("update", count(&counters.updates)),
            ("delete", count(&counters.deletes)),
            ("getmore", count(&counters.get_mores)),
            ("command", count(&counters.commands)),
        ]),
    );
}

fn zeros(names: &[&str]) -> Value {
    Value::Map(Map { entries: names.iter().map(|name| (Value::from(*name), Value::Int64(0))).collect() })
}

/// Figures of the store.
fn engine(stats: &alluvium::Stats) -> Map {
    let bytes = |bytes: u64| Value::Int64(i64::try_from(bytes).unwrap_or(i64::MAX));
    let size = |size: usize| bytes(size as u64);
    Map::from([
        ("diskBytes", bytes(stats.disk_bytes)),
        ("logBytes", bytes(stats.log_bytes)),
        ("logBytesWritten", bytes(stats.log_bytes_written)),
        ("flushedBytes", bytes(stats.flushed_bytes)),
        ("compactedBytes", bytes(stats.compacted_bytes)),
        ("memoryBudgetBytes", size(stats.memory_budget_bytes)),
        ("memtableBytes", size(stats.memtable_bytes)),
        ("cacheBytes", size(stats.cache_bytes)),
        ("pinnedBytes", size(stats.pinned_bytes)),
        ("jobBytes", size(stats.job_bytes)),
        ("queryBytes", size(stats.query_bytes)),
        ("cacheHits", bytes(stats.cache_hits)),
        ("cacheMisses", bytes(stats.cache_misses)),
        ("debt", Value::from(stats.debt)),
        ("compactionDebtBytes", bytes(stats.compaction_debt_bytes)),
        ("admissionWaits", bytes(stats.admission_waits)),
        ("snapshots", size(stats.snapshots)),
        ("visible", bytes(stats.visible)),
    ])
}
