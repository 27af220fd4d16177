//! The model: the expected content of the database.

use super::Id;
use super::indexes::Index;
use alluvium::{Database, ErrorKind, Map};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One collection of the model.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The documents.
    pub documents: Arc<BTreeMap<Id, Arc<Map>>>,
    /// The indexes, by their names.
    pub indexes: BTreeMap<String, Index>,
}

impl Contents {
    fn same_indexes(&self, other: &Self) -> bool {
        self.indexes.len() == other.indexes.len()
            && self.indexes.values().all(|index| {
                other.indexes.get(index.definition.name()).is_some_and(|o| o.definition == index.definition)
            })
    }
}

/// The expected content of a database: the collections by their full names. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The collections.
    pub collections: BTreeMap<String, Contents>,
}

/// Two states are equal if collections with the same names have the same documents and the same indexes, ready or not.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.collections.len() == other.collections.len()
            && self.collections.iter().zip(&other.collections).all(|(a, b)| {
                let same_documents = || Arc::ptr_eq(&a.1.documents, &b.1.documents) || a.1.documents == b.1.documents;
                a.0 == b.0 && a.1.same_indexes(b.1) && same_documents()
            })
    }
}

impl State {
    /// The documents of a collection.
    pub fn documents(&self, name: &str) -> Option<&BTreeMap<Id, Arc<Map>>> {
        self.collections.get(name).map(|c| &*c.documents)
    }

    /// One document.
    pub fn get(&self, name: &str, id: &Id) -> Option<&Arc<Map>> {
        self.documents(name)?.get(id)
    }

    /// Returns the state without the indexes that are being built, as in a dump.
    pub fn without_unready(mut self) -> Self {
        for contents in self.collections.values_mut() {
            contents.indexes.retain(|_, index| index.ready);
        }
        self
    }

    /// Creates a collection. Returns false if it already exists.
    pub fn create(&mut self, name: &str) -> bool {
        if self.collections.contains_key(name) {
            return false;
        }
        self.collections.insert(name.to_owned(), Contents::default());
        true
    }

    /// Puts a document, and moves its `_id` to the front. The collection must exist.
    pub fn put(&mut self, name: &str, id: Id, mut map: Map) {
        if let Some(at) = map.entries.iter().position(|(name, _)| name.as_str() == Some("_id")) {
            map.entries[..=at].rotate_right(1);
        }
        let contents = self.collections.get_mut(name).expect("the collection exists");
        Arc::make_mut(&mut contents.documents).insert(id, Arc::new(map));
    }

    /// Deletes a document. Returns true if it existed.
    pub fn delete(&mut self, name: &str, id: &Id) -> bool {
        match self.collections.get_mut(name) {
            Some(contents) if contents.documents.contains_key(id) => {
                Arc::make_mut(&mut contents.documents).remove(id).is_some()
            }
            _ => false,
        }
    }

    /// True if a collection must not contain the documents with these ids; see [`State::refusals`].
    pub fn refuses(&self, name: &str, ids: &[Id]) -> bool {
        !self.refusals(name, ids).is_empty()
    }

    /// The reasons why a collection must not contain the documents with these ids; see
    /// [`crate::model::indexes::refused`].
    pub fn refusals(&self, name: &str, ids: &[Id]) -> Vec<ErrorKind> {
        let Some(Contents { documents, indexes }) = self.collections.get(name) else { return Vec::new() };
        let why = crate::model::indexes::refused(indexes, documents, ids);
        if let Some(derived) = crate::model::index_entries::refused(indexes, documents, ids) {
            assert_eq!(!why.is_empty(), derived, "whether {ids:?} of {name} are refused, by keys and by values");
        }
        why
    }

    /// True if an index of the collection depends on a field.
    pub fn is_read_by_index(&self, name: &str, field: &str) -> bool {
        let Some(contents) = self.collections.get(name) else { return false };
        let quoted = format!("\"{field}");
        contents.indexes.values().any(|index| format!("{:?}", index.definition.to_map()).contains(&quoted))
    }

    /// True if one of these documents cannot be indexed.
    pub fn unindexable(&self, name: &str, ids: &[Id]) -> bool {
        let Some(contents) = self.collections.get(name) else { return false };
        let mut documents = ids.iter().filter_map(|id| contents.documents.get(id));
        documents.any(|map| contents.indexes.values().any(|index| index.definition.keys(map).is_err()))
    }

    /// The state without indexes.
    pub fn without_indexes(&self) -> Self {
        let mut state = self.clone();
        state.collections.values_mut().for_each(|contents| contents.indexes.clear());
        state
    }

    /// A hash of the content.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (name, contents) in &self.collections {
            (name, contents.documents.len()).hash(&mut hasher);
            contents.indexes.keys().for_each(|index| index.hash(&mut hasher));
            for (id, map) in &*contents.documents {
                (id, format!("{map:?}")).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// A short description of the differences to `other`.
    pub fn difference(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        let names = self.collections.keys().chain(other.collections.keys()).collect::<std::collections::BTreeSet<_>>();
        for name in names {
            let (Some(a), Some(b)) = (self.documents(name), other.documents(name)) else {
                lines.push(format!("collection {name}: {} and {}", self.has(name), other.has(name)));
                continue;
            };
            let names = |state: &Self| state.collections[name].indexes.keys().cloned().collect::<Vec<_>>();
            if !self.collections[name].same_indexes(&other.collections[name]) {
                lines.push(format!("indexes of {name}: {:?} and {:?}", names(self), names(other)));
            }
            for id in a.keys().chain(b.keys()).collect::<std::collections::BTreeSet<_>>() {
                if a.get(id) != b.get(id) {
                    let short = |m: Option<&Arc<Map>>| m.map_or("absent".to_owned(), |m| brief(m));
                    lines.push(format!("{name} {id:?}: {} and {}", short(a.get(id)), short(b.get(id))));
                }
            }
        }
        lines.truncate(12);
        lines.join("\n")
    }

    fn has(&self, name: &str) -> &'static str {
        if self.collections.contains_key(name) { "there" } else { "absent" }
    }
}

/// A document as text of at most 100 bytes.
pub fn brief(map: &Map) -> String {
    let text = format!("{:?}", map.entries);
    text.chars().take(100).collect()
}

/// Reads the whole content of a database. Checks that `_id`s are ascending, and that counts are right.
///
/// # Panics
/// If one of these checks fails.
pub fn read_state(db: &Database) -> alluvium::Result<State> {
    let mut state = State::default();
    for info in db.collections() {
        let name = info.full_name();
        state.create(&name);
        let collection = db.collection(&name);
        let mut last = None;
        let mut documents = BTreeMap::new();
        for document in collection.scan().run()? {
            let document = document?;
            let map = document.to_map().map_err(|e| alluvium::Error::InvalidDocument(e.to_string()))?;
            let id = Id::of(document.id()).unwrap_or_else(|| panic!("{name} holds the _id {:?}", document.id()));
            assert_eq!(map.get("_id"), Some(document.id()), "{name}: the _id of a document and its own field");
            assert!(last.as_ref() < Some(&id), "{name}: {id:?} comes after {last:?}");
            last = Some(id.clone());
            documents.insert(id, Arc::new(map));
        }
        let mut indexes = BTreeMap::new();
        for index in collection.indexes()?.into_iter().filter(|index| index.name != "_id_") {
            let definition = match alluvium_query::index::Definition::from_map(&index.definition) {
                Ok(definition) => Arc::new(definition),
                // An index that is not built may have a definition that cannot be parsed.
                Err(_) if !index.is_built => continue,
                Err(error) => panic!("{name}, {}: {error}", index.name),
            };
            indexes.insert(index.name, Index { definition, serial: 0, ready: index.ready });
        }
        state.collections.insert(name, Contents { documents: Arc::new(documents), indexes });
    }
    Ok(state)
}
