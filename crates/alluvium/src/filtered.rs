//! Writes of the documents that match a filter.
//!
//! What matches is found at one snapshot, each document once. Each is then read again under its lock, asked again whether
//! it matches, and written by a batch of its own: so counts are true, and no write of others is lost. What writes one
//! document searches again if that which it found does not match any more. Who inserts since nothing matches holds a lock on
//! the filter while it looks once more and inserts: of several who ask for the same at once, one inserts, also without a
//! unique index.

use crate::find::{Answer, Asked, Explanation, Hint, Moment, Question};
use crate::index::is_asked_for;
use crate::modify::Write;
use crate::read::matches;
use crate::update::to_write;
use crate::{Collection, Error, IntoDocument, Result, ReturnDocument, UpdateResult, write};
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_env::sync::{Mutex, MutexGuard};
use alluvium_query::filter::Filter;
use alluvium_query::update::{Modification, Update};
use found::Found;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

mod bulk;
mod delete;
mod found;
mod modify;
mod update;

pub use bulk::{BulkWrite, BulkWriteResult, WriteModel};
pub use delete::{DeleteResult, DeleteWhere};
pub use modify::FindAndModify;
pub use update::UpdateWhere;

/// Who is told that a key is taken which the filter asks for, and finds nothing that matches, tries again so many times: others
/// may have been faster.
const UPSERTS_MAX: usize = 16;

/// Locks on filters, by their hashes: two that are equal have one lock.
#[derive(Default)]
pub(crate) struct Upserts([Mutex<()>; 16]);

impl Upserts {
    fn lock(&self, filter: &Filter) -> MutexGuard<'_, ()> {
        let hash = alluvium_codec::hash64(filter.to_string().as_bytes());
        self.0[hash as usize % self.0.len()].lock()
    }
}

/// What is done to documents that match.
#[derive(Clone)]
pub(crate) enum Action {
    Modify(Modification),
    Delete,
}

/// What is done, to what.
pub(crate) struct Job<'a> {
    collection: &'a Collection,
    question: Question,
    action: Action,
    upsert: bool,
    /// Which version of the document is to be returned.
    which: Option<ReturnDocument>,
}

/// What was done to one document.
#[derive(Default)]
pub(crate) struct Done {
    matched: bool,
    changed: bool,
    document: Option<Document>,
    upserted_id: Option<Value>,
}

impl Job<'_> {
    /// Does it to one document, or inserts one.
    pub fn one(&mut self) -> Result<Done> {
        self.question.limit = Some(1);
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
                    // Only if what was found is what is there.
                    self.collection.store().check_writable()?;
                    return Ok(Done::default());
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
    pub fn all(&mut self) -> Result<UpdateResult> {
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
            self.collection.store().check_writable()?;
        }
        Ok(())
    }

    /// Does it to all that are found, and still match when they are written. The snapshot is let go before anything is
    /// written: what is written for long would have it ended.
    fn add_found(&mut self, result: &mut UpdateResult) -> Result<()> {
        let answer = match self.answer() {
            Err(Error::NoSuchCollection { .. }) if self.upsert => return Ok(()),
            answer => answer?,
        };
        let mut found = Found::of(answer, self)?;
        while let Some(key) = found.next()? {
            self.question.limits.check(&self.collection.database.inner.env)?;
            let done = self.write(&key)?;
            result.matched_count += u64::from(done.matched);
            result.modified_count += u64::from(done.matched && done.changed);
        }
        Ok(())
    }

    pub fn explain(&mut self, one: bool) -> Result<Explanation> {
        self.question.limit = one.then_some(1);
        self.question.only_ids();
        let moment = Moment::of(self.collection, None)?;
        Answer::new(moment, self.question.clone(), true)?.explain()
    }

    fn answer(&mut self) -> Result<Answer> {
        self.question.only_ids();
        Answer::new(Moment::of(self.collection, None)?, self.question.clone(), false)
    }

    /// The key of the first document that matches.
    fn first(&mut self) -> Result<Option<Vec<u8>>> {
        match self.answer() {
            Ok(mut answer) => answer.next_key(),
            Err(Error::NoSuchCollection { .. }) if self.upsert => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Does it to the document with this key, if that still matches.
    fn write(&self, key: &[u8]) -> Result<Done> {
        let id = alluvium_document::key::decode(&mut &key[..]).unwrap_or_default();
        let (filter, name) = (&self.question.filter, self.collection.name()?);
        match &self.action {
            Action::Delete => {
                let document = self.collection.remove(id, |document| matches(filter, name, document))?;
                Ok(Done { matched: document.is_some(), changed: true, document, upserted_id: None })
            }
            Action::Modify(modification) => self.modify(id, modification, filter),
        }
    }

    fn modify(&self, id: Value, modification: &Modification, filter: &Filter) -> Result<Done> {
        let (mut done, name) = (Done::default(), self.collection.name()?);
        // One with positions that only the document tells is another for each.
        let same = match modification {
            Modification::Update(update) if !update.needs_position() => Some(update),
            _ => None,
        };
        let found = self.collection.rewrite(id, same, |draft| {
            done = Done::default();
            if !matches(filter, name, draft.original())? {
                return Ok(Write::Nothing);
            }
            done.matched = true;
            if self.which == Some(ReturnDocument::Before) {
                done.document = Some(draft.original().clone());
            }
            let write = self.apply(modification, filter, draft)?;
            done.changed = !matches!(write, Write::Nothing);
            if self.which == Some(ReturnDocument::After) {
                done.document = Some(after(draft)?);
            }
            Ok(write)
        })?;
        // What was seen may have gone before it was to be written.
        Ok(if found { done } else { Done::default() })
    }

    fn apply(&self, modification: &Modification, filter: &Filter, draft: &mut Draft) -> Result<Write> {
        let update = match modification {
            Modification::Replacement(replacement) => {
                let changed = replacement.apply(draft)?.changed;
                return Ok(if changed { Write::Row } else { Write::Nothing });
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
        let context = self.collection.context();
        let changed = update.apply(draft, &context)?.changed;
        Ok(to_write(update, &context, changed))
    }

    /// As [`Job::insert`], but `None` also if others took the key that the filter asks for, which was so `refused` times before:
    /// to be searched again.
    fn insert_or_retry(&mut self, refused: &mut usize) -> Result<Option<Done>> {
        match self.insert() {
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
        let filter = &self.question.filter;
        match error {
            Error::DuplicateKey { .. } => {
                let mut demanded = filter.equalities().map(|(path, _)| path);
                filter.is_equalities() && demanded.next() == Some("_id") && demanded.next().is_none()
            }
            Error::DuplicateIndexKey { index, key, .. } => {
                let indexes = self.collection.open().map(|open| open.indexes());
                // One that was dropped since is in nobody's way.
                indexes.is_ok_and(|set| set.find(index).is_none_or(|index| is_asked_for(filter, index, key)))
            }
            _ => false,
        }
    }

    /// Inserts the document that the filter and the update say. `None` if there is one that matches after all.
    fn insert(&mut self) -> Result<Option<Done>> {
        let Action::Modify(modification) = &self.action else { return Ok(Some(Done::default())) };
        let mut map = match modification {
            Modification::Update(update) => {
                update.for_upsert_by(&self.question.filter, self.collection.context().time_ms)?
            }
            Modification::Replacement(replacement) => replacement.for_upsert_by(&self.question.filter)?,
        };
        write::ensure_id(&mut map, &self.collection.database.inner.env);
        let open = self.collection.open_or_create()?;
        let _alone = open.upserts.lock(&self.question.filter);
        if self.first()?.is_some() {
            return Ok(None);
        }
        let id = self.collection.insert_one(&map)?.inserted_id;
        let document = match self.which {
            Some(ReturnDocument::After) => Some(Document::from_map(&map)?),
            _ => None,
        };
        Ok(Some(Done { upserted_id: Some(id), document, ..Done::default() }))
    }
}

/// A draft as it is to be stored.
fn after(draft: &Draft) -> Result<Document> {
    let mut map = draft.clone().into_map()?;
    write::keep_id(&mut map, draft.id().clone())?;
    Ok(Document::from_map(&map)?)
}

/// What the builders of writes have in common: which documents are meant.
#[derive(Clone)]
pub(crate) struct Where {
    pub collection: Collection,
    pub asked: Asked,
    pub change: Option<Result<Map>>,
    pub array_filters: Vec<Result<Value>>,
    /// Operators are wanted, or a document, and not the other.
    pub replaces: bool,
    pub upsert: bool,
}

impl Where {
    fn new(collection: &Collection, filter: impl IntoDocument) -> Self {
        let (collection, asked) = (collection.clone(), Asked::new(filter));
        Self { collection, asked, change: None, array_filters: Vec::new(), replaces: false, upsert: false }
    }

    fn updating(mut self, update: impl IntoDocument) -> Self {
        self.change = Some(update.into_map());
        self
    }

    fn replacing(mut self, document: impl IntoDocument) -> Self {
        self.replaces = true;
        self.updating(document)
    }

    fn hint(&mut self, index: impl Into<Hint>) {
        self.asked.hint = Some(index.into());
    }

    fn max_time(&mut self, time: Duration) {
        self.asked.limits.set_max_time(time);
    }

    fn stop_when(&mut self, stop: Arc<AtomicBool>) {
        self.asked.limits.stop = Some(stop);
    }

    fn job<T>(
        self,
        which: Option<ReturnDocument>,
        run: impl FnOnce(&mut Job<'_>) -> Result<T>,
    ) -> Result<(T, Question)> {
        let filters: Vec<Value> = self.array_filters.into_iter().collect::<Result<_>>()?;
        let action = match self.change.transpose()? {
            None => Action::Delete,
            Some(map) if self.replaces => {
                Action::Modify(Modification::Replacement(alluvium_query::update::Replacement::parse(&map)?))
            }
            Some(map) => Action::Modify(Modification::Update(Update::parse_with(&map, &filters)?)),
        };
        let mut question = Question::new(self.asked)?;
        // One time for all that is searched and written.
        question.limits.begin(&self.collection.database.inner.env);
        let mut job = Job { collection: &self.collection, question, action, upsert: self.upsert, which };
        let result = run(&mut job)?;
        Ok((result, job.question))
    }
}
