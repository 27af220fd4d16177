//! A cursor over documents.

use crate::capped::{NaturalScan, is_ordered_at};
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::{BATCH_SIZE, Execution, Explanation};
use crate::ids::id_key;
use crate::names::FullName;
use crate::pipeline::PipelineRun;
use crate::read::{decode_copy, fields_of, from_document};
use crate::read_only::ReadOnlyDocuments;
use crate::snapshot::Snapshot;
use crate::state::CollectionState;
use crate::view::CollectionView;
use alluvium_document::{Document, FromDocument, Map, Value};
use alluvium_store::Bounds;
use std::marker::PhantomData;
use std::ops::Bound;
use std::sync::Arc;

/// The range and the direction of a scan.
#[derive(Debug, Clone, Default)]
pub struct ScanRange {
    /// The lower bound of `_id`, included.
    pub from: Option<Value>,
    /// The upper bound of `_id`, excluded.
    pub to: Option<Value>,
    /// True for a scan from the highest `_id` to the lowest.
    pub reverse: bool,
    /// The maximum number of documents; `None` for all.
    pub limit: Option<u64>,
}

/// Documents in order, all at one snapshot, as values of `T`. Ends after the first error.
pub struct Cursor<T = Document> {
    rows: Rows,
    name: FullName,
    remaining: u64,
    values: PhantomData<fn() -> T>,
}

/// The source of the rows.
enum Rows {
    Collection {
        scan: alluvium_store::Scan,
        state: Arc<CollectionState>,
        /// Keeps the database open.
        _engine: EngineHandle,
    },
    /// A capped collection, in the order of insertion.
    Natural(Box<NaturalScan>, Arc<CollectionView>),
    ReadOnly(alluvium_readonly::Scan, ReadOnlyDocuments),
    /// A document that was read when the cursor was made.
    Document(Option<Document>),
    /// The documents of a query, and the batch size.
    Found(Box<Execution>, usize),
    /// The documents of a pipeline, and the batch size.
    Piped(Box<PipelineRun>, usize),
}

impl Cursor {
    /// Scans documents in the order of their `_id`s, at a snapshot or now.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidId`]; errors of reading the store.
    pub fn scan(engine: &EngineHandle, name: &FullName, snapshot: Option<&Snapshot>, range: ScanRange) -> Result<Self> {
        // The snapshot is taken first, and the name is looked up at the snapshot, so that a concurrent drop has no
        // effect.
        let snapshot = snapshot.cloned().unwrap_or_else(|| engine.snapshot());
        let state = engine.collection_at(name, Some(&snapshot))?;
        let key = |id: Option<Value>| id.map(|id| id_key(&id)).transpose();
        let bounds = Bounds {
            lower: key(range.from)?.map_or(Bound::Unbounded, Bound::Included),
            upper: key(range.to)?.map_or(Bound::Unbounded, Bound::Excluded),
            reverse: range.reverse,
        };
        let scan = engine.store().scan(state.documents, bounds, Some(&snapshot.store))?;
        let rows = Rows::Collection { scan, state, _engine: engine.clone() };
        Ok(Self { rows, name: name.clone(), remaining: range.limit.unwrap_or(u64::MAX), values: PhantomData })
    }

    /// Scans all documents at a snapshot: a capped collection in the order of insertion, any other collection by `_id`.
    ///
    /// # Errors
    /// Errors of reading the store.
    pub fn natural(engine: &EngineHandle, name: &FullName, snapshot: &Snapshot) -> Result<Self> {
        let view = CollectionView::open(engine, name, Some(snapshot))?;
        if view.state.order().is_none() || !is_ordered_at(&view)? {
            return Self::scan(engine, name, Some(snapshot), ScanRange::default());
        }
        let rows = Rows::Natural(Box::new(NaturalScan::new(&view, false, None)?), view);
        Ok(Self { rows, name: name.clone(), remaining: u64::MAX, values: PhantomData })
    }

    /// Scans a read-only store in the order of its keys.
    ///
    /// # Errors
    /// [`crate::error::Error::InvalidId`].
    pub fn scan_read_only(store: &ReadOnlyDocuments, range: ScanRange) -> Result<Self> {
        let key = |id: Option<Value>| id.map(|id| store.key(&id)).transpose();
        let bounds = alluvium_readonly::Bounds {
            lower: key(range.from)?.map_or(Bound::Unbounded, Bound::Included),
            upper: key(range.to)?.map_or(Bound::Unbounded, Bound::Excluded),
            reverse: range.reverse,
        };
        let rows = Rows::ReadOnly(store.pairs().scan(&bounds), store.clone());
        Ok(Self { rows, name: store.name().clone(), remaining: range.limit.unwrap_or(u64::MAX), values: PhantomData })
    }

    /// A cursor over the documents of a query, with `batch_size` documents in a batch.
    pub fn found(execution: Execution, batch_size: usize) -> Self {
        let name = execution.collection().clone();
        Self { rows: Rows::Found(Box::new(execution), batch_size), name, remaining: u64::MAX, values: PhantomData }
    }

    /// A cursor over a document that was found by its `_id`, or over nothing.
    pub fn document(document: Option<Document>, name: &FullName) -> Self {
        Self { rows: Rows::Document(document), name: name.clone(), remaining: u64::MAX, values: PhantomData }
    }

    /// A cursor over the documents of a pipeline, with `batch_size` documents in a batch.
    pub fn piped(pipeline: PipelineRun, batch_size: usize) -> Self {
        let name = pipeline.name().clone();
        Self { rows: Rows::Piped(Box::new(pipeline), batch_size), name, remaining: u64::MAX, values: PhantomData }
    }
}

impl<T> Cursor<T> {
    /// The same documents as values of another type.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// pets.insert_one(r#"{"_id": "rex", "age": 3}"#)?;
    /// let ages = pets.find("{}").projection(r#"{"_id": 0, "age": 1}"#).run()?;
    /// let ages: Vec<std::collections::HashMap<String, u32>> = ages.typed().collect::<alluvium::Result<_>>()?;
    /// assert_eq!(ages[0]["age"], 3);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn typed<U>(self) -> Cursor<U> {
        Cursor { rows: self.rows, name: self.name, remaining: self.remaining, values: PhantomData }
    }

    /// The next documents, up to the batch size of the query (`Find::batch_size`); empty at the
    /// end.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.find(r#"{"age": {"$gt": 5}}"#).batch_size(10).run()?;
    /// assert_eq!(cursor.next_batch()?.len(), 2);
    /// assert!(cursor.next_batch()?.is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for the iterator's items. The documents of the batch before the error are lost.
    pub fn next_batch(&mut self) -> Result<Vec<T>>
    where
        T: FromDocument,
    {
        let size = match &self.rows {
            Rows::Found(_, size) | Rows::Piped(_, size) => *size,
            _ => BATCH_SIZE,
        };
        self.by_ref().take(size).collect()
    }

    /// The `_id` and some fields of the next document, as `Collection::get_fields` returns them.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.scan().run()?;
    /// let fields = cursor.next_fields(&["age"])?.unwrap();
    /// assert_eq!(fields.get("age").and_then(alluvium::Value::as_i64), Some(12));
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As for the iterator's items.
    pub fn next_fields(&mut self, paths: &[&str]) -> Result<Option<Map>> {
        match self.next_document() {
            Some(document) => fields_of(&document?, paths, &self.name).map(Some),
            None => Ok(None),
        }
    }

    /// The next document in its stored form, for any `T`.
    pub fn next_document(&mut self) -> Option<Result<Document>> {
        if self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        let item = self.step().transpose();
        if !matches!(item, Some(Ok(_))) {
            self.remaining = 0;
        }
        item
    }

    /// The plan of a query, or of the query at the head of a pipeline, and its cost so far. `None` for a scan, for a
    /// pipeline that has documents of its own, and for a query that needs no plan.
    pub fn explanation(&self) -> Option<Explanation> {
        match &self.rows {
            Rows::Found(execution, _) => Some(execution.explained()),
            Rows::Piped(pipeline, _) => pipeline.head_explained(),
            _ => None,
        }
    }

    /// The numbers of keys and of documents that the query of [`Cursor::explanation`] has examined so far.
    pub fn examined(&self) -> Option<(u64, u64)> {
        match &self.rows {
            Rows::Found(execution, _) => Some(execution.examined()),
            Rows::Piped(pipeline, _) => pipeline.head_examined(),
            _ => None,
        }
    }

    /// True if the plan of the query is a scan of all documents.
    pub fn scans_documents(&self) -> bool {
        matches!(&self.rows, Rows::Found(execution, _) if execution.scans_documents())
    }

    /// The bytes of documents that a query has read ahead. The cursor holds them until they are read.
    pub fn bytes_ahead(&self) -> usize {
        match &self.rows {
            Rows::Found(execution, _) => execution.bytes_ahead(),
            Rows::Piped(pipeline, _) => pipeline.bytes_ahead(),
            Rows::Document(document) => document.as_ref().map_or(0, Document::row_len),
            _ => 0,
        }
    }

    /// Releases the entries and blocks that the cursor holds. Useful before a pause between reads. The next read looks
    /// up its document again; documents that were read ahead are kept ([`Cursor::bytes_ahead`]).
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// let mut cursor = pets.find("{}").run()?;
    /// let first = cursor.next().transpose()?;
    /// cursor.pause();
    /// assert_eq!(first.into_iter().count() + cursor.count(), 2);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn pause(&mut self) {
        match &mut self.rows {
            Rows::Collection { scan, .. } => scan.pause(),
            Rows::Natural(scan, _) => scan.pause(),
            Rows::ReadOnly(..) | Rows::Document(_) => {}
            Rows::Found(execution, _) => execution.pause(),
            Rows::Piped(pipeline, _) => pipeline.pause(),
        }
    }

    /// The collection.
    pub fn name(&self) -> &FullName {
        &self.name
    }

    fn step(&mut self) -> Result<Option<Document>> {
        match &mut self.rows {
            Rows::Collection { scan, state, .. } => match scan.next()? {
                Some((key, row)) => decode_copy(&state.shapes, &self.name, key, row).map(Some),
                None => Ok(None),
            },
            Rows::Natural(scan, view) => match scan.next(view)? {
                Some((key, row)) => decode_copy(&view.state.shapes, &self.name, key, row).map(Some),
                None => Ok(None),
            },
            Rows::ReadOnly(scan, store) => match scan.next()? {
                Some((key, row)) => store.document(key, row.to_vec()).map(Some),
                None => Ok(None),
            },
            Rows::Document(document) => Ok(document.take()),
            Rows::Found(execution, _) => execution.next_document(),
            Rows::Piped(pipeline, _) => pipeline.next_document(),
        }
    }
}

impl<T: FromDocument> Iterator for Cursor<T> {
    type Item = Result<T>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let item = self.next_document()?.and_then(|document| from_document(&self.name, document));
        if item.is_err() {
            self.remaining = 0;
        }
        Some(item)
    }
}
