//! What a cache counts: by thread, so that counting takes no locked instruction and no cache line of another
//! core. Sums are made when somebody asks.
//!
//! Locking: the list of threads, a leaf.

use alluvium_env::sync::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Look-ups that found their block.
    Hit,
    /// Look-ups that did not.
    Miss,
    /// Point reads.
    Get,
    /// Blocks that point reads had to read.
    ReadByGet,
}

const KINDS: usize = 4;

/// The counts of one thread. Only that thread writes.
#[derive(Default)]
#[repr(align(128))]
struct OfThread([AtomicU64; KINDS]);

/// The counts of all threads.
pub(crate) struct Counts {
    id: u64,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    /// Those that counted something; a thread that has ended leaves its counts here alone.
    all: Vec<Arc<OfThread>>,
    /// The sums of those that have ended, as far as they were seen.
    ended: [u64; KINDS],
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// This thread's counts, by the id of what they are of.
    static OWN: RefCell<Vec<(u64, Arc<OfThread>)>> = const { RefCell::new(Vec::new()) };
}

impl Counts {
    pub fn new() -> Self {
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), threads: Mutex::default() }
    }

    /// Counts one.
    #[inline]
    pub fn add(&self, what: What) {
        let counted = OWN.try_with(|own| {
            let Ok(mut own) = own.try_borrow_mut() else { return false };
            let at = match own.iter().position(|(id, _)| *id == self.id) {
                Some(at) => at,
                None => self.enter(&mut own),
            };
            let counter = &own[at].1.0[what as usize];
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            true
        });
        if counted != Ok(true) {
            // The thread is about to end.
            self.threads.lock().ended[what as usize] += 1;
        }
    }

    /// Begins the counts of this thread.
    #[cold]
    fn enter(&self, own: &mut Vec<(u64, Arc<OfThread>)>) -> usize {
        // Those of caches that are no more.
        own.retain(|(_, counts)| Arc::strong_count(counts) > 1);
        let counts = Arc::new(OfThread::default());
        let mut threads = self.threads.lock();
        threads.forget_ended();
        threads.all.push(counts.clone());
        own.push((self.id, counts));
        own.len() - 1
    }

    /// How many were counted.
    pub fn sum(&self, what: What) -> u64 {
        let threads = self.threads.lock();
        let own = |counts: &Arc<OfThread>| counts.0[what as usize].load(Ordering::Relaxed);
        threads.ended[what as usize] + threads.all.iter().map(own).sum::<u64>()
    }
}

impl Threads {
    fn forget_ended(&mut self) {
        let Self { all, ended } = self;
        all.retain(|counts| {
            let lives = Arc::strong_count(counts) > 1;
            if !lives {
                // What the thread wrote before it let go of its counts is seen after that.
                std::sync::atomic::fence(Ordering::Acquire);
                ended.iter_mut().zip(&counts.0).for_each(|(sum, own)| *sum += own.load(Ordering::Relaxed));
            }
            lives
        });
    }
}

#[cfg(test)]
mod tests;
