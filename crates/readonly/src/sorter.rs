//! Sorting pairs that are more than fits into memory: runs in files, merged.
//!
//! The files are those of builds: sorted files with checksums, in a folder that is the sorter's own and goes with it.

use crate::arena::Arena;
use crate::merge::merge_into_run;
use crate::runs::{Run, RunWriter};
use crate::{MAX_BYTES, OnDuplicate, Result, layout};
use codec::entry::EntryIter;
use env::Env;
use lsm::Merge;
use sst::SstIter;
use std::path::PathBuf;

/// The most runs that are merged at once. Each takes a block of memory.
const MERGE_MAX: usize = 64;
/// All pairs of a key stay, those that came first before the others.
const ALL: OnDuplicate = OnDuplicate::Error;

/// Takes pairs of keys and values in any order, to give them back by their keys; pairs with one key in the order in which
/// they came.
///
/// ```
/// # fn main() -> readonly::Result<()> {
/// use readonly::sorter::Sorter;
/// let env = env::Env::in_memory(1);
/// let mut sorter = Sorter::new(&env, "sort-1".into(), 1 << 20);
/// for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
///     sorter.add(key.as_bytes(), value.as_bytes())?;
/// }
/// let mut sorted = sorter.finish()?;
/// assert_eq!(sorted.next()?, Some((&b"a"[..], &b"2"[..])));
/// assert_eq!(sorted.next()?, Some((&b"b"[..], &b"1"[..])));
/// # Ok(())
/// # }
/// ```
pub struct Sorter {
    arena: Arena,
    position: u64,
    runs: Vec<Run>,
    next_run: u64,
    files: Files,
}

/// The folder of a sorter. It goes when this does.
struct Files {
    env: Env,
    dir: PathBuf,
    made: bool,
}

impl Drop for Files {
    fn drop(&mut self) {
        if !self.made {
            return;
        }
        // What cannot be removed now is removed when the database is opened again.
        for entry in self.env.fs.list(&self.dir).unwrap_or_default() {
            let _left = self.env.fs.remove(&self.dir.join(entry.name));
        }
        let _left = self.env.fs.remove_dir(&self.dir);
    }
}

impl Sorter {
    /// A sorter that keeps about `memory_bytes` of pairs in memory, and puts the others into files in the folder `dir`,
    /// which is made if it is needed, and removed in the end.
    ///
    /// ```
    /// # use readonly::sorter::Sorter;
    /// let sorter = Sorter::new(&env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// assert_eq!(sorter.finish()?.next()?, None);
    /// # readonly::Result::Ok(())
    /// ```
    pub fn new(env: &Env, dir: PathBuf, memory_bytes: usize) -> Self {
        let files = Files { env: env.clone(), dir, made: false };
        Self { arena: Arena::new(memory_bytes), position: 0, runs: Vec::new(), next_run: 0, files }
    }

    /// Adds a pair.
    ///
    /// ```
    /// # use readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1")?;
    /// sorter.add(b"a", b"2")?;
    /// assert_eq!(sorter.finish()?.next()?, Some((&b"a"[..], &b"2"[..])));
    /// # readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`crate::Error::PairTooLarge`], or what the operating system refuses.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if key.len() > MAX_BYTES || value.len() > MAX_BYTES {
            return Err(crate::Error::PairTooLarge {
                bytes: key.len().max(value.len()) as u64,
                limit: MAX_BYTES as u64,
            });
        }
        if !self.arena.is_empty() && !self.arena.fits(Arena::size_of(key, value)) {
            self.spill()?;
        }
        self.arena.push(key, value, self.position);
        self.position += 1;
        Ok(())
    }

    /// Writes what is in memory as a run.
    fn spill(&mut self) -> Result<()> {
        if !self.files.made {
            self.files.made = true;
            self.files.env.fs.create_dir_all(&self.files.dir)?;
        }
        self.arena.sort(ALL);
        let mut writer = RunWriter::create(&self.files.env, &self.files.dir, self.next_run, ALL)?;
        self.next_run += 1;
        for pair in self.arena.pairs(ALL) {
            writer.add(pair)?;
        }
        self.arena.clear();
        self.runs.push(writer.finish()?.run);
        if self.runs.len() == MERGE_MAX {
            let runs = std::mem::take(&mut self.runs);
            let merged = merge_into_run(&self.files.env, &self.files.dir, self.next_run, runs, ALL)?;
            self.next_run += 1;
            self.runs.push(merged.run);
        }
        Ok(())
    }

    /// The pairs in order.
    ///
    /// ```
    /// # use readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1")?;
    /// let mut sorted = sorter.finish()?;
    /// assert_eq!(sorted.next()?, Some((&b"b"[..], &b"1"[..])));
    /// # readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// What the operating system refuses.
    pub fn finish(mut self) -> Result<Sorted> {
        if self.runs.is_empty() {
            self.arena.sort(ALL);
            return Ok(Sorted { source: Source::Memory(self.arena, 0), _files: self.files });
        }
        if !self.arena.is_empty() {
            self.spill()?;
        }
        let env = &self.files.env;
        let sources = self.runs.iter().map(|run| Ok(run.reader(env)?.iter(false))).collect::<Result<Vec<_>>>()?;
        let source = Source::Runs { merge: Merge::new(sources), started: false };
        Ok(Sorted { source, _files: self.files })
    }
}

/// What a [`Sorter`] gives back.
pub struct Sorted {
    source: Source,
    _files: Files,
}

enum Source {
    /// The place of the next pair.
    Memory(Arena, usize),
    Runs {
        merge: Merge<SstIter>,
        started: bool,
    },
}

impl Sorted {
    /// The next pair; it is valid until the next call.
    ///
    /// ```
    /// # use readonly::sorter::Sorter;
    /// let mut sorter = Sorter::new(&env::Env::in_memory(1), "sort-1".into(), 1 << 20);
    /// sorter.add(b"b", b"1")?;
    /// sorter.add(b"a", b"2")?;
    /// let mut sorted = sorter.finish()?;
    /// while let Some((key, value)) = sorted.next()? {
    ///     println!("{key:?} {value:?}");
    /// }
    /// # readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// Damage, or what the operating system refuses.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Result<Option<(&[u8], &[u8])>> {
        match &mut self.source {
            Source::Memory(arena, at) => {
                *at += 1;
                Ok(arena.pair(*at - 1))
            }
            Source::Runs { merge, started } => {
                if *started {
                    merge.next()?;
                } else {
                    merge.seek_first()?;
                    *started = true;
                }
                Ok(merge.valid().then(|| (layout::user_key(merge.key()), merge.value())))
            }
        }
    }
}

#[cfg(test)]
mod tests;
