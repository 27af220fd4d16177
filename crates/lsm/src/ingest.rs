//! Ingest: entries that were never in a memtable become a sorted run by one edit.
//!
//! The new run is the newest, although its entries may be older than other entries of their keys.
//! Iterators and compactions order versions by sequence number; [`crate::View::get`] relies on the
//! order of the runs. Therefore ingest is only for trees whose single keys are never looked up.

use crate::compaction::output::{Output, Plan, remove_outputs};
use crate::counters::Counters;
use crate::edit::VersionEdit;
use crate::files::NewFiles;
use crate::partition::Partition;
use alluvium_codec::entry::Entry;
use alluvium_env::Result;

impl Partition {
    /// Writes entries, in entry order, into new files, and syncs them. Then syncs the log past the
    /// highest number of the entries, and makes the files part of the partition by one edit. Waits
    /// for a running flush.
    ///
    /// # Errors
    /// The error of the file system, of the entries, or of [`crate::LogBarrier::sync_past`]. Unless
    /// the partition is [poisoned](Partition::poisoned), nothing has changed then, and the written
    /// files are removed.
    pub fn ingest<'e>(&self, entries: impl Iterator<Item = Entry<'e>>) -> Result<()> {
        let _one_at_a_time = self.flushing.lock();
        self.check_usable()?;
        let version = self.view().version.clone();
        let run = version.next_run;
        let failed_syncs = self.home.failed_syncs();
        let mut output = Output::new(&self.home, Plan::new(run, Vec::new(), &version));
        let mut last_seq = 0;
        for entry in entries {
            last_seq = last_seq.max(entry.seq);
            output.add(entry, None)?;
        }
        let files = output.finish()?;
        if files.is_empty() {
            return Ok(());
        }
        let new = NewFiles { files, failed_syncs };
        let result = self.install_files(run, last_seq, &new);
        match &result {
            Ok(()) => Counters::add(&self.counters.bytes_flushed, new.bytes()),
            // If the partition is poisoned, the manifest may name the files, so they are kept.
            Err(_) if self.poisoned().is_none() => remove_outputs(&self.home, &new.files),
            Err(_) => {}
        }
        result
    }

    /// Makes new files part of the partition.
    fn install_files(&self, run: u64, max_seq: u64, new: &NewFiles) -> Result<()> {
        self.home.sync_names(new.failed_syncs)?;
        self.shared().policies.log.sync_past(max_seq)?;
        let mut added = new.files.clone();
        // Until the edit is installed, the ticket keeps jobs from writing to the places that the
        // files sink to.
        let _ticket = self.sink_outputs(&mut added);
        self.commit(VersionEdit { added, next_run: Some(run + 1), ..VersionEdit::default() }, None)
    }
}
