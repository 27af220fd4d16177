//! Writes of single documents by `_id`: blind writes, and atomic read-modify-write.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::ids;
use crate::names::FullName;
use crate::read::Reader;
use crate::results::{UpdateResult, Version, Written};
use crate::snapshot::Snapshot;
use crate::write::{WriteTxn, Writer};
use alluvium_document::bson_row::BsonRowEncoder;
use alluvium_document::{Document, Draft, Given, Map, Value};
use alluvium_query::update::{Context, Update};
use std::borrow::Cow;

/// The form in which a changed document is written.
pub(crate) enum Change {
    Nothing,
    /// The draft is written as a row.
    Row,
    /// The draft is written as a row, or as this delta, which has the same effect.
    Delta(Vec<u8>),
    Delete,
}

/// A delta is written if the row would be at least this many times as large.
const WORTH_A_DELTA: usize = 4;
/// A checked update writes a row if the document has this many deltas already, because each delta slows reads until it
/// is folded.
const DELTAS_MAX: usize = 7;

impl<'a> Writer<'a> {
    /// Inserts documents that have their `_id`s, all or none.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`], [`Error::InvalidDocument`], [`Error::InvalidId`]; as for any write.
    pub fn insert(&self, documents: &'a [Map]) -> Result<()> {
        self.insert_with_result(documents, &Written::default())
    }

    /// As [`Writer::insert`]; the record of the write is made from `written`.
    pub(crate) fn insert_with_result(&self, documents: &'a [Map], written: &Written) -> Result<()> {
        self.blind(|txn| {
            documents.iter().try_for_each(|document| txn.insert(0, document))?;
            self.put_record(txn, written)
        })
    }

    /// Puts a document that has its `_id`, replacing an existing one. Reads nothing.
    ///
    /// # Errors
    /// [`Error::InvalidDocument`], [`Error::InvalidId`]; as for any write.
    pub fn put(&self, document: &Map) -> Result<()> {
        self.blind(|txn| txn.put(0, document))
    }

    /// As [`Writer::insert`], for documents in any input form. Documents without an `_id` get one. Returns their
    /// `_id`s.
    ///
    /// # Errors
    /// As [`Writer::insert`]; [`Error::Json`].
    pub fn insert_given(&self, documents: Vec<Given>) -> Result<Vec<Value>> {
        let is_text = |given: &Given| matches!(given, Given::Json(_));
        let is_bson = |given: &Given| matches!(given, Given::Bson(_));
        // An invalid document must not create a collection.
        let exists = self.existing()?.is_some();
        if exists && documents.iter().all(is_bson) {
            return self.insert_bson(&documents);
        }
        if !documents.iter().all(is_text) || !exists {
            let maps = documents.into_iter().map(|given| {
                let mut map = given.into_fields()?;
                ids::ensure_id(&mut map, &self.engine.env);
                Ok(map)
            });
            let maps = maps.collect::<Result<Vec<Map>>>()?;
            Writer { ..*self }.insert(&maps)?;
            let id = |map: Map| map.get(ids::ID).cloned().unwrap_or(Value::Null);
            return Ok(maps.into_iter().map(id).collect());
        }
        let texts = documents.iter().filter_map(|given| if let Given::Json(text) = given { Some(text) } else { None });
        let texts: Vec<&String> = texts.collect();
        self.blind(|txn| {
            let shapes = txn.shapes(0).clone();
            self.engine.encoders.with(self.engine.store(), &shapes, |encoder| {
                let insert = |text: &&String| {
                    let new_id = || Value::ObjectId(crate::object_id::new_object_id(&self.engine.env));
                    if let Some(id) = txn.insert_json(encoder, text, new_id)? {
                        return Ok(id);
                    }
                    let mut map = Given::parse(text)?;
                    ids::ensure_id(&mut map, &self.engine.env);
                    let id = map.get(ids::ID).cloned().unwrap_or(Value::Null);
                    txn.insert_by(0, &map, Cow::Owned(id.clone()))?;
                    Ok(id)
                };
                let ids = texts.iter().map(insert).collect::<Result<Vec<Value>>>()?;
                self.put_record(txn, &Written::default())?;
                Ok(ids)
            })
        })
    }

    /// As [`Writer::insert_given`], of documents that are given as BSON.
    fn insert_bson(&self, documents: &[Given]) -> Result<Vec<Value>> {
        let mut encoder = BsonRowEncoder::default();
        self.blind(|txn| {
            let mut ids = Vec::with_capacity(documents.len());
            for given in documents {
                let Given::Bson(bytes) = given else { continue };
                if let Some(id) = txn.insert_bson(&mut encoder, bytes)? {
                    ids.push(id);
                    continue;
                }
                let mut map = given.clone().into_fields()?;
                ids::ensure_id(&mut map, &self.engine.env);
                let id = map.get(ids::ID).cloned().unwrap_or(Value::Null);
                txn.insert_by(0, &map, Cow::Owned(id.clone()))?;
                ids.push(id);
            }
            self.put_record(txn, &Written::default())?;
            Ok(ids)
        })
    }

    /// As [`Writer::put`], for a document in any input form, with this `_id`. If the document has an `_id`, the two
    /// must be equal.
    ///
    /// # Errors
    /// As [`Writer::put`]; [`Error::Json`].
    pub fn put_given(&self, id: Value, document: Given) -> Result<()> {
        let text = match document {
            Given::Json(text) if self.existing()?.is_some() => text,
            // An invalid document must not create a collection.
            other => {
                let mut map = other.into_fields()?;
                ids::set_id(&mut map, id)?;
                return self.put(&map);
            }
        };
        self.blind(|txn| {
            let shapes = txn.shapes(0).clone();
            if self.engine.encoders.with(self.engine.store(), &shapes, |encoder| txn.put_json(encoder, &text, &id))? {
                return Ok(());
            }
            let mut map = Given::parse(&text)?;
            ids::set_id(&mut map, id.clone())?;
            txn.put(0, &map)
        })
    }

    /// Deletes the document with this `_id`, whether it exists or not. Reads nothing.
    ///
    /// # Errors
    /// [`Error::InvalidId`]; as for any write.
    pub fn delete(&self, id: &Value) -> Result<()> {
        let key = ids::id_key(id)?;
        self.blind_existing(|txn| {
            txn.delete(0, &key);
            Ok(())
        })?;
        Ok(())
    }

    /// Deletes and returns the document with this key if `predicate` returns true for it.
    ///
    /// # Errors
    /// As for any read and write; errors of `predicate`; [`Error::DamagedDocument`] if the key cannot be decoded.
    pub fn remove(
        &self,
        key: &[u8],
        mut predicate: impl FnMut(&Document) -> Result<bool>,
        written: impl Fn(&Option<Document>) -> Result<Written>,
    ) -> Result<Option<Document>> {
        let remove = |draft: &mut Draft| {
            let document = draft.original().clone();
            Ok(if predicate(&document)? { (Change::Delete, Some(document)) } else { (Change::Nothing, None) })
        };
        let removed = self.rewrite_key(key, None, remove, |document| written(document).map(Some))?;
        Ok(removed.flatten())
    }

    /// As [`Writer::rewrite_key`], for the document with this `_id`.
    fn rewrite<T>(
        &self,
        id: &Value,
        update: Option<&Update>,
        change: impl FnMut(&mut Draft) -> Result<(Change, T)>,
        written: impl Fn(&T) -> Result<Option<Written>>,
    ) -> Result<Option<T>> {
        self.rewrite_key(&ids::id_key(id)?, update, change, written)
    }

    /// Reads a document, calls `change` on it, and writes it back; no other write of the document comes in between.
    /// `change` is called again when the write starts over. Returns the value of the last call of `change`, or `None`
    /// if the document does not exist. If `change` applies an update, the caller passes it as `update`, so that an
    /// update that touches no index writes no index entries. If the document changes, the record of the write is made
    /// from the result of `written`.
    pub(crate) fn rewrite_key<T>(
        &self,
        key: &[u8],
        update: Option<&Update>,
        mut change: impl FnMut(&mut Draft) -> Result<(Change, T)>,
        written: impl Fn(&T) -> Result<Option<Written>>,
    ) -> Result<Option<T>> {
        self.reading(key, |txn| {
            let changed = self.change_read(txn, key, update, &mut change);
            if let (Ok(Some(value)), true) = (&changed, self.record.is_some() && !txn.is_empty())
                && let Some(written) = written(value)?
            {
                self.put_record(txn, &written)?;
            }
            // The error names the document, whether it is damaged or the update cannot be applied to it.
            changed.map_err(|error| error.of_document(self.name, || ids::key_text(key)))
        })
    }

    fn change_read<T>(
        &self,
        txn: &mut WriteTxn<'a>,
        key: &[u8],
        update: Option<&Update>,
        change: &mut impl FnMut(&mut Draft) -> Result<(Change, T)>,
    ) -> Result<Option<T>> {
        let reader = txn.reader(0);
        let Some(folded) = reader.get_folded(key)? else { return Ok(None) };
        let before = folded.document;
        let mut draft = reader.draft(before.clone())?;
        txn.note_before(0, key, Some(&before));
        let (change, value) = change(&mut draft)?;
        match change {
            Change::Nothing => {}
            Change::Delete => txn.delete_read(0, key, &before)?,
            Change::Delta(delta) if folded.deltas < DELTAS_MAX && is_worth_it(&delta, &draft) && !txn.is_capped(0) => {
                match update.is_none_or(|update| txn.indexes(0).is_touched_by(update)) {
                    true => txn.delta_read(0, key, &delta, &before, &draft)?,
                    false => txn.delta_untouched(0, key, &delta, &draft)?,
                }
            }
            Change::Row | Change::Delta(_) => txn.put_draft(0, key, &before, draft)?,
        }
        Ok(Some(value))
    }

    /// Calls `change` on a document, and writes the document back if it returns true. Returns false
    /// if the document does not exist.
    ///
    /// # Errors
    /// As for any read and write; errors of `change`.
    pub fn modify(&self, id: &Value, mut change: impl FnMut(&mut Draft) -> Result<bool>) -> Result<bool> {
        let change = |draft: &mut Draft| {
            let change = if change(draft)? { Change::Row } else { Change::Nothing };
            Ok((change, ()))
        };
        let found = self.rewrite(id, None, change, no_record)?;
        Ok(found.is_some())
    }

    /// Applies an update to the document with this `_id`.
    ///
    /// # Errors
    /// [`Error::UpdateOf`] if it cannot be applied; as for any read and write.
    pub fn update(&self, id: &Value, update: &Update) -> Result<UpdateResult> {
        let apply = |draft: &mut Draft| {
            let context = self.engine.update_context();
            let changed = update.apply(draft, &context)?.changed;
            Ok((change_by(update, &context, changed), changed))
        };
        let changed = self.rewrite(id, Some(update), apply, no_record)?;
        Ok(UpdateResult {
            matched_count: u64::from(changed.is_some()),
            modified_count: u64::from(changed == Some(true)),
            upserted_id: None,
        })
    }

    /// Writes an update as a delta, without reading the document. If the update touches an index, the document is read
    /// nevertheless. If the update cannot be applied, the document is unchanged.
    ///
    /// # Errors
    /// As for any write.
    pub fn update_blind(&self, id: &Value, update: &Update) -> Result<()> {
        let delta = update.to_delta(&self.engine.update_context())?;
        if self.transaction.is_some() {
            // Its commit has to know all documents that it depends on.
            return self.update(id, update).map(drop);
        }
        let key = ids::id_key(id)?;
        let is_blind = self.blind_existing(|txn| {
            let indexes = txn.indexes(0);
            // An update that compares values by a collation has to read the document.
            let compares = || indexes.options.collation.is_some() && update.compares();
            if indexes.is_touched_by(update) || compares() {
                return Ok(false);
            }
            txn.delta(0, &key, &delta);
            Ok(true)
        })?;
        if is_blind != Some(false) {
            return Ok(());
        }
        let collated = self.engine.catalog.collation(self.name).map(|by| update.clone().collated(Some(&by)));
        let update = collated.as_ref().unwrap_or(update);
        match self.update(id, update) {
            Ok(_) => Ok(()),
            // The error is not returned, because a delta that cannot be applied does not return one either.
            Err(Error::Update(_) | Error::UpdateOf { .. }) => Ok(self.engine.store().check_writable()?),
            Err(error) => Err(error),
        }
    }

    /// Replaces a document if it still has this version. Returns false otherwise.
    ///
    /// # Errors
    /// As for any read and write.
    pub fn replace_if(&self, id: &Value, version: Version, document: &Map) -> Result<bool> {
        let key = ids::id_key(id)?;
        let replace = |draft: &mut Draft| {
            // The document is locked, so its visible version does not change.
            let is_same = self.version(&key)? == Some(version.0);
            if is_same {
                draft.replace(document.clone());
            }
            Ok((if is_same { Change::Row } else { Change::Nothing }, is_same))
        };
        let replaced = self.rewrite(id, None, replace, no_record)?;
        Ok(replaced == Some(true))
    }
}

/// The `written` function of writes that are never recorded.
fn no_record<T>(_: &T) -> Result<Option<Written>> {
    Ok(None)
}

/// A document and its version.
///
/// # Errors
/// As for any read.
pub fn get_versioned(
    engine: &EngineHandle,
    name: &FullName,
    at: Option<&Snapshot>,
    id: &Value,
) -> Result<Option<(Document, Version)>> {
    // Both are read at one snapshot, so that the version belongs to the document.
    let snapshot = at.cloned().unwrap_or_else(|| engine.snapshot());
    let Some(document) = Reader::new(engine, name, Some(&snapshot))?.get(id)? else { return Ok(None) };
    let state = engine.collection_at(name, Some(&snapshot))?;
    let seq = engine.store().version_at(&snapshot.store, state.documents, &ids::id_key(id)?)?;
    Ok(seq.map(|seq| (document, Version(seq))))
}

/// The form in which the effect of an applied update is written.
pub(crate) fn change_by(update: &Update, context: &Context, changed: bool) -> Change {
    if !changed {
        return Change::Nothing;
    }
    // An update that names `_id` cannot be a delta. It was applied, so it has not changed the `_id`.
    update.to_delta(context).map_or(Change::Row, Change::Delta)
}

/// True if a delta saves enough bytes. False if the document gains or loses fields: it is written as a row, so that its
/// shape has the new fields.
fn is_worth_it(delta: &[u8], draft: &Draft) -> bool {
    draft.patched_bytes().is_some_and(|row| delta.len() * WORTH_A_DELTA <= row)
}

#[cfg(test)]
mod tests;
