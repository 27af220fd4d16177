//! Reading a document, changing it and writing it back, with no write of others in between.

use crate::catalog::Open;
use crate::index::mark_multikey;
use crate::marks;
use crate::read::Reader;
use crate::write::{self, Encoded};
use crate::{Collection, Result};
use alluvium_document::{Document, Draft, Value};
use alluvium_query::update::Update;
use alluvium_store::{LockGuard, LockMode, TreeId};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What one attempt came to.
enum Attempt {
    /// It is done; whether the document was there.
    Done(bool),
    /// So many bytes are to be written, more than were reserved. Nothing was written.
    Larger(usize),
    /// It is the first document with an array where an index leads. Nothing was written.
    Arrays(Vec<(TreeId, u32)>),
    /// Unique keys are to be locked, too. Nothing was written.
    Keys(Vec<(TreeId, Vec<u8>)>),
}

/// What is to be written of a document that was read.
pub(crate) enum Write {
    Nothing,
    /// The draft.
    Row,
    /// The draft, or this delta, which makes the same of the document.
    Either(Vec<u8>),
    Delete,
}

/// A delta is written in place of a row that is so many times as large, at least.
const WORTH_A_DELTA: usize = 4;
/// And on top of no more deltas than this: each makes reads slower until it is folded.
const DELTAS_MAX: usize = 7;

/// The bytes that a change of a document writes, as of late: what is reserved before it is known.
#[derive(Debug, Default)]
pub(crate) struct TypicalWrite(AtomicUsize);

/// So many bytes are reserved at least.
const LEAST: usize = 1 << 10;

impl TypicalWrite {
    /// What to reserve: enough for most.
    pub fn reserve(&self) -> usize {
        let typical = self.0.load(Ordering::Relaxed);
        (typical + typical / 4).max(LEAST)
    }

    /// Follows what grows at once, and what shrinks slowly.
    fn note(&self, bytes: usize) {
        let typical = self.0.load(Ordering::Relaxed);
        let next = bytes.max(typical - typical / 16);
        if next > LEAST / 2 && next != typical {
            self.0.store(next, Ordering::Relaxed);
        }
    }
}

impl Collection {
    /// Reads the document with this `_id`, lets `change` change it, and writes it back, with no
    /// write of others in between. `change` returns false to leave it as it is. Returns false if
    /// there is no such document.
    ///
    /// Giving other values to fields that the document has ([`Draft::set`]) decodes nothing else of
    /// it, and is a good deal cheaper than [`Draft::map`].
    ///
    /// The document is locked while `change` runs, so `change` must not write to the database, nor
    /// wait for a thread that does: it could wait for itself. If the document has become much larger
    /// than those changed before it, `change` is called once more, for the document as it is then, if it
    /// is still there: memory is reserved before documents are locked, and its size is known only afterwards.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.put("rex", r#"{"age": 3}"#)?;
    /// let found = pets.modify("rex", |draft| {
    ///     draft.map()?.insert("name", "Rex");
    ///     Ok(true) // It has changed: write it.
    /// })?;
    /// assert!(found);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Collection::get`] and [`Collection::put`]; an error of `change` is returned and nothing
    /// is written.
    pub fn modify(&self, id: impl Into<Value>, mut change: impl FnMut(&mut Draft) -> Result<bool>) -> Result<bool> {
        self.rewrite(id.into(), None, |draft| Ok(if change(draft)? { Write::Row } else { Write::Nothing }))
    }

    /// [`Collection::modify`], where what is written may be a delta: `update`'s, if it is that which is made.
    pub(crate) fn rewrite(
        &self,
        id: Value,
        update: Option<&Update>,
        mut change: impl FnMut(&mut Draft) -> Result<Write>,
    ) -> Result<bool> {
        let key = write::id_key(&id)?;
        self.retry_existing(|open| self.rewrite_in(open, (&key, &id), update, &mut change))
    }

    /// Deletes the document with this `_id` if `goes` says so; returns it.
    pub(crate) fn remove(
        &self,
        id: Value,
        mut goes: impl FnMut(&Document) -> Result<bool>,
    ) -> Result<Option<Document>> {
        let key = write::id_key(&id)?;
        let mut removed = None;
        self.retry_existing(|open| {
            self.rewrite_in(open, (&key, &id), None, &mut |draft: &mut Draft| {
                let document = draft.original().clone();
                if !goes(&document)? {
                    removed = None;
                    return Ok(Write::Nothing);
                }
                removed = Some(document);
                Ok(Write::Delete)
            })
            .map(|found| removed.take().filter(|_| found))
        })
    }

    fn rewrite_in(
        &self,
        open: &Arc<Open>,
        (key, id): (&[u8], &Value),
        update: Option<&Update>,
        change: &mut impl FnMut(&mut Draft) -> Result<Write>,
    ) -> Result<bool> {
        let (store, name) = (self.store(), self.name()?);
        // A guess is never refused, however large documents were before.
        let mut bytes = open.modified.reserve().min(store.max_batch_bytes());
        let mut claimed: Vec<(TreeId, Vec<u8>)> = Vec::new();
        loop {
            // Paid for before the first lock. What it does not suffice for gives the lock back, pays,
            // and starts over.
            let _admitted = store.admit(bytes)?;
            let claims = claimed.iter().map(|(tree, key)| (*tree, key.as_slice(), LockMode::Exclusive));
            let locks = store.lock_all(claims.chain([(open.documents, key, LockMode::Exclusive)]));
            let attempt = self.attempt(open, (key, id, update), (bytes, &claimed), &locks, change);
            drop((locks, _admitted));
            // Of many documents it is this one that is damaged, or that it does not go with.
            match attempt.map_err(|error| error.of_document(name, id))? {
                Attempt::Done(found) => return Ok(found),
                Attempt::Larger(needed) => {
                    marks::CHANGE_GREW.hit();
                    bytes = needed;
                }
                Attempt::Arrays(marks) => mark_multikey(store, open, &marks)?,
                Attempt::Keys(keys) => claimed.extend(keys),
            }
        }
    }

    /// Whoever has nothing to write is told so only if what was read is what is there: not of a poisoned store, where
    /// the outcome of it may be unknown.
    fn attempt(
        &self,
        open: &Arc<Open>,
        (key, id, update): (&[u8], &Value, Option<&Update>),
        (reserved, claimed): (usize, &[(TreeId, Vec<u8>)]),
        locks: &LockGuard,
        change: &mut impl FnMut(&mut Draft) -> Result<Write>,
    ) -> Result<Attempt> {
        let (store, name) = (self.store(), self.name()?);
        let reader = Reader { store, open: open.clone(), name, snapshot: None };
        // The indexes first: what is read belongs to these or later ones, of which the batch will be told.
        let mut encoded = Encoded::new(store, open, name);
        let Some((before, deltas)) = reader.get_chained(key, id)? else {
            store.check_writable()?;
            return Ok(Attempt::Done(false));
        };
        let mut draft = reader.draft(before.clone())?;
        match change(&mut draft)? {
            Write::Nothing => {
                store.check_writable()?;
                return Ok(Attempt::Done(true));
            }
            Write::Delete => encoded.delete_found(open, key, &before)?,
            Write::Either(delta) if deltas < DELTAS_MAX && is_worth_it(&delta, &draft) => {
                let touched = update.is_none_or(|update| encoded.entries.set().is_touched_by(update));
                encoded.delta_changed(open, key, &delta, touched.then_some((&before, &draft)))?;
            }
            Write::Row | Write::Either(_) => encoded.put_changed(open, key.to_vec(), &before, draft)?,
        }
        let marks = encoded.entries.take_multikey();
        if !marks.is_empty() {
            return Ok(Attempt::Arrays(marks));
        }
        let more = encoded.entries.claimed().filter(|(tree, key)| !claimed.iter().any(|(t, k)| t == tree && k == key));
        let more: Vec<_> = more.map(|(tree, key)| (tree, key.to_vec())).collect();
        if !more.is_empty() {
            return Ok(Attempt::Keys(more));
        }
        let bytes = encoded.bytes(open);
        if bytes > reserved {
            return Ok(Attempt::Larger(bytes));
        }
        open.modified.note(bytes);
        encoded.entries.check_unique(store, open, name)?;
        encoded.commit_locked(store, open, self.durability(), locks)?;
        Ok(Attempt::Done(true))
    }
}

/// A document whose fields change is written whole, so that it gets a shape with them.
fn is_worth_it(delta: &[u8], draft: &Draft) -> bool {
    draft.patched_bytes().is_some_and(|row| delta.len() * WORTH_A_DELTA <= row)
}

#[cfg(test)]
mod tests;
