//! The table at the end.

use super::Demo;
use super::child::Loaded;
use super::operations::{Cost, Costs};
use super::query::Queried;
use alluvium_cli::text;
use std::time::Duration;

/// The results of all steps.
pub(super) struct Findings {
    pub loaded: Loaded,
    pub costs: Costs,
    pub scan: Cost,
    pub queried: Queried,
    /// Documents that the killed load had acknowledged.
    pub acknowledged: u64,
    /// Documents found after the kill.
    pub found: u64,
    pub open_after_kill: Duration,
}

/// The results, one per line.
pub(super) fn table(demo: &Demo, findings: &Findings) -> String {
    let loaded = &findings.loaded;
    let number = |name| loaded.figure(name);
    let known = |value: Option<String>| value.unwrap_or_else(|| "not known here".to_owned());
    let docs = demo.docs as f64;
    // The time measured by the parent is preferred, because it includes the exit of the process.
    let cpu = loaded.cpu.map(|cpu| cpu.as_secs_f64()).or(number("cpu_seconds"));
    let memory = number("peak_resident_bytes").zip(number("idle_resident_bytes")).map(|(peak, idle)| {
        let used = (peak - idle).max(0.0);
        let (bytes, budget) = (text::bytes(used as u64), text::bytes(demo.memory_bytes));
        format!("{bytes} of {budget} ({:.0}%)", used / demo.memory_bytes as f64 * 100.0)
    });
    let Findings { costs, queried, .. } = findings;
    let per = |cost: &Cost| {
        format!("{:.1} µs of CPU ({}/s from one thread)", cost.cpu_us(), text::count(cost.per_second() as u64))
    };
    let opening = text::duration(findings.open_after_kill);
    let (acknowledged, found) = (text::count(findings.acknowledged), text::count(findings.found));
    let rows = [
        ("load", known(number("documents_per_second").map(|n| format!("{} documents/s", text::count(n as u64))))),
        ("load, until settled", known(cpu.map(|s| format!("{:.1} µs of CPU a document", s * 1e6 / docs)))),
        ("bytes on disk / JSON bytes", known(number("disk_ratio").map(|n| format!("{n:.3}")))),
        ("bytes written / JSON bytes", known(number("written_ratio").map(|n| format!("{n:.3}")))),
        ("peak memory of the load", known(memory)),
        ("random get, first time", per(&costs.get_first)),
        ("random get, again", per(&costs.get_again)),
        ("update (get, score + 1, put)", per(&costs.update)),
        ("delete", per(&costs.delete)),
        ("scan", per(&findings.scan)),
        ("find without an index", text::duration(queried.without_index)),
        ("build the index", text::duration(queried.build)),
        ("find with the index", text::duration(queried.with_index)),
        ("open after kill -9", opening),
        ("killed load", format!("{acknowledged} documents acknowledged, {found} found, all whole")),
    ];
    let rows: Vec<_> = rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    text::columns(&rows)
}
