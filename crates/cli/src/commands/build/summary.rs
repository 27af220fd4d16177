//! The report of a build.

use super::Args;
use crate::exit::Outcome;
use crate::output::Output;
use crate::process;
use crate::text::{self, ratio};
use alluvium::BuildReport;
use std::time::Duration;

#[derive(Default)]
pub(super) struct Summary {
    pub report: BuildReport,
    /// Bytes of the inputs, decompressed.
    pub input_bytes: u64,
    pub rejected: u64,
}

impl Summary {
    /// Prints everything to standard output.
    pub(super) fn print(&self, args: &Args, took: Duration) -> Outcome {
        let mut out = Output::new();
        if args.json {
            out.json(&self.to_json(args, took))?;
        } else {
            out.text(&self.describe(args, took))?;
        }
        out.finish()
    }

    fn to_json(&self, args: &Args, took: Duration) -> serde_json::Value {
        let report = &self.report;
        let cpu = process::cpu_time();
        serde_json::json!({
            "collection": args.name,
            "pairs": report.pairs,
            "duplicates": report.duplicates,
            "rejected": self.rejected,
            "input_bytes": self.input_bytes,
            "raw_bytes": report.raw_bytes,
            "disk_bytes": report.disk_bytes,
            "disk_ratio": ratio(report.disk_bytes as f64, self.input_bytes as f64),
            "runs": report.runs,
            "run_bytes": report.run_bytes,
            "merge_passes": report.merge_passes,
            "seconds": took.as_secs_f64(),
            "cpu_seconds": cpu.as_secs_f64(),
            "cpu_us_per_pair": ratio(cpu.as_secs_f64() * 1e6, report.pairs as f64),
            "peak_resident_bytes": process::peak_resident_bytes(),
        })
    }

    fn describe(&self, args: &Args, took: Duration) -> String {
        let report = &self.report;
        let what = if args.key_values { "pair" } else { "document" };
        let rate = text::count(ratio(report.pairs as f64, took.as_secs_f64()).unwrap_or(0.0) as u64);
        let mut text = format!(
            "built {} of {} in {} ({rate}/s)\n",
            text::path(&args.path),
            text::counted(report.pairs, what),
            text::duration(took)
        );
        for (n, what) in [(report.duplicates, "duplicate"), (self.rejected, "bad line")] {
            if n > 0 {
                text += &format!("left out {}\n", text::counted(n, what));
            }
        }
        if let Some(part) = ratio(report.disk_bytes as f64, self.input_bytes as f64) {
            let (disk, input) = (text::bytes(report.disk_bytes), text::bytes(self.input_bytes));
            text += &format!("it has {disk} on disk, {part:.3} of the {input} of input\n");
        }
        text
    }
}
