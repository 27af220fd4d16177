//! Groups by several threads, each of which reads some parts of the documents.
//!
//! The groups of each part are gathered separately, and added to the groups of all parts in the order of the parts.
//! Therefore neither the order of the groups nor the last digits of sums depend on which thread was faster.

use super::gather::Held;
use super::host::{Host, Records};
use super::run::Settings;
use crate::limits::Interrupted;
use crate::source::Sorter;
use alluvium_codec::varint;
use alluvium_env::sync::Mutex;
use alluvium_env::thread::{available_parallelism, scope, try_spawn_scoped};
use alluvium_query::pipeline::{Group, Groups};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A thread checks whether another thread has failed after this many documents.
const LOOK_AFTER: u32 = 1024;

type Part<H> = Box<dyn Records<<H as Host>::Error>>;

/// The work that threads share.
struct Shared<'s, H: Host> {
    host: Mutex<H>,
    group: &'s Arc<Group>,
    settings: &'s Settings,
    /// The most bytes of the groups of one thread.
    bytes_max: usize,
    /// The parts that no thread has begun yet, in reverse order.
    parts: Mutex<Vec<(usize, Part<H>)>>,
    done: Mutex<Done<H>>,
    /// The first error of a thread.
    failure: Mutex<Option<H::Error>>,
    /// The sorter, whose memory is charged to the first thread that has too little memory for its
    /// groups.
    sorter: Mutex<Option<(H::Sorter, usize)>>,
    failed: AtomicBool,
}

/// The groups of the parts that were read.
struct Done<H: Host> {
    /// The groups of the first parts, which are complete.
    first: Gathered<H>,
    /// The number of these parts.
    count: usize,
    /// The groups of later parts, which wait for earlier ones, by part.
    waiting: BTreeMap<usize, Gathered<H>>,
    /// The memory of files.
    of_files: Vec<Held<H>>,
}

/// Groups, and their memory.
struct Gathered<H: Host> {
    groups: Groups,
    held: Held<H>,
    /// The bytes of memory that groups may take once other groups are in files.
    beside_files: Option<usize>,
}

/// Groups, with their memory, and a sorter with the groups that did not fit into memory.
pub(super) struct Grouped<H: Host> {
    pub groups: Groups,
    pub held: Vec<Held<H>>,
    /// The sorter, and the bytes that its files may take in memory.
    pub sorter: Option<(H::Sorter, usize)>,
}

/// The groups of all parts.
pub(super) fn groups<H: Host>(
    host: &H,
    group: &Arc<Group>,
    settings: &Settings,
    parts: Vec<Part<H>>,
) -> Result<Grouped<H>, H::Error> {
    let threads = parts.len().min(available_parallelism());
    let held = Held::of(host.account(), "$group", settings.stage_bytes_max, settings.allow_disk_use);
    let first = Gathered { groups: Groups::by_id(group.clone()), held, beside_files: None };
    let shared = Shared {
        host: Mutex::new(host.clone()),
        group,
        settings,
        bytes_max: settings.stage_bytes_max / threads.max(1),
        parts: Mutex::new(parts.into_iter().enumerate().rev().collect()),
        done: Mutex::new(Done { first, count: 0, waiting: BTreeMap::new(), of_files: Vec::new() }),
        failure: Mutex::new(None),
        sorter: Mutex::new(None),
        failed: AtomicBool::new(false),
    };
    scope(|scope| {
        for _ in 1..threads {
            // If the system allows no more threads, the existing threads do all the work.
            if try_spawn_scoped(scope, "group", || shared.work()).is_err() {
                break;
            }
        }
        shared.work();
    });
    let Shared { done, failure, sorter, .. } = shared;
    if let Some(error) = failure.into_inner() {
        return Err(error);
    }
    let Done { first: Gathered { groups, held, .. }, of_files, .. } = done.into_inner();
    Ok(Grouped { groups, held: of_files.into_iter().chain([held]).collect(), sorter: sorter.into_inner() })
}

impl<H: Host> Shared<'_, H> {
    fn work(&self) {
        loop {
            let next = self.parts.lock().pop();
            let Some((at, part)) = next else { break };
            if let Err(error) = self.part(part).and_then(|gathered| self.add(at, gathered)) {
                // Threads that end because of this error fail later, so the first error is kept.
                self.failure.lock().get_or_insert(error);
                self.failed.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Adds the groups of a part, and the groups of later parts that have waited for this part.
    fn add(&self, at: usize, gathered: Gathered<H>) -> Result<(), H::Error> {
        let mut done = self.done.lock();
        done.waiting.insert(at, gathered);
        loop {
            let count = done.count;
            let Some(next) = done.waiting.remove(&count) else { return Ok(()) };
            done.count += 1;
            done.first.groups.absorb(next.groups)?;
            if next.beside_files.is_some() {
                done.of_files.push(next.held);
            }
            self.keep(&mut done.first)?;
        }
    }

    /// The groups of a part, and their memory.
    fn part(&self, mut part: Part<H>) -> Result<Gathered<H>, H::Error> {
        let account = self.host.lock().account();
        let held = Held::of(account, "$group", self.bytes_max, self.settings.allow_disk_use);
        let mut gathered = Gathered { groups: Groups::by_id(self.group.clone()), held, beside_files: None };
        let mut seen = 0u32;
        part.visit(&mut |record| {
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(LOOK_AFTER) && self.failed.load(Ordering::Relaxed) {
                return Err(Interrupted::Stopped.into());
            }
            gathered.groups.add(record)?;
            self.keep(&mut gathered)
        })?;
        Ok(gathered)
    }

    /// Keeps groups in memory, or moves them to the files of all threads.
    #[inline]
    fn keep(&self, Gathered { groups, held, beside_files }: &mut Gathered<H>) -> Result<(), H::Error> {
        let fits = match beside_files {
            None => held.fits(groups.bytes()),
            Some(most) => groups.bytes() <= *most,
        };
        if fits {
            return Ok(());
        }
        let memory = match *beside_files {
            Some(most) => most,
            None => *beside_files.insert(held.for_files()? / 2),
        };
        let mut sorter = self.sorter.lock();
        let (sorter, _) = sorter.get_or_insert_with(|| (self.host.lock().sorter("$group", memory), memory));
        spill::<H>(groups, sorter, &self.settings.limits)
    }
}

/// Moves all groups to files.
pub(super) fn spill<H: Host>(
    groups: &mut Groups,
    sorter: &mut H::Sorter,
    limits: &crate::limits::Limits,
) -> Result<(), H::Error> {
    let mut value = Vec::new();
    for (key, bytes) in groups.drain() {
        value.clear();
        varint::put_bytes(&mut value, &key);
        value.extend_from_slice(&bytes);
        sorter.add(limits, &key, &value)?;
    }
    Ok(())
}
