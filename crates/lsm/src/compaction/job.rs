//! Compaction jobs: taking files, merging them, and giving them back.
//!
//! A job marks its files busy and registers the key range and runs that it covers (its span)
//! from the pick until it ends, however it ends. Whatever else puts files into runs, a flush that
//! lets them sink, looks at the spans under the same lock.

use super::picker::{Dead, FileDesc, Layout, Pick, RunDesc, Span, Why};
use crate::files::FileHandle;
use crate::policy::Liveness;
use crate::ranges::{Covered, covered};
use crate::version::Version;
use alluvium_codec::entry::Seq;
use alluvium_env::sync::{Condvar, Mutex, MutexGuard};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It was told to stop, and changed nothing; the same work will be picked again.
    Yielded,
}

/// The running jobs of a partition. Its lock is taken before the view's, never after.
#[derive(Default)]
pub(crate) struct Jobs {
    state: Mutex<Running>,
    ended: Condvar,
}

/// The jobs under way.
#[derive(Default)]
pub(crate) struct Running {
    spans: HashMap<u64, Span>,
    busy: HashSet<u64>,
    next: u64,
}

impl Running {
    /// The spans of all jobs.
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

    /// Waits until a job ends; returns at once if there is none.
    pub fn wait_for_one(&self) {
        let mut running = self.state.lock();
        if !running.spans.is_empty() || !running.busy.is_empty() {
            self.ended.wait(&mut running);
        }
    }

    /// Waits until there is no job.
    pub fn wait_for_all(&self) {
        let mut running = self.state.lock();
        while !running.spans.is_empty() || !running.busy.is_empty() {
            self.ended.wait(&mut running);
        }
    }

    /// Nothing if there are jobs under way; else a number that changes with each job.
    pub fn quiet(&self) -> Option<u64> {
        let running = self.state.lock();
        (running.spans.is_empty() && running.busy.is_empty()).then_some(running.next)
    }
}

/// The registration of a job; ends it on drop.
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

/// A compaction that was picked. Its files are reserved until it is run or dropped.
pub struct CompactionJob {
    pub(crate) pick: Pick,
    /// The inputs with their runs.
    pub(crate) inputs: Vec<(u64, Arc<FileHandle>)>,
    pub(crate) version: Arc<Version>,
    pub(crate) _ticket: Ticket,
}

impl CompactionJob {
    /// The bytes that the job reads; 0 if it only writes an edit.
    pub fn bytes(&self) -> u64 {
        match self.pick {
            Pick::Merge { .. } => self.inputs.iter().map(|(_, file)| file.meta.bytes).sum(),
            _ => 0,
        }
    }

    /// The reason for a merge; `None` if the job only writes an edit.
    pub fn why(&self) -> Option<Why> {
        match self.pick {
            Pick::Merge { why, .. } => Some(why),
            _ => None,
        }
    }
}

impl std::fmt::Debug for CompactionJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pick.fmt(f)
    }
}

/// Which trees of a version are dead; asked before locks are taken.
pub(crate) fn dead_trees(version: &Version, liveness: &dyn Liveness, now: Seq) -> HashSet<u32> {
    let trees: HashSet<u32> = version.files().flat_map(|(_, file)| file.trees.iter().copied()).collect();
    trees.into_iter().filter(|&tree| !liveness.tree_is_live(tree, now)).collect()
}

/// What range tombstones hide of which files; asked before locks are taken.
pub(crate) fn covered_files(version: &Version, oldest_snapshot: Seq) -> HashMap<u64, Covered> {
    if version.ranges.is_empty() {
        return HashMap::new();
    }
    let files = version.files().map(|(_, file)| (file.meta.number, covered(file, &version.ranges, oldest_snapshot)));
    files.filter(|(_, covered)| covered.fragments > 0).collect()
}

/// Describes a version to the picker, which takes none of the files that are left out, nor what overlaps them.
pub(crate) fn layout<'a>(
    version: &'a Version,
    running: &Running,
    dead: &HashSet<u32>,
    covered: &HashMap<u64, Covered>,
    oldest_snapshot: Seq,
    left_out: &dyn Fn(&FileHandle) -> bool,
) -> Layout<'a> {
    let describe = |file: &'a Arc<FileHandle>| {
        let gone = if dead.is_empty() { 0 } else { file.trees.iter().filter(|tree| dead.contains(tree)).count() };
        let covered = covered.get(&file.meta.number).copied().unwrap_or_default();
        FileDesc {
            number: file.meta.number,
            smallest: &file.meta.smallest,
            largest: &file.meta.largest,
            bytes: file.meta.bytes,
            entries: file.meta.entries,
            tombstones: file.meta.tombstones,
            shadowed: file.shadowed,
            released: file.released(oldest_snapshot),
            max_seq: file.meta.max_seq,
            covered: covered.entries,
            fragments: covered.fragments,
            dead: match gone {
                _ if covered.wholly => Dead::Wholly,
                0 => Dead::No,
                gone if gone == file.trees.len() => Dead::Wholly,
                _ => Dead::Partly,
            },
            busy: running.is_busy(file.meta.number) || left_out(file),
        }
    };
    let runs = version
        .runs
        .iter()
        .map(|run| RunDesc { id: run.id, files: run.files.iter().map(describe).collect() })
        .collect();
    Layout { runs, spans: running.spans(), oldest_snapshot, range_bytes: version.ranges.bytes() as u64 }
}
