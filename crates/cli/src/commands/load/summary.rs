//! The report of a load, as text and as JSON.

use super::input::Source;
use super::settings::Settings;
use super::watch::Sample;
use crate::exit::Outcome;
use crate::files;
use crate::output::Output;
use crate::process;
use crate::text::{self, ratio};
use alluvium::load::{ColumnKind, ColumnReport, Format, LoadReport, Outcome as Ended};
use alluvium::{Stats, Value};
use alluvium_env::Env;
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// With fewer documents, rates are not printed: opening and closing the database take most of the
/// time.
const FEW: u64 = 1000;

/// The maximum number of inputs that are listed as loaded before.
const ALREADY_LISTED: usize = 4;

/// Statistics of the whole command.
#[derive(Default)]
pub(super) struct Summary {
    documents: u64,
    documents_before: u64,
    duplicates: u64,
    rejected: u64,
    repaired: u64,
    /// Bytes read in this run.
    pub json_bytes: u64,
    resumed_bytes: u64,
    /// Inputs that were loaded before, with the numbers of their documents.
    already: Vec<(String, u64)>,
    inputs: usize,
    /// The columns of CSV: the name, the type, and the number of values that do not have this type.
    columns: Vec<serde_json::Value>,
    /// Metadata of BSON dumps: the file, the options, and the names of the indexes.
    metadata: Vec<serde_json::Value>,
    /// The content of the inputs, for messages.
    holds: Option<&'static str>,
    /// The figures of each second, if they are kept.
    pub samples: Option<Vec<Sample>>,
    pub stopped: bool,
    pub settled: bool,
    /// The time from the first step until the database is closed.
    pub took: Duration,
    pub settling: Duration,
    pub stats: Stats,
    idle_bytes: Option<u64>,
    peak_bytes: Option<u64>,
    device_bytes: Option<u64>,
    cpu: Duration,
    pub disk_bytes_before: u64,
    disk_bytes: u64,
}

impl Summary {
    /// Starts a summary before the load. `idle_bytes` of memory are resident before the database is
    /// opened.
    pub(super) fn begun(idle_bytes: Option<u64>) -> Self {
        Self { idle_bytes, ..Self::default() }
    }

    /// Adds the results of one input.
    pub(super) fn add(&mut self, source: &Source, report: &LoadReport) {
        self.inputs += 1;
        let holds = match source.format() {
            Format::Csv(_) => "rows",
            Format::Bson => "BSON",
            _ => "JSON",
        };
        self.holds = Some(if self.holds.is_none_or(|before| before == holds) { holds } else { "input" });
        if let Some((path, metadata)) = source.metadata() {
            let options = Value::Map(metadata.options.clone());
            let options = alluvium_document::json::to_string(&options, alluvium_document::json::Format::RELAXED)
                .unwrap_or_default();
            self.metadata.push(json!({
                "file": path.display().to_string(),
                "options": serde_json::from_str::<serde_json::Value>(&options).unwrap_or_default(),
                "indexes": metadata.index_names(),
                "indexes_not_built": metadata.unsupported_indexes().iter().map(|(name, _)| name).collect::<Vec<_>>(),
            }));
        }
        self.documents += report.documents;
        self.documents_before += report.documents_before;
        self.duplicates += report.duplicates;
        self.rejected += report.rejected;
        self.repaired += report.repaired;
        let column = |column: &ColumnReport| json!({"name": column.name, "type": kind_name(column.kind), "others": column.others});
        self.columns.extend(report.columns.iter().map(column));
        self.json_bytes += report.bytes;
        self.resumed_bytes += report.resumed_at;
        if report.outcome == Ended::AlreadyDone {
            self.already.push((source.name().to_owned(), report.documents_before));
        }
    }

    /// Measures the process and the directory.
    pub(super) fn measure(&mut self, env: &Env, database: &Path) {
        self.cpu = process::cpu_time();
        self.peak_bytes = process::peak_resident_bytes();
        self.device_bytes = Some(process::Usage::now().written_bytes).filter(|bytes| *bytes > 0);
        // If the directory cannot be listed, an earlier step failed with a better message.
        self.disk_bytes = files::bytes_below(env, database).unwrap_or(0);
    }

    /// Prints everything to standard output.
    pub(super) fn print(&self, settings: &Settings) -> Outcome {
        let mut out = Output::new();
        if settings.json {
            out.json(&self.to_json(settings))?;
        } else {
            out.text(&self.describe())?;
        }
        out.finish()
    }

    fn outcome(&self) -> &'static str {
        match (self.stopped, self.already.len() == self.inputs) {
            (true, _) => "stopped",
            (_, true) => "already_done",
            _ => "done",
        }
    }

    fn documents_per_second(&self) -> Option<f64> {
        ratio(self.documents as f64, self.took.saturating_sub(self.settling).as_secs_f64())
    }

    fn cpu_us_per_document(&self) -> Option<f64> {
        ratio(self.cpu.as_secs_f64() * 1e6, self.documents as f64)
    }

    /// The growth of the database, divided by the size of the JSON.
    fn disk_ratio(&self) -> Option<f64> {
        ratio(self.disk_bytes as f64 - self.disk_bytes_before as f64, self.json_bytes as f64)
    }

    /// The bytes written to the log and by flushes and compactions, according to the engine's counters.
    fn written_bytes(&self) -> u64 {
        self.stats.log_bytes_written + self.stats.flushed_bytes + self.stats.compacted_bytes
    }

    fn to_json(&self, settings: &Settings) -> serde_json::Value {
        let mut json = self.figures(settings);
        if let Some(samples) = &self.samples {
            json["samples"] = json!(samples);
        }
        json
    }

    fn figures(&self, settings: &Settings) -> serde_json::Value {
        json!({
            "outcome": self.outcome(),
            "collection": settings.collection,
            "inputs": self.inputs,
            "metadata": self.metadata,
            "documents": self.documents,
            "documents_before": self.documents_before,
            "duplicates": self.duplicates,
            "rejected": self.rejected,
            "repaired": self.repaired,
            "columns": self.columns,
            "json_bytes": self.json_bytes,
            "resumed_bytes": self.resumed_bytes,
            "settled": self.settled,
            "seconds": self.took.as_secs_f64(),
            "settle_seconds": self.settling.as_secs_f64(),
            "documents_per_second": self.documents_per_second(),
            "cpu_seconds": self.cpu.as_secs_f64(),
            "cpu_us_per_document": self.cpu_us_per_document(),
            "disk_bytes_before": self.disk_bytes_before,
            "disk_bytes": self.disk_bytes,
            "disk_ratio": self.disk_ratio(),
            "written_bytes": self.written_bytes(),
            "written_ratio": ratio(self.written_bytes() as f64, self.json_bytes as f64),
            "log_bytes_written": self.stats.log_bytes_written,
            "flushed_bytes": self.stats.flushed_bytes,
            "compacted_bytes": self.stats.compacted_bytes,
            "process_written_bytes": self.device_bytes,
            "memory_budget_bytes": self.stats.memory_budget_bytes,
            "idle_resident_bytes": self.idle_bytes,
            "peak_resident_bytes": self.peak_bytes,
            "admission_waited_seconds": self.stats.admission_waited.as_secs_f64(),
        })
    }

    /// The rates, unless there are too few documents for them.
    fn rates(&self) -> String {
        if self.documents < FEW {
            return String::new();
        }
        let rate = text::count(self.documents_per_second().unwrap_or(0.0) as u64);
        let cpu = self.cpu_us_per_document().map(|us| format!(", {us:.1} µs of CPU each")).unwrap_or_default();
        format!(" ({rate}/s{cpu})")
    }

    fn describe(&self) -> String {
        let mut text = String::new();
        // If just one input is left over, it is listed, because a line about it would be as long.
        let all = self.already.len() <= ALREADY_LISTED + 1;
        let (listed, more) = self.already.split_at(if all { self.already.len() } else { ALREADY_LISTED });
        for (name, documents) in listed {
            let (name, documents) = (text::plain(name), text::counted(*documents, "document"));
            text += &format!("{name} was loaded completely before ({documents}): nothing was changed; ");
            text += "--again loads it again\n";
        }
        if !more.is_empty() {
            let documents = text::counted(more.iter().map(|(_, documents)| documents).sum(), "document");
            text += &format!("so were {} more inputs ({documents})\n", text::count(more.len() as u64));
        }
        if self.already.len() == self.inputs && !self.stopped {
            return text;
        }
        if self.documents_before > 0 && self.resumed_bytes > 0 {
            let documents = text::counted(self.documents_before, "document");
            text += &format!("continued after {documents} loaded before\n");
        }
        text += &format!(
            "loaded {} in {}{}\n",
            text::counted(self.documents, "document"),
            text::duration(self.took.saturating_sub(self.settling)),
            self.rates(),
        );
        if self.settled {
            text += &format!("settled in {}\n", text::duration(self.settling));
        }
        let bad = match self.holds {
            Some("rows") => "bad row",
            Some("BSON") => "bad document",
            _ => "bad line",
        };
        if self.repaired > 0 {
            text += &format!("repaired {}\n", text::counted(self.repaired, bad));
        }
        for (n, what) in [(self.duplicates, "duplicate"), (self.rejected, bad)] {
            if n > 0 {
                text += &format!("left out {}\n", text::counted(n, what));
            }
        }
        // For less input the ratio is meaningless, because most of the growth is the first block of the log.
        let part = self.disk_ratio().filter(|_| self.json_bytes > 10 << 20);
        if let Some(part) = part {
            let (disk, input) = (text::bytes(self.disk_bytes), text::bytes(self.json_bytes));
            let holds = self.holds.unwrap_or("input");
            text += &format!("the database has {disk} on disk");
            // Compactions may have shrunk the earlier content, so the difference can be negative.
            text += &match part >= 0.0 {
                true => format!("; grown by {:.1}% of the {input} of {holds}\n", part * 100.0),
                false => format!(", less than before, after {input} of {holds}\n"),
            };
        }
        text
    }
}

/// The name of a column's type.
fn kind_name(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Number => "number",
        ColumnKind::Boolean => "boolean",
        ColumnKind::Text => "text",
        ColumnKind::Declared => "declared",
        _ => "each",
    }
}
