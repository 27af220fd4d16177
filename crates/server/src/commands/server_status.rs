//! `serverStatus`: figures of the server.

use super::Command;
use super::build_info::VERSION;
use crate::access::{Access, Action};
use crate::call::Call;
use crate::error::CommandResult;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const COMMAND: Command =
    Command { access: Access::Server(Action::ServerStatus), ..Command::reading("serverStatus", run) };

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let (shared, counters) = (call.shared, &call.shared.figures);
    let count = |count: &AtomicU64| Value::Int64(count.load(Ordering::Relaxed).cast_signed());
    let uptime = shared.env.clock.now().saturating_sub(shared.started);
    let open = counters.connections.load(Ordering::Relaxed);
    let available = shared.config.connections_max.saturating_sub(open);
    let stats = shared.db.stats();
    let megabytes = |bytes: usize| Value::Int32(i32::try_from(bytes >> 20).unwrap_or(i32::MAX));
    let memory = stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes + stats.job_bytes;
    let running = i64::try_from(shared.operations.list().len()).unwrap_or(i64::MAX);
    let mut fields = Map::from([
        ("host", Value::from(shared.address.as_str())),
        ("version", Value::from(VERSION)),
        ("process", Value::from("alluvium")),
        ("pid", Value::Int64(i64::from(std::process::id()))),
        ("uptime", Value::Int64(i64::try_from(uptime.as_secs()).unwrap_or(i64::MAX))),
        ("uptimeMillis", Value::Int64(i64::try_from(uptime.as_millis()).unwrap_or(i64::MAX))),
        ("uptimeEstimate", Value::Int64(i64::try_from(uptime.as_secs()).unwrap_or(i64::MAX))),
        ("localTime", Value::DateTime(shared.env.clock.unix_millis())),
    ]);
    fields.push("asserts", zeros(&["regular", "warning", "msg", "user", "rollovers"]));
    fields.push(
        "connections",
        Map::from([
            ("current", Value::Int32(i32::try_from(open).unwrap_or(i32::MAX))),
            ("available", Value::Int32(i32::try_from(available).unwrap_or(i32::MAX))),
            ("totalCreated", count(&counters.connections_total)),
            ("active", Value::Int32(i32::try_from(running).unwrap_or(i32::MAX))),
        ]),
    );
    add_traffic(call, &mut fields);
    fields.push("opcountersRepl", zeros(&["insert", "query", "update", "delete", "getmore", "command"]));
    fields.push(
        "mem",
        Map::from([
            ("bits", Value::Int32(64)),
            ("resident", megabytes(memory)),
            ("virtual", megabytes(stats.memory_budget_bytes)),
            ("supported", Value::Bool(true)),
        ]),
    );
    let cursors = Map::from([("total", Value::Int64(shared.cursors.len() as i64))]);
    fields.push("metrics", Map::from([("cursor", Value::Map(Map::from([("open", Value::Map(cursors))])))]));
    fields.push(
        "logicalSessionRecordCache",
        Map::from([("activeSessionsCount", Value::Int64(shared.sessions.len() as i64))]),
    );
    fields.push(
        "storageEngine",
        Map::from([
            ("name", Value::from("alluvium")),
            ("supportsCommittedReads", Value::Bool(true)),
            ("persistent", Value::Bool(true)),
            ("readOnly", Value::Bool(shared.db.is_read_only())),
        ]),
    );
    fields.push("alluvium", Value::Map(engine(&stats)));
    call.answer(&fields)
}

/// Running commands, bytes of the network, and counts of commands.
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
    fields.push("globalLock", Map::from([("currentQueue", queue(0)), ("activeClients", queue(running))]));
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
        ("cacheHits", bytes(stats.cache_hits)),
        ("cacheMisses", bytes(stats.cache_misses)),
        ("debt", Value::from(stats.debt)),
        ("compactionDebtBytes", bytes(stats.compaction_debt_bytes)),
        ("admissionWaits", bytes(stats.admission_waits)),
        ("snapshots", size(stats.snapshots)),
        ("visible", bytes(stats.visible)),
    ])
}
