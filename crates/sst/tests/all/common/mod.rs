//! Shared by the integration tests.

use alluvium_codec::entry::{Entry, EntryIter, Kind, Seq};
use alluvium_env::sync::Mutex;
use alluvium_env::{Env, OpenMode};
use alluvium_sst::{
    Block, BlockCache, DictionaryRegistry, FileMeta, FooterInfo, NoCache, Reader, Writer, WriterOptions,
};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An entry, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owned {
    pub key: Vec<u8>,
    pub seq: Seq,
    pub kind: Kind,
    pub value: Vec<u8>,
}

impl Owned {
    pub fn put(key: impl AsRef<[u8]>, seq: Seq, value: impl AsRef<[u8]>) -> Self {
        Self { key: key.as_ref().to_vec(), seq, kind: Kind::Put, value: value.as_ref().to_vec() }
    }

    pub fn delete(key: impl AsRef<[u8]>, seq: Seq) -> Self {
        Self { key: key.as_ref().to_vec(), seq, kind: Kind::Delete, value: Vec::new() }
    }

    pub fn entry(&self) -> Entry<'_> {
        Entry { key: &self.key, seq: self.seq, kind: self.kind, value: &self.value }
    }
}

/// Sorts into entry order and drops entries with an equal key and number.
pub fn sorted(mut entries: Vec<Owned>) -> Vec<Owned> {
    entries.sort_by(|a, b| a.key.cmp(&b.key).then(b.seq.cmp(&a.seq)));
    entries.dedup_by(|a, b| a.key == b.key && a.seq == b.seq);
    entries
}

/// A file in a separate environment.
pub struct Fixture {
    pub env: Env,
    pub path: PathBuf,
    pub meta: FileMeta,
    pub registry: DictionaryRegistry,
}

pub const NUMBER: u64 = 7;

impl Fixture {
    pub fn new(entries: &[Owned], options: WriterOptions) -> Self {
        Self::with_footer(
            entries,
            options,
            FooterInfo { inputs: vec![3, 4], replaced: Vec::new(), aux: b"shapes".to_vec() },
        )
    }

    pub fn with_footer(entries: &[Owned], options: WriterOptions, footer: FooterInfo) -> Self {
        let env = Env::in_memory(1);
        env.fs.create_dir_all(Path::new("/db")).unwrap();
        let path = PathBuf::from("/db/7.sst");
        let mut writer = Writer::create(&env, &path, NUMBER, options).unwrap();
        for entry in entries {
            writer.add(entry.entry()).unwrap();
        }
        let meta = writer.finish(footer).unwrap();
        Self { env, path, meta, registry: DictionaryRegistry::new() }
    }

    pub fn open(&self) -> Arc<Reader> {
        self.open_with(Arc::new(NoCache)).unwrap()
    }

    pub fn open_with(&self, cache: Arc<dyn BlockCache>) -> alluvium_env::Result<Arc<Reader>> {
        Reader::open(&self.env, &self.path, &self.meta, cache, &self.registry).map(Arc::new)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let file = self.env.fs.open(&self.path, OpenMode::Read).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    /// Replaces the file's content.
    pub fn set_bytes(&self, bytes: &[u8]) {
        if self.env.fs.exists(&self.path).unwrap() {
            self.env.fs.remove(&self.path).unwrap();
        }
        let file = self.env.fs.open(&self.path, OpenMode::CreateNew).unwrap();
        file.write_at(bytes, 0).unwrap();
    }
}

/// A cache that caches everything and counts.
#[derive(Default)]
pub struct KeepAll {
    pub blocks: Mutex<HashMap<(u64, u64), Arc<Block>>>,
    pub hits: Mutex<u64>,
}

impl BlockCache for KeepAll {
    fn get(&self, file: u64, offset: u64) -> Option<Arc<Block>> {
        let found = self.blocks.lock().get(&(file, offset)).cloned();
        *self.hits.lock() += u64::from(found.is_some());
        found
    }

    fn insert(&self, file: u64, offset: u64, block: &Arc<Block>) {
        assert!(block.weight() > 0);
        let before = self.blocks.lock().insert((file, offset), block.clone());
        assert!(before.is_none(), "a block that was cached is read again");
    }
}

/// `Reader::get` as one call.
pub fn get(reader: &Reader, key: &[u8], seq: Seq) -> alluvium_env::Result<Option<(Seq, Kind, Vec<u8>)>> {
    let mut value = b"what was here before".to_vec();
    let found = reader.get(key, alluvium_codec::hash64(key), seq, &mut value)?;
    Ok(found.map(|(seq, kind)| (seq, kind, value)))
}

/// The current entry of an iterator.
pub fn current(iter: &impl EntryIter) -> Option<Owned> {
    iter.valid().then(|| Owned {
        key: iter.key().to_vec(),
        seq: iter.seq(),
        kind: iter.kind(),
        value: iter.value().to_vec(),
    })
}

/// All entries, forwards.
pub fn all(reader: &Arc<Reader>, fill_cache: bool) -> alluvium_env::Result<Vec<Owned>> {
    let mut iter = reader.iter(fill_cache);
    iter.seek_first()?;
    let mut entries = Vec::new();
    while let Some(entry) = current(&iter) {
        entries.push(entry);
        iter.next()?;
    }
    Ok(entries)
}
