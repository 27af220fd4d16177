//! The secondary indexes of a collection, and the entries that its documents yield.
//!
//! Entries are written blindly: a put writes the entries of the new document, and does not remove the entries of the
//! previous document. A reader proves each entry (`docs/decisions/0029-blind-index-entries.md`). Two rules make that
//! correct:
//!
//! - A *full write* (put or insert) writes every entry that the document yields, with the write's
//!   own sequence number.
//! - Any write that has read the document deletes the entries that the document no longer yields.

use crate::error::{Error, Result};
use crate::history::Recording;
use crate::names::FullName;
use crate::options::CollectionOptions;
use crate::trees::INDEX;
use alluvium_codec::varint;
use alluvium_document::row::MapRef;
use alluvium_document::{Document, Map, Value, encoding};
use alluvium_query::index::{Definition, IndexError, Keys, Unbuilt};
use alluvium_query::update::Update;
use alluvium_query::validator::Validator;
use alluvium_store::{Seq, TreeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

mod swept;
mod usage;

pub use swept::Swept;
pub use usage::{Building, IndexProgress, Usage};

/// The indexes of a collection at one schema number.
#[derive(Debug, Default)]
pub struct IndexSet {
    /// `Store::schema` of the tree of documents. The store refuses a batch that was made under other indexes, and the
    /// writer makes the batch again.
    pub schema: Seq,
    /// The indexes, without the one on `_id`.
    pub indexes: Vec<Arc<Index>>,
    /// The options of the collection. Like the indexes, they change with the schema number.
    pub options: Arc<CollectionOptions>,
    /// Set if the changes of the documents are recorded.
    pub(crate) recording: Option<Arc<Recording>>,
}

/// An index.
#[derive(Debug, Clone)]
pub struct Index {
    /// The tree of the entries.
    pub tree: TreeId,
    /// The definition.
    pub definition: Arc<Definition>,
    /// From this sequence number on, the index has all entries of the visible documents. `None` while it is being
    /// built.
    pub ready: Option<Seq>,
    /// Bit n is set if the path of part n leads through an array in some document, bit 32 + n if the key of part n is
    /// cut in some entry ([`Keys::marks`]). A bit is set before a batch with such a document gets its sequence number.
    pub marks: Arc<AtomicU64>,
    /// The partitions that are complete, while the index is being built.
    pub built: Vec<u32>,
    /// A partially built partition, and the key of the last document whose entries are in files.
    pub built_to: Option<(u32, Vec<u8>)>,
    /// The state and progress of the build.
    pub building: Arc<Building>,
    /// The use of the index by queries since the database was opened.
    pub usage: Arc<Usage>,
    /// The findings of sweeps.
    pub swept: Arc<Swept>,
}

/// The first part of the description of a tree, including the definition.
struct Described {
    documents: TreeId,
    ready: Option<u64>,
    marks: u64,
    built: Vec<u32>,
    /// The definition.
    map: Map,
}

impl Described {
    fn read(input: &mut &[u8]) -> Option<Self> {
        let (&INDEX, rest) = input.split_first()? else { return None };
        *input = rest;
        let documents = TreeId(u32::try_from(varint::get_u64(input).ok()?).ok()?);
        let ready = varint::get_u64(input).ok()?.checked_sub(1);
        let marks = varint::get_u64(input).ok()?;
        let count = varint::get_u64(input).ok()?;
        let mut built = Vec::new();
        for _ in 0..count {
            built.push(u32::try_from(varint::get_u64(input).ok()?).ok()?);
        }
        let Value::Map(map) = encoding::decode(input).ok()? else { return None };
        Some(Self { documents, ready, marks, built, map })
    }
}

impl Index {
    /// The description of its tree.
    pub fn describe(&self, documents: TreeId) -> Vec<u8> {
        self.described_with(documents, self.marks.load(Ordering::SeqCst))
    }

    pub(crate) fn described_with(&self, documents: TreeId, marks: u64) -> Vec<u8> {
        let mut out = vec![INDEX];
        varint::put_u64(&mut out, u64::from(documents.0));
        varint::put_u64(&mut out, self.ready.map_or(0, |ready| ready + 1));
        varint::put_u64(&mut out, marks);
        varint::put_u64(&mut out, self.built.len() as u64);
        self.built.iter().for_each(|partition| varint::put_u64(&mut out, u64::from(*partition)));
        encoding::encode(&Value::Map(self.definition.to_map()), &mut out);
        if let Some((partition, key)) = &self.built_to {
            varint::put_u64(&mut out, u64::from(*partition));
            varint::put_bytes(&mut out, key);
        }
        out
    }

    /// Parses the description of a tree. Returns the tree of the documents, and the index; `None`
    /// for other kinds of tree.
    pub fn read(tree: TreeId, description: &[u8]) -> Option<(TreeId, Self)> {
        let mut input = description;
        let input = &mut input;
        let Described { documents, ready, marks, built, map } = Described::read(input)?;
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
                marks: Arc::new(AtomicU64::new(marks)),
                built,
                built_to,
                building: Arc::default(),
                usage: Arc::default(),
                swept: Arc::default(),
            },
        ))
    }

    /// An index that is to be built, without a tree yet.
    pub(crate) fn declared(definition: Definition) -> Self {
        Self {
            tree: TreeId(0),
            definition: Arc::new(definition),
            ready: None,
            marks: Arc::default(),
            built: Vec::new(),
            built_to: None,
            building: Arc::default(),
            usage: Arc::default(),
            swept: Arc::default(),
        }
    }

    /// The error in the definition, for a description that cannot be read; `None` if another part of the description is
    /// wrong.
    pub(crate) fn wrong_definition(description: &[u8]) -> Option<IndexError> {
        let mut input = description;
        Definition::from_stored_map(&Described::read(&mut input)?.map).err()
    }

    /// The marks that the keys of a document require and that the index does not have yet: see
    /// [`crate::multikey::record_marks`].
    #[inline]
    pub(crate) fn unmarked(&self, keys: &Keys) -> u64 {
        keys.marks() & !self.marks.load(Ordering::SeqCst)
    }

    /// The index keys of a document whose `_id` has the key `id`.
    pub fn keys(&self, document: &Map, id: &[u8]) -> Result<Keys> {
        let keys = self.definition.keys(document)?;
        self.definition.check_entries(&keys, id.len())?;
        Ok(keys)
    }

    /// As [`Index::keys`], decoding only the fields that are needed.
    pub fn keys_of(&self, document: &Document, id: &[u8]) -> Result<Keys> {
        self.keys_of_row(document.map()?, id)
    }

    /// As [`Index::keys_of`], for a view of a document.
    pub fn keys_of_row(&self, document: MapRef<'_>, id: &[u8]) -> Result<Keys> {
        let keys = self.definition.keys_of_row(document)?;
        self.definition.check_entries(&keys, id.len())?;
        Ok(keys)
    }

    /// As [`Index::keys_of`], for a stored document. Earlier versions of Alluvium had other limits, and accepted some
    /// documents that this version refuses.
    pub fn stored_keys_of(&self, document: &Document) -> Result<Keys> {
        Ok(self.definition.stored_keys_of(document)?)
    }

    /// As [`Index::stored_keys_of`], for a document that may be older than the index. A document that the index cannot
    /// accept has no entries. In that case the index is still being built, and its build will fail.
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
        self.damaged(collection, format!("it has an entry that cannot be read ({error})"))
    }

    /// The error for damage of this index.
    pub(crate) fn damaged(&self, collection: &FullName, reason: String) -> Error {
        Error::DamagedIndex { collection: collection.to_string(), index: self.definition.name().to_owned(), reason }
    }

    /// True if the index is complete at a snapshot.
    pub fn serves(&self, snapshot: Seq) -> bool {
        self.ready.is_some_and(|ready| ready <= snapshot)
    }

    /// The names of the top-level fields that the index reads, possibly with repetitions.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        let filter = self.filter_paths().into_iter().filter_map(|path| path.split('.').next());
        self.definition.fields().chain(filter)
    }

    /// True if an update may change the entries of a document.
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

/// Collects the paths that a filter reads.
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
    /// True if an update has to read the document: it may change entries of an index, or the collection has a validator
    /// or an order of documents.
    pub fn is_touched_by(&self, update: &Update) -> bool {
        self.validator().is_some()
            || self.options.order().is_some()
            || self.indexes.iter().any(|index| index.is_touched_by(update))
    }

    /// The index with this name.
    pub fn find(&self, name: &str) -> Option<&Arc<Index>> {
        self.indexes.iter().find(|index| index.definition.name() == name)
    }

    /// The definition with this name of an index that is not built.
    pub fn unbuilt(&self, name: &str) -> Option<&Unbuilt> {
        self.options.unbuilt.iter().find(|index| index.name() == name)
    }

    /// The validator, if it checks documents.
    pub fn validator(&self) -> Option<&Validator> {
        self.options.validator.as_ref().filter(|validator| validator.is_active())
    }

    /// True if one of the indexes is unique.
    pub fn has_unique(&self) -> bool {
        self.indexes.iter().any(|index| index.definition.is_unique())
    }
}

#[cfg(test)]
mod tests;
