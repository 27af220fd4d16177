//! The costs of writes, with and without recording.

use super::{Settings, with_database};
use crate::scenarios::{documents, put};
use alluvium::{ChangeScope, Database, Result};
use alluvium_cli::exit::Outcome;
use alluvium_cli::process::Usage;
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The cost of a kind of writes.
#[derive(Debug, Clone, Serialize)]
pub struct Price {
    /// The kind.
    pub what: &'static str,
    /// The cost while nothing is recorded.
    pub plain: Cost,
    /// The cost while everything is recorded.
    pub recorded: Cost,
    /// The processor time of `recorded` divided by that of `plain`.
    pub ratio: f64,
}

/// The cost of one write, all background work included; the median of the rounds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Cost {
    /// Processor time of the process in microseconds.
    pub cpu_us: f64,
    /// Bytes written to storage.
    pub written_bytes: f64,
}

/// The kinds of writes, in the order in which they are measured.
const KINDS: [&str; 3] = ["load", "checked update", "put"];

/// Measures the costs in a new database for each round, with and without recording in turn.
pub(super) fn prices(dir: &Path, settings: &Settings) -> Outcome<Vec<Price>> {
    let mut costs = [Vec::new(), Vec::new()];
    for round in 0..settings.rounds.max(1) {
        // Every other round begins with the other one.
        for turn in [round % 2 == 1, round % 2 == 0] {
            costs[usize::from(turn)].push(with_database(dir, settings, |database| writes(database, settings, turn))?);
        }
    }
    let price = |(kind, what): (usize, &'static str)| {
        let [plain, recorded] = [&costs[0], &costs[1]].map(|rounds| median(rounds.iter().map(|round| round[kind])));
        Price { what, plain, recorded, ratio: recorded.cpu_us / plain.cpu_us.max(1e-9) }
    };
    Ok(KINDS.into_iter().enumerate().map(price).collect())
}

/// The costs of all kinds in a new database.
fn writes(database: &Database, settings: &Settings, recorded: bool) -> Outcome<[Cost; 3]> {
    if recorded {
        database.record_changes(ChangeScope::Everything)?;
    }
    let comments = database.collection("comments");
    let load = cost(database, settings.documents, || {
        documents::load(&comments, settings.documents, settings.seed).run().map(drop)
    })?;
    let ids = documents::sample_ids(&comments, settings.seed)?;
    let update = cost(database, settings.operations, || {
        let (duration, operations) = (Duration::MAX, settings.operations);
        let updates = documents::Settings { duration, operations, seed: settings.seed, ..Default::default() };
        documents::update_checked(database, &comments, &ids, &updates).map(drop)
    })?;
    let puts = put::Settings { documents: settings.operations, how: put::How::Put, parse: false, seed: settings.seed };
    let outcome = put::put(database, &database.collection("puts"), &puts)?;
    let written_bytes = outcome.usage.written_bytes as f64 / settings.operations.max(1) as f64;
    Ok([load, update, Cost { cpu_us: outcome.cpu_us, written_bytes }])
}

/// Runs writes, and waits until all compactions are done.
fn cost(database: &Database, writes: u64, run: impl FnOnce() -> Result<()>) -> Result<Cost> {
    let before = Usage::now();
    run()?;
    database.wait_for_compaction()?;
    let used = Usage::now().since(&before);
    let each = |all: f64| all / writes.max(1) as f64;
    Ok(Cost { cpu_us: each(used.cpu_seconds * 1e6), written_bytes: each(used.written_bytes as f64) })
}

/// The medians of the processor times and of the bytes.
fn median(costs: impl Iterator<Item = Cost>) -> Cost {
    let (mut cpu, mut written): (Vec<f64>, Vec<f64>) = costs.map(|cost| (cost.cpu_us, cost.written_bytes)).unzip();
    cpu.sort_by(f64::total_cmp);
    written.sort_by(f64::total_cmp);
    let middle = |sorted: &[f64]| sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    Cost { cpu_us: middle(&cpu), written_bytes: middle(&written) }
}
