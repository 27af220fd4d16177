//! Writes of the documents that match a filter.
//!
//! The matching documents are found at one snapshot, each once. Each is then read again under its lock, matched
//! again, and written by a batch of its own: so counts are true, and no concurrent write is lost. A write of
//! one document searches again if the document that it found does not match any more. An upsert that finds nothing holds a lock on
//! the filter while it looks once more and inserts: of several upserts with one filter at once, one inserts, also without a
//! unique index.

mod found;

use crate::by_id::{Change, change_by};
use crate::error::{Error, Result};
use crate::find::{Execution, Explanation, Query};
use crate::ids;
use crate::read::matches;
use crate::results::{ReturnDocument, UpdateResult};
use crate::view::CollectionView;
use crate::write::{Writer, is_asked_for};
use alluvium_document::{Document, Draft, Value};
use alluvium_query::filter::Filter;
use alluvium_query::update::{Modification, Update};
use found::FoundKeys;

/// An upsert searches again at most this many times if its key is taken, although nothing matched: another writer may have
/// inserted it.
const UPSERTS_MAX: usize = 16;

/// What is done to documents that match.
#[derive(Clone)]
pub enum Action {
    /// The document is updated or replaced.
    Modify(Modification),
    /// The document is deleted.
    Delete,
}

/// A write of the documents that match a query.
pub struct FilterWrite<'a> {
    /// Writes the documents.
    pub writer: Writer<'a>,
    /// Which documents.
    pub query: Query,
    /// What is done to them.
    pub action: Action,
    /// One document is inserted if none matches.
    pub upsert: bool,
    /// Which version of the document to return.
    pub returned: Option<ReturnDocument>,
}

/// What was done to one document.
#[derive(Default)]
pub struct Written {
    /// A document matched.
    pub matched: bool,
    /// It changed.
    pub changed: bool,
    /// The version that was requested.
    pub document: Option<Document>,
    /// The `_id` of the document that was inserted.
    pub upserted_id: Option<Value>,
}

impl From<Written> for UpdateResult {
    fn from(written: Written) -> Self {
        Self {
            matched_count: u64::from(written.matched),
            modified_count: u64::from(written.matched && written.changed),
            upserted_id: written.upserted_id,
        }
    }
}

impl FilterWrite<'_> {
    /// Does it to one document, or inserts one.
    ///
    /// # Errors
    /// As for any read and write.
    pub fn one(&mut self) -> Result<Written> {
        if let Some(id) = self.named_id() {
            return self.one_by_id(id);
        }
        self.query.limit = Some(1);
        let mut refused = 0;
        loop {
            match self.first()? {
                Some(key) => {
                    let done = self.write_key(&key)?;
                    if done.matched {
                        return Ok(done);
                    }
                }
                None if !self.upsert => {
                    // Only if what was found is what is there.
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

    /// Does it to all that match; inserts one if there is none. An error says what was done before it.
    ///
    /// # Errors
    /// As for any read and write; [`Error::WriteMany`] after the first document.
    pub fn all(&mut self) -> Result<UpdateResult> {
        if let Some(id) = self.named_id() {
            return self.one_by_id(id).map(UpdateResult::from);
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

    /// The `_id` that the filter names, if it has no other condition and nothing is hinted: the document is written like
    /// those of [`crate::by_id`], without a plan. `None` also for a value that no `_id` has.
    fn named_id(&self) -> Option<&Value> {
        let id = self.query.filter.named_id().filter(|_| self.query.hint.is_none())?;
        ids::id_key(id).is_ok().then_some(id)
    }

    fn one_by_id(&self, id: &Value) -> Result<Written> {
        let mut refused = 0;
        loop {
            self.query.limits.check(&self.writer.engine.env)?;
            match self.write(id) {
                Ok(done) if done.matched => return Ok(done),
                Ok(done) if !self.upsert => {
                    // Only if what was found is what is there.
                    self.writer.engine.store().check_writable()?;
                    return Ok(done);
                }
                Err(Error::NoSuchCollection { .. }) if self.upsert => {}
                Err(error) => return Err(error),
                Ok(_) => {}
            }
            // No lock on the filter: of several upserts of one `_id`, one inserts in any case.
            match self.insert() {
                Err(error) if refused + 1 < UPSERTS_MAX && self.asks_for_taken(&error) => refused += 1,
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
            // None is there, or none matched any more when it was to be written.
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

    /// Does it to all that are found, and still match when they are written. The snapshot is let go before anything is
    /// written: a long write would otherwise outlive it.
    fn add_found(&mut self, result: &mut UpdateResult) -> Result<()> {
        let execution = self.execute()?;
        let mut found = FoundKeys::collect(execution, self.writer.engine, &self.query.limits)?;
        while let Some(key) = found.next()? {
            self.query.limits.check(&self.writer.engine.env)?;
            let done = self.write_key(&key)?;
            result.matched_count += u64::from(done.matched);
            result.modified_count += u64::from(done.matched && done.changed);
        }
        Ok(())
    }

    /// Finds the documents, and returns how.
    ///
    /// # Errors
    /// As for any read.
    pub fn explain(&mut self, one: bool) -> Result<Explanation> {
        self.query.limit = one.then_some(1);
        self.query.only_ids();
        let moment = CollectionView::open(self.writer.engine, self.writer.name, None)?;
        Execution::new(moment, self.query.clone(), true)?.explain()
    }

    fn execute(&mut self) -> Result<Execution> {
        self.query.only_ids();
        Execution::new(CollectionView::open(self.writer.engine, self.writer.name, None)?, self.query.clone(), false)
    }

    /// The key of the first document that matches.
    fn first(&mut self) -> Result<Option<Vec<u8>>> {
        self.execute()?.next_key()
    }

    /// Does it to the document with this key, if that still matches.
    fn write_key(&self, key: &[u8]) -> Result<Written> {
        self.write(&alluvium_document::key::decode(&mut &key[..]).unwrap_or_default())
    }

    /// As [`FilterWrite::write_key`], for the document with this `_id`.
    fn write(&self, id: &Value) -> Result<Written> {
        let (filter, name) = (&self.query.filter, self.writer.name);
        match &self.action {
            Action::Delete => {
                let document = self.writer.remove(id, |document| matches(filter, name, document))?;
                Ok(Written { matched: document.is_some(), changed: true, document, upserted_id: None })
            }
            Action::Modify(modification) => self.modify(id, modification, filter),
        }
    }

    fn modify(&self, id: &Value, modification: &Modification, filter: &Filter) -> Result<Written> {
        // An update with positions differs from document to document.
        let same = match modification {
            Modification::Update(update) if !update.needs_position() => Some(update),
            _ => None,
        };
        let written = self.writer.rewrite(id, same, |draft| {
            if !matches(filter, self.writer.name, draft.original())? {
                return Ok((Change::Nothing, Written::default()));
            }
            let before = (self.returned == Some(ReturnDocument::Before)).then(|| draft.original().clone());
            let change = self.apply(modification, filter, draft)?;
            let document = match self.returned {
                Some(ReturnDocument::After) => Some(after(draft)?),
                _ => before,
            };
            let changed = !matches!(change, Change::Nothing);
            Ok((change, Written { matched: true, changed, document, upserted_id: None }))
        })?;
        Ok(written.unwrap_or_default())
    }

    fn apply(&self, modification: &Modification, filter: &Filter, draft: &mut Draft) -> Result<Change> {
        let update = match modification {
            Modification::Replacement(replacement) => {
                let changed = replacement.apply(draft)?.changed;
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

    /// As [`FilterWrite::insert_unless_found`], but `None` also if others took the key that the filter asks for, which was so `refused` times before:
    /// to be searched again.
    fn insert_or_retry(&mut self, refused: &mut usize) -> Result<Option<Written>> {
        match self.insert_unless_found() {
            Err(error) if *refused + 1 < UPSERTS_MAX && self.asks_for_taken(&error) => {
                *refused += 1;
                Ok(None)
            }
            result => result,
        }
    }

    /// True if a key is taken, and whoever has it matches the filter, so that a search finds it: as in MongoDB, if the filter
    /// demands that key and nothing else. Any other document stays in the way of what would be inserted.
    fn asks_for_taken(&self, error: &Error) -> bool {
        let filter = &self.query.filter;
        match error {
            Error::DuplicateKey { .. } => {
                let mut demanded = filter.equalities().map(|(path, _)| path);
                filter.is_equalities() && demanded.next() == Some("_id") && demanded.next().is_none()
            }
            Error::DuplicateIndexKey { index, key, .. } => {
                let state = self.writer.engine.collection_at(self.writer.name, None);
                // An index that was dropped since is in the way of no document.
                let indexes = state.map(|state| state.indexes());
                indexes.is_ok_and(|set| set.find(index).is_none_or(|index| is_asked_for(filter, index, key)))
            }
            _ => false,
        }
    }

    /// Inserts a document, under a lock on the filter. `None` if there is one that matches after all.
    fn insert_unless_found(&mut self) -> Result<Option<Written>> {
        let state = self.writer.engine.catalog.find_or_create(self.writer.name)?;
        let hash = alluvium_codec::hash64(self.query.filter.to_string().as_bytes());
        let _alone = state.upserts.lock(hash);
        match self.first()? {
            Some(_) => Ok(None),
            None => self.insert().map(Some),
        }
    }

    /// Inserts the document that the filter and the update make.
    fn insert(&self) -> Result<Written> {
        let Action::Modify(modification) = &self.action else { return Ok(Written::default()) };
        let mut map = match modification {
            Modification::Update(update) => {
                update.for_upsert_by(&self.query.filter, self.writer.engine.update_context().time_ms)?
            }
            Modification::Replacement(replacement) => replacement.for_upsert_by(&self.query.filter)?,
        };
        ids::ensure_id(&mut map, &self.writer.engine.env);
        self.writer.insert(std::slice::from_ref(&map))?;
        let id = map.get(ids::ID).cloned().unwrap_or(Value::Null);
        let document = match self.returned {
            Some(ReturnDocument::After) => Some(Document::from_map(&map)?),
            _ => None,
        };
        Ok(Written { upserted_id: Some(id), document, ..Written::default() })
    }
}

/// A draft as it is to be stored.
fn after(draft: &Draft) -> Result<Document> {
    let mut map = draft.clone().into_map()?;
    ids::keep_id(&mut map, draft.id().clone())?;
    Ok(Document::from_map(&map)?)
}
