//! Common parts of the scenarios: threads, counters, samples.

use alluvium_cli::process::{Usage, peak_resident_bytes, resident_bytes};
use alluvium_env::Clock;
use alluvium_env::sync::{Condvar, Mutex};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// The events of one second.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: f64,
    /// Puts (documents loaded, or updated).
    pub put: u64,
    /// Deletes.
    pub delete: u64,
    /// Deletes of existing keys.
    pub delete_found: u64,
    /// Gets.
    pub get: u64,
    /// Gets of existing keys.
    pub get_found: u64,
    /// Bytes of all files now.
    pub file_bytes: u64,
    /// The current compaction debt, 0 to 1.
    pub debt: f64,
    /// Bytes of resident memory now.
    pub memory_bytes: u64,
}

impl Sample {
    /// The number of operations in this second.
    pub fn operations(&self) -> u64 {
        self.put + self.delete + self.get
    }
}

/// Latencies in microseconds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Latency {
    /// Half of the operations are faster.
    pub p50: f64,
    /// Nine in ten operations are faster.
    pub p90: f64,
    /// 99 in 100 operations are faster.
    pub p99: f64,
    /// 999 in 1000 operations are faster.
    pub p999: f64,
    /// The slowest operation.
    pub max: f64,
}

/// The results of a scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The name of the scenario.
    pub scenario: String,
    /// Operations of all kinds.
    pub operations: u64,
    /// Seconds of wall clock.
    pub seconds: f64,
    /// Operations a second.
    pub rate: f64,
    /// Processor time for each operation in microseconds, including background work.
    pub cpu_us: f64,
    /// The number of operations in the worst whole second divided by the number in the median second.
    pub worst_over_median: f64,
    /// The latency of an operation.
    pub latency: Latency,
    /// The resources that the process used.
    pub usage: Usage,
    /// The peak resident memory, in bytes.
    pub peak_memory_bytes: u64,
    /// A sample for each second.
    pub samples: Vec<Sample>,
}

/// Counters of all threads.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub put: AtomicU64,
    pub delete: AtomicU64,
    pub delete_found: AtomicU64,
    pub get: AtomicU64,
    pub get_found: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }

    fn sample(&self) -> Sample {
        let get = |c: &AtomicU64| c.load(Ordering::Relaxed);
        Sample {
            put: get(&self.put),
            delete: get(&self.delete),
            delete_found: get(&self.delete_found),
            get: get(&self.get),
            get_found: get(&self.get_found),
            ..Sample::default()
        }
    }
}

/// The duration of a scenario.
pub(crate) struct Plan {
    pub name: String,
    pub threads: usize,
    pub duration: Duration,
    /// The number of operations after which the scenario ends early; 0 for no limit.
    pub operations: u64,
}

/// The context of a thread.
pub(crate) struct Worker<'a> {
    pub counters: &'a Counters,
    pub index: usize,
    stop: &'a AtomicBool,
    left: &'a AtomicU64,
    clock: &'a dyn Clock,
    latencies: Histogram<u64>,
}

impl Worker<'_> {
    /// Takes one of the operations that are left. Returns false if none is left, or if the run is stopped.
    pub fn goes_on(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            return false;
        }
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Runs one operation and records its duration.
    pub fn timed<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let start = self.clock.now();
        let result = operation();
        let took = self.clock.now().saturating_sub(start);
        self.latencies.saturating_record(took.as_nanos() as u64);
        result
    }
}

/// Ends the sampler when the threads have ended.
#[derive(Default)]
struct Ended {
    ended: Mutex<bool>,
    changed: Condvar,
}

/// Runs `body` on each thread, and takes a sample once a second. `state` returns the bytes of the files and the
/// compaction debt.
pub(crate) fn run<E: Send>(
    plan: &Plan,
    clock: &Arc<dyn Clock>,
    state: &(dyn Fn() -> (u64, f64) + Sync),
    body: &(dyn Fn(&mut Worker<'_>) -> Result<(), E> + Sync),
) -> Result<Outcome, E> {
    let (counters, stop) = (Counters::default(), AtomicBool::new(false));
    let left = AtomicU64::new(if plan.operations == 0 { u64::MAX } else { plan.operations });
    let all = Mutex::new(histogram());
    let failure = Mutex::new(None);
    let samples = Mutex::new(Vec::new());
    let ended = Ended::default();
    let before = Usage::now();
    let start = clock.now();
    let mut usage = Usage::default();
    alluvium_env::thread::scope(|scope| {
        scope.spawn(|| sample(plan, &**clock, &counters, &stop, state, &samples, &ended));
        let threads: Vec<_> = (0..plan.threads)
            .map(|index| {
                let (counters, stop, left) = (&counters, &stop, &left);
                let (all, failure, clock) = (&all, &failure, &**clock);
                scope.spawn(move || {
                    let latencies = histogram();
                    let mut worker = Worker { counters, index, stop, left, clock, latencies };
                    if let Err(error) = body(&mut worker) {
                        stop.store(true, Ordering::Relaxed);
                        failure.lock().get_or_insert(error);
                    }
                    // Both histograms have the same bounds, so adding cannot fail.
                    let _added = all.lock().add(&worker.latencies);
                })
            })
            .collect();
        for thread in threads {
            // The scope propagates the panic of a thread.
            let _joined = thread.join();
        }
        usage = Usage::now().since(&before);
        *ended.ended.lock() = true;
        ended.changed.notify_all();
    });
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    let seconds = clock.now().saturating_sub(start).as_secs_f64();
    Ok(outcome(plan, seconds, &counters, usage, &all.into_inner(), samples.into_inner()))
}

/// A histogram of nanoseconds up to a minute, with three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap_or_else(|_| unreachable_histogram())
}

/// A histogram with default bounds. It is never used, because the library accepts the constant bounds above.
fn unreachable_histogram() -> Histogram<u64> {
    Histogram::new(0).unwrap_or_else(|_| unreachable_histogram())
}

fn sample(
    plan: &Plan,
    clock: &dyn Clock,
    counters: &Counters,
    stop: &AtomicBool,
    state: &(dyn Fn() -> (u64, f64) + Sync),
    samples: &Mutex<Vec<Sample>>,
    ended: &Ended,
) {
    let start = clock.now();
    let mut last = Sample::default();
    let mut due = Duration::from_secs(1);
    loop {
        let mut over = ended.ended.lock();
        let now = clock.now().saturating_sub(start);
        if !*over && now < due {
            ended.changed.wait_for(&mut over, due.saturating_sub(now));
        }
        if *over {
            return;
        }
        drop(over);
        let now = clock.now().saturating_sub(start);
        if now < due {
            continue;
        }
        due += Duration::from_secs(1);
        let sum = counters.sample();
        let (file_bytes, debt) = state();
        samples.lock().push(Sample {
            seconds: now.as_secs_f64(),
            put: sum.put - last.put,
            delete: sum.delete - last.delete,
            delete_found: sum.delete_found - last.delete_found,
            get: sum.get - last.get,
            get_found: sum.get_found - last.get_found,
            file_bytes,
            debt,
            memory_bytes: resident_bytes().unwrap_or(0),
        });
        last = sum;
        if now >= plan.duration {
            stop.store(true, Ordering::Relaxed);
        }
    }
}

fn outcome(
    plan: &Plan,
    seconds: f64,
    counters: &Counters,
    usage: Usage,
    latencies: &Histogram<u64>,
    samples: Vec<Sample>,
) -> Outcome {
    let operations = counters.sample().operations();
    Outcome {
        scenario: plan.name.clone(),
        operations,
        seconds,
        rate: operations as f64 / seconds,
        cpu_us: usage.cpu_seconds * 1e6 / operations.max(1) as f64,
        worst_over_median: worst_over_median(&samples),
        latency: latency_of(latencies),
        usage,
        peak_memory_bytes: peak_resident_bytes().unwrap_or(0),
        samples,
    }
}

/// The quantiles of times in nanoseconds.
pub(crate) fn latency_of(times: &Histogram<u64>) -> Latency {
    let micros = |quantile| times.value_at_quantile(quantile) as f64 / 1000.0;
    Latency {
        p50: micros(0.5),
        p90: micros(0.9),
        p99: micros(0.99),
        p999: micros(0.999),
        max: times.max() as f64 / 1000.0,
    }
}

/// The rate of the worst second divided by the rate of the median second. The first second is left out, because the
/// threads start in it.
fn worst_over_median(samples: &[Sample]) -> f64 {
    let mut counts: Vec<u64> = samples.iter().skip(1).map(Sample::operations).collect();
    counts.sort_unstable();
    match (counts.first(), counts.get(counts.len() / 2)) {
        (Some(worst), Some(median)) if *median > 0 => *worst as f64 / *median as f64,
        _ => 1.0,
    }
}

#[cfg(test)]
mod tests;
