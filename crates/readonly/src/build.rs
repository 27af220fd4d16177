//! A build: collects pairs, sorts them in parts within the memory budget, merges the parts, and
//! writes the store.

use crate::arena::{self, Arena};
use crate::error::{Error, Result};
use crate::layout::{BuildDir, Content, MAX_BYTES, Superblock};
use crate::merge::{merge, merge_into_run};
use crate::options::{BuildOptions, OnDuplicate};
use crate::output::DataWriter;
use crate::runs::{self, Duplicate, Run, RunFile, Written, earlier};
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::Env;
use alluvium_env::thread::JoinHandle;
use alluvium_sst::Sampler;
use std::path::Path;

/// The report of a build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BuildReport {
    /// Pairs in the store.
    pub pairs: u64,
    /// Pairs that were left out because another pair with the same key was kept.
    pub duplicates: u64,
    /// Bytes of keys and values in the store.
    pub raw_bytes: u64,
    /// Bytes of all files of the store.
    pub disk_bytes: u64,
    /// Sorted runs that were written temporarily, including merged ones; 0 if the memory was
    /// sufficient.
    pub runs: u64,
    /// Bytes of the temporary sorted runs.
    pub run_bytes: u64,
    /// Passes over the data from disk to disk, including the last one; 0 if the memory was
    /// sufficient.
    pub merge_passes: u64,
}

/// The result of the sorting thread.
struct Sorted {
    arena: Arena,
    sampler: Sampler,
    written: Result<Written>,
}

/// A read-only store that is being built. One thread adds pairs, while another thread sorts and
/// writes them.
///
/// If it is dropped before [`Build::finish`] has succeeded, it removes the files that it has
/// written.
pub struct Build {
    env: Env,
    options: BuildOptions,
    dir: BuildDir,
    arena: Arena,
    spare: Option<Arena>,
    sampler: Option<Sampler>,
    job: Option<JoinHandle<Sorted>>,
    runs: Vec<Run>,
    next_run: u64,
    /// The number of pairs so far, which is the position of the last pair.
    position: u64,
    raw_bytes: u64,
    report: BuildReport,
}

impl Build {
    pub(crate) fn new(env: Env, dir: &Path, mut options: BuildOptions) -> Result<Self> {
        options.check()?;
        let dir = BuildDir::take(&env, dir)?;
        Ok(Self {
            arena: Arena::new(options.arena_bytes()),
            spare: None,
            sampler: Some(Sampler::new(options.block_bytes)),
            job: None,
            runs: Vec::new(),
            next_run: 1,
            position: 0,
            raw_bytes: 0,
            report: BuildReport::default(),
            env: dir.env.clone(),
            options,
            dir,
        })
    }

    /// Adds a pair. Keys may arrive in any order.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// let mut build = ReadOnly::build_in(env, "capitals.ro", BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// build.add(b"chile", b"santiago")?; // in any order
    /// assert_eq!(build.finish(Vec::new())?.pairs, 2);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::PairTooLarge`]; [`Error::NoSpace`]; [`Error::DuplicateKey`], as soon as a duplicate
    /// is found; or an I/O error. After an error the build must be dropped.
    pub fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let size = Arena::size_of(key, value);
        if !self.arena.fits(size) || key.len().max(value.len()) > MAX_BYTES {
            self.check_size(key, value, size)?;
            self.spill()?;
        }
        self.position += 1;
        self.raw_bytes += (key.len() + value.len()) as u64;
        self.arena.push(key, value, self.position);
        Ok(())
    }

    /// Pairs added so far.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// let mut build = ReadOnly::build_in(env, "capitals.ro", BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// assert_eq!(build.added(), 1);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn added(&self) -> u64 {
        self.position
    }

    fn check_size(&self, key: &[u8], value: &[u8], size: usize) -> Result<()> {
        let limit = self.options.arena_bytes();
        if size > limit || key.len() > MAX_BYTES || value.len() > MAX_BYTES {
            let limit = limit.min(MAX_BYTES) as u64;
            return Err(Error::PairTooLarge { bytes: (key.len() + value.len()) as u64, limit });
        }
        Ok(())
    }

    /// Passes the arena to a thread that sorts and writes it, and continues with the other arena.
    fn spill(&mut self) -> Result<()> {
        self.join()?;
        if self.arena.is_empty() {
            return Ok(());
        }
        self.check_space(self.arena.used() as u64)?;
        let spare = self.spare.take().unwrap_or_else(|| Arena::new(self.options.arena_bytes()));
        let mut arena = std::mem::replace(&mut self.arena, spare);
        let mut sampler = self.sampler.take().unwrap_or_else(|| Sampler::new(self.options.block_bytes));
        let (env, dir, on_duplicate) = (self.env.clone(), self.dir.dir.clone(), self.options.on_duplicate);
        let number = self.next_run;
        self.next_run += 1;
        let work = move || {
            let written =
                runs::spill(&RunFile { env: &env, dir: &dir, number }, &mut arena, on_duplicate, &mut sampler);
            arena.clear();
            Sorted { arena, sampler, written }
        };
        let job = alluvium_env::thread::try_spawn("alluvium-sort", work);
        self.job = Some(job.map_err(|error| Error::ThreadFailed(error.to_string()))?);
        Ok(())
    }

    /// Waits for the sorting thread.
    fn join(&mut self) -> Result<()> {
        let Some(job) = self.job.take() else { return Ok(()) };
        let sorted = job.join().map_err(|panicked| Error::ThreadFailed(panicked.to_string()))?;
        self.spare = Some(sorted.arena);
        self.sampler = Some(sorted.sampler);
        let found = self.take_run(sorted.written?);
        // Later runs have only later pairs, so the first duplicate is known now; its pairs may be
        // in two runs.
        if found { Err(self.first_duplicate()) } else { Ok(()) }
    }

    /// Records a run. Returns true if the run contains a duplicate that is an error.
    fn take_run(&mut self, written: Written) -> bool {
        self.report.runs += 1;
        self.report.run_bytes += written.run.meta.bytes;
        self.report.duplicates += written.duplicates;
        self.runs.push(written.run);
        written.duplicate.is_some()
    }

    /// Returns the error for the first pair, over all runs, that repeats the key of an earlier
    /// pair.
    fn first_duplicate(&mut self) -> Error {
        let mut first = None;
        let mut last: Option<Vec<u8>> = None;
        let on_duplicate = self.options.on_duplicate;
        let looked = self.reduce().and_then(|()| {
            merge(&self.env, &self.runs, |pair| {
                match &mut last {
                    Some(last) if last == pair.key => {
                        earlier(&mut first, arena::position(pair.rank, on_duplicate), pair.key);
                    }
                    Some(last) => {
                        last.clear();
                        last.extend_from_slice(pair.key);
                    }
                    None => last = Some(pair.key.to_vec()),
                }
                Ok(())
            })
        });
        match (looked, first) {
            (Ok(()), Some(Duplicate { position, key })) => Error::DuplicateKey { position, key },
            (Ok(()), None) => Error::ThreadFailed("a duplicate key was lost".to_owned()),
            (Err(error), _) => error,
        }
    }

    /// Returns an error if the disk has no room for this many more bytes and a small margin.
    fn check_space(&self, bytes: u64) -> Result<()> {
        const SLACK: u64 = 256 << 10;
        let needed = bytes + bytes / 32 + SLACK;
        let path = &self.dir.dir;
        let available = self.env.fs.available_bytes(path)?;
        if available < needed {
            return Err(Error::NoSpace { path: path.clone(), needed, available });
        }
        Ok(())
    }

    /// Merges runs until they are few enough to be merged at once.
    fn reduce(&mut self) -> Result<()> {
        let width = self.options.merge_width();
        while self.runs.len() > width {
            // Merges the smallest runs, so that the fewest bytes are rewritten.
            self.runs.sort_by_key(|run| std::cmp::Reverse(run.meta.bytes));
            let count = width.min(self.runs.len() - width + 1);
            let inputs = self.runs.split_off(self.runs.len() - count);
            self.check_space(inputs.iter().map(|run| run.meta.bytes).sum())?;
            let (number, dir) = (self.next_run, self.dir.dir.clone());
            self.next_run += 1;
            let into = RunFile { env: &self.env, dir: &dir, number };
            let written = merge_into_run(&into, inputs, self.options.on_duplicate, &mut || Result::Ok(()))?;
            self.report.merge_passes += 1;
            self.take_run(written);
        }
        Ok(())
    }

    /// Sorts and merges the remaining pairs, writes the store, and makes it durable. `aux` are
    /// bytes of the layer above, which [`crate::ReadOnly::aux`] returns. They are not stored if
    /// there are no pairs.
    ///
    /// ```
    /// use alluvium_readonly::{BuildOptions, OnDuplicate, ReadOnly, ReadOnlyOptions};
    ///
    /// let env = alluvium_env::Env::in_memory(1);
    /// let options = BuildOptions { on_duplicate: OnDuplicate::Replace, ..BuildOptions::default() };
    /// let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", options)?;
    /// build.add(b"peru", b"cusco")?;
    /// build.add(b"peru", b"lima")?;
    /// let report = build.finish(b"as of 2026".to_vec())?;
    /// assert_eq!((report.pairs, report.duplicates), (1, 1));
    ///
    /// let store = ReadOnly::open_in(env, "capitals.ro", &ReadOnlyOptions::default())?;
    /// assert_eq!(store.aux()?, b"as of 2026");
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Build::add`]. After an error all files of the store are removed.
    pub fn finish(mut self, aux: Vec<u8>) -> Result<BuildReport> {
        self.join()?;
        let content = match (self.position, self.runs.is_empty()) {
            (0, _) => None,
            (_, true) => Some(self.write_from_memory(aux)?),
            (_, false) => Some(self.write_from_runs(aux)?),
        };
        let superblock = Superblock {
            id: self.env.rng.next_u64(),
            label: std::mem::take(&mut self.options.label),
            duplicates: self.report.duplicates,
            content,
        };
        let mut report = self.report.clone();
        if let Some(content) = &superblock.content {
            report.pairs = content.data.entries;
            report.raw_bytes = content.raw_bytes();
            report.disk_bytes = content.disk_bytes();
        }
        self.dir.finish(&superblock)?;
        Ok(report)
    }

    fn write_from_memory(&mut self, aux: Vec<u8>) -> Result<Content> {
        let on_duplicate = self.options.on_duplicate;
        self.arena.sort(on_duplicate);
        let mut sampler = self.sampler.take().unwrap_or_else(|| Sampler::new(self.options.block_bytes));
        for pair in self.arena.pairs(on_duplicate) {
            sampler.add(Entry { key: pair.key, seq: 1, kind: Kind::Put, value: pair.value });
        }
        self.check_space(self.arena.used() as u64)?;
        let mut writer = DataWriter::create(&self.env, &self.dir.dir, &self.options, sampler, self.raw_bytes)?;
        for pair in self.arena.pairs(on_duplicate) {
            writer.add(pair)?;
        }
        self.end(writer, aux)
    }

    fn write_from_runs(&mut self, aux: Vec<u8>) -> Result<Content> {
        self.spill()?;
        self.join()?;
        // Frees the arenas, because merging needs the memory.
        self.arena = Arena::new(0);
        self.spare = None;
        self.reduce()?;
        // With Zstandard the data take no more space than the runs did with LZ4.
        let bytes = self.runs.iter().map(|run| run.meta.bytes).sum();
        self.check_space(if self.compresses() { bytes } else { self.raw_bytes })?;
        let sampler = self.sampler.take().unwrap_or_else(|| Sampler::new(self.options.block_bytes));
        let mut writer = DataWriter::create(&self.env, &self.dir.dir, &self.options, sampler, self.raw_bytes)?;
        self.report.merge_passes += 1;
        merge(&self.env, &self.runs, |pair| writer.add(pair))?;
        let content = self.end(writer, aux)?;
        for run in self.runs.drain(..) {
            run.remove(&self.env);
        }
        Ok(content)
    }

    fn compresses(&self) -> bool {
        self.options.compression != alluvium_sst::Compression::None
    }

    fn end(&mut self, writer: DataWriter, aux: Vec<u8>) -> Result<Content> {
        if let Some(Duplicate { position, key }) = writer.duplicate {
            debug_assert_eq!(self.options.on_duplicate, OnDuplicate::Error);
            return Err(Error::DuplicateKey { position, key });
        }
        self.report.duplicates += writer.duplicates;
        writer.finish(aux)
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        // Waits for the thread, because it writes into the directory that is about to be cleaned
        // up.
        if let Some(job) = self.job.take() {
            let _of_no_use = job.join();
        }
    }
}
