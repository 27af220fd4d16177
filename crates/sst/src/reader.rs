//! Reading a file.

use crate::{BlockCache, DictionaryRegistry, FileCheck, FileMeta, SstIter};
use codec::entry::{Kind, Seq};
use env::{Env, Error, File, OpenMode, Result};
use std::path::Path;
use std::sync::Arc;

/// An open file. Shared as `Arc<Reader>`; all methods may be called from any thread.
pub struct Reader {
    file: Arc<dyn File>,
    meta: FileMeta,
    cache: Arc<dyn BlockCache>,
}

impl Reader {
    /// Opens a file that the manifest knows as `meta`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the file is not the one that `meta` describes, or is damaged;
    /// [`Error::NewerFormat`] if this build is too old for it; [`Error::Io`].
    pub fn open(
        env: &Env,
        path: &Path,
        meta: &FileMeta,
        cache: Arc<dyn BlockCache>,
        dictionaries: &DictionaryRegistry,
    ) -> Result<Self> {
        let _ = dictionaries;
        let file = env.fs.open(path, OpenMode::Read)?;
        Ok(Self { file, meta: meta.clone(), cache })
    }

    fn damaged<T>(&self) -> Result<T> {
        let _ = self.cache.get(self.meta.number, 0);
        Err(Error::corrupt(self.file.path(), 0, "no footer"))
    }

    /// The newest version of `key` not above `seq`: its number and kind, and its value in
    /// `value`, which is replaced. `hash` is `codec::hash64(key)`.
    ///
    /// # Errors
    /// [`Error::Corrupt`] or [`Error::Io`].
    pub fn get(&self, key: &[u8], hash: u64, seq: Seq, value: &mut Vec<u8>) -> Result<Option<(Seq, Kind)>> {
        let _ = (key, hash, seq, value);
        self.damaged()
    }

    /// False if no version of `key` is in the file; asks only the filter.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn may_contain(&self, key: &[u8], hash: u64) -> Result<bool> {
        let _ = (key, hash);
        self.damaged()
    }

    /// An iterator, not positioned. `fill_cache` is for reads that are worth keeping; without it
    /// nothing is put into the cache, and several blocks are read ahead at once.
    pub fn iter(self: &Arc<Self>, fill_cache: bool) -> SstIter {
        SstIter::new(self.clone(), fill_cache)
    }

    /// The memory that the reader holds for itself, in bytes.
    pub fn pinned_bytes(&self) -> usize {
        std::mem::size_of::<Self>()
    }

    /// What the manifest knows of the file.
    pub fn meta(&self) -> &FileMeta {
        &self.meta
    }

    /// The opaque bytes given to the writer.
    ///
    /// # Errors
    /// As [`Reader::get`].
    pub fn aux(&self) -> Result<Vec<u8>> {
        self.damaged()
    }

    /// Reads and checks everything: blocks, order, counts, key range, filter.
    ///
    /// # Errors
    /// [`Error::Corrupt`] naming the first thing that is wrong, or [`Error::Io`].
    pub fn verify(&self) -> Result<FileCheck> {
        self.damaged()
    }
}
