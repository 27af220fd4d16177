//! Flush: writes one immutable memtable to sorted files.

use crate::compaction::copy::Copier;
use crate::compaction::job::{self, Facts};
use crate::compaction::output::{Output, Plan, remove_outputs};
use crate::counters::Counters;
use crate::edit::{AddedFile, VersionEdit};
use crate::files::NewFiles;
use crate::jobs::Ticket;
use crate::key::tree_of;
use crate::marks;
use crate::partition::Partition;
use crate::picker::Span;
use crate::policy::Liveness;
use crate::ranges::mark_clean;
use crate::retention::Retention;
use crate::version::Version;
use alluvium_codec::entry::Seq;
use alluvium_codec::ranges::RangeSet;
use alluvium_env::{Error, Result};
use alluvium_memtable::Memtable;
use std::sync::Arc;

impl Partition {
    /// Flushes the oldest immutable memtable: writes and syncs its files, syncs the log past its
    /// numbers, writes one edit, and releases the memtable. Returns false if there is no such
    /// memtable. One flush runs at a time; other callers wait.
    ///
    /// # Errors
    /// The error of the file system or of [`crate::LogBarrier::sync_past`]. Unless the partition is
    /// [poisoned](Partition::poisoned), nothing has changed then: the written files are removed,
    /// and the flush can be tried again, for instance when a full disk has space again.
    pub fn flush_oldest(&self) -> Result<bool> {
        let _one_at_a_time = self.flushing.lock();
        self.check_usable()?;
        let view = self.view();
        let Some(memtable) = view.immutable.last().cloned() else { return Ok(false) };
        let version = view.version.clone();
        drop(view);
        memtable.wait_for_writers();
        let Some(last_seq) = memtable.last_seq() else {
            return Err(Error::corrupt(&self.home.dir, 0, "the memtable to flush is not sealed"));
        };
        let run = version.next_run;
        let began = self.shared().env.clock.now();
        let failed_syncs = self.home.failed_syncs();
        let (files, ranges) = self.write_memtable(&memtable, &version, run, last_seq)?;
        let new = NewFiles { files, failed_syncs };
        let edit = VersionEdit { flushed_seq: Some(last_seq), next_run: Some(run + 1), ..ranges };
        let result = self.install_flush(&memtable, run, edit, &new);
        match &result {
            Ok(()) => {
                let bytes = new.bytes();
                Counters::add(&self.counters.flushes, 1);
                Counters::add(&self.counters.bytes_flushed, bytes);
                Counters::add(&self.counters.bytes_taken, memtable.raw_bytes());
                self.note_flush_bytes(bytes);
                let took_ms = self.shared().env.clock.now().saturating_sub(began).as_millis();
                let (dir, files) = (self.home.dir.display(), new.files.len());
                log::debug!(target: "alluvium::files", "flushed a memtable of {dir}: {files} files, {bytes} bytes, in {took_ms} ms");
            }
            // If the partition is poisoned, the manifest may name the files, so they are kept.
            Err(_) if self.poisoned().is_none() => {
                marks::OUTPUT_TAKEN_BACK.hit();
                remove_outputs(&self.home, &new.files);
            }
            Err(_) => {}
        }
        result.map(|()| true)
    }

    /// Writes the entries of a memtable that a reader may still see. Returns the files, and an edit
    /// with the range tombstones and the superseded numbers.
    fn write_memtable(
        &self,
        memtable: &Arc<Memtable>,
        version: &Arc<Version>,
        run: u64,
        last_seq: Seq,
    ) -> Result<(Vec<AddedFile>, VersionEdit)> {
        let policies = &*self.shared().policies;
        // The list is taken after all writers have finished, and before the first entry is judged.
        let snapshots = policies.liveness.snapshots();
        let ranges = live_ranges(memtable, &*policies.liveness, &snapshots);
        let retention = Retention::new(snapshots);
        let oldest = retention.oldest();
        // Range tombstones of newer memtables are left out, because they become durable later than
        // these files.
        let retention = retention.with_ranges(vec![ranges.clone(), version.ranges.clone()]);
        let mut output = Output::new(&self.home, Plan::new(run, Vec::new(), version));
        // Older memtables were flushed before this one, so older entries are in runs.
        let at_bottom = |key: &[u8]| version.nothing_below(run, key);
        let copier = Copier::new(retention, policies, &mut output, &at_bottom);
        let copied = copier.run(&mut memtable.iter(), &|| false)?;
        let mut files = output.finish()?;
        self.note_refused(copied.refused);
        mark_clean(&mut files, &[&ranges, &version.ranges], oldest.min(last_seq));
        let thinned = (!ranges.is_empty()).then_some(oldest);
        let ranges = RangeSet::clone(&ranges);
        let superseded = copied.superseded;
        Ok((files, VersionEdit { ranges, thinned, superseded, ..VersionEdit::default() }))
    }

    /// Makes new files part of the partition.
    fn install_flush(&self, memtable: &Arc<Memtable>, run: u64, edit: VersionEdit, new: &NewFiles) -> Result<()> {
        if !new.files.is_empty() {
            self.home.sync_names(new.failed_syncs)?;
        }
        self.shared().policies.log.sync_past(edit.flushed_seq.unwrap_or(0))?;
        let mut added = new.files.clone();
        // Until the edit is installed, the ticket keeps jobs from writing to the places that the
        // files sink to.
        let _ticket = self.sink_outputs(&mut added);
        let moves = added.iter().filter(|file| file.run != run).count();
        self.commit(VersionEdit { added, ..edit }, Some(memtable))?;
        Counters::add(&self.counters.trivial_moves, moves as u64);
        Ok(())
    }

    /// Lets new files sink as far as they can, and reserves the runs and key ranges that they
    /// enter.
    pub(crate) fn sink_outputs(&self, added: &mut [AddedFile]) -> Ticket {
        let mut running = self.jobs.lock();
        let version = self.view().version.clone();
        let layout = job::layout(&version, &running, &Facts::default(), 0, &|_| false);
        let mut spans = Vec::new();
        for file in added {
            file.run = layout.sink(file.run, &file.meta.smallest, &file.meta.largest);
            let (low, high) = (file.meta.smallest.clone(), file.meta.largest.clone());
            spans.push(Span { out: file.run, newest: file.run, low, high });
        }
        self.jobs.enter(&mut running, spans, &[])
    }
}

/// The range tombstones of a memtable without writers, except tombstones of dead trees.
fn live_ranges(memtable: &Memtable, liveness: &dyn Liveness, snapshots: &[Seq]) -> Arc<RangeSet> {
    let sets = memtable.ranges().iter().map(|set| RangeSet::clone(set)).collect();
    let all = RangeSet::union(sets, snapshots);
    let now = snapshots.last().copied().unwrap_or(0);
    let dead = all.fragments().iter().filter(|fragment| !liveness.tree_is_live(tree_of(fragment.start()), now));
    let dead: Vec<RangeSet> = dead.map(|f| RangeSet::one(f.start(), f.end(), f.newest(Seq::MAX))).collect();
    Arc::new(if dead.is_empty() { all } else { all.forget(&RangeSet::union(dead, &[])) })
}
