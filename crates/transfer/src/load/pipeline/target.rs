//! The target of a load: a collection, or a read-only store that is being built.

use super::super::place::FilePlace;
use super::super::progress::Mark;
use super::Parsed;
use alluvium_codec::varint;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::names::FullName;
use alluvium_collections::state::CollectionState;
use alluvium_collections::write::WriteTxn;
use alluvium_document::shape::ShapeTable;
use alluvium_env::Env;
use alluvium_env::sync::{Mutex, RwLockReadGuard};
use alluvium_store::{Durability, Store};
use std::sync::Arc;

pub(super) enum Target<'a> {
    Collection(CollectionTarget<'a>),
    Build(&'a BuildTarget),
}

pub(super) struct CollectionTarget<'a> {
    pub engine: &'a EngineHandle,
    pub name: &'a FullName,
    pub state: Arc<CollectionState>,
    /// The key of the mark for loads of this input; `None` if it cannot resume.
    pub mark_key: Option<Vec<u8>>,
    /// The file and its path, for a later load of the same file with more content.
    pub place: Option<PlaceTarget>,
}

/// The mark of the last load of the file at a path.
pub(super) struct PlaceTarget {
    pub key: Vec<u8>,
    pub place: FilePlace,
    /// The part that was loaded earlier has documents with generated `_id`s.
    pub generated_before: bool,
}

/// A read-only store that is being built.
pub(crate) struct BuildTarget {
    pub env: Env,
    /// The collection's full name.
    pub name: String,
    pub shapes: Arc<ShapeTable>,
    pub memory_bytes: usize,
    pub build: Mutex<alluvium_readonly::Build>,
    /// The names of the inputs so far, each with the number of pairs added before it.
    pub inputs: Mutex<Vec<(u64, String)>>,
}

/// Encoded rows for the target. Their keys are in [`Parsed`].
pub(super) enum Rows<'a> {
    /// Encoded as in the log.
    Batch(Box<WriteTxn<'a>>),
    /// Concatenated, each preceded by its length.
    Plain(Vec<u8>),
}

impl Rows<'_> {
    /// Adds a row. Fails, and adds nothing, if an index cannot take the document.
    #[inline]
    pub fn put(&mut self, key: &[u8], row: &[u8]) -> Result<()> {
        match self {
            Self::Batch(rows) => rows.put_encoded(key, row),
            Self::Plain(bytes) => {
                varint::put_bytes(bytes, row);
                Ok(())
            }
        }
    }
}

impl<'a> Target<'a> {
    /// An empty buffer with room for about `bytes` bytes of rows.
    pub fn rows(&self, bytes: usize) -> Rows<'a> {
        match self {
            Self::Collection(target) => {
                Rows::Batch(Box::new(WriteTxn::with_room(target.engine, target.name, &target.state, bytes)))
            }
            Self::Build(_) => Rows::Plain(Vec::with_capacity(bytes)),
        }
    }

    /// Makes the written documents durable. A build makes them durable when it is finished.
    pub fn sync(&self) -> alluvium_store::Result<()> {
        match self {
            Self::Collection(target) => target.store().sync(),
            Self::Build(_) => Ok(()),
        }
    }
}

impl<'a> CollectionTarget<'a> {
    pub fn store(&self) -> &'a Store {
        self.engine.store()
    }

    /// Records the progress of the load, and whether the whole input is loaded.
    pub fn mark_end(&self, mark: Mark, is_done: bool, generated: bool, durability: Durability) -> Result<()> {
        let mark = Mark { finished: is_done, ..mark };
        let mut batch = self.store().batch();
        if let (true, Some(key)) = (is_done, &self.mark_key) {
            batch.put(self.state.system, key, &mark.encode());
        }
        if let Some(PlaceTarget { key, place, generated_before }) = &self.place
            && mark.offset > 0
        {
            let mark = place.mark(mark, generated || *generated_before)?;
            batch.put(self.state.system, key, &mark.encode());
        }
        if !batch.is_empty() {
            self.store().write(batch, durability)?;
        }
        Ok(())
    }

    /// Returns the rows encoded for the current indexes. While the guard is held, no index is
    /// created or dropped.
    pub fn for_current_indexes(&self, mut rows: WriteTxn<'a>) -> Result<(WriteTxn<'a>, RwLockReadGuard<'_, ()>)> {
        loop {
            rows.record_marks()?;
            let same_indexes = self.engine.catalog.hold_indexes();
            if rows.is_current() {
                return Ok((rows, same_indexes));
            }
            drop(same_indexes);
            self.engine.catalog.settle()?;
            rows = rows.encoded_again()?;
        }
    }

    /// Returns for each document whether its `_id` exists already, in the collection or earlier in
    /// the slice.
    pub fn taken_keys(&self, parsed: &Parsed<'_>, distinct: usize) -> Result<Vec<bool>> {
        let count = parsed.key_ends.len();
        let mut taken = vec![false; count];
        if distinct < count {
            let mut seen = hashbrown::HashSet::with_capacity(count);
            for (at, taken) in taken.iter_mut().enumerate() {
                *taken = !seen.insert(parsed.key(at));
            }
        }
        for (at, taken) in taken.iter_mut().enumerate() {
            *taken = *taken || self.store().contains(self.state.documents, parsed.key(at))?;
        }
        Ok(taken)
    }
}

impl BuildTarget {
    /// Converts an error of the build; see [`explain`].
    pub fn explain(&self, error: alluvium_readonly::Error) -> Error {
        explain(error, &self.inputs.lock(), &self.name)
    }
}

/// Converts an error of a build of the collection `name`: a duplicate is reported with its input
/// and its number in that input.
pub(crate) fn explain(error: alluvium_readonly::Error, inputs: &[(u64, String)], name: &str) -> Error {
    let alluvium_readonly::Error::DuplicateKey { position, key } = &error else { return error.into() };
    let (before, input) = match inputs.iter().rev().find(|(before, _)| before < position) {
        Some((before, input)) => (*before, input.clone()),
        None => (0, "the input".to_owned()),
    };
    let id = alluvium_collections::ids::key_text(key);
    Error::LoadDuplicate { input, what: "document", line: position - before, collection: name.to_owned(), id }
}
