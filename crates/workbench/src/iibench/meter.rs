//! Measurements while the loaders work.

use super::failure::Failure;
use super::report::Cost;
use alluvium_cli::process::{self, Io, Usage};
use alluvium_env::Clock;
use alluvium_env::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Counters and states that the loaders share with the meter.
#[derive(Default)]
pub(super) struct Tally {
    inserted: AtomicU64,
    harness_ns: AtomicU64,
    insert_ns: AtomicU64,
    /// True if no loader may begin another batch.
    stopped: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The kernel's ids of the loaders' threads.
    threads: Vec<u32>,
    finished: usize,
    /// True after the last measurement, when the threads may end.
    released: bool,
    failure: Option<Failure>,
}

impl Tally {
    /// Registers a loader.
    pub fn enter(&self) {
        self.state.lock().threads.push(process::thread_id());
    }

    /// Adds the rows that a loader inserted in an interval, with the processor time for generating
    /// and for inserting them.
    pub fn add(&self, rows: u64, harness: Duration, insert: Duration, interval: u64) {
        self.harness_ns.fetch_add(harness.as_nanos() as u64, Ordering::Relaxed);
        self.insert_ns.fetch_add(insert.as_nanos() as u64, Ordering::Relaxed);
        let before = self.inserted.fetch_add(rows, Ordering::Relaxed);
        if before / interval != (before + rows) / interval {
            let _state = self.state.lock();
            self.changed.notify_all();
        }
    }

    pub fn inserted(&self) -> u64 {
        self.inserted.load(Ordering::Relaxed)
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Registers the end of a loader. Waits until the last measurement is done, because the
    /// counters of a thread are lost when the thread ends.
    pub fn leave(&self, result: Result<(), Failure>) {
        let mut state = self.state.lock();
        if let Err(failure) = result {
            self.stop();
            state.failure.get_or_insert(failure);
        }
        state.finished += 1;
        self.changed.notify_all();
        while !state.released {
            self.changed.wait(&mut state);
        }
    }

    /// Waits until `mark` rows are inserted, all loaders have ended, or the time is over. Returns
    /// true if all loaders have ended.
    pub fn wait(&self, mark: u64, loaders: usize, timeout: Duration) -> bool {
        let mut state = self.state.lock();
        if state.finished < loaders && self.inserted() < mark {
            // The wait may end without a cause; then the caller waits again.
            self.changed.wait_for(&mut state, timeout);
        }
        state.finished == loaders
    }

    /// Lets the loaders' threads end.
    pub fn release(&self) {
        self.state.lock().released = true;
        self.changed.notify_all();
    }

    pub fn take_failure(&self) -> Option<Failure> {
        self.state.lock().failure.take()
    }
}

/// The counters at one time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reading {
    at: Duration,
    pub inserted: u64,
    usage: Usage,
    foreground: Io,
    harness: Duration,
    insert: Duration,
}

/// Reads the counters. A meter belongs to one thread, and does not count the system calls of this
/// thread.
pub(super) struct Meter {
    clock: Arc<dyn Clock>,
    thread: u32,
}

impl Meter {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, thread: process::thread_id() }
    }

    pub fn read(&self, tally: &Tally) -> Reading {
        let threads = tally.state.lock().threads.clone();
        let foreground = threads.iter().map(|thread| process::thread_io(*thread)).fold(Io::default(), Io::plus);
        let own = process::thread_io(self.thread);
        let mut usage = Usage::now();
        usage.read_calls = usage.read_calls.saturating_sub(own.read_calls);
        Reading {
            at: self.clock.now(),
            inserted: tally.inserted(),
            usage,
            foreground,
            harness: Duration::from_nanos(tally.harness_ns.load(Ordering::Relaxed)),
            insert: Duration::from_nanos(tally.insert_ns.load(Ordering::Relaxed)),
        }
    }
}

impl Reading {
    /// The difference from `before`.
    pub fn since(&self, before: &Self) -> Cost {
        let usage = self.usage.since(&before.usage);
        let foreground = self.foreground.since(&before.foreground);
        let (inserts, seconds) = (self.inserted - before.inserted, self.at.saturating_sub(before.at).as_secs_f64());
        Cost {
            inserts,
            seconds,
            inserts_per_second: inserts as f64 / seconds.max(1e-9),
            cpu_seconds: usage.cpu_seconds,
            harness_cpu_seconds: self.harness.saturating_sub(before.harness).as_secs_f64(),
            foreground_cpu_seconds: self.insert.saturating_sub(before.insert).as_secs_f64(),
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            written_kb: usage.written_bytes / 1024,
            read_kb: usage.read_bytes / 1024,
            read_calls: usage.read_calls,
            write_calls: usage.write_calls,
            foreground_read_calls: foreground.read_calls,
            foreground_read_kb: foreground.read_bytes / 1024,
        }
    }
}
