//! Sweep: rewrites the files of one tree, each in its run, without the entries that the tree's
//! owner no longer needs.

use super::copy::Drops;
use super::job::{CompactionJob, Outcome, spans_of};
use crate::marks;
use crate::partition::Partition;
use crate::picker::{MergeReason, Pick, Span};
use alluvium_codec::entry::Seq;
use alluvium_env::Result;
use std::collections::HashSet;
use std::sync::Arc;

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Entries that were dropped.
    pub dropped: u64,
    /// Files rewritten.
    pub files: u64,
}

/// The most rounds of a sweep. Each round looks for files that concurrent compactions have made
/// from unswept files.
const ROUNDS: usize = 4;

impl Partition {
    /// Rewrites the files that hold the tree and numbers up to `max_seq`, without the entries in
    /// `drops`. The writes that are the reason for the drops have numbers up to `max_seq`; the log
    /// is synced past this number first. Waits for compactions that use the files. Files that
    /// compactions make concurrently may stay unswept.
    ///
    /// # Errors
    /// As [`Partition::run_compaction`]; files that were swept before stay swept.
    pub fn sweep(&self, drops: &Drops<'_>, max_seq: Seq, should_stop: &dyn Fn() -> bool) -> Result<Swept> {
        let mut swept = Swept::default();
        let mut done: HashSet<u64> = HashSet::new();
        for _ in 0..ROUNDS {
            let version = self.view().version.clone();
            let files = version.files().map(|(_, file)| file);
            let wanted = files.filter(|file| file.meta.min_seq <= max_seq && file.trees.contains(&drops.tree));
            let todo: Vec<u64> = wanted.map(|file| file.meta.number).filter(|number| !done.contains(number)).collect();
            drop(version);
            if todo.is_empty() {
                break;
            }
            // Entries are dropped because of certain writes; these writes must not be lost with the
            // end of the log.
            self.shared().policies.log.sync_past(max_seq)?;
            for number in todo {
                if should_stop() {
                    return Ok(swept);
                }
                let Some(job) = self.take_file(number)? else { continue };
                let merged = self.run_sweep(job, drops, should_stop)?;
                if merged.outcome == Outcome::Yielded {
                    return Ok(swept);
                }
                swept.dropped += merged.dropped;
                swept.files += 1;
                done.extend(merged.made);
            }
        }
        Ok(swept)
    }

    /// A job that rewrites one file in its run; `None` if the file is no longer in the version.
    /// Waits while another job uses the file.
    fn take_file(&self, number: u64) -> Result<Option<CompactionJob>> {
        loop {
            self.check_usable()?;
            let version = self.view().version.clone();
            let mut running = self.jobs.lock();
            if self.closing() || !Arc::ptr_eq(&version, &self.view().version) {
                continue;
            }
            let Some((run, file)) = version.files().find(|(_, file)| file.meta.number == number) else {
                return Ok(None);
            };
            let inputs = vec![(run, file.clone())];
            let pick = Pick::Merge { files: vec![number], out: run, reason: MergeReason::Stale };
            let spans = spans_of(&pick, &inputs);
            let meets = |span: &Span| spans.iter().any(|own| span.meets(&own.low, &own.high));
            if running.is_busy(number) || running.spans().iter().any(meets) {
                drop(running);
                drop(version);
                marks::SWEEP_WAITED.hit();
                self.jobs.wait_for_one();
                continue;
            }
            let ticket = self.jobs.enter(&mut running, spans, &[number]);
            drop(running);
            return Ok(Some(CompactionJob { pick, inputs, version, _ticket: ticket }));
        }
    }
}
