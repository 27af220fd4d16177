//! Invariants of every view, at any time. For tests.

use super::View;
use crate::version::Run;
use alluvium_codec::entry::{EntryIter, Seq};
use alluvium_env::{Fs, Result};

impl View {
    /// The first violated invariant, if any: memtables cover consecutive intervals of numbers that
    /// begin after the flushed number, and all but the newest are sealed; runs have files in order
    /// that do not overlap; files exist as long as the view is held.
    ///
    /// # Errors
    /// [`alluvium_env::Error::Io`] if the existence of a file cannot be checked.
    #[doc(hidden)]
    pub fn broken_invariant(&self, fs: &dyn Fs) -> Result<Option<String>> {
        Ok(self.broken_interval().or_else(|| self.broken_run()).or(self.missing_file(fs)?))
    }

    /// The lowest number of an entry in memtables; visits all of them.
    ///
    /// # Errors
    /// None.
    #[doc(hidden)]
    pub fn lowest_unflushed(&self) -> Result<Option<Seq>> {
        let mut lowest = None;
        for memtable in self.memtables() {
            let mut entries = memtable.iter();
            entries.seek_first()?;
            while entries.valid() {
                lowest = Some(lowest.map_or(entries.seq(), |lowest: Seq| lowest.min(entries.seq())));
                entries.next()?;
            }
            let ranges = memtable.ranges();
            let numbers = ranges.iter().flat_map(|set| set.fragments()).flat_map(|fragment| fragment.seqs());
            lowest = numbers.copied().chain(lowest).min();
        }
        Ok(lowest)
    }

    fn broken_interval(&self) -> Option<String> {
        let mut above = self.version.flushed_seq;
        for memtable in self.immutable.iter().rev() {
            let (first, last) = (memtable.first_seq(), memtable.last_seq());
            let Some(last) = last.filter(|last| *last >= first && first > above) else {
                return Some(format!("a memtable of numbers {first} to {last:?} above number {above}"));
            };
            above = last;
        }
        let first = self.active.first_seq();
        (first <= above)
            .then(|| format!("the memtable of writers begins at number {first}, which is not above {above}"))
    }

    fn broken_run(&self) -> Option<String> {
        let runs = &self.version.runs;
        let order = runs.windows(2).find(|pair| pair[0].id <= pair[1].id);
        let order = order.map(|pair| format!("run {} above run {}", pair[0].id, pair[1].id));
        let in_order = |run: &Run| {
            let each = run.files.iter().all(|file| file.meta.smallest <= file.meta.largest);
            each && run.files.windows(2).all(|pair| pair[0].meta.largest < pair[1].meta.smallest)
        };
        order.or_else(|| runs.iter().find(|run| !in_order(run)).map(|run| format!("files of run {} overlap", run.id)))
    }

    fn missing_file(&self, fs: &dyn Fs) -> Result<Option<String>> {
        for (run, file) in self.version.files() {
            let path = file.path();
            if !fs.exists(&path)? {
                return Ok(Some(format!("{} of run {run} does not exist, but is still read", path.display())));
            }
        }
        Ok(None)
    }
}
