//! Secondary indexes: what a collection has of them, and the entries of documents on their way into a batch.
//!
//! Entries are written blind: a put writes those of the document as it is, and leaves those of what was there before.
//! Whoever reads an entry proves it (`docs/decisions/0029-blind-index-entries.md`). Two rules carry this:
//!
//! - A *full write* (put or insert) writes every entry that the document yields, under its own number.
//! - A write that has read the document, whatever it writes, deletes those entries that are not yielded any more.

use crate::catalog::Open;
use crate::marks;
use crate::{Error, Result};
use alluvium_codec::varint;
use alluvium_document::{Document, Map, Value, encoding};
use alluvium_query::index::{Definition, IndexError, Keys};
use alluvium_query::update::Update;
use alluvium_store::{Seq, Store, TreeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) mod build;
mod entries;
mod gathering;
pub(crate) mod scan;
pub(crate) mod sweep;
mod unique;
mod usage;

pub(crate) use build::{Build, finish};
pub(crate) use entries::Entries;
pub(crate) use gathering::Gathering;
pub(crate) use sweep::Swept;
pub(crate) use unique::{Sequence, is_asked_for};
pub use usage::IndexProgress;
pub(crate) use usage::{Building, Usage};

/// First byte of a description: an index. (3 is a set of values of the command line's `mv`.)
pub(crate) const INDEX: u8 = 4;

/// The indexes of a collection, as of one schema number.
#[derive(Debug, Default)]
pub(crate) struct IndexSet {
    /// [`Store::schema`] of the tree of documents: a batch that was made with other indexes is sent back.
    pub schema: Seq,
    pub indexes: Vec<Arc<Index>>,
}

/// An index.
#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub tree: TreeId,
    pub definition: Arc<Definition>,
    /// It has the entries of everything that is visible at this number and later. `None` while it is being built.
    pub ready: Option<Seq>,
    /// Bit n: part n leads through an array in some document. Set before a batch with such a document is numbered.
    pub multikey: Arc<AtomicU32>,
    /// Partitions whose documents are built into it, while it is being built.
    pub built: Vec<u32>,
    /// Of another partition, the documents up to this key: their entries are in files, too.
    pub built_to: Option<(u32, Vec<u8>)>,
    /// Whether somebody builds it, and how far that is.
    pub building: Arc<Building>,
    /// Who has asked it since the database was opened.
    pub usage: Arc<Usage>,
    /// What sweeps have found.
    pub swept: Arc<Swept>,
}

impl Index {
    /// The description of its tree.
    pub fn describe(&self, documents: TreeId) -> Vec<u8> {
        self.described_with(documents, self.multikey.load(Ordering::SeqCst))
    }

    fn described_with(&self, documents: TreeId, multikey: u32) -> Vec<u8> {
        let mut out = vec![INDEX];
        varint::put_u64(&mut out, u64::from(documents.0));
        varint::put_u64(&mut out, self.ready.map_or(0, |ready| ready + 1));
        varint::put_u64(&mut out, u64::from(multikey));
        varint::put_u64(&mut out, self.built.len() as u64);
        self.built.iter().for_each(|partition| varint::put_u64(&mut out, u64::from(*partition)));
        encoding::encode(&Value::Map(self.definition.to_map()), &mut out);
        if let Some((partition, key)) = &self.built_to {
            varint::put_u64(&mut out, u64::from(*partition));
            varint::put_bytes(&mut out, key);
        }
        out
    }

    /// Reads a description: the tree of the documents, and the index. `None` if it is that of something else.
    pub fn read(tree: TreeId, description: &[u8]) -> Option<(TreeId, Self)> {
        let (&INDEX, mut input) = description.split_first()? else { return None };
        let input = &mut input;
        let documents = TreeId(u32::try_from(varint::get_u64(input).ok()?).ok()?);
        let ready = varint::get_u64(input).ok()?.checked_sub(1);
        let multikey = u32::try_from(varint::get_u64(input).ok()?).ok()?;
        let count = varint::get_u64(input).ok()?;
        let mut built = Vec::new();
        for _ in 0..count {
            built.push(u32::try_from(varint::get_u64(input).ok()?).ok()?);
        }
        let Value::Map(map) = encoding::decode(input).ok()? else { return None };
        let definition = Arc::new(Definition::from_stored_map(&map).ok()?);
        let built_to = match input.is_empty() {
            true => None,
            false => Some((u32::try_from(varint::get_u64(input).ok()?).ok()?, varint::get_bytes(input).ok()?.to_vec())),
        };
        if !input.is_empty() {
            return None;
        }
        Some((
            documents,
            Self {
                tree,
                definition,
                ready,
                multikey: Arc::new(AtomicU32::new(multikey)),
                built,
                built_to,
                building: Arc::default(),
                usage: Arc::default(),
                swept: Arc::default(),
            },
        ))
    }

    /// The keys that a document yields whose `_id` has the key `id`.
    pub fn keys(&self, document: &Map, id: &[u8]) -> Result<Keys> {
        let keys = self.definition.keys(document)?;
        self.definition.check_entries(&keys, id.len())?;
        Ok(keys)
    }

    /// As [`Index::keys`], decoding only what is needed.
    pub fn keys_of(&self, document: &Document, id: &[u8]) -> Result<Keys> {
        let keys = self.definition.keys_of(document)?;
        self.definition.check_entries(&keys, id.len())?;
        Ok(keys)
    }

    /// As [`Index::keys_of`], of a document that is stored: earlier builds have taken some that this one would not.
    pub fn stored_keys_of(&self, document: &Document) -> Result<Keys> {
        Ok(self.definition.stored_keys_of(document)?)
    }

    /// As [`Index::stored_keys_of`], of a document that may be older than the index. One that the index cannot take has no
    /// entries then: the index is being built, and will not be ready.
    pub fn old_keys_of(&self, document: &Document, id: &[u8]) -> Result<Keys> {
        let keys = match self.ready {
            Some(_) => self.stored_keys_of(document),
            None => self.keys_of(document, id),
        };
        match keys {
            Err(Error::Index(IndexError::Damaged(error))) => Err(IndexError::Damaged(error).into()),
            other => Ok(other.unwrap_or_default()),
        }
    }

    /// True if it has all entries that are visible at a snapshot.
    pub fn serves(&self, snapshot: &crate::Snapshot) -> bool {
        self.ready.is_some_and(|ready| ready <= snapshot.store.seq())
    }

    /// The names of the documents' fields that it reads, some of them more than once.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let filter = self.filter_paths().into_iter().filter_map(|path| path.split('.').next());
        self.definition.fields().chain(filter)
    }

    /// True if an update may change what a document yields.
    fn is_touched_by(&self, update: &Update) -> bool {
        let touches = |path: &&str| path.parse().map_or(true, |path| update.touches(&path));
        self.definition.parts().iter().any(|part| update.touches(&part.path)) || self.filter_paths().iter().any(touches)
    }

    fn filter_paths(&self) -> Vec<&str> {
        let mut paths = Vec::new();
        if let Some(filter) = self.definition.partial_filter_map() {
            collect_paths(filter, &mut paths);
        }
        paths
    }
}

/// The paths that a filter looks at.
fn collect_paths<'a>(filter: &'a Map, paths: &mut Vec<&'a str>) {
    for (name, operand) in filter.iter() {
        match (name.as_str().unwrap_or_default(), operand) {
            (operator, Value::Array(filters)) if operator.starts_with('$') => {
                filters.iter().filter_map(Value::as_map).for_each(|filter| collect_paths(filter, paths));
            }
            (operator, _) if operator.starts_with('$') => {}
            (path, _) => paths.push(path),
        }
    }
}

impl IndexSet {
    /// True if an update may change what a document yields under some index: it cannot be blind then.
    pub fn is_touched_by(&self, update: &Update) -> bool {
        self.indexes.iter().any(|index| index.is_touched_by(update))
    }

    /// The index with this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.definition.name() == name)
    }

    pub fn has_unique(&self) -> bool {
        self.indexes.iter().any(|index| index.definition.is_unique())
    }
}

/// What builds and sweeps gather in memory at a time, in bytes.
fn gather_bytes(store: &Store) -> usize {
    store.options().tuning.gather_bytes.unwrap_or(store.max_batch_bytes() / 2)
}

/// Writes down that parts of indexes lead through arrays, before the first such document is written. Holds no locks.
pub(crate) fn mark_multikey(store: &Store, open: &Open, marks: &[(TreeId, u32)]) -> Result<()> {
    let _one_at_a_time = open.index_change.lock();
    let set = open.indexes();
    for (tree, bits) in marks {
        let Some(index) = set.indexes.iter().find(|index| index.tree == *tree) else { continue };
        let before = index.multikey.load(Ordering::SeqCst);
        if before | bits == before {
            continue;
        }
        marks::FIRST_ARRAY.hit();
        // Others go by what they see: a batch of theirs may be numbered at once, so the mark has its number first.
        store.describe_trees(&[(*tree, &index.described_with(open.documents, before | bits))])?;
        index.multikey.store(before | bits, Ordering::SeqCst);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
