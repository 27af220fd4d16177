//! Puts of generated comments.

use super::source::{Batch, Source};
use crate::peer::{Documents, Failure};
use crate::scenarios::run::histogram;
use alluvium_cli::process::thread_cpu_time;
use alluvium_env::sync::Mutex;
use alluvium_env::{Clock, Env};
use hdrhistogram::Histogram;
use std::time::Duration;

/// The work that all threads have done together.
pub(super) struct Done {
    pub documents: u64,
    /// Processor time of the harness.
    pub harness: Duration,
    /// The total time that the threads spent in the store.
    pub in_store: Duration,
    /// The latencies of single puts, in nanoseconds.
    pub latencies: Histogram<u64>,
    failure: Option<Failure>,
}

/// Puts the documents of the source with this number of threads, until all are put or the time
/// limit is reached.
///
/// # Errors
/// Errors of the store.
pub(super) fn load(
    store: &dyn Documents,
    source: &Source,
    threads: usize,
    limit: Option<Duration>,
) -> Result<Done, Failure> {
    let clock = Env::os().clock;
    let until = limit.map(|limit| clock.now() + limit);
    let done = Mutex::new(Done {
        documents: 0,
        harness: Duration::ZERO,
        in_store: Duration::ZERO,
        latencies: histogram(),
        failure: None,
    });
    alluvium_env::thread::scope(|scope| {
        for _ in 0..threads {
            let (clock, done) = (&*clock, &done);
            scope.spawn(move || {
                if let Err(failure) = batches(store, source, until, clock, done) {
                    done.lock().failure.get_or_insert(failure);
                }
            });
        }
    });
    let mut done = done.into_inner();
    done.failure.take().map_or(Ok(done), Err)
}

/// Runs one thread, which puts batches until none is left.
fn batches(
    store: &dyn Documents,
    source: &Source,
    until: Option<Duration>,
    clock: &dyn Clock,
    done: &Mutex<Done>,
) -> Result<(), Failure> {
    let mut session = store.session()?;
    let (mut batch, mut latencies) = (Batch::default(), histogram());
    while until.is_none_or(|until| clock.now() < until) && done.lock().failure.is_none() {
        let began = thread_cpu_time();
        let more = source.fill(&mut batch)?;
        let harness = thread_cpu_time().saturating_sub(began);
        if !more {
            break;
        }
        let (mut documents, mut in_store) = (0, Duration::ZERO);
        for (id, json) in batch.iter() {
            let began = clock.now();
            session.put(id, json)?;
            let took = clock.now().saturating_sub(began);
            latencies.saturating_record(took.as_nanos() as u64);
            in_store += took;
            documents += 1;
        }
        let mut done = done.lock();
        done.documents += documents;
        done.harness += harness;
        done.in_store += in_store;
    }
    // Both histograms have the same bounds, so adding cannot fail.
    let _added = done.lock().latencies.add(&latencies);
    Ok(())
}
