//! Many values under a key, written and read in a multivalue store: comment ids by author or by
//! subreddit.

use super::Latency;
use super::run::{histogram, latency_of};
use crate::comments::{By, Pairs};
use alluvium_cli::process::{Usage, peak_resident_bytes};
use alluvium_store::{Durability, Multivalue, Options, Store, ValuesOf};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The parameters.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The kind of the keys.
    pub by: By,
    /// Values to put.
    pub entries: u64,
    /// How long keys are looked up.
    pub duration: Duration,
    /// The seed of the random keys.
    pub seed: u64,
}

/// The results.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// The kind of the keys.
    pub by: By,
    /// Values put.
    pub entries: u64,
    /// Values put a second, including the time to settle.
    pub puts_per_second: f64,
    /// Processor time for each put in microseconds, including background work.
    pub put_cpu_us: f64,
    /// Bytes on disk for each entry after settling, without the log.
    pub bytes_per_entry: f64,
    /// Keys looked up, each with all of its values.
    pub lookups: u64,
    /// The latency of a look-up with all of its values.
    pub latency: Latency,
    /// Values read a second by the look-ups.
    pub values_per_second: f64,
    /// The number of values under the largest key, which is the key with the most values among the
    /// looked-up keys.
    pub largest: u64,
    /// Values of the largest key read per second in a forward scan.
    pub largest_values_per_second: f64,
    /// Values of the largest key read per second in a backward scan.
    pub largest_values_per_second_back: f64,
    /// The estimated number of values of the largest key divided by the actual number.
    pub estimate_over_length: f64,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
}

/// The number of values put in one batch.
const BATCH: u64 = 1000;

/// Fills a new store at `path`, settles it, and reads it.
///
/// # Errors
/// Errors of the store.
pub fn multivalue(path: &Path, options: Options, settings: &Settings) -> alluvium_store::Result<Found> {
    let env = alluvium_env::Env::os();
    let clock = env.clock.clone();
    let store = Store::open(env, path, options)?;
    let tree = store.create_multivalue_tree(b"ids")?;
    let (before, began) = (Usage::now(), clock.now());
    let mut pairs = Pairs::new(settings.by, settings.seed);
    let mut name = Vec::new();
    let mut left = settings.entries;
    while left > 0 {
        let mut batch = store.batch();
        for _ in 0..left.min(BATCH) {
            let comment = pairs.next_pair(&mut name);
            batch.put_value(tree, &name, &comment.to_be_bytes());
        }
        store.write(batch, Durability::Periodic)?;
        left = left.saturating_sub(BATCH);
    }
    store.compact()?;
    let (put, took) = (Usage::now().since(&before), clock.now().saturating_sub(began));
    let stats = store.stats();
    let per_entry = 1.0 / settings.entries.max(1) as f64;
    let mut found = Found {
        by: settings.by,
        entries: settings.entries,
        puts_per_second: settings.entries as f64 / took.as_secs_f64(),
        put_cpu_us: put.cpu_seconds * 1e6 * per_entry,
        bytes_per_entry: (stats.disk_bytes - stats.log_bytes) as f64 * per_entry,
        lookups: 0,
        latency: Latency::default(),
        values_per_second: 0.0,
        largest: 0,
        largest_values_per_second: 0.0,
        largest_values_per_second_back: 0.0,
        estimate_over_length: 0.0,
        peak_memory_bytes: 0,
    };
    look_up(&store.multivalue(tree)?, &*clock, settings, &mut found)?;
    found.peak_memory_bytes = peak_resident_bytes().unwrap_or(0);
    store.close()?;
    Ok(found)
}

fn look_up(
    values: &Multivalue<'_>,
    clock: &dyn alluvium_env::Clock,
    settings: &Settings,
    found: &mut Found,
) -> alluvium_store::Result<()> {
    // The names are generated again in the same order, so that the frequency of look-ups of a key
    // is proportional to the number of its values.
    let mut pairs = Pairs::new(settings.by, settings.seed);
    let (mut name, mut largest) = (Vec::new(), Vec::new());
    let mut times = histogram();
    let (began, mut read) = (clock.now(), 0);
    while clock.now().saturating_sub(began) < settings.duration {
        pairs.next_pair(&mut name);
        let start = clock.now();
        let count = drain(values, ValuesOf::key(&name))?;
        times.saturating_record(clock.now().saturating_sub(start).as_nanos() as u64);
        read += count;
        found.lookups += 1;
        if count > found.largest {
            found.largest = count;
            largest.clone_from(&name);
        }
    }
    found.latency = latency_of(&times);
    found.values_per_second = read as f64 / clock.now().saturating_sub(began).as_secs_f64();
    let rate = |wanted: ValuesOf<'_>| -> alluvium_store::Result<f64> {
        let start = clock.now();
        let count = drain(values, wanted)?;
        Ok(count as f64 / clock.now().saturating_sub(start).as_secs_f64())
    };
    found.largest_values_per_second = rate(ValuesOf::key(&largest))?;
    found.largest_values_per_second_back = rate(ValuesOf::key(&largest).reverse())?;
    found.estimate_over_length = values.estimate(&largest)? as f64 / found.largest.max(1) as f64;
    Ok(())
}

fn drain(values: &Multivalue<'_>, wanted: ValuesOf<'_>) -> alluvium_store::Result<u64> {
    let mut stream = values.values(wanted)?;
    let mut count = 0;
    while stream.next()?.is_some() {
        count += 1;
    }
    Ok(count)
}
