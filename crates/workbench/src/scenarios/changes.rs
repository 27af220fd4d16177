//! Recorded changes: the costs of recording for the writes, and how long after its write a change stream returns an event.

mod price;
mod stream;

pub use price::{Cost, Price};
pub use stream::{Lag, Read, Times};

use alluvium::Database;
use alluvium_cli::exit::Outcome;
use alluvium_cli::files;
use alluvium_env::Env;
use serde::Serialize;
use std::path::Path;

/// Parameters.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of comments in a load.
    pub documents: u64,
    /// The number of updates, and of puts.
    pub operations: u64,
    /// The number of writes whose events are timed. Beside a load, writes are timed until its end.
    pub writes: u64,
    /// The highest number of timed writes in a second.
    pub rate: u64,
    /// How often the costs are measured.
    pub rounds: u32,
    /// The memory budget of a database, in bytes.
    pub memory_bytes: usize,
    /// The seed of the comments and the random choices.
    pub seed: u64,
}

/// The results.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The costs of writes, each with and without recording.
    pub prices: Vec<Price>,
    /// A stream beside a load of the same collection.
    pub read: Read,
    /// The times of events.
    pub lags: Vec<Lag>,
}

/// Measures all of it in databases below `dir`, one after the other; each is removed afterwards.
///
/// # Errors
/// Errors of the databases; an event that is missing, or in the wrong place.
pub fn changes(dir: &Path, settings: &Settings) -> Outcome<Report> {
    let prices = price::prices(dir, settings)?;
    let read = stream::read(dir, settings)?;
    Ok(Report { prices, read, lags: stream::lags(dir, settings)? })
}

/// Runs a step over a new database.
fn with_database<T>(dir: &Path, settings: &Settings, step: impl FnOnce(&Database) -> Outcome<T>) -> Outcome<T> {
    let path = dir.join("changes.db");
    let database = Database::builder().memory(settings.memory_bytes).open(&path)?;
    let result = step(&database)?;
    database.close()?;
    files::remove_below(&Env::os(), &path)?;
    Ok(result)
}

/// The results as tables.
pub fn table(report: &Report) -> String {
    let mut out = format!(
        "{:<16} {:>10} {:>10} {:>7} {:>13} {:>13}\n",
        "", "CPU µs", "recorded", "ratio", "written bytes", "recorded"
    );
    for price in &report.prices {
        let Price { what, plain, recorded, ratio } = price;
        out += &format!(
            "{what:<16} {:>10.2} {:>10.2} {ratio:>7.2} {:>13.0} {:>13.0}\n",
            plain.cpu_us, recorded.cpu_us, plain.written_bytes, recorded.written_bytes
        );
    }
    out += &format!("\n{:<26} {:>10} {:>10} {:>10}\n", "", "a second", "CPU µs", "late, s");
    let Read { beside, again, load_rate, late_seconds } = &report.read;
    out += &format!("{:<26} {load_rate:>10.0}\n", "load beside a stream");
    out += &format!(
        "{:<26} {:>10.0} {:>10.2} {late_seconds:>10.2}\n",
        "events beside the load", beside.rate, beside.cpu_us
    );
    out += &format!("{:<26} {:>10.0} {:>10.2}\n", "events, again and alone", again.rate, again.cpu_us);
    out += &format!(
        "\n{:<10} {:<28} {:>8} {:>9} {:>10} {:>10} {:>10} {:>12}\n",
        "sync", "beside", "writes", "a second", "lag p50 ms", "p99 ms", "max ms", "write p99 ms"
    );
    for lag in &report.lags {
        out += &format!(
            "{:<10} {:<28} {:>8} {:>9.0} {:>10.2} {:>10.2} {:>10.2} {:>12.2}\n",
            lag.durability,
            lag.beside,
            lag.writes,
            lag.rate,
            lag.lag.p50 / 1e3,
            lag.lag.p99 / 1e3,
            lag.lag.max / 1e3,
            lag.write.p99 / 1e3
        );
    }
    out
}
