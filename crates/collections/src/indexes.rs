//! Administration of indexes: declares, builds, finds by name or keys, lists and drops them.

mod build;

pub(crate) use build::{Build, finish};

use crate::engine::EngineHandle;
use crate::error::{Error, Result, id_text};
use crate::find::Hint;
use crate::index::{Index, IndexProgress};
use crate::names::FullName;
use crate::options::ID_INDEX;
use crate::write::Transaction;
use alluvium_document::IntoDocument;
use alluvium_document::compare::equal;
use alluvium_document::{Map, Value};
use alluvium_exec::Limits;
use alluvium_query::collation::Collation;
use alluvium_query::index::{Definition, IndexError, Unbuilt};
use std::borrow::Cow;
use std::sync::Arc;

/// An index that was declared.
#[derive(Clone)]
pub struct DeclaredIndex {
    /// `None` for an index without a build: that on `_id`, which always exists, one of a kind that is not built, and one of
    /// a transaction.
    index: Option<Arc<Index>>,
    /// The name of an index without a build; `None` for that on `_id`.
    named: Option<String>,
    added: bool,
}

/// Checks the keys and options of an index.
///
/// # Errors
/// [`IndexError`], except errors about documents.
pub fn check(keys: &Map, options: &Map) -> std::result::Result<(), IndexError> {
    match Unbuilt::is_kind_of(keys) {
        true => Unbuilt::parse(keys, options).map(drop),
        false if Definition::is_on_id(keys, options)? => Ok(()),
        false => Definition::parse(keys, options).map(drop),
    }
}

/// Declares an index, and creates the collection if it does not exist. The index is not ready
/// before [`DeclaredIndex::build`].
///
/// # Errors
/// [`Error::Index`], [`Error::IndexConflict`], or as for any write.
pub fn declare(engine: &EngineHandle, name: &FullName, keys: &Map, options: &Map) -> Result<DeclaredIndex> {
    if Unbuilt::is_kind_of(keys) {
        return declare_unbuilt(engine, name, &Unbuilt::parse(keys, options)?);
    }
    let default = engine.catalog.collation(name);
    let of_id = id_options(options, default.as_ref())?;
    if Definition::is_on_id(keys, &of_id)? {
        engine.catalog.find_or_create(name)?;
        return Ok(DeclaredIndex { index: None, named: None, added: false });
    }
    let mut options = Cow::Borrowed(options);
    if let Some(default) = default.filter(|_| !options.contains("collation")) {
        options.to_mut().push("collation", default.to_map());
    }
    declare_as(engine, name, Definition::parse(keys, &options)?)
}

/// Creates an index with the commit of a transaction.
///
/// # Errors
/// [`Error::Index`]; [`Error::NotInTransaction`] for an index that is not built, and for a collection that existed before
/// the transaction or has been written; as for any write of a transaction.
pub fn declare_in(transaction: &Transaction, name: &FullName, keys: &Map, options: &Map) -> Result<DeclaredIndex> {
    if Unbuilt::is_kind_of(keys) {
        return Err(Error::NotInTransaction { what: "a text, geographic or wildcard index".to_owned() });
    }
    if Definition::is_on_id(keys, options)? {
        transaction.require(name)?;
        return Ok(DeclaredIndex { index: None, named: None, added: false });
    }
    let definition = Definition::parse(keys, options)?;
    let named = Some(definition.name().to_owned());
    let added = transaction.create_index(name, definition)?;
    Ok(DeclaredIndex { index: None, named, added })
}

/// Stores the definition of an index of a kind that is not built.
fn declare_unbuilt(engine: &EngineHandle, name: &FullName, index: &Unbuilt) -> Result<DeclaredIndex> {
    engine.catalog.find_or_create(name)?;
    let added = engine.catalog.add_unbuilt(name, index)?;
    if added {
        let index = index.name();
        log::warn!(
            target: "alluvium::index",
            "the index {index} of {name} is kept, and not built: text, geographic and wildcard indexes have no effect"
        );
    }
    Ok(DeclaredIndex { index: None, named: Some(index.name().to_owned()), added })
}

/// The options of an index on `_id`, without the collation if it equals that of the collection.
fn id_options<'a>(options: &'a Map, default: Option<&Collation>) -> Result<Cow<'a, Map>> {
    let Some(Value::Map(given)) = options.get("collation") else { return Ok(Cow::Borrowed(options)) };
    if Collation::parse(given)?.as_ref() != default {
        return Ok(Cow::Borrowed(options));
    }
    let mut options = options.clone();
    options.remove("collation");
    Ok(Cow::Owned(options))
}

/// As [`declare`], of an index that is not on `_id`.
pub(crate) fn declare_as(engine: &EngineHandle, name: &FullName, definition: Definition) -> Result<DeclaredIndex> {
    engine.catalog.find_or_create(name)?;
    let (index, added) = engine.catalog.add_index(name, definition)?;
    Ok(DeclaredIndex { index: Some(index), named: None, added })
}

impl DeclaredIndex {
    /// The progress of the build, by whichever thread.
    pub fn progress(&self) -> IndexProgress {
        self.index.as_ref().map(|index| index.building.progress().clone()).unwrap_or_default()
    }

    /// False if the same index existed already.
    pub fn is_new(&self) -> bool {
        self.added
    }

    /// The name of the index.
    pub fn name(&self) -> &str {
        match (&self.index, &self.named) {
            (Some(index), _) => index.definition.name(),
            (None, Some(named)) => named,
            (None, None) => ID_INDEX,
        }
    }

    /// Builds the index, or waits for the thread that builds it.
    ///
    /// # Errors
    /// [`Error::Stopped`] and [`Error::MaxTimeExpired`] by the limits; [`Error::Index`] and
    /// [`Error::DuplicateIndexKey`] if the index cannot accept a document, after which the index is dropped; as for any
    /// read and write.
    pub fn build(&self, engine: &EngineHandle, name: &FullName, limits: &Limits) -> Result<()> {
        match &self.index {
            Some(index) => finish(&Build { engine, name, index, limits, drops: false }).map(drop),
            None => Ok(()),
        }
    }

    /// As [`DeclaredIndex::build`]. If the limits end the build, the index is dropped, unless it was declared before.
    ///
    /// # Errors
    /// As [`DeclaredIndex::build`].
    pub fn build_or_drop(&self, engine: &EngineHandle, name: &FullName, limits: &Limits) -> Result<()> {
        match &self.index {
            Some(index) => finish(&Build { engine, name, index, limits, drops: self.added }).map(drop),
            None => Ok(()),
        }
    }
}

/// Builds all indexes of the list, even after one has failed. Calls `failed` for each failed index. Returns the first
/// error.
pub(crate) fn finish_all(
    engine: &EngineHandle,
    unfinished: Vec<(FullName, Arc<Index>)>,
    failed: impl Fn(&FullName, &Index, &Error),
) -> Result<()> {
    let mut first = Ok(());
    for (name, index) in unfinished {
        match finish(&Build { engine, name: &name, index: &index, limits: &Limits::default(), drops: false }) {
            // Dropped concurrently.
            Ok(_) | Err(Error::NoSuchIndex { .. } | Error::NoSuchCollection { .. }) => {}
            Err(error) => {
                failed(&name, &index, &error);
                first = first.and(Err(error));
            }
        }
    }
    first
}

/// Resumes all index builds that were interrupted, and waits for them.
///
/// # Errors
/// The first error; the other builds are finished.
pub fn finish_interrupted(engine: &EngineHandle) -> Result<()> {
    finish_all(engine, engine.catalog.unfinished_indexes(), |_, _, _| {})
}

/// The name of the index with a name or with keys.
///
/// # Errors
/// [`Error::NoSuchCollection`], [`Error::NoSuchIndex`], [`Error::AmbiguousKeys`], [`Error::Json`].
pub fn index_name(engine: &EngineHandle, name: &FullName, index: Hint) -> Result<String> {
    let no_such_index = |index: &str| Error::NoSuchIndex { collection: name.to_string(), index: index.to_owned() };
    let set = engine.catalog.require(name)?.indexes();
    let keys = match index.into_value() {
        // A name may begin like a JSON map of keys.
        Value::String(name) if name == ID_INDEX || set.find(&name).is_some() || set.unbuilt(&name).is_some() => {
            return Ok(name.into());
        }
        Value::String(text) if text.trim_start().starts_with('{') => text.as_str().into_map()?,
        Value::Map(keys) => keys,
        other => return Err(no_such_index(other.as_str().unwrap_or_default())),
    };
    let all = set.indexes.iter().map(|index| (index.definition.name(), index.definition.keys_map()));
    let unbuilt = set.options.unbuilt.iter().map(|index| (index.name(), index.keys_map()));
    let all = std::iter::once((ID_INDEX, Map::from([("_id", Value::from(1))]))).chain(all).chain(unbuilt);
    let names: Vec<&str> = all.filter(|(_, known)| has_same_keys(known, &keys)).map(|(name, _)| name).collect();
    let shown = || id_text(&Value::Map(keys.clone()));
    match names[..] {
        [] => Err(no_such_index(&shown())),
        [name] => Ok(name.to_owned()),
        _ => Err(Error::AmbiguousKeys { collection: name.to_string(), keys: shown(), names: names.join(", ") }),
    }
}

/// Drops the index with a name or with keys.
///
/// # Errors
/// As [`index_name`]; an error for the index on `_id`; as for any write.
pub fn drop_index(engine: &EngineHandle, name: &FullName, index: Hint) -> Result<()> {
    engine.store().check_writable()?;
    let index = index_name(engine, name, index)?;
    if index == ID_INDEX {
        return Err(IndexError::CannotDropId.into());
    }
    if engine.catalog.drop_unbuilt(name, Some(&index))? {
        return Ok(());
    }
    engine.catalog.drop_indexes(name, Some(&index))
}

/// Drops all indexes except the one on `_id`.
///
/// # Errors
/// [`Error::NoSuchCollection`]; as for any write.
pub fn drop_all(engine: &EngineHandle, name: &FullName) -> Result<()> {
    engine.catalog.drop_unbuilt(name, None)?;
    engine.catalog.drop_indexes(name, None)
}

/// A change of an index that needs no new entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexChange {
    /// True to hide the index from queries, false to show it.
    pub hidden: Option<bool>,
    /// The seconds after which documents are deleted.
    pub expire_after_s: Option<u32>,
}

/// Changes the index with a name or with keys. Returns the definition before and after.
///
/// # Errors
/// As [`index_name`]; an error for the index on `_id`, and for a change that the index cannot have; as for any write.
pub fn change_index(engine: &EngineHandle, name: &FullName, index: Hint, change: IndexChange) -> Result<(Map, Map)> {
    engine.store().check_writable()?;
    let index = index_name(engine, name, index)?;
    let set = engine.catalog.require(name)?.indexes();
    let Some(found) = set.find(&index) else {
        let what = format!("the index {index} cannot be changed");
        return Err(alluvium_query::index::IndexError::BadValue(what).into());
    };
    let mut definition = (*found.definition).clone();
    if let Some(hidden) = change.hidden {
        definition = definition.with_hidden(hidden);
    }
    if let Some(seconds) = change.expire_after_s {
        definition = definition.with_expire_after_s(seconds)?;
    }
    let before = found.definition.to_map();
    let shows = definition.is_hidden() != found.definition.is_hidden();
    let changed = engine.catalog.update_index(name, found.tree, |index| {
        index.definition = Arc::new(definition);
        if shows {
            // Hiding or unhiding an index changes which queries use it, so the counts start again.
            index.usage = Arc::default();
        }
    })?;
    Ok((before, changed.definition.to_map()))
}

/// True if both have the same paths in the same sequence, with the same directions.
fn has_same_keys(a: &Map, b: &Map) -> bool {
    let same = |(a, b): (&(Value, Value), &(Value, Value))| a.0 == b.0 && equal(&a.1, &b.1);
    a.len() == b.len() && a.entries.iter().zip(&b.entries).all(same)
}
