//! Writes of the documents that match a filter.
//!
//! The matching documents are found at one snapshot, each once. Each document is then read again under its lock,
//! matched again, and written in a batch of its own, so counts are exact and no concurrent write is lost. A write of
//! one document searches again if the document that it found no longer matches. An upsert that finds nothing holds a
//! lock on the filter while it searches again and inserts. Therefore only one of several concurrent upserts with the
//! same filter inserts a document, even without a unique index.

mod found;

use crate::by_id::{Change, change_by};
use crate::error::{Error, Result};
use crate::find::{Execution, Explanation, Query, project};
use crate::ids;
use crate::read::matches;
use crate::results::{ReturnDocument, UpdateResult, Written};
use crate::view::CollectionView;
use crate::write::{Writer, demands_key};
use alluvium_document::{Document, DocumentError, Draft, Value};
use alluvium_query::filter::Filter;
use alluvium_query::update::{Modification, Update};
use found::FoundKeys;
use std::sync::Arc;

/// The maximum number of attempts of an upsert whose search finds nothing, but whose insert is refused as a duplicate
/// of a key that the filter demands. That happens if other writers insert and delete the document between search and
/// insert.
const UPSERT_ATTEMPTS_MAX: usize = 16;

/// The change of the matching documents.
#[derive(Clone)]
pub enum Action {
    /// The document is updated or replaced.
    Modify(Modification),
    /// The document is deleted.
    Delete,
}

/// A write of the documents that match a query.
pub struct FilterWrite<'a> {
    /// The writer to the collection.
    pub writer: Writer<'a>,
    /// Selects the documents.
    pub query: Query,
    /// The change.
    pub action: Action,
    /// Inserts a document if none matches.
    pub upsert: bool,
    /// The version of the document to return.
    pub returned: Option<ReturnDocument>,
    /// Refuses the write if BSON cannot hold the document to return.
    pub as_bson: bool,
}

impl FilterWrite<'_> {
    /// Writes one matching document, or upserts.
    ///
    /// # Errors
    /// As for any read and write.
    pub fn one(&mut self) -> Result<Written> {
        if let Some(key) = self.named_key() {
            return self.one_by_key(&key);
        }
        self.query.limit = Some(1);
        let mut refused = 0;
        loop {
            match self.first()? {
                Some(key) => {
                    let done = self.write(&key)?;
                    if done.matched {
                        return Ok(done);
                    }
                }
                None if !self.upsert => {
                    // "No match" is a valid result only if all earlier writes have a known outcome.
                    self.writer.engine.store().check_writable()?;
                    return Ok(Written::default());
                }
                None => {
                    if let Some(done) = self.insert_or_retry(&mut refused)? {
                        return Ok(done);
                    }
                }
            }
        }
    }

    /// Writes all matching documents, or upserts if none matches. An error reports the counts up to
    /// it.
    ///
    /// # Errors
    /// As for any read and write; [`Error::WriteMany`] after the first document was written.
    pub fn all(&mut self) -> Result<UpdateResult> {
        if let Some(key) = self.named_key() {
            return self.one_by_key(&key).map(UpdateResult::from);
        }
        let mut result = UpdateResult::default();
        match self.add_all(&mut result) {
            Ok(()) => Ok(result),
            Err(error) if result.matched_count == 0 => Err(error),
            Err(error) => Err(Error::WriteMany {
                matched_count: result.matched_count,
                modified_count: result.modified_count,
                deleted: matches!(self.action, Action::Delete),
                error: Box::new(error),
            }),
        }
    }

    /// The key of the `_id` that the filter names, if the filter has no other condition and the query has no hint. In
    /// that case no plan is needed: the document is written as in [`crate::by_id`]. `None` for any other query, and for
    /// a value that cannot be an `_id`.
    fn named_key(&self) -> Option<Vec<u8>> {
        let id = self.query.filter.named_id().filter(|_| self.query.hint.is_none())?;
        ids::id_key(id).ok()
    }

    fn one_by_key(&self, key: &[u8]) -> Result<Written> {
        let mut refused = 0;
        loop {
            self.query.request.limits.check(&self.writer.engine.env)?;
            match self.write(key) {
                Ok(done) if done.matched => return Ok(done),
                Ok(done) if !self.upsert => {
                    // "No match" is a valid result only if the documents that were read are or will be durable. In a
                    // poisoned store they may not be.
                    self.writer.engine.store().check_writable()?;
                    return Ok(done);
                }
                Err(Error::NoSuchCollection { .. }) if self.upsert => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            // No lock on the filter is needed: only one of several upserts of the same `_id` can insert it.
            match self.insert() {
                Err(error) if refused + 1 < UPSERT_ATTEMPTS_MAX && self.is_duplicate_demanded(&error) => refused += 1,
                result => return result,
            }
        }
    }

    fn add_all(&mut self, result: &mut UpdateResult) -> Result<()> {
        let mut refused = 0;
        loop {
            self.add_found(result)?;
            if result.matched_count > 0 || !self.upsert {
                break;
            }
            // No document was found, or none still matched under its lock.
            if let Some(done) = self.insert_or_retry(&mut refused)? {
                result.upserted_id = done.upserted_id;
                break;
            }
        }
        if result.matched_count == 0 && result.upserted_id.is_none() {
            self.writer.engine.store().check_writable()?;
        }
        Ok(())
    }

    /// Writes all documents that are found and still match under their locks. The snapshot is
    /// dropped before the first write, because a long write would exceed its maximum age.
    fn add_found(&mut self, result: &mut UpdateResult) -> Result<()> {
        let execution = self.execute()?;
        let mut found = FoundKeys::collect(execution, self.writer.engine, &self.query.request.limits)?;
        while let Some(key) = found.next(&self.query.request.limits)? {
            self.query.request.limits.check(&self.writer.engine.env)?;
            let done = self.write(&key)?;
            result.matched_count += u64::from(done.matched);
            result.modified_count += u64::from(done.matched && done.changed);
        }
        Ok(())
    }

    /// Executes the search without the write, and explains it. `one`: as for [`FilterWrite::one`].
    ///
    /// # Errors
    /// As for any read.
    pub fn explain(&mut self, one: bool) -> Result<Explanation> {
        self.query.limit = one.then_some(1);
        self.query.only_ids();
        Execution::new(self.view()?, self.query.clone(), true)?.explain()
    }

    fn execute(&mut self) -> Result<Execution> {
        self.query.only_ids();
        Execution::new(self.view()?, self.query.clone(), false)
    }

    /// The collection, as the search reads it.
    fn view(&self) -> Result<Arc<CollectionView>> {
        CollectionView::open(self.writer.engine, self.writer.name, self.writer.snapshot()?.as_ref())
    }

    /// The key of the first matching document.
    fn first(&mut self) -> Result<Option<Vec<u8>>> {
        self.execute()?.next_key()
    }

    /// Writes the document with this key, if it still matches.
    fn write(&self, key: &[u8]) -> Result<Written> {
        let (filter, name) = (&self.query.filter, self.writer.name);
        match &self.action {
            Action::Delete => {
                let written = |document: &Option<Document>| self.deleted(document.clone());
                let predicate = |document: &Document| {
                    let is_deleted = matches(filter, name, document)?;
                    if is_deleted && self.as_bson && self.returned.is_some() {
                        self.to_return(document.clone())?;
                    }
                    Ok(is_deleted)
                };
                let document = self.writer.remove(key, predicate, written)?;
                self.deleted(document)
            }
            Action::Modify(modification) => self.modify(key, modification, filter),
        }
    }

    /// The result of a delete: the document, if one was deleted.
    fn deleted(&self, document: Option<Document>) -> Result<Written> {
        let matched = document.is_some();
        let document = document.map(|document| project(&self.query, document)).transpose()?;
        Ok(Written { matched, changed: true, document, upserted_id: None })
    }

    fn modify(&self, key: &[u8], modification: &Modification, filter: &Filter) -> Result<Written> {
        // An update with positional operators differs from document to document.
        let same = match modification {
            Modification::Update(update) if !update.needs_position() => Some(update),
            _ => None,
        };
        let rewrite = |draft: &mut Draft| {
            if !matches(filter, self.writer.name, draft.original())? {
                return Ok((Change::Nothing, Written::default()));
            }
            let before = (self.returned == Some(ReturnDocument::Before)).then(|| draft.original().clone());
            let change = self.apply(modification, filter, draft)?;
            let document = match self.returned {
                Some(ReturnDocument::After) => Some(after(draft)?),
                _ => before,
            };
            let document = document.map(|document| self.to_return(document)).transpose()?;
            let changed = !matches!(change, Change::Nothing);
            Ok((change, Written { matched: true, changed, document, upserted_id: None }))
        };
        let written = self.writer.rewrite_key(key, same, rewrite, |written: &Written| Ok(Some(written.clone())))?;
        Ok(written.unwrap_or_default())
    }

    /// The document that the write returns. Called before the write.
    fn to_return(&self, document: Document) -> Result<Document> {
        let document = project(&self.query, document)?;
        if self.as_bson
            && let Err(DocumentError::Bson(error)) = document.write_bson(&mut Vec::new())
        {
            return Err(Error::not_bson(&self.writer.name.to_string(), &document, &error));
        }
        Ok(document)
    }

    fn apply(&self, modification: &Modification, filter: &Filter, draft: &mut Draft) -> Result<Change> {
        let update = match modification {
            Modification::Replacement(replacement) => {
                let changed = replacement.apply(draft)?.changed;
                return Ok(if changed { Change::Row } else { Change::Nothing });
            }
            Modification::Piped(piped) => {
                let changed = piped.apply(draft)?.changed;
                return Ok(if changed { Change::Row } else { Change::Nothing });
            }
            Modification::Update(update) => update,
        };
        let resolved: Update;
        let update = if update.needs_position() {
            resolved = update.resolved(filter, draft.original())?;
            &resolved
        } else {
            update
        };
        let context = self.writer.engine.update_context();
        let changed = update.apply(draft, &context)?.changed;
        Ok(change_by(update, &context, changed))
    }

    /// As [`FilterWrite::insert_unless_found`], but returns `None` also if another document has the key that the filter
    /// demands, so that the caller searches again. `refused` counts these cases.
    fn insert_or_retry(&mut self, refused: &mut usize) -> Result<Option<Written>> {
        match self.insert_unless_found() {
            Err(error) if *refused + 1 < UPSERT_ATTEMPTS_MAX && self.is_duplicate_demanded(&error) => {
                *refused += 1;
                Ok(None)
            }
            result => result,
        }
    }

    /// True if the error is a duplicate key and the document with that key matches the filter, so that a new search
    /// finds the document. As in MongoDB, that holds if the filter demands this key and nothing else. After any other
    /// duplicate key, the insert would be refused again.
    fn is_duplicate_demanded(&self, error: &Error) -> bool {
        let filter = &self.query.filter;
        match error {
            Error::DuplicateKey { .. } => {
                let mut demanded = filter.equalities().map(|(path, _)| path);
                filter.is_equalities() && demanded.next() == Some("_id") && demanded.next().is_none()
            }
            Error::DuplicateIndexKey { index, key, .. } => {
                // If the index was dropped since, it no longer refuses the insert.
                let indexes = self.view().map(|view| view.state.indexes());
                indexes.is_ok_and(|set| set.find(index).is_none_or(|index| demands_key(filter, index, key)))
            }
            _ => false,
        }
    }

    /// Inserts the document that the filter and the update describe, under a lock on the filter.
    /// `None` if a document matches after all.
    fn insert_unless_found(&mut self) -> Result<Option<Written>> {
        let state = self.writer.find_or_create()?;
        // Two filters that are equal under a collation may have different texts.
        let is_collated = self.query.filter.collation().is_some();
        let text = if is_collated { String::new() } else { self.query.filter.to_string() };
        let hash = alluvium_codec::hash64(text.as_bytes());
        // Upserts of transactions do not wait for each other: of two that insert the same key, one has a conflict.
        let _alone = self.writer.transaction.is_none().then(|| state.upserts.lock(hash));
        match self.first()? {
            Some(_) => Ok(None),
            None => self.insert().map(Some),
        }
    }

    /// Inserts the document that the filter and the update describe.
    fn insert(&self) -> Result<Written> {
        let Action::Modify(modification) = &self.action else { return Ok(Written::default()) };
        let mut map = match modification {
            Modification::Update(update) => {
                update.for_upsert_by(&self.query.filter, self.writer.engine.update_context().time_ms)?
            }
            Modification::Replacement(replacement) => replacement.for_upsert_by(&self.query.filter)?,
            Modification::Piped(piped) => {
                piped.for_upsert_by(&self.query.filter, self.writer.engine.update_context().time_ms)?
            }
        };
        ids::ensure_id(&mut map, &self.writer.engine.env);
        let id = map.get(ids::ID).cloned().unwrap_or(Value::Null);
        let document = match self.returned {
            Some(ReturnDocument::After) => Some(self.to_return(Document::from_map(&map)?)?),
            _ => None,
        };
        let written = Written { upserted_id: Some(id), document, ..Written::default() };
        self.writer.insert_with_result(std::slice::from_ref(&map), &written)?;
        Ok(written)
    }
}

/// The stored form of a draft.
fn after(draft: &Draft) -> Result<Document> {
    let mut map = draft.clone().into_map()?;
    ids::keep_id(&mut map, draft.id().clone())?;
    Ok(Document::from_map(&map)?)
}

#[cfg(test)]
mod tests;
