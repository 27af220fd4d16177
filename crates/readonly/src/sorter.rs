//! Sorting more pairs than fit into memory: runs in files, which are merged.
//!
//! The runs are sorted files with checksums, like the runs of builds. They are in a folder of the
//! sorter, which is removed with the sorter. Long values are not sorted: they are written once to a
//! separate file, and the runs contain their places. The tails of long keys are stored in the same
//! way, and are read only if the beginnings of the keys are equal. Therefore the memory of a merge
//! depends only on the number of runs.

mod blocks;
mod keys;
mod stored;
mod ties;

pub use blocks::Blocks;
pub use keys::KeySet;

use crate::arena::Arena;
use crate::error::{Error, Result};
use crate::layout::{self, MAX_BYTES};
use crate::merge::merge_into_run;
use crate::options::OnDuplicate;
use crate::runs::{BLOCK_BYTES, Run, RunFile, RunWriter};
use alluvium_codec::entry::EntryIter;
use alluvium_env::Env;
use alluvium_lsm::Merge;
use alluvium_sst::SstIter;
use std::collections::VecDeque;
use std::path::PathBuf;
use stored::{Place, Stored, Tie, ValueRef};

/// The most runs that are merged at once.
const MERGE_MAX: usize = 64;
/// The shortest value that is stored separately, in bytes.
const STORED_MIN: usize = BLOCK_BYTES;
/// The most bytes of a key that runs contain. If a key has at least this many bytes, its tail and
/// its value are stored separately.
const KEY_BYTES_MAX: usize = 4 << 10;
/// The bytes that a run takes while it is merged: a block as stored, a decompressed block, the
/// current pair, and the block that is written, each with the largest pair.
const RUN_BYTES: usize = 4 * (KEY_BYTES_MAX + STORED_MIN);
/// All pairs of a key are kept, in the order of arrival.
const ALL: OnDuplicate = OnDuplicate::Error;

/// Takes pairs of keys and values in any order, and returns the values in the order of the keys.
/// Values of equal keys are returned in the order of arrival.
///
/// ```
/// # fn main() -> alluvium_readonly::Result<()> {
/// use alluvium_readonly::sorter::Sorter;
/// let env = alluvium_env::Env::in_memory(1);
/// let mut sorter = Sorter::new(&env, "sort-1".into(), 1 << 20);
/// for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
///     sorter.add(key.as_bytes(), value.as_bytes(), |_| alluvium_readonly::Result::Ok(()))?;
/// }
/// let mut sorted = sorter.finish(|_| alluvium_readonly::Result::Ok(()))?;
/// for value in [b"2", b"1", b"3"] {
///     assert_eq!(sorted.next(|_| alluvium_readonly::Result::Ok(()))?, Some(&value[..]));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Sorter {
    arena: Arena,
    position: u64,
    /// The runs that were merged most often are first.
    runs: Vec<MergedRun>,
    next_run: u64,
    merge_bytes: usize,
    stored: Stored,
    value: Vec<u8>,
    files: Files,
}

/// The folder of a sorter, which is removed on drop.
struct Files {
    env: Env,
    dir: PathBuf,
    made: bool,
}

impl Files {
    fn run(&self, number: u64) -> RunFile<'_> {
        RunFile { env: &self.env, dir: &self.dir, number }
    }

    fn make(&mut self) -> Result<()> {
        if !self.made {
            self.made = true;
            self.env.fs.create_dir_all(&self.dir)?;
        }
        Ok(())
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.made {
            return;
        }
        // Files that cannot be removed now are removed when the database is opened again.
        for entry in self.env.fs.list(&self.dir).unwrap_or_default() {
            let _left = self.env.fs.remove(&self.dir.join(entry.name));
        }
        let _left = self.env.fs.remove_dir(&self.dir);
    }
}

/// A run, and the number of merges that its pairs have passed.
struct MergedRun {
    merges: u32,
    run: Run,
}

impl Sorter {
    /// A sorter that keeps about `memory_bytes` of pairs in memory, and writes other pairs to files
    /// in the folder `dir`. The folder is created when it is needed, and removed at the end.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Sorter;
    /// let sorter = Sorter::new(&alluvium_env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// let mut sorted = sorter.finish(|_| alluvium_readonly::Result::Ok(()))?;
    /// assert_eq!(sorted.next(|_| alluvium_readonly::Result::Ok(()))?, None);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn new(env: &Env, dir: PathBuf, memory_bytes: usize) -> Self {
        Self::with(env, dir, memory_bytes, memory_bytes)
    }

    /// A sorter with separate limits for pairs in memory and for merges.
    fn with(env: &Env, dir: PathBuf, arena_bytes: usize, merge_bytes: usize) -> Self {
        let files = Files { env: env.clone(), dir, made: false };
        Self {
            arena: Arena::new(arena_bytes),
            position: 0,
            runs: Vec::new(),
            next_run: 0,
            merge_bytes,
            stored: Stored::default(),
            value: Vec::new(),
            files,
        }
    }

    /// Adds a pair. Merges files when there are many. `proceed` is called before files are written
    /// or merged, with the bytes of disk space that this will need (merged files are removed only
    /// afterwards), and now and then with 0. An error of `proceed` ends the call.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&alluvium_env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1", |_| alluvium_readonly::Result::Ok(()))?;
    /// sorter.add(b"a", b"2", |_| alluvium_readonly::Result::Ok(()))?;
    /// let mut sorted = sorter.finish(|_| alluvium_readonly::Result::Ok(()))?;
    /// assert_eq!(sorted.next(|_| alluvium_readonly::Result::Ok(()))?, Some(&b"2"[..]));
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::PairTooLarge`], I/O errors, and errors of `proceed`. After an error no more
    /// pairs may be added.
    pub fn add<E: From<Error>>(
        &mut self,
        key: &[u8],
        value: &[u8],
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if key.len() > MAX_BYTES || value.len() > MAX_BYTES {
            let bytes = key.len().max(value.len()) as u64;
            return Err(Error::PairTooLarge { bytes, limit: MAX_BYTES as u64 }.into());
        }
        self.value.clear();
        let (key, tail) = key.split_at_checked(KEY_BYTES_MAX).map_or((key, None), |(key, tail)| (key, Some(tail)));
        let stored = match tail {
            Some(tail) => {
                ValueRef::Tied(Tie { tail: self.store(tail, &mut proceed)?, value: self.store(value, &mut proceed)? })
            }
            None if value.len() >= STORED_MIN => ValueRef::Stored(self.store(value, &mut proceed)?),
            None => ValueRef::Inline(value),
        };
        stored.encode(&mut self.value);
        if !self.arena.is_empty() && !self.arena.fits(Arena::size_of(key, &self.value)) {
            self.spill(&mut proceed)?;
            self.merge_alike(&mut proceed)?;
        }
        self.arena.push(key, &self.value, self.position);
        self.position += 1;
        Ok(())
    }

    /// Stores bytes in the separate file.
    fn store<E: From<Error>>(
        &mut self,
        bytes: &[u8],
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Place, E> {
        proceed(bytes.len() as u64)?;
        self.files.make()?;
        Ok(self.stored.append(&self.files.env, &self.files.dir, bytes)?)
    }

    /// The most runs that are merged at once, according to the memory that each run takes.
    fn fan_in(&self) -> usize {
        (self.merge_bytes / RUN_BYTES).clamp(2, MERGE_MAX)
    }

    /// Writes the pairs in memory as a run.
    fn spill<E: From<Error>>(
        &mut self,
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        proceed(self.arena.used() as u64)?;
        self.write_run().map_err(E::from)
    }

    fn write_run(&mut self) -> Result<()> {
        self.files.make()?;
        self.arena.sort(ALL);
        let mut writer = RunWriter::create(&self.files.run(self.next_run), ALL)?;
        self.next_run += 1;
        for pair in self.arena.pairs(ALL) {
            writer.add(pair)?;
        }
        self.arena.clear();
        self.runs.push(MergedRun { merges: 0, run: writer.finish()?.run });
        Ok(())
    }

    /// Merges runs that were merged equally often, as soon as there are enough of them. Therefore
    /// each pair is rewritten as rarely as the memory allows.
    fn merge_alike<E: From<Error>>(
        &mut self,
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        while let Some(last) = self.runs.last() {
            let alike = self.runs.iter().rev().take_while(|other| other.merges == last.merges).count();
            if alike < self.fan_in() {
                break;
            }
            self.merge_last(alike, proceed)?;
        }
        Ok(())
    }

    /// Merges the last `count` runs.
    fn merge_last<E: From<Error>>(
        &mut self,
        count: usize,
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let last = self.runs.split_off(self.runs.len().saturating_sub(count));
        let merges = last.iter().map(|merged| merged.merges + 1).max().unwrap_or(0);
        proceed(last.iter().map(|merged| merged.run.meta.bytes).sum())?;
        let runs = last.into_iter().map(|merged| merged.run).collect();
        let written = merge_into_run(&self.files.run(self.next_run), runs, ALL, &mut || proceed(0))?;
        self.next_run += 1;
        self.runs.push(MergedRun { merges, run: written.run });
        Ok(())
    }

    /// Returns the values in order. `proceed` is called as in [`Sorter::add`].
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&alluvium_env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1", |_| alluvium_readonly::Result::Ok(()))?;
    /// let mut sorted = sorter.finish(|_| alluvium_readonly::Result::Ok(()))?;
    /// assert_eq!(sorted.next(|_| alluvium_readonly::Result::Ok(()))?, Some(&b"1"[..]));
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// I/O errors, and errors of `proceed`.
    pub fn finish<E: From<Error>>(
        mut self,
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Sorted, E> {
        let pairs = if self.runs.is_empty() {
            self.arena.sort(ALL);
            SortedPairs::Memory(self.arena, 0)
        } else {
            if !self.arena.is_empty() {
                self.spill(&mut proceed)?;
            }
            // The memory is needed for blocks of runs.
            self.arena = Arena::new(0);
            let fan_in = self.fan_in();
            while self.runs.len() > fan_in {
                self.merge_last((self.runs.len() - fan_in + 1).min(fan_in), &mut proceed)?;
            }
            let env = &self.files.env;
            let sources =
                self.runs.iter().map(|merged| Ok(merged.run.reader(env)?.iter(false))).collect::<Result<Vec<_>>>()?;
            SortedPairs::Runs { merge: Merge::new(sources), started: false }
        };
        Ok(Sorted {
            pairs,
            ties: VecDeque::new(),
            is_at_next: false,
            stored: self.stored,
            value: Vec::new(),
            memory_bytes: self.merge_bytes,
            _files: self.files,
        })
    }
}

/// The sorted values of a [`Sorter`].
pub struct Sorted {
    pairs: SortedPairs,
    /// The next values in order, from pairs whose keys have the same beginning.
    ties: VecDeque<Tie>,
    /// True if the current pair was not returned yet.
    is_at_next: bool,
    stored: Stored,
    /// The stored value that was returned last.
    value: Vec<u8>,
    memory_bytes: usize,
    _files: Files,
}

enum SortedPairs {
    /// The pairs in memory, and the index of the next pair.
    Memory(Arena, usize),
    Runs {
        merge: Merge<SstIter>,
        started: bool,
    },
}

impl SortedPairs {
    fn advance(&mut self) -> Result<()> {
        match self {
            Self::Memory(_, next) => *next += 1,
            Self::Runs { merge, started: true } => merge.next()?,
            Self::Runs { merge, started } => {
                merge.seek_first()?;
                *started = true;
            }
        }
        Ok(())
    }

    /// The key and the value of the current pair, as runs store them.
    fn current(&self) -> Option<(&[u8], &[u8])> {
        match self {
            Self::Memory(arena, next) => arena.pair(next.checked_sub(1)?),
            Self::Runs { merge, .. } => merge.valid().then(|| (layout::user_key(merge.key()), merge.value())),
        }
    }
}

impl Sorted {
    /// Returns the next value, which is valid until the next call. `proceed` is called with 0 while
    /// keys of 4 KiB or more are read.
    ///
    /// ```
    /// # use alluvium_readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&alluvium_env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1", |_| alluvium_readonly::Result::Ok(()))?;
    /// sorter.add(b"a", b"2", |_| alluvium_readonly::Result::Ok(()))?;
    /// let mut sorted = sorter.finish(|_| alluvium_readonly::Result::Ok(()))?;
    /// while let Some(value) = sorted.next(|_| alluvium_readonly::Result::Ok(()))? {
    ///     println!("{value:?}");
    /// }
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Damage, I/O errors, and errors of `proceed`.
    pub fn next<E: From<Error>>(
        &mut self,
        mut proceed: impl FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<Option<&[u8]>, E> {
        if self.ties.is_empty() {
            if !std::mem::take(&mut self.is_at_next) {
                self.pairs.advance()?;
            }
            self.order_ties(&mut proceed)?;
        }
        if let Some(tie) = self.ties.pop_front() {
            self.stored.read(tie.value, &mut self.value)?;
            return Ok(Some(&self.value));
        }
        let Some((_, value)) = self.pairs.current() else { return Ok(None) };
        match self.stored.decode(value)? {
            ValueRef::Inline(value) => return Ok(Some(value)),
            ValueRef::Stored(place) | ValueRef::Tied(Tie { value: place, .. }) => {
                self.stored.read(place, &mut self.value)?;
            }
        }
        Ok(Some(&self.value))
    }

    /// Takes the pairs whose keys have the same beginning as the key of the current pair, if their
    /// keys have tails.
    fn order_ties<E: From<Error>>(
        &mut self,
        proceed: &mut dyn FnMut(u64) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut ties = Vec::new();
        let mut beginning: Option<Vec<u8>> = None;
        while let Some((key, value)) = self.pairs.current()
            && key.len() == KEY_BYTES_MAX
            && beginning.as_ref().is_none_or(|beginning| beginning == key)
            && let ValueRef::Tied(tie) = self.stored.decode(value)?
        {
            beginning.get_or_insert_with(|| key.to_vec());
            ties.push(tie);
            self.pairs.advance()?;
        }
        if !ties.is_empty() {
            self.is_at_next = true;
            self.ties = ties::sort(ties, &self.stored, self.memory_bytes, &mut || proceed(0))?.into();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
