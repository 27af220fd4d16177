//! Where a load puts documents: into a collection, or into a read-only store that is being built.

use super::super::progress::{Mark, Progress};
use super::clashes::{Left, LeftOut};
use super::{Load, OnDuplicate, Parsed, Place};
use crate::catalog::{Catalog, Open};
use crate::index::{Entries, mark_multikey};
use crate::names::FullName;
use crate::write::{mark_shapes, put_shapes};
use crate::{Durability, Error, Result};
use alluvium_codec::varint;
use alluvium_document::Document;
use alluvium_document::shape::ShapeTable;
use alluvium_env::Env;
use alluvium_env::sync::{Mutex, RwLockReadGuard};
use alluvium_store::{LockMode, Store, WriteBatch};
use std::sync::Arc;

/// Where the documents go.
pub(super) enum Target<'a> {
    Collection(CollectionTarget<'a>),
    Build(&'a BuildTarget),
}

/// A collection.
pub(super) struct CollectionTarget<'a> {
    pub store: &'a Store,
    pub catalog: &'a Catalog,
    pub name: FullName,
    pub open: Arc<Open>,
    /// The key of what is known of loads of this input.
    pub mark_key: Option<Vec<u8>>,
}

/// A read-only store that is being built.
pub(crate) struct BuildTarget {
    pub env: Env,
    /// The collection's full name.
    pub name: String,
    pub shapes: Arc<ShapeTable>,
    pub memory_bytes: usize,
    pub build: Mutex<alluvium_readonly::Build>,
    /// The inputs so far, each with the pairs that were there before it.
    pub inputs: Mutex<Vec<(u64, String)>>,
}

/// Rows on their way to the target; their keys stand beside.
pub(super) enum Rows {
    /// As they will stand in the log.
    Batch(Box<BatchRows>),
    /// One after the other, each after its length.
    Plain(Vec<u8>),
}

/// Rows for a collection, with their index entries.
pub(super) struct BatchRows {
    pub batch: WriteBatch,
    open: Arc<Open>,
    name: FullName,
    pub entries: Entries,
}

impl BatchRows {
    pub fn new(batch: WriteBatch, open: &Arc<Open>, name: &FullName) -> Self {
        Self { batch, open: open.clone(), name: name.clone(), entries: Entries::new(open.indexes()) }
    }

    #[inline]
    fn put(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        if self.entries.is_empty() {
            self.batch.put(self.open.documents, key, row);
            return Ok(());
        }
        let damaged = |e: alluvium_document::row::RowError| Error::InvalidDocument(e.to_string());
        let document = Document::from_row(&self.open.shapes, key, row).map_err(damaged)?;
        let keys = self.entries.keys_of(key, &document, &self.name)?;
        self.batch.put(self.open.documents, key, row);
        self.entries.put_keys(&mut self.batch, key, &keys);
        Ok(())
    }

    /// The same rows, with entries for the indexes that there are now.
    pub fn made_again(self, store: &Store) -> Result<Self> {
        let mut again = Self::new(store.batch(), &self.open, &self.name);
        again.batch.reserve(self.batch.encoded_bytes());
        for (key, row) in self.batch.puts(self.open.documents) {
            again.put(key, row)?;
        }
        Ok(again)
    }

    /// The first rows, so many, and the others, each with their entries for the indexes that there are now.
    pub fn split(self, store: &Store, at: usize) -> Result<(Self, Self)> {
        let part = || Self::new(store.batch(), &self.open, &self.name);
        let (mut first, mut rest) = (part(), part());
        for (place, (key, row)) in self.batch.puts(self.open.documents).enumerate() {
            let part = if place < at { &mut first } else { &mut rest };
            part.put(key, row)?;
        }
        Ok((first, rest))
    }
}

impl Rows {
    /// Adds a row. An error if an index cannot take the document; nothing is added then.
    #[inline]
    pub fn put(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        match self {
            Self::Batch(rows) => rows.put(key, row),
            Self::Plain(bytes) => {
                varint::put_bytes(bytes, row);
                Ok(())
            }
        }
    }
}

impl Target<'_> {
    /// Room for about so many bytes of rows.
    pub fn rows(&self, bytes: usize) -> Rows {
        match self {
            Self::Collection(target) => {
                let mut batch = target.store.batch();
                batch.reserve(bytes);
                Rows::Batch(Box::new(BatchRows::new(batch, &target.open, &target.name)))
            }
            Self::Build(_) => Rows::Plain(Vec::with_capacity(bytes)),
        }
    }

    /// Makes durable what was written. A build does that at its end.
    pub fn sync(&self) -> alluvium_store::Result<()> {
        match self {
            Self::Collection(target) => target.store.sync(),
            Self::Build(_) => Ok(()),
        }
    }
}

impl CollectionTarget<'_> {
    /// Writes down that the whole input is loaded.
    pub fn mark_finished(&self, mark: Mark, durability: Durability) -> Result<()> {
        let Some(key) = &self.mark_key else { return Ok(()) };
        let mut batch = self.store.batch();
        batch.put(self.open.system, key, &Mark { finished: true, ..mark }.encode());
        self.store.write(batch, durability)?;
        Ok(())
    }

    /// The rows under the indexes that there are now. As long as the guard is held no index comes or goes.
    fn settle(&self, mut rows: BatchRows) -> Result<(BatchRows, RwLockReadGuard<'_, ()>)> {
        loop {
            let marks = rows.entries.take_multikey();
            if !marks.is_empty() {
                mark_multikey(self.store, &self.open, &marks)?;
            }
            let settled = self.catalog.hold_indexes();
            if rows.entries.schema() == self.store.schema(self.open.documents) {
                return Ok((rows, settled));
            }
            drop(settled);
            self.catalog.settle(self.store)?;
            rows = rows.made_again(self.store)?;
        }
    }

    /// For each document, whether its `_id` is taken: in the collection, or earlier in the slice.
    fn taken_keys(&self, parsed: &Parsed, distinct: usize) -> Result<Vec<bool>> {
        let count = parsed.key_ends.len();
        let mut taken = vec![false; count];
        if distinct < count {
            let mut seen = hashbrown::HashSet::with_capacity(count);
            for (at, taken) in taken.iter_mut().enumerate() {
                *taken = !seen.insert(parsed.key(at));
            }
        }
        for (at, taken) in taken.iter_mut().enumerate() {
            *taken = *taken || self.store.contains(self.open.documents, parsed.key(at))?;
        }
        Ok(taken)
    }
}

impl BuildTarget {
    /// The library's error for one of the build.
    pub fn explain(&self, error: alluvium_readonly::Error) -> Error {
        explain(error, &self.inputs.lock(), &self.name)
    }
}

/// The library's error for one of a build of the collection `name`: a duplicate is named by its input
/// and number.
pub(crate) fn explain(error: alluvium_readonly::Error, inputs: &[(u64, String)], name: &str) -> Error {
    let alluvium_readonly::Error::DuplicateKey { position, key } = &error else { return error.into() };
    let (before, input) = match inputs.iter().rev().find(|(before, _)| before < position) {
        Some((before, input)) => (*before, input.clone()),
        None => (0, "the input".to_owned()),
    };
    let id = crate::read::key_text(key);
    Error::LoadDuplicate { input, what: "document", line: position - before, collection: name.to_owned(), id }
}

impl Load<'_> {
    pub(super) fn write_to_collection(
        &self,
        target: &CollectionTarget<'_>,
        mut parsed: Parsed,
        before: Mark,
    ) -> Result<Mark> {
        let Rows::Batch(rows) = std::mem::replace(&mut parsed.rows, Rows::Plain(Vec::new())) else {
            return Err(Error::Load("a batch of the load is missing; please report this".to_owned()));
        };
        self.write_rows(target, parsed, *rows, before)
    }

    /// Writes the rows of a slice, or of a part of one: in one batch, or in several if that would be too large.
    pub(super) fn write_rows(
        &self,
        target: &CollectionTarget<'_>,
        mut parsed: Parsed,
        rows: BatchRows,
        before: Mark,
    ) -> Result<Mark> {
        let CollectionTarget { store, open, mark_key, .. } = target;
        let progress = &*self.progress;
        let count = parsed.key_ends.len();
        // Locks also under `replace`: another writer's insert must not look while this one writes.
        let exclusive = self.settings.on_duplicate != OnDuplicate::Replace;
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let (rows, same_indexes) = target.settle(rows)?;
        let bytes = rows.batch.encoded_bytes() + target.bytes_beside(&parsed);
        if bytes > store.max_batch_bytes() && count > 0 {
            drop(same_indexes);
            return self.write_parts(target, parsed, rows, before);
        }
        let _admitted = store.admit(bytes)?;
        let documents = (0..count).map(|at| (open.documents, parsed.key(at), mode));
        let claimed: Vec<_> = rows.entries.claimed().map(|(tree, key)| (tree, key.to_vec())).collect();
        let claims = claimed.iter().map(|(tree, key)| (*tree, key.as_slice(), LockMode::Exclusive));
        let locks = store.lock_all(documents.chain(claims));
        let mut left = Left { rows, places: (0..count).collect() };
        let distinct = if claimed.is_empty() { locks.len() } else { 0 };
        let taken = if exclusive { target.taken_keys(&parsed, distinct)? } else { Vec::new() };
        let LeftOut { refused, duplicates, passed } =
            self.leave_out(target, &parsed, &mut left, &taken, before.line)?;
        Progress::add(&progress.duplicates, duplicates as u64);
        parsed.pass_over(passed);
        // Documents stand before a fatal line: this failure is the earlier one.
        let refused = refused.map(|(at, error)| (parsed.lines[at], error));
        let failure = refused.or_else(|| self.fatal_line(&parsed, before));
        let Left { rows: BatchRows { mut batch, entries, .. }, places } = left;
        batch.expect_schema(open.documents, entries.schema());
        let left = places.len();
        let mark = self.end_of(&mut parsed, &failure, before, left)?;
        put_shapes(&mut batch, open, &parsed.shapes);
        if let Some(key) = mark_key {
            batch.put(open.system, key, &mark.encode());
        }
        store.write_locked(batch, self.settings.durability, &locks)?;
        mark_shapes(open, &parsed.shapes);
        Progress::add(&progress.documents, left as u64);
        Progress::add(&progress.bytes, parsed.bytes);
        failure.map_or(Ok(mark), |(_, error)| Err(error))
    }

    pub(super) fn write_to_build(&self, target: &BuildTarget, mut parsed: Parsed, before: Mark) -> Result<Mark> {
        let rows = std::mem::replace(&mut parsed.rows, Rows::Plain(Vec::new()));
        let (Rows::Plain(bytes), count) = (rows, parsed.key_ends.len()) else {
            return Err(Error::Load("rows of the build are missing; please report this".to_owned()));
        };
        let mut rest = &bytes[..];
        let mut build = target.build.lock();
        for at in 0..count {
            let row = varint::get_bytes(&mut rest).map_err(|error| Error::Load(error.to_string()))?;
            build.add(parsed.key(at), row).map_err(|error| target.explain(error))?;
        }
        drop(build);
        // Their definitions are written at the end of the build, all of them.
        parsed.shapes.iter().for_each(|shape| target.shapes.mark_committed(shape.number()));
        let failure = self.fatal_line(&parsed, before);
        let mark = self.end_of(&mut parsed, &failure, before, count)?;
        Progress::add(&self.progress.documents, count as u64);
        Progress::add(&self.progress.bytes, parsed.bytes);
        failure.map_or(Ok(mark), |(_, error)| Err(error))
    }

    /// What ends the load behind this slice, if anything does: a line, or that no more can be read.
    fn fatal_line(&self, parsed: &Parsed, before: Mark) -> Option<(Place, Error)> {
        if let Some(bad) = parsed.bad.last().filter(|_| parsed.fatal) {
            return Some((bad.place, self.bad_line(bad, before.line)));
        }
        let reason = parsed.unread.as_ref()?;
        let end = Place { line: parsed.line_count, offset: parsed.end, column: parsed.end_column };
        Some((end, Error::Load(format!("cannot read {}: {reason}", self.name))))
    }

    /// Writes the rejects of a slice, and says where the next one begins.
    fn end_of(
        &self,
        parsed: &mut Parsed,
        failure: &Option<(Place, Error)>,
        before: Mark,
        written: usize,
    ) -> Result<Mark> {
        // After a failure the next run goes on with the line that failed.
        let end = Place { line: parsed.line_count, offset: parsed.end, column: parsed.end_column };
        let end = failure.as_ref().map_or(end, |(place, _)| *place);
        parsed.bad.retain(|bad| bad.place.offset < end.offset);
        self.reject(&parsed.bad, before.line)?;
        Ok(Mark {
            offset: end.offset,
            line: before.line + end.line,
            column: end.column,
            documents: before.documents + written as u64,
            finished: false,
        })
    }

    pub(super) fn duplicate(&self, parsed: &Parsed, at: usize, base: u64) -> Error {
        let id = crate::read::key_text(parsed.key(at));
        let (what, line) = self.place_of(parsed, at, base);
        Error::LoadDuplicate { input: self.name.clone(), what, line, collection: self.collection.clone(), id }
    }

    /// What is counted in the input, and the number of a document.
    pub(super) fn place_of(&self, parsed: &Parsed, at: usize, base: u64) -> (&'static str, u64) {
        (self.settings.format.counted(), base + parsed.lines[at].line + 1)
    }
}
