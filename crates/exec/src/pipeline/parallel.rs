//! Groups by several threads, each of which reads parts of the documents.

use super::gather::STEP;
use super::host::{Host, Records};
use super::run::Settings;
use crate::limits::Interrupted;
use crate::source::{MemoryAccount, Sorter};
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
    /// The groups of each thread, with the account of their memory.
    done: Mutex<Vec<(Groups, H::Account)>>,
    /// The first error of a thread.
    failure: Mutex<Option<H::Error>>,
    sorter: Mutex<Option<H::Sorter>>,
    failed: AtomicBool,
}

/// Groups, with the account of their memory, and a sorter with those that memory did not hold.
pub(super) struct Grouped<H: Host> {
    pub groups: Groups,
    pub account: H::Account,
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
    let mut done = done.into_inner().into_iter();
    let (mut all, mut account) = done.next().unwrap_or_else(|| (Groups::new(group.clone()), host.account()));
    for (groups, _account) in done {
        all.absorb(groups)?;
        account.resize(all.bytes());
    }
    Ok(Grouped { groups: all, account, sorter: sorter.into_inner() })
}

impl<H: Host> Shared<'_, H> {
    fn work(&self) {
        let (mut groups, mut account) = (Groups::new(self.group.clone()), self.host.lock().account());
        loop {
            let next = self.parts.lock().pop();
            let Some(part) = next else { break };
            if let Err(error) = self.part(part, &mut groups, &mut account) {
                // Those that end because of this one come later.
                self.failure.lock().get_or_insert(error);
                self.failed.store(true, Ordering::Relaxed);
                return;
            }
        }
        self.done.lock().push((groups, account));
    }

    fn part(&self, mut part: Part<H>, groups: &mut Groups, account: &mut H::Account) -> Result<(), H::Error> {
        let mut seen = 0u32;
        part.visit(&mut |record| {
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(LOOK_AFTER) && self.failed.load(Ordering::Relaxed) {
                return Err(Interrupted::Stopped.into());
            }
            groups.add(record)?;
            if groups.bytes() > account.bytes() {
                account.resize(groups.bytes() + STEP);
            }
            if groups.bytes() > self.bytes_max { self.spill(groups) } else { Ok(()) }
        })
    }

    /// Moves the groups of a thread to the files of all.
    fn spill(&self, groups: &mut Groups) -> Result<(), H::Error> {
        let mut sorter = self.sorter.lock();
        let sorter = sorter.get_or_insert_with(|| self.host.lock().sorter("$group", self.settings.stage_bytes_max));
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
