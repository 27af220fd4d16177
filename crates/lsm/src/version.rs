//! Versions: the sorted runs of a partition, newest first, the base last.
//!
//! A run is a list of files with disjoint key ranges, sorted by key; all versions of a key are in
//! the same file of a run. Runs are numbered: if two runs hold the same key, the run with the
//! higher number has the newer versions. The base is run 0 and always exists, but may be empty. A
//! version never changes; an edit makes a new one.

use crate::budget::{Charge, Owner};
use crate::edit::{AddedFile, VersionEdit};
use crate::files::{FileHandle, Home};
use crate::kept::Kept;
use crate::superseded::Superseded;
use alluvium_codec::entry::Seq;
use alluvium_codec::ranges::RangeSet;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of the base.
pub(crate) const BASE: u64 = 0;

/// A sorted run.
#[derive(Debug)]
pub(crate) struct Run {
    pub id: u64,
    pub files: Vec<Arc<FileHandle>>,
    /// The first 16 bytes of each file's largest key, so that a search touches one array.
    fences: Vec<u128>,
}

/// The first 16 bytes of a key as a number; a shorter key is filled with zeros. Keeps the order
/// of keys, except that different keys may become equal.
#[inline]
fn fence(key: &[u8]) -> u128 {
    match key.first_chunk::<16>() {
        Some(bytes) => u128::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; 16];
            bytes[..key.len()].copy_from_slice(key);
            u128::from_be_bytes(bytes)
        }
    }
}

impl Run {
    /// A run of files that are sorted and disjoint.
    pub fn new(id: u64, files: Vec<Arc<FileHandle>>) -> Arc<Self> {
        let fences = files.iter().map(|file| fence(&file.meta.largest)).collect();
        Arc::new(Self { id, files, fences })
    }

    /// The index of the first file whose largest key is at or above `key`.
    #[inline]
    pub fn first_at_or_after(&self, key: &[u8]) -> usize {
        let wanted = fence(key);
        let low = self.fences.partition_point(|&f| f < wanted);
        if self.fences.get(low) != Some(&wanted) {
            return low;
        }
        let equal = self.fences[low..].partition_point(|&f| f == wanted);
        low + self.files[low..low + equal].partition_point(|file| file.meta.largest.as_slice() < key)
    }

    /// The file that holds `key`, if any can.
    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<&Arc<FileHandle>> {
        let file = self.files.get(self.first_at_or_after(key))?;
        (file.meta.smallest.as_slice() <= key).then_some(file)
    }

    /// The files that overlap `low..=high`.
    pub fn overlapping(&self, low: &[u8], high: &[u8]) -> &[Arc<FileHandle>] {
        let from = self.first_at_or_after(low);
        let count = self.files[from..].partition_point(|file| file.meta.smallest.as_slice() <= high);
        &self.files[from..from + count]
    }

    /// The bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.meta.bytes).sum()
    }
}

/// One state of a partition's files.
#[derive(Debug)]
pub(crate) struct Version {
    /// Newest first; the last is the base. No other run is empty.
    pub runs: Vec<Arc<Run>>,
    /// Everything up to this number is in the files.
    pub flushed_seq: Seq,
    /// A number above every run number ever used.
    pub next_run: u64,
    /// Bytes that files hold for snapshots.
    pub kept: Kept,
    /// The range tombstones that may hide something in the files.
    pub ranges: Arc<RangeSet>,
    /// The numbers up to which files alone do not prove that a version is the newest.
    pub superseded: Arc<Superseded>,
    charge: Option<Arc<Charge>>,
}

impl Version {
    /// A version without files.
    pub fn empty() -> Arc<Self> {
        let runs = vec![Run::new(BASE, Vec::new())];
        let (kept, ranges, superseded) = (Kept::default(), Arc::default(), Arc::default());
        Arc::new(Self { runs, flushed_seq: 0, next_run: 1, kept, ranges, superseded, charge: None })
    }

    /// The base.
    pub fn base(&self) -> &Arc<Run> {
        // The constructors make no version without a base.
        &self.runs[self.runs.len() - 1]
    }

    /// All files, each with its run's number.
    pub fn files(&self) -> impl Iterator<Item = (u64, &Arc<FileHandle>)> {
        self.runs.iter().flat_map(|run| run.files.iter().map(|file| (run.id, file)))
    }

    /// The number of runs that have files.
    pub fn run_count(&self) -> usize {
        self.runs.len() - usize::from(self.base().files.is_empty())
    }

    /// True if no file of the runs below run `above` can hold `key`.
    pub fn nothing_below(&self, above: u64, key: &[u8]) -> bool {
        self.runs.iter().filter(|run| run.id < above).all(|run| run.find(key).is_none())
    }

    /// The edit that makes this version from an empty one.
    pub fn snapshot(&self, next_file: u64) -> VersionEdit {
        VersionEdit {
            flushed_seq: Some(self.flushed_seq),
            next_file: Some(next_file),
            next_run: Some(self.next_run),
            added: self.files().map(|(run, file)| file.added(run)).collect(),
            ranges: RangeSet::clone(&self.ranges),
            superseded: Superseded::clone(&self.superseded),
            ..VersionEdit::default()
        }
    }

    /// The version after an edit.
    ///
    /// # Errors
    /// A description of the fault in the edit: it names an unknown file, adds a file twice, or
    /// makes files of a run overlap. An edit that fails here must not be written.
    pub fn apply(&self, edit: &VersionEdit, home: &Arc<Home>) -> std::result::Result<Arc<Self>, String> {
        let mut files: HashMap<u64, (u64, Arc<FileHandle>)> =
            self.files().map(|(run, file)| (file.meta.number, (run, file.clone()))).collect();
        for number in &edit.removed {
            files.remove(number).ok_or_else(|| format!("it removes file {number}, which does not exist"))?;
        }
        for &(number, run) in &edit.moved {
            let file = files.get_mut(&number).ok_or_else(|| format!("it moves file {number}, which does not exist"))?;
            file.0 = run;
        }
        for added in &edit.added {
            let handle = FileHandle::new(home, AddedFile::clone(added));
            if files.insert(added.meta.number, (added.run, handle)).is_some() {
                return Err(format!("it adds file {} again", added.meta.number));
            }
        }
        let flushed_seq = edit.flushed_seq.unwrap_or(self.flushed_seq);
        if flushed_seq < self.flushed_seq {
            return Err(format!("it lowers the flushed number from {} to {flushed_seq}", self.flushed_seq));
        }
        let highest_run = files.values().map(|(run, _)| *run).max().unwrap_or(BASE);
        let next_run = self.next_run.max(edit.next_run.unwrap_or(0)).max(highest_run.saturating_add(1));
        let runs = self.assemble(files, edit)?;
        let kept = Kept::of(runs.iter().flat_map(|run| &run.files));
        let (ranges, charge) = match edit.changes_ranges() {
            true => {
                let ranges = edit.apply_ranges(&self.ranges)?;
                let charge = home.shared.budget.charge(Owner::Pinned, ranges.bytes());
                (Arc::new(ranges), Some(Arc::new(charge)))
            }
            false => (self.ranges.clone(), self.charge.clone()),
        };
        let mut superseded = self.superseded.clone();
        if edit.superseded.iter().any(|(tree, seq)| seq > superseded.of(tree)) {
            Arc::make_mut(&mut superseded).join(&edit.superseded);
        }
        if !edit.forgotten.is_empty() && superseded.iter().any(|(tree, _)| edit.forgets_tree(tree)) {
            Arc::make_mut(&mut superseded).forget(|tree| edit.forgets_tree(tree));
        }
        Ok(Arc::new(Self { runs, flushed_seq, next_run, kept, ranges, superseded, charge }))
    }

    /// Sorts files into runs, and keeps the runs that the edit does not touch.
    fn assemble(
        &self,
        files: HashMap<u64, (u64, Arc<FileHandle>)>,
        edit: &VersionEdit,
    ) -> std::result::Result<Vec<Arc<Run>>, String> {
        let touched = self.touched(edit);
        let mut by_run: HashMap<u64, Vec<Arc<FileHandle>>> = HashMap::new();
        for (run, file) in files.into_values() {
            if touched.contains(&run) {
                by_run.entry(run).or_default().push(file);
            }
        }
        let mut runs: Vec<Arc<Run>> = self.runs.iter().filter(|run| !touched.contains(&run.id)).cloned().collect();
        for (id, mut files) in by_run {
            files.sort_by(|a, b| a.meta.smallest.cmp(&b.meta.smallest));
            if let Some(pair) = files.windows(2).find(|pair| pair[0].meta.largest >= pair[1].meta.smallest) {
                let (a, b) = (pair[0].meta.number, pair[1].meta.number);
                return Err(format!("files {a} and {b} of run {id} would overlap"));
            }
            runs.push(Run::new(id, files));
        }
        if runs.iter().all(|run| run.id != BASE) {
            runs.push(Run::new(BASE, Vec::new()));
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(runs)
    }

    fn touched(&self, edit: &VersionEdit) -> HashSet<u64> {
        let gone: HashSet<u64> = edit.removed.iter().copied().chain(edit.moved.iter().map(|moved| moved.0)).collect();
        let mut touched: HashSet<u64> = edit.added.iter().map(|added| added.run).collect();
        touched.extend(edit.moved.iter().map(|moved| moved.1));
        touched.extend(self.files().filter(|(_, file)| gone.contains(&file.meta.number)).map(|(run, _)| run));
        touched
    }
}
