//! Sorted runs on the disk, between the first pass over the input and the last.
//!
//! A run is a sorted file with LZ4 and without filters: it is fast to write, and is checked when it
//! is read.

use crate::arena::{Arena, Pair, position};
use crate::error::Result;
use crate::layout;
use crate::options::OnDuplicate;
use alluvium_codec::entry::{Entry, Kind};
use alluvium_env::Env;
use alluvium_sst::{
    Compression, DictionaryRegistry, FileMeta, FooterInfo, NoCache, Reader, Sampler, Writer, WriterOptions,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Raw bytes of a block of a run. Blocks are large, because runs are read in order.
pub(crate) const BLOCK_BYTES: usize = 32 << 10;

/// The file of a run that will be written.
pub(crate) struct RunFile<'a> {
    pub env: &'a Env,
    pub dir: &'a Path,
    /// Unique among the runs of a build.
    pub number: u64,
}

/// A run on the disk.
pub(crate) struct Run {
    pub path: PathBuf,
    pub meta: FileMeta,
}

/// A key that occurs again, and the position of the first pair that repeats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Duplicate {
    pub position: u64,
    pub key: Vec<u8>,
}

/// Keeps the duplicate with the lowest position in the input.
pub(crate) fn earlier(known: &mut Option<Duplicate>, position: u64, key: &[u8]) {
    if known.as_ref().is_none_or(|known| position < known.position) {
        *known = Some(Duplicate { position, key: key.to_vec() });
    }
}

/// The result of writing a run.
pub(crate) struct Written {
    pub run: Run,
    /// Pairs that were left out because another pair with the same key was kept.
    pub duplicates: u64,
    /// The first duplicate in the run; only with [`OnDuplicate::Error`].
    pub duplicate: Option<Duplicate>,
}

/// Writes a run, from pairs in order.
pub(crate) struct RunWriter {
    writer: Writer,
    path: PathBuf,
    on_duplicate: OnDuplicate,
    key: Vec<u8>,
    duplicates: u64,
    duplicate: Option<Duplicate>,
}

impl RunWriter {
    pub fn create(file: &RunFile<'_>, on_duplicate: OnDuplicate) -> Result<Self> {
        let path = file.dir.join(layout::run_name(file.number));
        let options = WriterOptions {
            block_bytes: BLOCK_BYTES,
            compression: Compression::Lz4,
            filter_bits_per_key: 0,
            ..WriterOptions::default()
        };
        let writer = Writer::create(file.env, &path, layout::run_number(file.number), options)?;
        Ok(Self { writer, path, on_duplicate, key: Vec::new(), duplicates: 0, duplicate: None })
    }

    /// Adds a pair that is not before the last one. Of several pairs with the same key, only the
    /// first is kept; with [`OnDuplicate::Error`], all are kept.
    pub fn add(&mut self, pair: Pair<'_>) -> Result<()> {
        layout::internal_key(&mut self.key, pair.key);
        if self.writer.entries() > 0 && self.writer.last_key() == self.key {
            if self.on_duplicate != OnDuplicate::Error {
                self.duplicates += 1;
                return Ok(());
            }
            earlier(&mut self.duplicate, position(pair.rank, self.on_duplicate), pair.key);
        }
        self.writer.add(Entry { key: &self.key, seq: pair.rank, kind: Kind::Put, value: pair.value })?;
        Ok(())
    }

    pub fn finish(self) -> Result<Written> {
        let Self { writer, path, duplicates, duplicate, .. } = self;
        let meta = writer.finish(FooterInfo::default())?;
        Ok(Written { run: Run { path, meta }, duplicates, duplicate })
    }
}

/// Sorts an arena and writes it as a run; `sampler` takes samples of its pairs.
pub(crate) fn spill(
    file: &RunFile<'_>,
    arena: &mut Arena,
    on_duplicate: OnDuplicate,
    sampler: &mut Sampler,
) -> Result<Written> {
    arena.sort(on_duplicate);
    let mut writer = RunWriter::create(file, on_duplicate)?;
    for pair in arena.pairs(on_duplicate) {
        writer.add(pair)?;
        sampler.add(Entry { key: &writer.key, seq: layout::SEQ, kind: Kind::Put, value: pair.value });
    }
    sampler.end_of_run();
    writer.finish()
}

impl Run {
    pub fn reader(&self, env: &Env) -> Result<Arc<Reader>> {
        let reader = Reader::open(env, &self.path, &self.meta, Arc::new(NoCache), &DictionaryRegistry::new())?;
        Ok(Arc::new(reader))
    }

    /// Removes the file. If that fails, the next build removes it.
    pub fn remove(self, env: &Env) {
        let _left = env.fs.remove(&self.path);
    }
}
