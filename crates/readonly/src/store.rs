//! Open read-only stores.

use crate::build::Build;
use crate::error::{Error, Result};
use crate::layout::{self, Content, Superblock};
use crate::options::{BuildOptions, ReadOnlyOptions};
use crate::scan::Scan;
use alluvium_codec::bounds::Bounds;
use alluvium_codec::entry::MAX_SEQ;
use alluvium_env::Env;
use alluvium_lsm::{Budget, Cache, Charge, Owner, QueryMemory};
use alluvium_sst::{DictionaryRegistry, IndexFile, Reader};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An open read-only store. Cheap to clone; any number of threads may use it, and any number of
/// processes may have it open. It never changes.
#[derive(Clone)]
pub struct ReadOnly {
    inner: Arc<Inner>,
}

struct Inner {
    env: Env,
    path: PathBuf,
    superblock: Superblock,
    /// The sorted file; `None` if there are no pairs.
    data: Option<Arc<Reader>>,
    /// The index file that point reads use; `None` for the sorted file's own index.
    index: Option<IndexFile>,
    cache: Arc<Cache>,
    budget: Arc<Budget>,
    _pinned: Charge,
}

/// Figures of an index file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexStats {
    /// Keys for each index entry.
    pub interval: u64,
    /// Index entries.
    pub entries: u64,
    /// Bytes of the file, its filters included.
    pub bytes: u64,
}

/// Figures of an open read-only store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Pairs.
    pub pairs: u64,
    /// Pairs that the build left out as duplicates.
    pub duplicates: u64,
    /// Bytes of keys and values.
    pub raw_bytes: u64,
    /// Bytes of all files.
    pub disk_bytes: u64,
    /// Bytes of the sorted file.
    pub data_bytes: u64,
    /// The index files.
    pub indexes: Vec<IndexStats>,
    /// The interval of the index file that point reads use; `None` if they use the sorted file's own index.
    pub index_interval: Option<u64>,
    /// The memory budget in bytes.
    pub memory_budget_bytes: usize,
    /// Bytes of cached blocks.
    pub cache_bytes: usize,
    /// Bytes that stay in memory while the store is open.
    pub pinned_bytes: usize,
    /// Blocks found in the cache.
    pub cache_hits: u64,
    /// Blocks that were read.
    pub cache_misses: u64,
}

thread_local! {
    /// A buffer for a key with its prefix; taken out while in use.
    static KEY: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

impl ReadOnly {
    /// Begins to build a store in the directory `path`. The directory must be new or empty, or contain an interrupted
    /// build, which is cleaned up.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("capitals.ro");
    /// use alluvium_readonly::{BuildOptions, ReadOnly};
    ///
    /// let mut build = ReadOnly::build(&path, BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// build.finish(Vec::new())?;
    /// assert_eq!(ReadOnly::open(&path)?.len(), 1);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotEmpty`], [`Error::InUse`], [`Error::InvalidOption`], or I/O
    /// errors.
    pub fn build(path: impl AsRef<Path>, options: BuildOptions) -> Result<Build> {
        Self::build_in(Env::os(), path, options)
    }

    /// [`ReadOnly::build`] in another environment, for tests.
    ///
    /// ```
    /// use alluvium_readonly::{BuildOptions, ReadOnly};
    ///
    /// let env = alluvium_env::Env::in_memory(1);
    /// let mut build = ReadOnly::build_in(env, "capitals.ro", BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// build.finish(Vec::new())?;
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::build`].
    pub fn build_in(env: Env, path: impl AsRef<Path>, options: BuildOptions) -> Result<Build> {
        Build::new(env, path.as_ref(), options)
    }

    /// Opens the store in the directory `path` with default options.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("capitals.ro");
    /// use alluvium_readonly::{BuildOptions, ReadOnly};
    ///
    /// let mut build = ReadOnly::build(&path, BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// build.finish(Vec::new())?;
    /// let store = ReadOnly::open(&path)?;
    /// let mut value = Vec::new();
    /// assert!(store.get(b"peru", &mut value)?);
    /// assert_eq!(value, b"lima");
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotReadOnly`]; [`Error::Unfinished`]; [`alluvium_env::Error::Corrupt`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_in(Env::os(), path, &ReadOnlyOptions::default())
    }

    /// Opens the store in the directory `path`. Reads little: the time does not depend on the size of the store.
    ///
    /// ```
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let path = dir.path().join("capitals.ro");
    /// use alluvium_readonly::{BuildOptions, ReadOnly, ReadOnlyOptions};
    ///
    /// let mut build = ReadOnly::build(&path, BuildOptions::default())?;
    /// build.add(b"peru", b"lima")?;
    /// build.finish(Vec::new())?;
    /// let options = ReadOnlyOptions { memory_bytes: 8 << 20, ..ReadOnlyOptions::default() };
    /// let store = ReadOnly::open_with(&path, &options)?;
    /// assert_eq!(store.stats().memory_budget_bytes, 8 << 20);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::open`]; [`Error::NoSuchIndex`]; [`Error::InvalidOption`].
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOnlyOptions) -> Result<Self> {
        Self::open_in(Env::os(), path, options)
    }

    /// [`ReadOnly::open_with`] in another environment, for tests.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// use alluvium_readonly::ReadOnlyOptions;
    ///
    /// let store = ReadOnly::open_in(env, "capitals.ro", &ReadOnlyOptions::default())?;
    /// assert_eq!(store.len(), 2);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`ReadOnly::open_with`].
    pub fn open_in(env: Env, path: impl AsRef<Path>, options: &ReadOnlyOptions) -> Result<Self> {
        let path = path.as_ref().to_owned();
        if options.memory_bytes < 1 << 20 {
            return Err(Error::InvalidOption { name: "memory_bytes", must_be: "at least 1 MiB" });
        }
        let env = match env.hold_dir(&path) {
            Err(error) if error.is_not_found() || error.is_not_a_directory() => return Err(Error::NotReadOnly(path)),
            held => held?,
        };
        let superblock = Superblock::read(&env, &path)?;
        let budget = Budget::with_shares(options.memory_bytes, 0, 0);
        let cache = Cache::new(&budget);
        let (mut data, mut index) = (None, None);
        if let Some(content) = &superblock.content {
            let dictionaries = DictionaryRegistry::new();
            let reader = Reader::open(&env, &path.join(layout::DATA), &content.data, cache.clone(), &dictionaries)
                .map_err(missing)?;
            budget.set(Owner::Dictionaries, dictionaries.bytes());
            let chosen = match options.index_interval {
                None => content.indexes.first(),
                Some(0) => None,
                Some(interval) => {
                    let found = content.indexes.iter().find(|meta| meta.interval == interval);
                    Some(found.ok_or_else(|| Error::NoSuchIndex {
                        interval,
                        there: content.indexes.iter().map(|meta| meta.interval).collect(),
                    })?)
                }
            };
            if let Some(meta) = chosen {
                let at = path.join(layout::index_name(meta.interval));
                index = Some(IndexFile::open(&env, &at, meta, &content.data, cache.clone()).map_err(missing)?);
            }
            data = Some(Arc::new(reader));
        }
        let pinned =
            data.as_ref().map_or(0, |data| data.pinned_bytes()) + index.as_ref().map_or(0, IndexFile::pinned_bytes);
        let _pinned = budget.charge(Owner::Pinned, pinned);
        Ok(Self { inner: Arc::new(Inner { env, path, superblock, data, index, cache, budget, _pinned }) })
    }

    /// The environment that the store was opened in.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?.finish(Vec::new())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// let now = store.env().clock.now();
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn env(&self) -> &Env {
        &self.inner.env
    }

    /// The account of a new query. Its memory is charged to the share of all queries of the store together. The block
    /// cache shrinks to make room for it.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?.finish(Vec::new())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// let mut sorting = store.query_memory().charge();
    /// assert!(sorting.grow(8 << 20));
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn query_memory(&self) -> QueryMemory {
        QueryMemory::new(&self.inner.budget)
    }

    /// The directory.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert_eq!(store.path(), std::path::Path::new("capitals.ro"));
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// A random number that identifies the store.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// println!("store {:016x}", store.id());
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn id(&self) -> u64 {
        self.inner.superblock.id
    }

    /// The label of the layer above: [`BuildOptions::label`].
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// let options = BuildOptions { label: b"capitals, v1".to_vec(), ..BuildOptions::default() };
    /// ReadOnly::build_in(env.clone(), "capitals.ro", options)?.finish(Vec::new())?;
    /// let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert_eq!(store.label(), b"capitals, v1");
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn label(&self) -> &[u8] {
        &self.inner.superblock.label
    }

    /// The bytes that were passed to [`Build::finish`]; empty if there are no pairs.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert_eq!(store.aux()?, b"2026"); // as passed to `finish`
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`].
    pub fn aux(&self) -> Result<Vec<u8>> {
        match &self.inner.data {
            Some(data) => Ok(data.aux()?),
            None => Ok(Vec::new()),
        }
    }

    /// The number of pairs.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert_eq!(store.len(), 2);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn len(&self) -> u64 {
        self.inner.data.as_ref().map_or(0, |data| data.meta().entries)
    }

    /// True if there are no pairs.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert!(!store.is_empty());
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces `value` by the value of `key`, and returns true; returns false, and leaves `value`
    /// unchanged, if the key does not exist.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// let mut value = Vec::new();
    /// assert!(store.get(b"peru", &mut value)?);
    /// assert_eq!(value, b"lima");
    /// assert!(!store.get(b"atlantis", &mut value)?);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// [`alluvium_env::Error::Corrupt`] or [`alluvium_env::Error::Io`].
    pub fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        let Some(data) = &self.inner.data else { return Ok(false) };
        let mut internal = KEY.take();
        layout::internal_key(&mut internal, key);
        let hash = alluvium_codec::hash64(&internal);
        let found = match &self.inner.index {
            Some(index) => data.get_by(index, &internal, hash, MAX_SEQ, value),
            None => data.get(&internal, hash, MAX_SEQ, value),
        };
        KEY.set(internal);
        Ok(found?.is_some())
    }

    /// The pairs of a range, in order.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// use alluvium_readonly::Bounds;
    /// use std::ops::Bound;
    ///
    /// let mut scan = store.scan(&Bounds { lower: Bound::Included(b"d".to_vec()), ..Bounds::all() });
    /// assert_eq!(scan.next()?, Some((&b"peru"[..], &b"lima"[..])));
    /// assert_eq!(scan.next()?, None);
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn scan(&self, bounds: &Bounds) -> Scan {
        Scan::new(self.inner.data.as_ref(), bounds)
    }

    /// Reads and checks every block of every file, and checks that all indexes agree with the data. Returns the damage
    /// found; empty if no damage was found.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// assert!(store.verify()?.is_empty());
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// I/O errors that end the check.
    pub fn verify(&self) -> Result<Vec<Error>> {
        let (Some(data), Some(content)) = (&self.inner.data, &self.inner.superblock.content) else {
            return Ok(Vec::new());
        };
        let mut damage = Vec::new();
        let mut note = |result: alluvium_env::Result<()>| match result {
            Err(error) if !error.is_circumstance() => {
                damage.push(Error::from(error));
                Ok(())
            }
            other => other.map_err(Error::from),
        };
        let whole = data.verify().map(drop);
        let sound = whole.is_ok();
        note(whole)?;
        for meta in &content.indexes {
            let at = self.inner.path.join(layout::index_name(meta.interval));
            let index = IndexFile::open(&self.inner.env, &at, meta, &content.data, Arc::new(alluvium_sst::NoCache));
            // Damage of the data was reported already, and an index cannot be compared with damaged data.
            let check = |index: IndexFile| if sound { index.verify(data) } else { index.verify_blocks() };
            note(index.map_err(missing).and_then(check))?;
        }
        Ok(damage)
    }

    /// Figures of the store. Takes microseconds.
    ///
    /// ```
    /// # use alluvium_readonly::{BuildOptions, ReadOnly};
    /// # let env = alluvium_env::Env::in_memory(1);
    /// # let mut build = ReadOnly::build_in(env.clone(), "capitals.ro", BuildOptions::default())?;
    /// # build.add(b"peru", b"lima")?;
    /// # build.add(b"chile", b"santiago")?;
    /// # build.finish(b"2026".to_vec())?;
    /// # let store = ReadOnly::open_in(env, "capitals.ro", &alluvium_readonly::ReadOnlyOptions::default())?;
    /// let stats = store.stats();
    /// assert_eq!((stats.pairs, stats.raw_bytes), (2, 21));
    /// # alluvium_readonly::Result::Ok(())
    /// ```
    pub fn stats(&self) -> Stats {
        let content = self.inner.superblock.content.as_ref();
        let indexes: Vec<IndexStats> = content
            .map(|content| &content.indexes[..])
            .unwrap_or(&[])
            .iter()
            .map(|meta| IndexStats { interval: meta.interval, entries: meta.extents, bytes: meta.bytes })
            .collect();
        let data_bytes = content.map_or(0, |content| content.data.bytes);
        let budget = &self.inner.budget;
        Stats {
            pairs: self.len(),
            duplicates: self.inner.superblock.duplicates,
            raw_bytes: content.map_or(0, Content::raw_bytes),
            disk_bytes: content.map_or(0, Content::disk_bytes),
            data_bytes,
            indexes,
            index_interval: self.inner.index.as_ref().map(|index| index.meta().interval),
            memory_budget_bytes: budget.total(),
            cache_bytes: self.inner.cache.bytes() as usize,
            pinned_bytes: budget.used(Owner::Pinned) + budget.used(Owner::Dictionaries),
            cache_hits: self.inner.cache.hits(),
            cache_misses: self.inner.cache.misses(),
        }
    }
}

/// Converts the error of opening a file that the superblock names: a missing file is damage.
fn missing(error: alluvium_env::Error) -> alluvium_env::Error {
    match error {
        alluvium_env::Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            alluvium_env::Error::corrupt(&path, 0, "the file is missing")
        }
        error => error,
    }
}
