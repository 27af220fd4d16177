//! Compaction jobs: the picked work, and the description of a version that the picker reads.

use crate::files::{Covered, FileHandle};
use crate::jobs::{Running, Ticket};
use crate::picker::{FileDesc, Layout, MergeReason, Pick, RunDesc, SCANNED_RUNS, Span};
use crate::policy::{Liveness, Policies};
use crate::ranges::covered;
use crate::version::Version;
use alluvium_codec::entry::Seq;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The way in which a compaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The compaction has completed.
    Done,
    /// `should_yield` stopped it, and nothing changed; the same work will be picked again.
    Yielded,
}

/// A picked compaction. Its files are reserved until it is run or dropped.
pub struct CompactionJob {
    pub(crate) pick: Pick,
    /// The inputs, each with its run.
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
    pub fn reason(&self) -> Option<MergeReason> {
        match self.pick {
            Pick::Merge { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

impl std::fmt::Debug for CompactionJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.pick.fmt(f)
    }
}

/// Facts about a version's files that the layers above know, by file number. Collected before locks are taken.
#[derive(Default)]
pub(crate) struct Facts {
    /// The number of dead trees in each file that has some.
    dead: HashMap<u64, usize>,
    /// The part of each file that range tombstones hide.
    covered: HashMap<u64, Covered>,
    /// Files whose keys belong to one tree, if that tree is scanned.
    scanned: HashSet<u64>,
}

impl Facts {
    /// Collects the facts at `now`, the newest snapshot; `oldest` is the oldest snapshot.
    pub fn of(version: &Version, policies: &Policies, oldest: Seq, now: Seq) -> Self {
        Self {
            dead: dead_trees(version, &*policies.liveness, now),
            covered: covered_files(version, oldest),
            scanned: scanned_files(version, policies),
        }
    }

    /// True if range tombstones hide all of a file.
    pub fn covers_wholly(&self, file: u64) -> bool {
        self.covered.get(&file).is_some_and(|covered| covered.wholly)
    }
}

fn dead_trees(version: &Version, liveness: &dyn Liveness, now: Seq) -> HashMap<u64, usize> {
    let counted =
        version.files().map(|(_, file)| (file.meta.number, file.dead_trees(|tree| liveness.tree_is_live(tree, now))));
    counted.filter(|(_, dead)| *dead > 0).collect()
}

/// Finds the files whose keys belong to one scanned tree. Asks the policy once for each tree, and not at all while
/// there are too few runs to merge.
fn scanned_files(version: &Version, policies: &Policies) -> HashSet<u64> {
    if version.run_count() <= SCANNED_RUNS {
        return HashSet::new();
    }
    let mut known: HashMap<u32, bool> = HashMap::new();
    let mut is_scanned = |tree| *known.entry(tree).or_insert_with(|| policies.trees.is_scanned(tree));
    let files = version.files().filter(|(_, file)| matches!(file.trees[..], [tree] if is_scanned(tree)));
    files.map(|(_, file)| file.meta.number).collect()
}

/// The part of each file that range tombstones hide. Called before locks are taken.
fn covered_files(version: &Version, oldest_snapshot: Seq) -> HashMap<u64, Covered> {
    if version.ranges.is_empty() {
        return HashMap::new();
    }
    let files = version.files().map(|(_, file)| (file.meta.number, covered(file, &version.ranges, oldest_snapshot)));
    files.filter(|(_, covered)| covered.fragments > 0).collect()
}

/// Describes a version to the picker. The picker takes no file that is left out, and no file that overlaps a left-out
/// file.
pub(crate) fn layout<'a>(
    version: &'a Version,
    running: &Running,
    facts: &Facts,
    oldest_snapshot: Seq,
    left_out: &dyn Fn(&FileHandle) -> bool,
) -> Layout<'a> {
    let describe = |file: &'a Arc<FileHandle>| {
        let covered = facts.covered.get(&file.meta.number).copied().unwrap_or_default();
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
            covered_wholly: covered.wholly,
            trees: file.trees.len(),
            dead_trees: facts.dead.get(&file.meta.number).copied().unwrap_or(0),
            scanned: facts.scanned.contains(&file.meta.number),
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

/// The key ranges and runs that a pick covers.
pub(super) fn spans_of(pick: &Pick, inputs: &[(u64, Arc<FileHandle>)]) -> Vec<Span> {
    let span = |out: u64, files: &[&(u64, Arc<FileHandle>)]| {
        let low = files.iter().map(|(_, file)| &file.meta.smallest).min();
        let high = files.iter().map(|(_, file)| &file.meta.largest).max();
        Span {
            out,
            newest: files.iter().map(|(run, _)| *run).max().unwrap_or(out).max(out),
            low: low.cloned().unwrap_or_default(),
            high: high.cloned().unwrap_or_default(),
        }
    };
    match pick {
        Pick::Remove(_) => Vec::new(),
        // A move ends when its edit is written, so only the run that it enters matters.
        Pick::Move(moves) => {
            moves.iter().zip(inputs).map(|(&(_, to), input)| Span { newest: to, ..span(to, &[input]) }).collect()
        }
        Pick::Merge { out, .. } => vec![span(*out, &inputs.iter().collect::<Vec<_>>())],
    }
}
