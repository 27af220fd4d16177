//! Picking and running the compactions of a partition.

use super::copy::{Copier, Drops};
use super::job::{self, CompactionJob, Facts, Outcome, spans_of};
use super::output::{Output, Plan, remove_outputs};
use crate::counters::Counters;
use crate::edit::VersionEdit;
use crate::files::{FileHandle, NewFiles};
use crate::marks;
use crate::merge::Merge;
use crate::partition::Partition;
use crate::picker::{self, Layout, Pick, Rules};
use crate::policy::{Liveness, Policies};
use crate::ranges::mark_clean;
use crate::retention::Retention;
use crate::run_iter::RunIter;
use crate::stats::Debt;
use crate::superseded::Superseded;
use crate::version::{BASE, Run, Version};
use alluvium_codec::entry::MAX_SEQ;
use alluvium_codec::ranges::RangeSet;
use alluvium_env::{Error, Result};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The runs above the base may always have the size of this many average flushes, even if the base
/// is small.
const FLOOR_FLUSHES: u64 = 4;

impl Partition {
    fn rules(&self) -> Rules {
        let options = &self.shared().options;
        Rules {
            target_file_bytes: options.target_file_bytes,
            upper_percent: options.upper_percent,
            upper_floor_bytes: options.upper_floor_bytes.max(self.average_flush_bytes() * FLOOR_FLUSHES),
            soft_upper_runs: options.soft_upper_runs,
            max_runs: options.max_runs,
            max_job_bytes: options.max_job_bytes,
            max_range_bytes: options.max_range_bytes,
            few_tombstones: options.few_tombstones,
            spotless_below: 0,
        }
    }

    /// Returns the most useful compaction now, if one is needed. Its files are reserved until the
    /// job is run or dropped; several jobs may run at once. A file that a merge could not read is
    /// left out for ten minutes, because otherwise the same job would be picked for ever.
    pub fn pick_compaction(&self) -> Option<CompactionJob> {
        let now = self.shared().env.clock.now();
        self.pick_with(&self.rules(), u64::MAX, &|file| file.is_left_out(now))
    }

    /// Picks among the runs whose numbers are below `newer`, except files for which `left_out` is
    /// true.
    fn pick_with(&self, rules: &Rules, newer: u64, left_out: &dyn Fn(&FileHandle) -> bool) -> Option<CompactionJob> {
        if self.poisoned().is_some() {
            return None;
        }
        let policies = &self.shared().policies;
        loop {
            let version = self.view().version.clone();
            let snapshots = policies.liveness.snapshots();
            let (oldest, visible) = (snapshots.first().copied(), snapshots.last().copied());
            let facts = Facts::of(&version, policies, oldest.unwrap_or(0), visible.unwrap_or(0));
            let mut running = self.jobs.lock();
            // The check must be under this lock, because closing waits for all jobs that have
            // entered.
            if self.closing() {
                return None;
            }
            // A thread that changes the version holds a ticket until the change is installed, so
            // the version that is current under this lock agrees with the spans.
            if !Arc::ptr_eq(&version, &self.view().version) {
                continue;
            }
            let mut layout = job::layout(&version, &running, &facts, oldest.unwrap_or(0), left_out);
            layout.runs.retain(|run| run.id < newer);
            let pick = picker::pick(&layout, rules)?;
            if let Pick::Remove(files) = &pick
                && files.iter().any(|&file| facts.covers_wholly(file))
            {
                marks::FILE_UNDER_RANGE.hit();
            }
            let inputs = inputs_of(&pick, &version);
            let files: Vec<u64> = inputs.iter().map(|(_, file)| file.meta.number).collect();
            let ticket = self.jobs.enter(&mut running, spans_of(&pick, &inputs), &files);
            drop(running);
            return Some(CompactionJob { pick, inputs, version, _ticket: ticket });
        }
    }

    /// True if [`Partition::pick_compaction`] would find something to do.
    pub fn compaction_due(&self) -> bool {
        self.pick_compaction().is_some()
    }

    /// Runs a compaction that was picked from this partition.
    ///
    /// `should_yield` is called about every 64 KiB of input, without locks held. It may do urgent
    /// work itself, such as a flush of this partition, and return false. If it returns true, the
    /// job is abandoned: its output is removed, and the same work is picked again later.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`]. Unless the partition is
    /// [poisoned](Partition::poisoned), nothing has changed then, and the output is removed.
    pub fn run_compaction(&self, job: CompactionJob, should_yield: &dyn Fn() -> bool) -> Result<Outcome> {
        self.run_noting(job, should_yield).map_err(|(error, _)| error)
    }

    /// As [`Partition::run_compaction`]. If a file could not be read, the error is returned with
    /// the number of this file.
    fn run_noting(
        &self,
        job: CompactionJob,
        should_yield: &dyn Fn() -> bool,
    ) -> std::result::Result<Outcome, (Error, Option<u64>)> {
        self.check_poisoned().map_err(|error| (error, None))?;
        let outcome = self.execute(&job, &|| self.closing() || should_yield()).map_err(|error| {
            let unread = file_of_error(&job.inputs, &error).map(|file| {
                file.note_unread(self.shared().env.clock.now());
                file.meta.number
            });
            (error, unread)
        });
        // The inputs are released first, so that they can be removed now.
        drop(job);
        self.home.remove_dropped();
        if self.home.held() > 0 {
            marks::FILES_HELD.hit();
        }
        outcome
    }

    /// As [`Partition::run_compaction`], without the entries in `drops`.
    pub(super) fn run_sweep(
        &self,
        job: CompactionJob,
        drops: &Drops<'_>,
        should_yield: &dyn Fn() -> bool,
    ) -> Result<Merged> {
        self.check_poisoned()?;
        let Pick::Merge { files, out, .. } = &job.pick else { return Ok(Merged::stopped()) };
        let outcome = self.merge(&job, files, *out, Some(drops), &|| self.closing() || should_yield());
        drop(job);
        self.home.remove_dropped();
        outcome
    }

    fn execute(&self, job: &CompactionJob, should_yield: &dyn Fn() -> bool) -> Result<Outcome> {
        let done = match &job.pick {
            Pick::Remove(files) => {
                let superseded = superseded_by(&job.inputs, &self.shared().policies);
                self.commit(VersionEdit { removed: files.clone(), superseded, ..VersionEdit::default() }, None)
            }
            Pick::Move(moves) => {
                let moved = VersionEdit { moved: moves.clone(), ..VersionEdit::default() };
                self.commit(moved, None).inspect(|()| Counters::add(&self.counters.trivial_moves, moves.len() as u64))
            }
            Pick::Merge { files, out, .. } => return Ok(self.merge(job, files, *out, None, should_yield)?.outcome),
        };
        done.map(|()| Outcome::Done)
    }

    fn merge(
        &self,
        job: &CompactionJob,
        files: &[u64],
        out: u64,
        drops: Option<&Drops<'_>>,
        should_yield: &dyn Fn() -> bool,
    ) -> Result<Merged> {
        let policies = &*self.shared().policies;
        let liveness = &*policies.liveness;
        let began = self.shared().env.clock.now();
        let dead_before = dead_among(job, liveness);
        let retention = Retention::new(liveness.snapshots());
        // The version is taken after the list of snapshots. Its range tombstones are durable, and
        // complete up to the flushed number.
        let now = self.view().version.clone();
        let clean = retention.oldest().min(now.flushed_seq);
        let retention = retention.with_ranges(vec![now.ranges.clone()]);
        let version = &job.version;
        // The inputs hold all older data of their keys down to the output run. The data below that
        // run is in the version of the pick, and can only move further down.
        let at_bottom = |key: &[u8]| out == BASE || version.nothing_below(out, key);
        let failed_syncs = self.home.failed_syncs();
        let mut output = Output::new(&self.home, Plan::new(out, files.to_vec(), version));
        let mut source = Merge::new(sources(&job.inputs));
        let copier = Copier::new(retention, policies, &mut output, &at_bottom).without(drops);
        let copied = copier.run(&mut source, should_yield)?;
        if dead_among(job, liveness) > dead_before {
            marks::DROP_DURING_MERGE.hit();
        }
        if !copied.whole {
            marks::MERGE_STOPPED.hit();
            return Ok(Merged::stopped());
        }
        if copied.folded > 0 {
            marks::FOLD_IN_MERGE.hit();
        }
        let mut new = NewFiles { files: output.finish()?, failed_syncs };
        mark_clean(&mut new.files, &[&now.ranges], clean);
        let written = new.bytes();
        let result = self.install_merge(files, &new, copied.superseded);
        match &result {
            Ok(()) => {
                Counters::add(&self.counters.compactions, 1);
                Counters::add(&self.counters.bytes_compacted, written);
                Counters::add(&self.counters.bytes_read, job.bytes());
                self.note_refused(copied.refused);
                let took_ms = self.shared().env.clock.now().saturating_sub(began).as_millis();
                let (dir, read, from, to) = (self.home.dir.display(), job.bytes(), files.len(), new.files.len());
                log::debug!(target: "alluvium::files", "merged {from} files of {dir} to {to}: {read} to {written} bytes, in {took_ms} ms");
            }
            // If the partition is poisoned, the manifest may name the files, so they are kept.
            Err(_) if self.poisoned().is_none() => {
                marks::OUTPUT_TAKEN_BACK.hit();
                remove_outputs(&self.home, &new.files);
            }
            Err(_) => {}
        }
        let made = new.files.iter().map(|file| file.meta.number).collect();
        result.map(|()| Merged { outcome: Outcome::Done, dropped: copied.dropped, made })
    }

    /// Replaces files by new ones.
    fn install_merge(&self, removed: &[u64], new: &NewFiles, superseded: Superseded) -> Result<()> {
        if !new.files.is_empty() {
            self.home.sync_names(new.failed_syncs)?;
        }
        let (removed, added) = (removed.to_vec(), new.files.clone());
        self.commit(VersionEdit { removed, added, superseded, ..VersionEdit::default() }, None)
    }

    /// Merges everything that is in files now into the base, and rewrites files that hold garbage.
    /// Does not flush memtables. Waits for running compactions that use the files.
    ///
    /// # Errors
    /// As [`Partition::run_compaction`]. If files cannot be read, everything else is merged before
    /// the first error is returned.
    pub fn compact_all(&self) -> Result<()> {
        self.compact_all_unless(&|| false).map(drop)
    }

    /// As [`Partition::compact_all`], but ends when `stop` returns true; the result is then false.
    /// `stop` is called between jobs and during merges. Completed merges remain.
    ///
    /// # Errors
    /// As [`Partition::run_compaction`].
    pub fn compact_all_unless(&self, stop: &dyn Fn() -> bool) -> Result<bool> {
        let newer = self.view().version.next_run;
        // Files made from now on are not rewritten again, so that the loop ends.
        let spotless_below = self.shared().file_number_bound();
        let rules = Rules { upper_percent: 0, upper_floor_bytes: 0, spotless_below, ..self.rules() };
        let mut unread = HashSet::new();
        let mut failed = None;
        loop {
            self.check_usable()?;
            if stop() {
                return Ok(false);
            }
            let before = self.jobs.idle_epoch();
            if let Some(job) = self.pick_with(&rules, newer, &|file| unread.contains(&file.meta.number)) {
                match self.run_noting(job, stop) {
                    Ok(_) => {}
                    Err((error, Some(file))) => {
                        unread.insert(file);
                        failed.get_or_insert(error);
                    }
                    Err((error, None)) => return Err(error),
                }
                continue;
            }
            // No job was running when there was nothing to pick, and none has run since.
            if before.is_some() && before == self.jobs.idle_epoch() {
                return failed.map_or(Ok(true), Err);
            }
            // The end of a running job may leave files to pick.
            self.jobs.wait_for_one();
        }
    }

    /// Notes that trees have died: [`crate::Liveness::tree_is_live`] has become false for them, and
    /// stays false. Returns true if the partition has files with keys of these trees; then
    /// [`Partition::remove_dead_files`] may have work. The time does not depend on the number of
    /// other trees.
    pub fn note_dead(&self, trees: &[u32]) -> bool {
        let version = self.view().version.clone();
        let mut any = false;
        for &tree in trees {
            self.shared().trees.forget(tree);
            let (low, high) = span_of_tree(tree);
            for file in version.runs.iter().flat_map(|run| run.overlapping(&low, &high)) {
                any |= file.note_dead(tree);
            }
        }
        any
    }

    /// Removes the files that hold only keys of dead trees. The keys of dead trees in other files
    /// are removed when these files are rewritten.
    ///
    /// # Errors
    /// As [`Partition::run_compaction`].
    pub fn remove_dead_files(&self) -> Result<()> {
        let nothing_else = Rules {
            target_file_bytes: 0,
            upper_percent: 0,
            upper_floor_bytes: u64::MAX,
            soft_upper_runs: usize::MAX,
            max_runs: usize::MAX,
            max_job_bytes: 0,
            max_range_bytes: u64::MAX,
            few_tombstones: u64::MAX,
            spotless_below: 0,
        };
        while let Some(job) = self.pick_with(&nothing_else, u64::MAX, &|_| false) {
            if !matches!(job.pick, Pick::Remove(_)) {
                break;
            }
            self.run_compaction(job, &|| false)?;
        }
        Ok(())
    }

    /// Removes the range tombstones of dead trees, and their numbers of superseded entries.
    ///
    /// # Errors
    /// As [`Partition::run_compaction`].
    pub fn forget_dead(&self, trees: &[u32]) -> Result<()> {
        // Closing waits for this lock; after that another process may use the directory.
        let _one_at_a_time = self.flushing.lock();
        self.check_usable()?;
        let version = self.view().version.clone();
        let is_known = |&tree: &u32| {
            let (low, high) = span_of_tree(tree);
            let mut ranges = version.ranges.overlapping(&low, &high).iter();
            version.superseded.of(tree) > 0 || ranges.any(|fragment| fragment.start() < high.as_slice())
        };
        let span = |tree: u32| {
            let (low, high) = span_of_tree(tree);
            RangeSet::one(&low, &high, MAX_SEQ)
        };
        let forgotten = RangeSet::union(trees.iter().copied().filter(is_known).map(span).collect(), &[]);
        if forgotten.is_empty() {
            return Ok(());
        }
        self.commit(VersionEdit { forgotten, ..VersionEdit::default() }, None)
    }

    /// The backlog of the partition. Cheap enough to be called for each write batch.
    pub fn debt(&self) -> Debt {
        let view = self.view();
        Debt {
            immutable_bytes: view.immutable_bytes(),
            runs: view.version.run_count(),
            compaction_bytes: self.counters.debt_bytes.load(Ordering::Relaxed),
        }
    }

    /// Measures the bytes above the base that exceed the limit. Called after each edit.
    pub(crate) fn measure_debt(&self, version: &Version) {
        let (running, facts) = Default::default();
        let layout: Layout<'_> = job::layout(version, &running, &facts, 0, &|_| false);
        self.counters.debt_bytes.store(layout.debt(&self.rules()), Ordering::Relaxed);
    }

    /// Removes files that were dropped while a reader held them, if the reader has released them.
    /// Every edit does that as well; for an idle partition this must be called from time to time.
    pub fn remove_released_files(&self) {
        self.home.remove_dropped();
    }
}

/// The keys of a tree: from the first bound to below the second.
fn span_of_tree(tree: u32) -> ([u8; 4], Vec<u8>) {
    (tree.to_be_bytes(), tree.checked_add(1).map_or([0xff; 5].to_vec(), |t| t.to_be_bytes().to_vec()))
}

/// The result of a merge.
pub(super) struct Merged {
    pub outcome: Outcome,
    /// Entries that [`Drops`] allowed to drop.
    pub dropped: u64,
    /// The numbers of the output files.
    pub made: Vec<u64>,
}

impl Merged {
    fn stopped() -> Self {
        Self { outcome: Outcome::Yielded, dropped: 0, made: Vec::new() }
    }
}

/// Raises the number of each tree with keys in files that are removed as a whole. Such a file may
/// hold entries that range tombstones hide, with numbers up to its highest one. Dead trees are left
/// out, because their numbers are never used.
fn superseded_by(inputs: &[(u64, Arc<FileHandle>)], policies: &Policies) -> Superseded {
    let now = policies.liveness.snapshots().last().copied().unwrap_or(0);
    let mut superseded = Superseded::default();
    for (_, file) in inputs {
        let has_numbers =
            |tree: &&u32| policies.trees.needs_numbers(**tree) && policies.liveness.tree_is_live(**tree, now);
        file.trees.iter().filter(has_numbers).for_each(|&tree| superseded.note(tree, file.meta.max_seq));
    }
    superseded
}

/// The input file that an error is about.
fn file_of_error<'a>(inputs: &'a [(u64, Arc<FileHandle>)], error: &Error) -> Option<&'a FileHandle> {
    let (Error::Corrupt { path, .. } | Error::Io { path, .. } | Error::NewerFormat { path, .. }) = error else {
        return None;
    };
    inputs.iter().map(|(_, file)| &**file).find(|file| file.path() == *path)
}

/// The number of dead trees among a job's inputs.
fn dead_among(job: &CompactionJob, liveness: &dyn Liveness) -> usize {
    let now = liveness.snapshots().last().copied().unwrap_or(0);
    let mut trees: Vec<u32> = job.inputs.iter().flat_map(|(_, file)| file.trees.iter().copied()).collect();
    trees.sort_unstable();
    trees.dedup();
    trees.into_iter().filter(|&tree| !liveness.tree_is_live(tree, now)).count()
}

fn inputs_of(pick: &Pick, version: &Version) -> Vec<(u64, Arc<FileHandle>)> {
    let files: HashMap<u64, (u64, &Arc<FileHandle>)> =
        version.files().map(|(run, file)| (file.meta.number, (run, file))).collect();
    let numbers: Vec<u64> = match pick {
        Pick::Remove(files) | Pick::Merge { files, .. } => files.clone(),
        Pick::Move(moves) => moves.iter().map(|moved| moved.0).collect(),
    };
    let found = numbers.iter().filter_map(|number| files.get(number));
    found.map(|(run, file)| (*run, Arc::clone(file))).collect()
}

/// One source for each run among the inputs, newest first.
fn sources(inputs: &[(u64, Arc<FileHandle>)]) -> Vec<RunIter> {
    let mut runs: BTreeMap<u64, Vec<Arc<FileHandle>>> = BTreeMap::new();
    for (run, file) in inputs {
        runs.entry(*run).or_default().push(file.clone());
    }
    let sorted = runs.into_iter().rev().map(|(id, mut files)| {
        files.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
        RunIter::new(Run::new(id, files), false)
    });
    sorted.collect()
}
