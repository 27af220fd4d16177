//! Counts of a cache, kept by thread, so that counting takes no locked instruction and no cache
//! line of another core. Sums are computed on request.
//!
//! Locking: the list of threads, a leaf.

use alluvium_env::sync::Mutex;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// Look-ups that found their block.
    Hit,
    /// Look-ups that did not find their block.
    Miss,
    /// Point reads.
    Get,
    /// Blocks that point reads had to read.
    ReadByGet,
}

const KINDS: usize = 4;

/// The counts of one thread. Only that thread writes them.
#[derive(Default)]
#[repr(align(128))]
struct ThreadCounts([AtomicU64; KINDS]);

/// The counts of all threads.
pub(crate) struct Counts {
    id: u64,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    /// Threads that counted something; the list holds the only reference to the counts of a thread
    /// that has ended.
    all: Vec<Arc<ThreadCounts>>,
    /// The sums of the ended threads that were collected so far.
    ended: [u64; KINDS],
}

static NEXT_ID: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// This thread's counts, by the id of the [`Counts`] that they belong to.
    static OWN: RefCell<Vec<(u64, Arc<ThreadCounts>)>> = const { RefCell::new(Vec::new()) };
}

impl Counts {
    pub fn new() -> Self {
        Self { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), threads: Mutex::default() }
    }

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

    /// Registers counts for this thread.
    #[cold]
    fn enter(&self, own: &mut Vec<(u64, Arc<ThreadCounts>)>) -> usize {
        // Counts of caches that no longer exist.
        own.retain(|(_, counts)| Arc::strong_count(counts) > 1);
        let counts = Arc::new(ThreadCounts::default());
        let mut threads = self.threads.lock();
        threads.forget_ended();
        threads.all.push(counts.clone());
        own.push((self.id, counts));
        own.len() - 1
    }

    pub fn sum(&self, what: What) -> u64 {
        let threads = self.threads.lock();
        let own = |counts: &Arc<ThreadCounts>| counts.0[what as usize].load(Ordering::Relaxed);
        threads.ended[what as usize] + threads.all.iter().map(own).sum::<u64>()
    }
}

impl Threads {
    fn forget_ended(&mut self) {
        let Self { all, ended } = self;
        all.retain(|counts| {
            let lives = Arc::strong_count(counts) > 1;
            if !lives {
                // This makes everything visible that the thread wrote before it released its
                // counts.
                std::sync::atomic::fence(Ordering::Acquire);
                ended.iter_mut().zip(&counts.0).for_each(|(sum, own)| *sum += own.load(Ordering::Relaxed));
            }
            lives
        });
    }
}

#[cfg(test)]
mod tests;
