//! The model of secondary indexes, and the checks of their invariants.
//!
//! The history of writes does not matter here. The entries of an index at a snapshot are compared with the entries of
//! the documents at that snapshot, which the same pure function computes.

use super::Id;
use crate::read_entries::IndexEntries;
use alluvium::{Collection, Database, ErrorKind, Map, Snapshot, Value};
use alluvium_codec::varint;
use alluvium_query::index::Definition;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The first byte of the description of an index's tree (`docs/format/store.md`).
const INDEX: u8 = 4;

/// Keys and options of the indexes that are created. Many documents have these fields, with several types, and some
/// documents cannot be indexed.
pub const DEFINITIONS: [(&str, &str); 18] = [
    (r#"{"k":1}"#, "{}"),
    (r#"{"k":-1,"set":1}"#, "{}"),
    (r#"{"k":"hashed"}"#, "{}"),
    (r#"{"k":1}"#, r#"{"partialFilterExpression":{"inc":{"$gt":500}},"name":"partial"}"#),
    (r#"{"set":-1}"#, r#"{"partialFilterExpression":{"k":{"$exists":true}},"name":"filtered"}"#),
    (r#"{"k":1,"n":1}"#, r#"{"unique":true}"#),
    (r#"{"n":-1}"#, r#"{"unique":true}"#),
    (r#"{"u":1}"#, r#"{"unique":true,"sparse":true}"#),
    (r#"{"u":-1}"#, r#"{"unique":true,"name":"some","partialFilterExpression":{"u":{"$gt":3}}}"#),
    (r#"{"score":1}"#, r#"{"sparse":true}"#),
    (r#"{"tags":1}"#, "{}"),
    (r#"{"list":1,"score":-1}"#, "{}"),
    (r#"{"list":1,"tags":1}"#, "{}"),
    (r#"{"by.name":1,"_id":-1}"#, "{}"),
    (r#"{"deep.x":1}"#, "{}"),
    (r#"{"tags.0":1}"#, "{}"),
    (r#"{"inc":1}"#, "{}"),
    (r#"{"when":1}"#, r#"{"expireAfterSeconds":1}"#),
];

/// An index of the model.
#[derive(Debug, Clone)]
pub struct Index {
    /// The definition of the index.
    pub definition: Arc<Definition>,
    /// A serial number, which is unique in a runner even among indexes with the same name.
    pub serial: u64,
    /// True if the index is built.
    pub ready: bool,
}

/// An entry of a document in an index: the key, the key of the `_id`, and the values of the parts.
pub type Entry = (Vec<u8>, Vec<u8>, Vec<Option<Value>>);

/// The definition for a pair of [`DEFINITIONS`].
///
/// # Panics
/// If the definition cannot be parsed.
pub fn definition(keys: &str, options: &str) -> Definition {
    Definition::parse(&crate::model::map_of(keys), &crate::model::map_of(options)).expect("a definition")
}

/// All entries that documents yield, in order.
///
/// # Panics
/// If a document cannot be indexed; such a document should not exist.
pub fn yielded<'a>(definition: &Definition, documents: impl Iterator<Item = &'a Map>) -> Vec<Entry> {
    let mut found = Vec::new();
    for document in documents {
        let id = alluvium_document::key::id_key(document.get("_id").expect("an _id")).expect("a key");
        let keys = definition.keys(document).unwrap_or_else(|e| panic!("{}: {e}: {document:?}", definition.name()));
        for key in keys.keys {
            let values = definition.values(&key.bytes, &key.values).expect("values");
            found.push((key.bytes, id.clone(), values));
        }
    }
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    found
}

/// The reasons why a collection with these indexes cannot contain the documents with these ids: a document cannot be
/// indexed, or another document has one of its unique keys. Empty if there is no reason.
pub fn refused(indexes: &BTreeMap<String, Index>, documents: &BTreeMap<Id, Arc<Map>>, ids: &[Id]) -> Vec<ErrorKind> {
    let written: BTreeSet<&Id> = ids.iter().collect();
    let invalid = |index: &Index| {
        let mut all = written.iter().filter_map(|id| documents.get(*id));
        all.any(|document| index.definition.keys(document).is_err())
    };
    let duplicate = |index: &Index| {
        let mut taken: BTreeSet<Vec<u8>> = BTreeSet::new();
        for document in written.iter().filter_map(|id| documents.get(*id)) {
            let Ok(keys) = index.definition.keys(document) else { continue };
            // A document may yield the same key twice.
            let own: BTreeSet<Vec<u8>> = keys.keys.into_iter().map(|key| key.bytes).collect();
            if index.definition.is_unique() && own.into_iter().any(|key| !taken.insert(key)) {
                return true;
            }
        }
        let others = documents.iter().filter(|(id, _)| !taken.is_empty() && !written.contains(id));
        let mut others = others.filter_map(|(_, other)| index.definition.keys(other).ok());
        others.any(|other| other.keys.iter().any(|key| taken.contains(&key.bytes)))
    };
    let mut why = Vec::new();
    why.extend(indexes.values().any(invalid).then_some(ErrorKind::Invalid));
    why.extend(indexes.values().any(duplicate).then_some(ErrorKind::DuplicateKey));
    why
}

/// The marks in the description of an index's tree: bit n is set if part n leads through an array in some document, and
/// bit 32 + n if a key of part n is cut.
///
/// # Panics
/// If there is no such index, or its description cannot be decoded.
pub fn marks(db: &Database, definition: &Definition, documents: u32) -> u64 {
    for (_, description) in db.store().trees() {
        let Some((&INDEX, mut rest)) = description.split_first() else { continue };
        let mut number = || varint::get_u64(&mut rest).expect("a number");
        let (tree, _ready, marks, built) = (number(), number(), number(), number());
        for _ in 0..built {
            number();
        }
        let map = match alluvium_document::encoding::decode(&mut rest) {
            Ok(Value::Map(map)) => map,
            // The history of recorded changes.
            Ok(Value::Array(_)) => continue,
            other => panic!("no definition: {other:?}"),
        };
        if tree == u64::from(documents) && Definition::from_map(&map).expect("a definition") == *definition {
            return marks;
        }
    }
    panic!("no tree of the index {}", definition.name())
}

/// The tree of a collection's documents.
fn documents_tree(db: &Database, name: &str) -> u32 {
    let (logical, collection) = name.split_once('.').expect("a full name");
    let mut named = Vec::new();
    varint::put_bytes(&mut named, logical.as_bytes());
    varint::put_bytes(&mut named, collection.as_bytes());
    // The description of a collection without options, or with options (`docs/format/store.md`).
    let is_meant = |description: &[u8]| {
        description.split_first().is_some_and(|(kind, rest)| [1, 5].contains(kind) && rest.starts_with(&named))
    };
    let tree = db.store().trees().into_iter().find(|(_, description)| is_meant(description));
    tree.unwrap_or_else(|| panic!("no tree of {name}")).0.0
}

/// Checks the four invariants of an index at a snapshot, as far as reads can show them.
///
/// # Errors
/// A description of the violation.
pub fn check_at<'a>(
    collection: &Collection,
    definition: &Definition,
    snapshot: &Snapshot,
    documents: impl Iterator<Item = &'a Map>,
) -> Result<(), String> {
    let name = definition.name();
    let expected = yielded(definition, documents);
    let fail = |e: alluvium::Error| format!("index {name}: {e}");
    let raw: BTreeSet<_> = collection.index_entries(snapshot, name, true).map_err(fail)?.into_iter().collect();
    let missing = expected.iter().find(|(key, id, _)| !raw.contains(&(key.clone(), id.clone())));
    if let Some(missing) = missing {
        return Err(format!("index {name}: the entry {missing:?} is missing"));
    }
    // Entries that are proved by sequence numbers, and entries that are proved by documents.
    for fetch in [false, true] {
        let shown = collection.index_shown(snapshot, name, fetch).map_err(fail)?;
        if shown != expected {
            let stale = shown.iter().find(|entry| !expected.contains(entry));
            let hidden = expected.iter().find(|entry| !shown.contains(entry));
            let what = format!("shown but not yielded: {stale:?}; yielded but not shown: {hidden:?}");
            return Err(format!("index {name} (fetch: {fetch}): {what}"));
        }
    }
    Ok(())
}

/// Checks all ready indexes against the current documents.
///
/// # Errors
/// A description of the violation.
pub fn check_now(db: &Database) -> Result<(), String> {
    for info in db.collections() {
        let collection = db.collection(&info.full_name());
        let ready: Vec<Definition> = collection
            .indexes()
            .map_err(|e| e.to_string())?
            .into_iter()
            .filter(|index| index.ready && index.is_built && index.name != "_id_")
            .map(|index| Definition::from_map(&index.definition).expect("a definition"))
            .collect();
        if ready.is_empty() {
            continue;
        }
        let snapshot = db.snapshot();
        let scan = collection.at(&snapshot).scan().run().map_err(|e| e.to_string())?;
        let documents: Vec<Map> = scan
            .map(|document| document.map_err(|e| e.to_string())?.to_map().map_err(|e| e.to_string()))
            .collect::<Result<_, String>>()?;
        let tree = documents_tree(db, &info.full_name());
        for definition in ready {
            check_at(&collection, &definition, &snapshot, documents.iter())
                .map_err(|broken| format!("{}: {broken}", info.full_name()))?;
            let needed = documents.iter().filter_map(|map| definition.keys(map).ok()).fold(0, |all, k| all | k.marks());
            let marked = marks(db, &definition, tree);
            if marked & needed != needed {
                let name = definition.name();
                return Err(format!("index {name}: the documents need the marks {needed:b}, it has {marked:b} only"));
            }
        }
    }
    Ok(())
}
