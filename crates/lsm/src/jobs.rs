//! The running jobs of a partition, including flushes.
//!
//! From its pick until its end, a job marks its files as busy and registers the key range and the
//! runs that it covers (its span). A flush whose files sink also puts files into runs, so it checks
//! the spans under the same lock.

use crate::picker::Span;
use alluvium_env::sync::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The running jobs of a partition. Its lock must be taken before the lock of the view.
#[derive(Default)]
pub(crate) struct Jobs {
    state: Mutex<Running>,
    ended: Condvar,
}

#[derive(Default)]
pub(crate) struct Running {
    spans: HashMap<u64, Span>,
    busy: HashSet<u64>,
    next: u64,
}

impl Running {
    pub fn spans(&self) -> Vec<Span> {
        self.spans.values().cloned().collect()
    }

    /// True if a job uses the file.
    pub fn is_busy(&self, number: u64) -> bool {
        self.busy.contains(&number)
    }
}

impl Jobs {
    pub fn lock(&self) -> MutexGuard<'_, Running> {
        self.state.lock()
    }

    /// Registers a job. `running` is the guard of this object's own lock.
    pub fn enter(self: &Arc<Self>, running: &mut Running, spans: Vec<Span>, files: &[u64]) -> Ticket {
        let mut ids = Vec::with_capacity(spans.len());
        running.next += 1;
        for span in spans {
            running.next += 1;
            ids.push(running.next);
            running.spans.insert(running.next, span);
        }
        running.busy.extend(files);
        Ticket { jobs: self.clone(), spans: ids, files: files.to_vec() }
    }

    /// Waits until a job ends; returns at once if no job runs.
    pub fn wait_for_one(&self) {
        let mut running = self.state.lock();
        if !running.spans.is_empty() || !running.busy.is_empty() {
            self.ended.wait(&mut running);
        }
    }

    /// Waits until no job runs.
    pub fn wait_for_all(&self) {
        let mut running = self.state.lock();
        while !running.spans.is_empty() || !running.busy.is_empty() {
            self.ended.wait(&mut running);
        }
    }

    /// `None` if jobs run; otherwise a number that changes with each job.
    pub fn idle_epoch(&self) -> Option<u64> {
        let running = self.state.lock();
        (running.spans.is_empty() && running.busy.is_empty()).then_some(running.next)
    }
}

/// The registration of a job, which ends on drop.
pub(crate) struct Ticket {
    jobs: Arc<Jobs>,
    spans: Vec<u64>,
    files: Vec<u64>,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut running = self.jobs.state.lock();
        for id in &self.spans {
            running.spans.remove(id);
        }
        for number in &self.files {
            running.busy.remove(number);
        }
        drop(running);
        self.jobs.ended.notify_all();
    }
}
