//! `alluvium-bench lengths`.

use super::scenario::print;
use crate::comments::Generator;
use alluvium_cli::exit::Outcome;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use serde::Serialize;

/// The percentiles that are printed.
const PERCENTS: [f64; 15] = [0.0, 1.0, 5.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.99, 100.0];

/// Arguments of `lengths`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench lengths --docs 1000000")]
pub(crate) struct Args {
    /// The number of comments
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    docs: u64,
    /// Another seed gives other comments
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// The lengths of generated comments as JSON.
#[derive(Debug, Serialize)]
struct Lengths {
    documents: u64,
    json_bytes: u64,
    mean_bytes: f64,
    quantiles: Vec<Quantile>,
}

#[derive(Debug, Serialize)]
struct Quantile {
    /// The percentage of the comments that have at most `bytes` bytes.
    percent: f64,
    bytes: u32,
}

impl Args {
    /// Generates comments, and prints the distribution of their lengths.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        print(&measure(self.docs, self.seed), self.json, describe)
    }
}

fn measure(documents: u64, seed: u64) -> Lengths {
    let mut generator = Generator::new(seed);
    let mut line = Vec::new();
    let mut lengths: Vec<u32> = (0..documents)
        .map(|_| {
            line.clear();
            generator.write_line(&mut line);
            // The length does not include the line feed.
            u32::try_from(line.len() - 1).unwrap_or(u32::MAX)
        })
        .collect();
    lengths.sort_unstable();
    let json_bytes: u64 = lengths.iter().map(|bytes| u64::from(*bytes)).sum();
    let last = lengths.len().saturating_sub(1);
    let at = |percent: f64| lengths.get((percent / 100.0 * last as f64).round() as usize).copied().unwrap_or(0);
    let quantiles = PERCENTS.map(|percent| Quantile { percent, bytes: at(percent) }).into();
    Lengths { documents, json_bytes, mean_bytes: json_bytes as f64 / documents.max(1) as f64, quantiles }
}

fn describe(lengths: &Lengths) -> String {
    let comments = text::counted(lengths.documents, "comment");
    let mut text = format!("{comments}, {:.1} bytes of JSON on average\n", lengths.mean_bytes);
    let rows = lengths.quantiles.iter();
    let rows = rows.map(|quantile| (format!("{}%", quantile.percent), text::count(u64::from(quantile.bytes))));
    text += &text::columns(&rows.collect::<Vec<_>>());
    text
}

#[cfg(test)]
mod tests;
