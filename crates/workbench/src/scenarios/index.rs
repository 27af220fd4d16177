//! Builds an index on a loaded collection, and measures the effect on a concurrent writer.

use super::documents::{self, Settings};
use super::run::{Counters, Outcome, Plan, run};
use alluvium::{Collection, Database, Error, Map, Result, Value};
use alluvium_env::sync::Mutex;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A time that is longer than any build.
const FOR_EVER: Duration = Duration::from_secs(86_400);

/// The results of the build.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Built {
    /// The index.
    pub name: String,
    /// Seconds until it was ready for queries.
    pub seconds: f64,
    /// Checked updates of other fields before the build.
    pub before: Outcome,
    /// The same updates during the build; their processor time includes the processor time of the
    /// build.
    pub beside: Outcome,
    /// The same updates with the index.
    pub after: Outcome,
}

/// Updates documents for a time, then builds an index while the updates continue, then updates for
/// that time again.
///
/// # Errors
/// Errors of updates and build; [`Error::Load`] if the index already exists.
pub fn run_build(
    database: &Database,
    collection: &Collection,
    ids: &[Value],
    keys: &str,
    settings: &Settings,
) -> Result<Built> {
    let known = collection.indexes()?.len();
    let before = documents::update_checked(database, collection, ids, settings)?;
    let clock = alluvium_env::Env::os().clock;
    let (ended, built) = (AtomicBool::new(false), Mutex::new(None));
    let add_one = documents::increment();
    let plan =
        Plan { name: "beside the build".to_owned(), threads: settings.threads, duration: FOR_EVER, operations: 0 };
    let beside = alluvium_env::thread::scope(|scope| {
        scope.spawn(|| {
            let started = clock.now();
            let name = collection.create_index(keys).run();
            *built.lock() = Some(name.map(|name| (name, clock.now().saturating_sub(started).as_secs_f64())));
            ended.store(true, Ordering::Release);
        });
        run(&plan, &clock, &documents::state(database), &|worker| {
            let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
            while !ended.load(Ordering::Acquire) && worker.goes_on() {
                let id = ids[random.usize(0..ids.len())].clone();
                worker.timed(|| collection.update_one(Map::from([("_id", id)]), &add_one).run())?;
                Counters::add(&worker.counters.put);
            }
            Ok::<(), Error>(())
        })
    })?;
    let Some(outcome) = built.into_inner() else {
        return Err(Error::Load("the build ended without a word".to_owned()));
    };
    let (name, seconds) = outcome?;
    if collection.indexes()?.len() == known {
        return Err(Error::Load(format!("index {name} is there already: drop it first")));
    }
    let after = documents::update_checked(database, collection, ids, settings)?;
    Ok(Built { name, seconds, before, beside, after })
}

/// The results as a table.
pub fn table(built: &Built) -> String {
    let mut out = format!("{} took {:.1} s\n", built.name, built.seconds);
    out.push_str("checked updates     a second     p50 us     p99 us   p99.9 us     max us  peak memory\n");
    for (name, one) in
        [("before", &built.before), ("beside the build", &built.beside), ("with the index", &built.after)]
    {
        let latency = &one.latency;
        out.push_str(&format!(
            "{name:<17} {:>10.0} {:>10.1} {:>10.1} {:>10.1} {:>10.1} {:>9} MB\n",
            one.rate,
            latency.p50,
            latency.p99,
            latency.p999,
            latency.max,
            one.peak_memory_bytes / 1_000_000
        ));
    }
    out
}

#[cfg(test)]
mod tests;
