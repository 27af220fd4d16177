//! Copies the documents of a collection from the rows that can be read.

use super::trees::plain_value;
use super::{MOST_NAMED, RepairOptions, RepairReport, RepairedCollection, Unreadable, check_stop};
use crate::batch::{self, BatchAction, BatchOperation};
use crate::capped;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::ids;
use crate::names::FullName;
use crate::state::CollectionState;
use crate::trees::{CAPPED_TOTALS, POSITION_PREFIX, order_number, shape_key};
use alluvium_codec::entry::{self, Kind};
use alluvium_document::shape::{Shape, ShapeOptions, ShapeTable};
use alluvium_document::{Document, Draft, Map, Value};
use alluvium_store::{Durability, Salvage, SalvagedKey};
use std::sync::Arc;

/// A batch is written when it has this number of documents, or [`BATCH_BYTES`] of rows.
const BATCH_DOCUMENTS: usize = 500;
const BATCH_BYTES: usize = 1 << 20;

/// The tree numbers of a collection in the damaged database.
#[derive(Debug, Clone, Copy)]
pub(super) struct CollectionTrees {
    pub documents: u32,
    pub system: u32,
}

/// Copies the documents of one collection.
pub(super) struct Rows<'a> {
    engine: &'a EngineHandle,
    salvage: &'a Salvage,
    name: FullName,
    doubtful_name: FullName,
    shapes: Arc<ShapeTable>,
}

impl<'a> Rows<'a> {
    /// Reads the shapes of the collection `name` from the tree `system`. Shapes that are lost there are read from the
    /// files of the tree `documents`.
    pub fn new(
        engine: &'a EngineHandle,
        salvage: &'a Salvage,
        name: &FullName,
        trees: CollectionTrees,
        doubtful_name: &FullName,
        report: &mut RepairReport,
    ) -> Result<Self> {
        let CollectionTrees { documents, system } = trees;
        let (mut shapes, mut damaged) = (Vec::new(), 0u64);
        salvage.scan(system, &mut |key| {
            // A definition never changes, so a doubtful definition is used like a certain one.
            let shape = key.versions.iter().find(|version| version.kind == Kind::Put);
            match shape.map(|version| Shape::decode(&mut version.value.as_slice())) {
                Some(Ok(shape)) if key.key == shape_key(shape.number()) => shapes.push(shape),
                Some(_) if key.key.first() == Some(&b's') && key.key.len() == 5 => damaged += 1,
                _ => {}
            }
            Ok(())
        })?;
        // Each file also contains the definitions that its rows use, independently of the system tree.
        for (number, mut definition) in salvage.definitions(documents) {
            if let Ok(shape) = Shape::decode(&mut definition)
                && shape.number() == number
                && !shapes.iter().any(|known| known.number() == number)
            {
                shapes.push(shape);
            }
        }
        if damaged > 0 {
            report.notes.push(format!("{damaged} definitions of shapes of {name} cannot be read"));
        }
        let table = ShapeTable::open(ShapeOptions::default(), shapes, 1);
        let table = table.unwrap_or_else(|error| {
            report.notes.push(format!("the shapes of {name} contradict each other: {error}"));
            ShapeTable::new(ShapeOptions::default())
        });
        let (name, doubtful_name) = (name.clone(), doubtful_name.clone());
        Ok(Self { engine, salvage, name, doubtful_name, shapes: Arc::new(table) })
    }

    /// Copies the readable documents of the tree `documents`. All of them are doubtful if the
    /// collection is `doubtful`.
    pub fn copy(
        &self,
        documents: u32,
        doubtful: bool,
        options: &RepairOptions,
        report: &mut RepairReport,
    ) -> Result<RepairedCollection> {
        let mut copied = RepairedCollection { name: self.name.to_string(), ..RepairedCollection::default() };
        let mut certain = Pending::new(self.engine, &self.name);
        let mut others = Pending::new(self.engine, &self.doubtful_name);
        let mut failed = None;
        let scanned = self.salvage.scan(documents, &mut |key| {
            let doubtful = doubtful || key.doubtful;
            let put = match self.decode(key) {
                Ok(None) => Ok(()),
                Ok(Some((id, map))) if doubtful => {
                    copied.doubtful += 1;
                    others.put(id, map, key)
                }
                Ok(Some((id, map))) => {
                    copied.documents += 1;
                    certain.put(id, map, key)
                }
                Err(reason) => {
                    copied.unreadable += 1;
                    if report.unreadable.len() < MOST_NAMED {
                        let (collection, id) = (self.name.to_string(), ids::key_text(key.key));
                        report.unreadable.push(Unreadable { collection, id, reason });
                    }
                    Ok(())
                }
            };
            failed = put.and_then(|()| check_stop(options)).err();
            // Any error ends the scan; the error that is returned is `failed`.
            if failed.is_some() { Err(alluvium_store::Error::Closed) } else { Ok(()) }
        });
        failed.map_or(Ok(()), Err)?;
        scanned?;
        certain.write()?;
        others.write()?;
        copied.doubtful_in = (copied.doubtful > 0).then(|| self.doubtful_name.to_string());
        Ok(copied)
    }

    /// Copies the order of a capped collection from the tree `system`, and replaces its lost parts: a document without
    /// an order number gets the sequence number of its last full write, which is above all order numbers. Returns the
    /// count of documents whose place in the order is lost or doubtful.
    pub fn copy_order(&self, trees: CollectionTrees) -> Result<u64> {
        let (store, state) = (self.engine.store(), self.engine.catalog.require(&self.name)?);
        let (mut batch, mut doubtful, mut was_ordered) = (store.batch(), 0, self.salvage.has_losses_in(trees.system));
        self.salvage.scan(trees.system, &mut |key| {
            was_ordered |= key.key == CAPPED_TOTALS && matches!(plain_value(key), Some(Ok(_)));
            let Some(document) = key.key.strip_prefix(&[POSITION_PREFIX]) else { return Ok(()) };
            let Some(Ok(position)) = plain_value(key) else { return Ok(()) };
            if store.contains(state.documents, document)? {
                doubtful += u64::from(key.doubtful);
                capped::copy_position(&mut batch, state.system, document, position);
            }
            if batch.encoded_bytes() > BATCH_BYTES {
                store.write(std::mem::replace(&mut batch, store.batch()), Durability::Bulk)?;
            }
            Ok(())
        })?;
        store.write(batch, Durability::Bulk)?;
        // If a position is lost, the order entry of the number still names the document.
        self.place(trees.system, &state, |key| {
            let number = order_number(key.key)?;
            let document = plain_value(key)?.ok()?.to_vec();
            Some((document, number))
        })?;
        let lost = self.place(trees.documents, &state, |key| {
            let written = key.versions.iter().find(|version| version.kind != Kind::Delta)?;
            Some((key.key.to_vec(), written.seq))
        })?;
        capped::ensure_ordered(store, &state, &self.name)?;
        // Without totals, the order was not complete before the damage, so nothing of it is lost.
        Ok(if was_ordered { lost + doubtful } else { 0 })
    }

    /// Assigns the numbers that `read` finds in a tree to documents that have no number. Returns the count of these
    /// documents.
    fn place(
        &self,
        tree: u32,
        state: &CollectionState,
        read: impl Fn(&SalvagedKey<'_>) -> Option<(Vec<u8>, u64)>,
    ) -> Result<u64> {
        let mut placement = capped::Placement::new(self.engine.store(), state, &self.name);
        let (mut count, mut failed) = (0, None);
        let scanned = self.salvage.scan(tree, &mut |key| {
            let Some((document, number)) = read(key) else { return Ok(()) };
            match placement.place(&document, number) {
                Ok(placed) => count += u64::from(placed),
                Err(error) => failed = Some(error),
            }
            // Any error ends the scan; the error that is returned is `failed`.
            if failed.is_some() { Err(alluvium_store::Error::Closed) } else { Ok(()) }
        });
        failed.map_or(Ok(()), Err)?;
        scanned?;
        placement.finish()?;
        Ok(count)
    }

    /// The document of a key; `None` if it was deleted; an explanation if it cannot be decoded.
    fn decode(&self, key: &SalvagedKey<'_>) -> std::result::Result<Option<(Value, Map)>, String> {
        let deltas = key.versions.iter().take_while(|version| version.kind == Kind::Delta).count();
        let base = key.versions.get(deltas);
        let row = match base.map(|base| (base.kind, base.seq, base.value.as_slice())) {
            Some((Kind::Put, _, row)) => row,
            Some((Kind::Folded, seq, content)) => entry::split_folded(seq, content).map_err(|e| e.to_string())?.1,
            Some(_) => return Ok(None),
            // An update of a document that does not exist has no effect. A doubtful document may
            // have existed.
            None if !key.doubtful => return Ok(None),
            None => return Err("only updates are left of it: the document that they change is lost".to_owned()),
        };
        let document = Document::from_row(&self.shapes, key.key, row.to_vec()).map_err(|e| e.to_string())?;
        let id = document.id().clone();
        let map = match deltas {
            0 => document.to_map().map_err(|e| e.to_string())?,
            _ => {
                let draft = Draft::new(document).map_err(|e| e.to_string())?;
                let oldest_first = key.versions[..deltas].iter().rev().map(|version| version.value.as_slice());
                let folded = alluvium_query::fold::fold(Some(draft), oldest_first).map_err(|e| e.to_string())?;
                let Some(draft) = folded.draft else { return Ok(None) };
                draft.into_map().map_err(|e| e.to_string())?
            }
        };
        match ids::id_key(&id).is_ok_and(|of_id| of_id == key.key) {
            true => Ok(Some((id, map))),
            false => Err("its _id is not that of its key".to_owned()),
        }
    }
}

/// Documents to be written to a collection, which is created with the first batch.
struct Pending<'a> {
    engine: &'a EngineHandle,
    name: &'a FullName,
    operations: Vec<BatchOperation>,
    bytes: usize,
}

impl<'a> Pending<'a> {
    fn new(engine: &'a EngineHandle, name: &'a FullName) -> Self {
        Self { engine, name, operations: Vec::new(), bytes: 0 }
    }

    fn put(&mut self, id: Value, mut map: Map, key: &SalvagedKey<'_>) -> Result<()> {
        // The bytes of all versions that the document was made from, because its row may be far longer than the last
        // update.
        let row = key.versions.iter().position(|version| version.kind != Kind::Delta);
        let parts = key.versions.iter().take(row.map_or(usize::MAX, |row| row + 1));
        let bytes: usize = parts.map(|version| version.value.len()).sum();
        if self.operations.len() >= BATCH_DOCUMENTS || !self.operations.is_empty() && self.bytes + bytes > BATCH_BYTES {
            self.write()?;
        }
        ids::set_id(&mut map, id)?;
        let (collection, action) = (self.name.clone(), BatchAction::Put(map));
        self.operations.push(BatchOperation { collection, action });
        self.bytes += bytes;
        Ok(())
    }

    fn write(&mut self) -> Result<()> {
        let durability = self.engine.store().options().durability;
        self.bytes = 0;
        batch::write(self.engine, &std::mem::take(&mut self.operations), durability, None)
    }
}
