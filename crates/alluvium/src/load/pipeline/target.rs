//! Where a load puts documents: into a collection, or into a read-only store that is being built.

use super::super::progress::{Mark, Progress};
use super::{BadLine, Load, OnDuplicate, Parsed, Place};
use crate::catalog::Open;
use crate::write::{mark_shapes, put_shapes};
use crate::{Durability, Error, Result};
use codec::varint;
use document::shape::ShapeTable;
use env::Env;
use env::sync::Mutex;
use std::sync::Arc;
use store::{LockMode, Store, TreeId, WriteBatch};

/// Where the documents go.
pub(super) enum Target<'a> {
    Collection(CollectionTarget<'a>),
    Build(&'a BuildTarget),
}

/// A collection.
pub(super) struct CollectionTarget<'a> {
    pub store: &'a Store,
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
    pub build: Mutex<readonly::Build>,
    /// The inputs so far, each with the pairs that were there before it.
    pub inputs: Mutex<Vec<(u64, String)>>,
}

/// Rows on their way to the target; their keys stand beside.
pub(super) enum Rows {
    /// As they will stand in the log.
    Batch(TreeId, WriteBatch),
    /// One after the other, each after its length.
    Plain(Vec<u8>),
}

impl Rows {
    #[inline]
    pub fn put(&mut self, key: &[u8], row: &[u8]) {
        match self {
            Self::Batch(tree, batch) => batch.put(*tree, key, row),
            Self::Plain(bytes) => varint::put_bytes(bytes, row),
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
                Rows::Batch(target.open.documents, batch)
            }
            Self::Build(_) => Rows::Plain(Vec::with_capacity(bytes)),
        }
    }

    /// Makes durable what was written. A build does that at its end.
    pub fn sync(&self) -> store::Result<()> {
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
    pub fn explain(&self, error: readonly::Error) -> Error {
        explain(error, &self.inputs.lock(), &self.name)
    }
}

/// The library's error for one of a build of the collection `name`: a duplicate is named by its input
/// and number.
pub(crate) fn explain(error: readonly::Error, inputs: &[(u64, String)], name: &str) -> Error {
    let readonly::Error::DuplicateKey { position, key } = &error else { return error.into() };
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
        let CollectionTarget { store, open, mark_key } = target;
        let progress = &*self.progress;
        let Rows::Batch(_, mut batch) = std::mem::replace(&mut parsed.rows, Rows::Plain(Vec::new())) else {
            return Err(Error::Load("a batch of the load is missing; please report this".to_owned()));
        };
        let count = parsed.key_ends.len();
        // Locks also under `replace`: another writer's insert must not look while this one writes.
        let exclusive = self.settings.on_duplicate != OnDuplicate::Replace;
        let mode = if exclusive { LockMode::Exclusive } else { LockMode::Shared };
        let _admitted = store.admit(batch.encoded_bytes() + 64)?;
        let keys = (0..count).map(|at| parsed.key(at));
        let locks = store.lock(open.documents, keys, mode);
        let mut failure = self.fatal_line(&parsed, before);
        let mut left = count;
        if exclusive {
            let taken = target.taken_keys(&parsed, locks.len())?;
            if self.settings.on_duplicate == OnDuplicate::Error {
                if let Some(first) = taken.iter().position(|t| *t) {
                    // Documents stand before a fatal line: this failure is the earlier one.
                    let error = self.duplicate(&parsed, first, before.line);
                    failure = Some((parsed.lines[first], error));
                    batch.retain(|op| op < first);
                    left = first;
                }
            } else if taken.contains(&true) {
                batch.retain(|op| !taken[op]);
                left = taken.iter().filter(|t| !**t).count();
                Progress::add(&progress.duplicates, (count - left) as u64);
            }
        }
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

    /// The line that ends the load, if one does.
    fn fatal_line(&self, parsed: &Parsed, before: Mark) -> Option<(Place, Error)> {
        let bad: &BadLine = parsed.bad.last().filter(|_| parsed.fatal)?;
        Some((bad.place, self.bad_line(bad, before.line)))
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

    fn duplicate(&self, parsed: &Parsed, at: usize, base: u64) -> Error {
        let id = crate::read::key_text(parsed.key(at));
        let line = base + parsed.lines[at].line + 1;
        let what = if self.settings.format.counts_lines() { "line" } else { "document" };
        Error::LoadDuplicate { input: self.name.clone(), what, line, collection: self.collection.clone(), id }
    }
}
