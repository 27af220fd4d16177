//! Secondary indexes: what a collection has of them, and the entries of documents on their way into a batch.
//!
//! Entries are written blind: a put writes those of the document as it is, and leaves those of what was there before.
//! Whoever reads an entry proves it (`docs/decisions/0029-blind-index-entries.md`). Two rules carry this:
//!
//! - A *full write* (put or insert) writes every entry that the document yields, under its own number.
//! - A write that has read the document, whatever it writes, deletes those entries that are not yielded any more.

use crate::error::{Error, Result};
use crate::names::FullName;
use crate::trees::INDEX;
use alluvium_codec::varint;
use alluvium_document::{Document, Map, Value, encoding};
use alluvium_query::index::{Definition, IndexError, Keys};
use alluvium_query::update::Update;
use alluvium_store::{Seq, TreeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

mod swept;
mod usage;

pub use swept::Swept;
pub use usage::{Building, IndexProgress, Usage};

/// The indexes of a collection, as of one schema number.
#[derive(Debug, Default)]
pub struct IndexSet {
    /// `Store::schema` of the tree of documents: a batch that was made with other indexes is sent back.
    pub schema: Seq,
    /// The indexes, but for the one on `_id`.
    pub indexes: Vec<Arc<Index>>,
}

/// An index.
#[derive(Debug, Clone)]
pub struct Index {
    /// The tree of the entries.
    pub tree: TreeId,
    /// The definition.
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

    pub(crate) fn described_with(&self, documents: TreeId, multikey: u32) -> Vec<u8> {
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

    /// The error for an entry of this index that cannot be read.
    pub(crate) fn damaged_entry(&self, collection: &FullName, error: &alluvium_codec::DecodeError) -> Error {
        self.damaged(collection, format!("it has an entry that is none ({error})"))
    }

    /// The error for damage of this index.
    pub(crate) fn damaged(&self, collection: &FullName, reason: String) -> Error {
        Error::DamagedIndex { collection: collection.to_string(), index: self.definition.name().to_owned(), reason }
    }

    /// True if it has all entries that are visible at a snapshot.
    pub fn serves(&self, snapshot: Seq) -> bool {
        self.ready.is_some_and(|ready| ready <= snapshot)
    }

    /// The names of the documents' fields that it reads, some of them more than once.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let filter = self.filter_paths().into_iter().filter_map(|path| path.split('.').next());
        self.definition.fields().chain(filter)
    }

    /// True if an update may change what a document yields.
    pub(crate) fn is_touched_by(&self, update: &Update) -> bool {
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

    /// True if one of the indexes is unique.
    pub fn has_unique(&self) -> bool {
        self.indexes.iter().any(|index| index.definition.is_unique())
    }
}

#[cfg(test)]
mod tests;
