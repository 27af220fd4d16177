//! Groups by several threads, each of which reads parts of the documents.

use super::gather::Held;
use super::host::{Host, Records};
use super::run::Settings;
use crate::limits::Interrupted;
use crate::source::Sorter;
use alluvium_codec::varint;
use alluvium_env::sync::Mutex;
use alluvium_env::thread::{available_parallelism, scope, try_spawn_scoped};
use alluvium_query::pipeline::{Group, Groups};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Documents after which a thread looks whether another one has failed.
const LOOK_AFTER: u32 = 1024;

type Part<H> = Box<dyn Records<<H as Host>::Error>>;

/// The work that threads share.
struct Shared<'s, H: Host> {
    host: Mutex<H>,
    group: &'s Arc<Group>,
    settings: &'s Settings,
    /// The bytes of groups of one thread.
    bytes_max: usize,
    /// The parts that no thread has begun.
    parts: Mutex<Vec<Part<H>>>,
    /// The groups of each thread, with their memory.
    done: Mutex<Vec<(Groups, Held<H>)>>,
    /// The first error of a thread.
    failure: Mutex<Option<H::Error>>,
    /// Its memory is that of the thread which first has no more.
    sorter: Mutex<Option<H::Sorter>>,
    failed: AtomicBool,
}

/// Groups, with their memory, and a sorter with those that memory did not hold.
pub(super) struct Grouped<H: Host> {
    pub groups: Groups,
    pub held: Vec<Held<H>>,
    pub sorter: Option<H::Sorter>,
}

/// The groups of all parts.
pub(super) fn groups<H: Host>(
    host: &H,
    group: &Arc<Group>,
    settings: &Settings,
    parts: Vec<Part<H>>,
) -> Result<Grouped<H>, H::Error> {
    let threads = parts.len().min(available_parallelism());
    let shared = Shared {
        host: Mutex::new(host.clone()),
        group,
        settings,
        bytes_max: settings.stage_bytes_max / threads.max(1),
        parts: Mutex::new(parts),
        done: Mutex::new(Vec::new()),
        failure: Mutex::new(None),
        sorter: Mutex::new(None),
        failed: AtomicBool::new(false),
    };
    scope(|scope| {
        for _ in 1..threads {
            // Where the system allows no more threads, those that there are do all the work.
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
    let (mut all, mut held) = (Groups::new(group.clone()), Vec::new());
    for (at, (groups, of_thread)) in done.into_inner().into_iter().enumerate() {
        held.push(of_thread);
        match at {
            0 => all = groups,
            _ => all.absorb(groups)?,
        }
    }
    Ok(Grouped { groups: all, held, sorter: sorter.into_inner() })
}

impl<H: Host> Shared<'_, H> {
    fn work(&self) {
        let account = self.host.lock().account();
        let mut held = Held::of(account, "$group", self.bytes_max, self.settings.allow_disk_use);
        let mut groups = Groups::new(self.group.clone());
        loop {
            let next = self.parts.lock().pop();
            let Some(part) = next else { break };
            if let Err(error) = self.part(part, &mut groups, &mut held) {
                // Those that end because of this one come later.
                self.failure.lock().get_or_insert(error);
                self.failed.store(true, Ordering::Relaxed);
                return;
            }
        }
        self.done.lock().push((groups, held));
    }

    fn part(&self, mut part: Part<H>, groups: &mut Groups, held: &mut Held<H>) -> Result<(), H::Error> {
        let (mut seen, mut most) = (0u32, None);
        part.visit(&mut |record| {
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(LOOK_AFTER) && self.failed.load(Ordering::Relaxed) {
                return Err(Interrupted::Stopped.into());
            }
            groups.add(record)?;
            let fits = match most {
                None => held.fits(groups.bytes()),
                Some(most) => groups.bytes() <= most,
            };
            if fits {
                return Ok(());
            }
            if most.is_none() {
                most = Some(held.for_files()? / 2);
            }
            self.spill(groups, most.unwrap_or_default())
        })
    }

    /// Moves the groups of a thread to the files of all.
    fn spill(&self, groups: &mut Groups, memory: usize) -> Result<(), H::Error> {
        let mut sorter = self.sorter.lock();
        let sorter = sorter.get_or_insert_with(|| self.host.lock().sorter("$group", memory));
        spill::<H>(groups, sorter, &self.settings.limits)
    }
}

/// Moves all groups to files. States of one group stay in the order of their documents.
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
