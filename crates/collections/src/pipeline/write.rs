//! `$out` and `$merge`.

use super::refuse;
use crate::catalog::Incarnation;
use crate::engine::EngineHandle;
use crate::error::{Error, ErrorKind, Result};
use crate::filling::{BATCH, BATCH_BYTES, Filling};
use crate::find::{Execution, FindRequest, Query, interrupt, limited, moment_in};
use crate::ids;
use crate::indexes;
use crate::names::FullName;
use crate::read::Reader;
use crate::view::CollectionView;
use crate::write::{WriteLimits, Writer};
use alluvium_document::compare::equal;
use alluvium_document::timestamps::Present;
use alluvium_document::{Map, Value, bson};
use alluvium_exec::Limits;
use alluvium_query::ErrorCode;
use alluvium_query::pipeline::{MergeInto, Output, PipelineError, Record, WhenMatched, WhenNotMatched};
use alluvium_store::Durability;

/// The logical database that a stage writes to.
pub(super) struct Destination<'d> {
    pub engine: &'d EngineHandle,
    pub logical: &'d str,
    pub durability: Durability,
    pub validates: bool,
    /// The limits of the pipeline, whose time is already running.
    pub limits: &'d Limits,
}

impl Destination<'_> {
    fn name(&self, output: &Output) -> Result<FullName> {
        Ok(FullName::new(output.database.as_deref().unwrap_or(self.logical), &output.collection)?)
    }
}

type Next<'r> = &'r mut dyn FnMut() -> Result<Option<Record>>;

/// Writes the documents into a new collection, which then replaces the collection with this name. The new collection
/// has the indexes and options of the replaced one. An error if these have changed in the meantime.
pub(super) fn out(to: &Destination<'_>, output: &Output, next: Next<'_>) -> Result<()> {
    let target = to.name(output)?;
    replaced(to, &target, next).map_err(|mut error| {
        if let Error::DuplicateKey { collection, .. }
        | Error::DuplicateIndexKey { collection, .. }
        | Error::Validation { collection, .. } = &mut error
        {
            *collection = target.to_string();
        }
        error
    })
}

fn replaced(to: &Destination<'_>, target: &FullName, next: Next<'_>) -> Result<()> {
    let engine = to.engine;
    let former = engine.catalog.find(target)?.map(|state| (state.indexes(), state));
    let options = former.as_ref().map(|(set, _)| (*set.options).clone()).unwrap_or_default();
    if options.capped.is_some() {
        return refuse(ErrorCode::Location17152, format!("$out cannot replace the capped collection {target}"));
    }
    let filling = Filling::begin(engine, &target.logical, options)?;
    for index in former.iter().flat_map(|(set, _)| &set.indexes) {
        let definition = (*index.definition).clone();
        indexes::declare_as(engine, &filling.name, definition)?.build(engine, &filling.name, &Limits::default())?;
    }
    let interrupt = interrupt(to.limits, &engine.env);
    filling.insert_all(to.durability, to.validates, interrupt.as_ref(), || {
        Ok(next()?.map(|record| record.into_map().map_err(PipelineError::from)).transpose()?)
    })?;
    let former = former.map(|(set, state)| Incarnation::of(&state, &set));
    filling.replace(target, former, to.durability)
}

/// Writes each document into a collection, which may already have a matching document. As in MongoDB, documents are
/// written in batches: if a document cannot be written, the others of its batch are written, and then the pipeline ends
/// with the first error.
pub(super) fn merge(to: &Destination<'_>, merge: &MergeInto, next: Next<'_>) -> Result<()> {
    let name = to.name(&merge.into)?;
    let is_by_id = is_by_id(merge);
    if !is_by_id {
        require_unique(to, &name, merge)?;
    }
    let (durability, validates) = (to.durability, to.validates);
    let interrupt = interrupt(to.limits, &to.engine.env);
    let limits = WriteLimits { interrupt: interrupt.as_ref(), patience: None };
    let writer =
        Writer { engine: to.engine, name: &name, durability, validates, limits, record: None, transaction: None };
    let (mut first_error, mut count, mut bytes) = (None, 0, 0);
    loop {
        let record = match next() {
            Ok(Some(record)) => record,
            Ok(None) => break,
            Err(error) => return Err(first_error.unwrap_or(error)),
        };
        let mut map = record.into_map().map_err(PipelineError::from)?;
        if is_by_id {
            ids::ensure_id(&mut map, &to.engine.env);
        }
        Present::at(to.engine.env.clock.unix_millis()).fill(&mut map);
        let filter = on_filter(merge, &map)?;
        (count, bytes) = (count + 1, bytes + bson::document_size(&map));
        match merge_one(to, merge, &writer, &map, &filter) {
            Err(error) if is_of_document(&error) => drop(first_error.get_or_insert(error)),
            Err(error) => return Err(first_error.unwrap_or(error)),
            Ok(()) => {}
        }
        if count == BATCH || bytes > BATCH_BYTES {
            if let Some(error) = first_error {
                return Err(error);
            }
            (count, bytes) = (0, 0);
        }
    }
    first_error.map_or(Ok(()), Err)
}

fn is_by_id(merge: &MergeInto) -> bool {
    matches!(&merge.on[..], [path] if path.as_str() == ids::ID)
}

/// True if an error concerns only one document, so that other documents may still be written.
fn is_of_document(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::DuplicateKey | ErrorKind::Invalid)
}

fn merge_one(to: &Destination<'_>, merge: &MergeInto, writer: &Writer<'_>, map: &Map, filter: &Map) -> Result<()> {
    // Between the search and the write another write may insert or delete the document.
    loop {
        let found = if is_by_id(merge) {
            let id = map.get(ids::ID).cloned().unwrap_or_default();
            Reader::new(to.engine, writer.name, None)?.get(&id)?.map(|_| id)
        } else {
            find_id(to, writer.name, merge, filter)?
        };
        let done = match found {
            Some(id) => matched(writer, merge, &id, map)?,
            None => not_matched(writer, to, merge, map)?,
        };
        if done {
            return Ok(());
        }
    }
}

/// The filter that finds the document to change.
fn on_filter(merge: &MergeInto, map: &Map) -> Result<Map> {
    let mut filter = Map::new();
    for path in &merge.on {
        match path.get_in(map) {
            None | Some(Value::Null | Value::Undefined) => {
                let message = format!("$merge finds documents by '{path}', and a document has no value there");
                return refuse(ErrorCode::Location51132, message);
            }
            Some(Value::Array(_)) => {
                let message = format!("$merge finds documents by '{path}', and a document has an array there");
                return refuse(ErrorCode::Location51185, message);
            }
            Some(value) => filter.push(path.as_str(), Map::from([("$eq", value.clone())])),
        }
    }
    Ok(filter)
}

/// An error unless a unique index has exactly these paths.
fn require_unique(to: &Destination<'_>, name: &FullName, merge: &MergeInto) -> Result<()> {
    let state = to.engine.catalog.find(name)?;
    let has = state.is_some_and(|state| {
        state.indexes().indexes.iter().any(|index| {
            let definition = &index.definition;
            definition.is_unique()
                && definition.collation() == merge.around.collation()
                && definition.partial_filter().is_none()
                && definition.parts().len() == merge.on.len()
                && definition.parts().iter().all(|part| merge.on.contains(&part.path))
        })
    });
    if has {
        return Ok(());
    }
    let paths: Vec<&str> = merge.on.iter().map(|path| path.as_str()).collect();
    refuse(
        ErrorCode::Location51183,
        format!(
            "$merge into {name} by {} needs a unique index on exactly these fields, with the collation of the pipeline",
            paths.join(", ")
        ),
    )
}

fn find_id(to: &Destination<'_>, name: &FullName, merge: &MergeInto, filter: &Map) -> Result<Option<Value>> {
    let view = CollectionView::open(to.engine, name, None)?;
    let mut request = FindRequest::new(filter.clone());
    request.limit = Some(1);
    request.limits = to.limits.clone();
    let moment = moment_in(to.engine).collated(merge.around.collation().cloned());
    let query = Query::new(request, limited(moment, to.limits, &to.engine.env))?;
    Ok(Execution::new(view, query, false)?.next_raw()?.map(|document| document.id().clone()))
}

fn immutable_id<T>(writer: &Writer<'_>) -> Result<T> {
    let message = format!("$merge into {} would change an _id, which never changes: leave it out", writer.name);
    refuse(ErrorCode::ImmutableField, message)
}

/// Writes a document that matches a stored document. Returns false if the stored document no longer exists.
fn matched(writer: &Writer<'_>, merge: &MergeInto, id: &Value, map: &Map) -> Result<bool> {
    if let Some(own) = map.get(ids::ID)
        && !equal(own, id)
        && matches!(merge.matched, WhenMatched::Replace | WhenMatched::Merge)
    {
        return immutable_id(writer);
    }
    let mut replaced = map.clone();
    if !replaced.contains(ids::ID) {
        ids::set_id(&mut replaced, id.clone())?;
    }
    match &merge.matched {
        WhenMatched::Keep => Ok(true),
        WhenMatched::Fail => {
            let (collection, id) = (writer.name.to_string(), crate::error::id_text(id));
            Err(Error::DuplicateKey { collection, id })
        }
        WhenMatched::Replace => writer.modify(id, |draft| {
            draft.replace(replaced.clone());
            Ok(true)
        }),
        WhenMatched::Merge => writer.modify(id, |draft| {
            for (field, value) in &map.entries {
                if let Some(field) = field.as_str().filter(|field| *field != ids::ID) {
                    draft.set(field, value.clone())?;
                }
            }
            Ok(true)
        }),
        WhenMatched::Pipeline { .. } => {
            let changes = merge.changes_for(&Record::Map(map.clone()))?;
            writer.modify(id, |draft| {
                let mut changed = changes.apply(draft.clone().into_map()?)?;
                match changed.get(ids::ID) {
                    Some(own) if !equal(own, id) => return immutable_id(writer),
                    _ => ids::keep_id(&mut changed, id.clone())?,
                }
                Present::at(writer.engine.env.clock.unix_millis()).fill(&mut changed);
                *draft.map()? = changed;
                Ok(true)
            })
        }
    }
}

/// Writes a document that matches no stored document. Returns false if a stored document matches now.
fn not_matched(writer: &Writer<'_>, to: &Destination<'_>, merge: &MergeInto, map: &Map) -> Result<bool> {
    match merge.not_matched {
        WhenNotMatched::Discard => Ok(true),
        WhenNotMatched::Fail => refuse(
            ErrorCode::MergeStageNoMatchingDocument,
            format!("$merge into {} finds no document for one of the pipeline: insert or discard it", writer.name),
        ),
        WhenNotMatched::Insert => {
            let mut map = map.clone();
            ids::ensure_id(&mut map, &to.engine.env);
            match (Writer { ..*writer }).insert(std::slice::from_ref(&map)) {
                Ok(()) => Ok(true),
                Err(refused @ (Error::DuplicateKey { .. } | Error::DuplicateIndexKey { .. }))
                    if !matches!(merge.matched, WhenMatched::Fail) =>
                {
                    // The insert may also be refused by a document that `on` does not find, which has the same `_id` or
                    // the same key in another index.
                    let found = find_id(to, writer.name, merge, &on_filter(merge, &map)?)?;
                    if found.is_some() { Ok(false) } else { Err(refused) }
                }
                Err(error) => Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests;
