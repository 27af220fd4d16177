//! The model: what the database should hold.

use crate::Id;
use alluvium::{Database, Map};
use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One collection of the model.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// The documents.
    pub documents: Arc<BTreeMap<Id, Arc<Map>>>,
}

/// Everything that a database should hold, by the collections' full names. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// The collections.
    pub collections: BTreeMap<String, Contents>,
}

/// Equal if the same documents are in collections of the same names.
impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.collections.len() == other.collections.len()
            && self.collections.iter().zip(&other.collections).all(|(a, b)| {
                a.0 == b.0 && (Arc::ptr_eq(&a.1.documents, &b.1.documents) || a.1.documents == b.1.documents)
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

    /// Creates a collection; false if there is one.
    pub fn create(&mut self, name: &str) -> bool {
        if self.collections.contains_key(name) {
            return false;
        }
        self.collections.insert(name.to_owned(), Contents::default());
        true
    }

    /// Puts a document, its `_id` in front; its collection exists.
    pub fn put(&mut self, name: &str, id: Id, mut map: Map) {
        if let Some(at) = map.entries.iter().position(|(name, _)| name.as_str() == Some("_id")) {
            map.entries[..=at].rotate_right(1);
        }
        let contents = self.collections.get_mut(name).expect("the collection exists");
        Arc::make_mut(&mut contents.documents).insert(id, Arc::new(map));
    }

    /// Deletes a document; true if it was there.
    pub fn delete(&mut self, name: &str, id: &Id) -> bool {
        match self.collections.get_mut(name) {
            Some(contents) if contents.documents.contains_key(id) => {
                Arc::make_mut(&mut contents.documents).remove(id).is_some()
            }
            _ => false,
        }
    }

    /// A hash of what it holds.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (name, contents) in &self.collections {
            (name, contents.documents.len()).hash(&mut hasher);
            for (id, map) in &*contents.documents {
                (id, format!("{map:?}")).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// What is different in `other`, in a few lines.
    pub fn difference(&self, other: &Self) -> String {
        let mut lines = Vec::new();
        let names = self.collections.keys().chain(other.collections.keys()).collect::<std::collections::BTreeSet<_>>();
        for name in names {
            let (Some(a), Some(b)) = (self.documents(name), other.documents(name)) else {
                lines.push(format!("collection {name}: {} and {}", self.has(name), other.has(name)));
                continue;
            };
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

/// A document in at most 100 bytes.
pub fn brief(map: &Map) -> String {
    let text = format!("{:?}", map.entries);
    text.chars().take(100).collect()
}

/// Reads all that a database holds. Ids are checked to rise, and counts to agree.
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
        state.collections.get_mut(&name).expect("just created").documents = Arc::new(documents);
    }
    Ok(state)
}
