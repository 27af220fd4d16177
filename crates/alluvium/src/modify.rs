//! Reading a document, changing it and writing it back, with no write of others in between.

use crate::catalog::Open;
use crate::read::Reader;
use crate::write::{self, Encoded};
use crate::{Collection, Result};
use document::{Draft, Value};
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{LockGuard, LockMode};

/// What one attempt came to.
enum Attempt {
    /// It is done; whether the document was there.
    Done(bool),
    /// So many bytes are to be written, more than were reserved. Nothing was written.
    Larger(usize),
}

/// What is to be written of a document that was read.
pub(crate) enum Write {
    Nothing,
    /// The draft.
    Row,
    /// The draft, or this delta, which makes the same of the document.
    Either(Vec<u8>),
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
    fn reserve(&self) -> usize {
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
        self.rewrite(id.into(), |draft| Ok(if change(draft)? { Write::Row } else { Write::Nothing }))
    }

    /// [`Collection::modify`], where what is written may be a delta.
    pub(crate) fn rewrite(&self, id: Value, mut change: impl FnMut(&mut Draft) -> Result<Write>) -> Result<bool> {
        let open = self.open()?;
        let key = write::id_key(&id)?;
        // A guess is never refused, however large documents were before.
        let mut bytes = open.modified.reserve().min(self.store().max_batch_bytes());
        loop {
            // Paid for before the first lock. What it does not suffice for gives the lock back, pays,
            // and starts over.
            let _admitted = self.store().admit(bytes)?;
            let locks = self.store().lock(open.documents, [key.as_slice()], LockMode::Exclusive);
            match self.attempt(&open, &key, &id, bytes, &locks, &mut change)? {
                Attempt::Done(found) => return Ok(found),
                Attempt::Larger(needed) => bytes = needed,
            }
        }
    }

    fn attempt(
        &self,
        open: &std::sync::Arc<Open>,
        key: &[u8],
        id: &Value,
        reserved: usize,
        locks: &LockGuard,
        change: &mut impl FnMut(&mut Draft) -> Result<Write>,
    ) -> Result<Attempt> {
        let reader = Reader { store: self.store(), open: open.clone(), name: self.name()?, snapshot: None };
        let Some((document, deltas)) = reader.get_chained(key, id)? else { return Ok(Attempt::Done(false)) };
        let mut draft = reader.draft(document)?;
        let mut encoded = Encoded::new(self.store().batch());
        match change(&mut draft)? {
            Write::Nothing => return Ok(Attempt::Done(true)),
            Write::Either(delta) if deltas < DELTAS_MAX && is_worth_it(&delta, &draft) => {
                encoded.batch.delta(open.documents, key, &delta);
            }
            Write::Row | Write::Either(_) => encoded.put_draft(open, key.to_vec(), draft)?,
        }
        let bytes = encoded.bytes(open);
        if bytes > reserved {
            return Ok(Attempt::Larger(bytes));
        }
        open.modified.note(bytes);
        encoded.commit(self.store(), open, self.durability(), Some(locks)).map_err(|e| self.named(e))?;
        Ok(Attempt::Done(true))
    }
}

/// A document whose fields change is written whole, so that it gets a shape with them.
fn is_worth_it(delta: &[u8], draft: &Draft) -> bool {
    draft.patched_bytes().is_some_and(|row| delta.len() * WORTH_A_DELTA <= row)
}

#[cfg(test)]
mod tests;
