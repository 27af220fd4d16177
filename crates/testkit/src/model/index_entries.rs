//! Index entries, derived independently from the text of the definitions and the values of documents, without the
//! database's code for keys. [`crate::model::indexes`] uses that code on both sides, so it cannot detect an error in
//! it; this module does.

use super::Id;
use super::filters::Filter;
use super::indexes::{DEFINITIONS, Index, definition};
use super::values::{compare, split};
use crate::read_entries::IndexEntries;
use alluvium::{Collection, Map, Snapshot, Value};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// An index, parsed from its definition.
struct ModelIndex {
    paths: Vec<String>,
    hashed: bool,
    unique: bool,
    sparse: bool,
    partial: Option<Filter>,
}

/// The document cannot be indexed: it has two parallel arrays, or an array in a hashed part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unindexable;

/// The parts of one entry.
type Parts = Vec<Option<Value>>;

impl ModelIndex {
    fn new(keys: &str, options: &str) -> Self {
        let (keys, options) = (crate::model::map_of(keys), crate::model::map_of(options));
        let says = |name: &str| options.get(name) == Some(&Value::Bool(true));
        let text = |name: &Value| name.as_str().expect("a path").to_owned();
        Self {
            paths: keys.entries.iter().map(|(name, _)| text(name)).collect(),
            hashed: keys.entries.iter().any(|(_, order)| order.as_str() == Some("hashed")),
            unique: says("unique"),
            sparse: says("sparse"),
            partial: options.get("partialFilterExpression").map(|filter| {
                let (path, test) = &filter.as_map().expect("a filter").entries[0];
                let (operator, operand) = &test.as_map().expect("a test").entries[0];
                match operator.as_str() {
                    Some("$gt") => Filter::above(&text(path), operand.clone()),
                    _ => Filter::exists(&text(path)),
                }
            }),
        }
    }

    /// The entries of a document, without duplicates.
    fn entries(&self, map: &Map) -> Result<Vec<Parts>, Unindexable> {
        if self.partial.as_ref().is_some_and(|filter| !filter.matches(map)) {
            return Ok(Vec::new());
        }
        let mut all: Vec<Parts> = vec![Vec::new()];
        let mut arrays = 0;
        for path in &self.paths {
            let (found, through_array) = expand(map, path);
            arrays += u32::from(through_array);
            all = all
                .iter()
                .flat_map(|parts| found.iter().map(|v| [&parts[..], std::slice::from_ref(v)].concat()))
                .collect();
        }
        if arrays > 1 || self.hashed && arrays > 0 {
            return Err(Unindexable);
        }
        if self.sparse {
            all.retain(|parts| parts.iter().any(Option::is_some));
        }
        let mut once: Vec<Parts> = Vec::new();
        for parts in all {
            if !once.iter().any(|other| same(other, &parts)) {
                once.push(parts);
            }
        }
        Ok(once)
    }

    fn refuses(&self, documents: &BTreeMap<Id, Arc<Map>>, id: &Id) -> bool {
        let Some(Ok(own)) = documents.get(id).map(|map| self.entries(map)) else { return documents.contains_key(id) };
        let mut others = documents.iter().filter(|(other, _)| self.unique && *other != id);
        others.any(|(_, other)| {
            let others = self.entries(other).unwrap_or_default();
            others.iter().any(|theirs| own.iter().any(|parts| same(parts, theirs)))
        })
    }
}

/// True if the key of a text is longer than 8 KiB. A key consists of a type, the text with one more byte for each zero
/// byte, and two bytes at the end.
fn is_long(value: &Value) -> bool {
    let text = value.as_str().unwrap_or_default();
    text.len() + text.bytes().filter(|byte| *byte == 0).count() > super::documents::WHOLE_TEXT_BYTES
}

/// True if two entries have the same values. A missing value is null in an entry.
fn same(a: &[Option<Value>], b: &[Option<Value>]) -> bool {
    let value = |part: &Option<Value>| part.clone().unwrap_or(Value::Null);
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| compare(&value(a), &value(b)).is_eq())
}

/// The values at a path, and whether the path leads through an array.
fn expand(map: &Map, path: &str) -> (Parts, bool) {
    let (name, rest) = split(path);
    match (map.get(name), rest) {
        (Some(Value::Array(elements)), None) => match elements.is_empty() {
            true => (vec![Some(Value::Undefined)], true),
            false => (elements.iter().cloned().map(Some).collect(), true),
        },
        (Some(Value::Array(elements)), Some("0")) => {
            let first = match elements.first() {
                Some(Value::Array(inner)) if inner.is_empty() => Some(Value::Undefined),
                first => first.cloned(),
            };
            (vec![first], false)
        }
        (Some(Value::Array(elements)), Some(rest)) if !elements.is_empty() => {
            let inner = |element: &Value| element.as_map().map_or_else(|| vec![None], |map| expand(map, rest).0);
            (elements.iter().flat_map(inner).collect(), true)
        }
        (Some(Value::Array(_)), Some(_)) => (vec![None], true),
        (Some(Value::Map(inner)), Some(rest)) => expand(inner, rest),
        (Some(_), Some(_)) => (vec![None], false),
        (value, None) => (vec![value.cloned()], false),
        (None, Some(_)) => (vec![None], false),
    }
}

/// The index with this name, if it has one of the definitions that are drawn.
fn own(name: &str) -> Option<&'static ModelIndex> {
    static ALL: OnceLock<BTreeMap<String, ModelIndex>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        DEFINITIONS
            .iter()
            .map(|pair| (definition(pair.0, pair.1).name().to_owned(), ModelIndex::new(pair.0, pair.1)))
            .collect()
    });
    all.get(name)
}

/// The same result as [`crate::model::indexes::refused`], derived independently; `None` if one of the indexes is not
/// supported here.
pub(crate) fn refused(
    indexes: &BTreeMap<String, Index>,
    documents: &BTreeMap<Id, Arc<Map>>,
    ids: &[Id],
) -> Option<bool> {
    let indexes: Vec<&ModelIndex> = indexes.keys().map(|name| own(name)).collect::<Option<_>>()?;
    Some(indexes.iter().any(|own| ids.iter().any(|id| own.refuses(documents, id))))
}

/// True if a document has entries in the index with this name. Also true for an index that is not supported here.
pub(crate) fn has_entries(name: &str, map: &Map) -> bool {
    own(name).is_none_or(|own| own.entries(map).is_ok_and(|entries| !entries.is_empty()))
}

/// Compares the entries of an index with the entries that its documents should have.
pub(crate) fn check(
    collection: &Collection,
    at: &Snapshot,
    name: &str,
    documents: &BTreeMap<Id, Arc<Map>>,
) -> Result<(), String> {
    let Some(own) = own(name) else { return Ok(()) };
    let mut shown: BTreeMap<Vec<u8>, Vec<Parts>> = BTreeMap::new();
    for (_, id, parts) in collection.index_shown(at, name, true).map_err(|e| format!("index {name}: {e}"))? {
        shown.entry(id).or_default().push(parts);
    }
    for (id, map) in documents {
        let key = alluvium_document::key::id_key(map.get("_id").expect("an _id")).expect("a key");
        let found = shown.remove(&key).unwrap_or_default();
        let expected = own.entries(map).map_err(|_| format!("index {name}: {id:?} is there, and cannot be indexed"))?;
        // An entry does not contain the value of a key that was cut.
        let shown =
            |parts: &Parts| parts.iter().map(|part| part.clone().filter(|value| !is_long(value))).collect::<Parts>();
        let there = |parts: &Parts| own.hashed || found.iter().any(|other| same(&shown(parts), other));
        if found.len() != expected.len() || !expected.iter().all(there) {
            return Err(format!("index {name}: {id:?} has the entries {found:?} and should have {expected:?}"));
        }
    }
    match shown.into_iter().next() {
        Some((key, parts)) => Err(format!("index {name}: entries {parts:?} of no document: {key:?}")),
        None => Ok(()),
    }
}
