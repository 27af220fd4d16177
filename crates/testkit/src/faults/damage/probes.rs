//! Small reads of a database that may be damaged. They show which parts are intact.

use crate::formats::fixtures::VALUES;
use crate::read_entries::IndexEntries;
use alluvium::{Database, Document, Result, Value};
use alluvium_store::ValuesOf;
use std::fmt::Write;

/// A read.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Probe {
    /// The names of collections, and of their indexes with their states.
    Names,
    /// All documents of a collection, forwards or backwards.
    Scan(String, bool),
    /// One document.
    Get(String, Value),
    /// The documents to which an index refers.
    Shown(String, String),
    /// The documents that match a filter, found with the index of this name.
    Find(&'static str, &'static str, &'static str),
    /// The values of a key of the multivalue tree.
    Values(Vec<u8>),
}

/// Queries on the collections of fixtures.
const FINDS: [(&str, &str, &str); 4] = [
    ("main.people", r#"{"name":{"$gte":"changed 3","$lt":"late 9"}}"#, "name_-1"),
    ("main.people", r#"{"tags":"a"}"#, "tags_1"),
    ("main.people", r#"{"name":"person 7"}"#, "name_1_tags_-1"),
    ("library.books", r#"{"by.name":"author 3"}"#, "by.name_hashed"),
];

impl Probe {
    /// All probes of an intact database.
    pub fn all(db: &Database) -> Vec<Self> {
        let mut all = vec![Self::Names];
        for info in db.collections() {
            let name = info.full_name();
            let collection = db.collection(&name);
            all.extend([Self::Scan(name.clone(), false), Self::Scan(name.clone(), true)]);
            let mut ids: Vec<Value> =
                collection.scan().run().expect("a scan").map(|document| document.expect("one").id().clone()).collect();
            // If there are many documents, only a few of them are read.
            if ids.len() > 100 {
                ids = ids.into_iter().step_by(20).collect();
            }
            ids.push(Value::from("not there"));
            all.extend(ids.into_iter().map(|id| Self::Get(name.clone(), id)));
            let indexes = collection.indexes().expect("indexes").into_iter().filter(|i| i.ready && i.name != "_id_");
            all.extend(indexes.map(|index| Self::Shown(name.clone(), index.name)));
        }
        let there =
            |(name, _, index): &(&str, &str, &str)| all.contains(&Self::Shown((*name).to_owned(), (*index).to_owned()));
        let finds: Vec<_> = FINDS.into_iter().filter(there).collect();
        all.extend(finds.into_iter().map(|(name, filter, index)| Self::Find(name, filter, index)));
        if db.store().trees().iter().any(|(_, description)| description == VALUES) {
            all.extend(["red", "green", "blue", "none"].map(|key| Self::Values(key.as_bytes().to_vec())));
        }
        all
    }

    /// The result as text.
    pub fn ask(&self, db: &Database) -> Result<String> {
        let mut out = String::new();
        match self {
            Self::Names => {
                for info in db.collections() {
                    let indexes = db.collection(&info.full_name()).indexes()?;
                    let indexes: Vec<_> = indexes.into_iter().map(|index| (index.name, index.ready)).collect();
                    let _ = writeln!(out, "{}: {indexes:?}", info.full_name());
                }
            }
            Self::Scan(name, backwards) => {
                let scan = db.collection(name).scan();
                let scan = if *backwards { scan.reverse() } else { scan };
                for document in scan.run()? {
                    show(&document?, &mut out)?;
                }
            }
            Self::Get(name, id) => {
                if let Some(document) = db.collection(name).get(id.clone())? {
                    show(&document, &mut out)?;
                }
            }
            Self::Shown(name, index) => {
                let shown = db.collection(name).index_shown(&db.snapshot(), index, false)?;
                let _ = write!(out, "{shown:?}");
            }
            Self::Find(name, filter, index) => {
                for document in db.collection(name).find(*filter).hint(*index).run()? {
                    show(&document?, &mut out)?;
                }
            }
            Self::Values(key) => {
                let trees = db.store().trees();
                let tree = trees.into_iter().find(|(_, description)| description == VALUES).map(|(tree, _)| tree);
                let Some(tree) = tree else { return Ok("no tree".to_owned()) };
                let tree = db.store().multivalue(tree)?;
                let mut values = tree.values(ValuesOf::key(key))?;
                while let Some(value) = values.next()? {
                    let _ = writeln!(out, "{}", value.escape_ascii());
                }
            }
        }
        Ok(out)
    }
}

/// Prints a document with the types of all values.
fn show(document: &Document, out: &mut String) -> Result<()> {
    let map = document.to_map().map_err(|e| alluvium::Error::InvalidDocument(e.to_string()))?;
    let _ = writeln!(out, "{:?}: {:?}", document.id(), map.entries);
    Ok(())
}

/// The results of all probes.
///
/// # Panics
/// If the database is damaged.
pub(super) fn answers(db: &Database, probes: &[Probe]) -> Vec<String> {
    probes.iter().map(|probe| probe.ask(db).unwrap_or_else(|e| panic!("{probe:?}: {e}"))).collect()
}
