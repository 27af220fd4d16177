//! The mixes of puts, deletes and gets over any store.

use super::documents::disk_bytes;
use super::figures::MixFigures;
use super::rest::settled;
use crate::peer::{Failure, KeyValues};
use crate::scenarios::kv::{Settings, mix};
use alluvium_cli::process::{Usage, peak_resident_bytes};
use alluvium_env::Env;
use std::path::Path;

/// Runs a mix over a new store with its files in the directory `dir`, settles and closes it.
///
/// # Errors
/// Errors of the store.
pub fn kv(store: Box<dyn KeyValues>, dir: &Path, settings: &Settings) -> Result<MixFigures, Failure> {
    let fs = Env::os().fs;
    let before = Usage::now();
    // A file may be removed while the directory is listed.
    let outcome = mix(&*store, &|| (disk_bytes(&*fs, dir).unwrap_or(0), 0.0), settings)?;
    let settle_seconds = settled(|| store.settle())?;
    let used = Usage::now().since(&before);
    let disk_bytes = disk_bytes(&*fs, dir)?;
    store.close()?;
    let each = |all: f64| all / outcome.operations.max(1) as f64;
    Ok(MixFigures {
        operations: outcome.operations,
        rate: outcome.rate,
        cpu_us: outcome.cpu_us,
        settled_cpu_us: each(used.cpu_seconds * 1e6),
        worst_over_median: outcome.worst_over_median,
        latency: outcome.latency,
        settle_seconds,
        disk_bytes,
        written_bytes: each(used.written_bytes as f64),
        read_bytes: each(used.read_bytes as f64),
        peak_memory_bytes: peak_resident_bytes().unwrap_or(0),
        outcome,
    })
}
