//! Expiry: deletes documents whose date in an index with `expireAfterSeconds` has passed.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::ids::id_key;
use crate::index::Index;
use crate::index_scan::IndexScan;
use crate::results::Written;
use crate::view::CollectionView;
use crate::write::{Patience, WriteLimits, Writer};
use alluvium_document::{Document, Value, key};
use alluvium_query::ErrorCode;
use alluvium_query::expression::{Interrupt, Interruption};
use alluvium_query::index::Order;
use alluvium_store::Bounds;
use hashbrown::HashSet;
use std::ops::Bound;
use std::sync::Arc;

/// The number of documents that are found at one snapshot and then deleted one by one.
const BATCH_DOCUMENTS: usize = 1000;

/// Ends the wait of a delete for a transaction when the database is closed.
fn until_stopped(engine: &EngineHandle) -> Interrupt {
    let engine = engine.for_background();
    Interrupt::new(move || match engine.tasks.check() {
        Ok(()) => Ok(()),
        Err(error) => Err(Interruption { code: ErrorCode::Interrupted, message: error.to_string() }),
    })
}

/// Deletes the documents that have expired. Returns their count.
///
/// # Errors
/// The first error, after all indexes and documents were visited.
pub fn delete_expired(engine: &EngineHandle) -> Result<u64> {
    let (mut deleted, mut failed) = (0, None);
    let interrupt = until_stopped(engine);
    // A document that a transaction has written expires in a later round.
    let patience = Patience::new(Arc::default(), 0);
    for (name, index) in engine.catalog.ready_indexes() {
        let Some(after_s) = index.definition.expire_after_s() else { continue };
        let now_ms = engine.env.clock.unix_millis();
        let cutoff_ms = now_ms.saturating_sub(i64::from(after_s) * 1000);
        let mut expiry = Expiry {
            writer: Writer {
                engine,
                name: &name,
                durability: engine.store().options().durability,
                validates: true,
                limits: WriteLimits { interrupt: Some(&interrupt), patience: Some(&patience) },
                record: None,
                transaction: None,
            },
            index: &index,
            cutoff_ms,
            deleted: 0,
            skipped: Skipped::default(),
        };
        let result = expiry.run();
        deleted += expiry.deleted;
        match expiry.skipped.error.map_or(result, Err) {
            Ok(()) => {}
            // Dropped concurrently.
            Err(Error::NoSuchCollection { .. } | Error::Store(alluvium_store::Error::NoSuchTree(_))) => {}
            // The other indexes are not affected.
            Err(error) => {
                let index = index.definition.name();
                log::warn!(target: "alluvium::index", "documents of {name} do not expire by {index}: {error}");
                failed = failed.or(Some(error));
            }
        }
    }
    failed.map_or(Ok(deleted), Err)
}

/// Deletes the documents that have expired according to one index. A document that cannot be deleted is skipped.
struct Expiry<'a> {
    writer: Writer<'a>,
    index: &'a Arc<Index>,
    cutoff_ms: i64,
    deleted: u64,
    skipped: Skipped,
}

impl Expiry<'_> {
    fn run(&mut self) -> Result<()> {
        let Writer { engine, name, .. } = self.writer;
        loop {
            // Small batches, if a test sets `gather_bytes`.
            let options = engine.store().options();
            let batch_documents =
                options.tuning.gather_bytes.map_or(BATCH_DOCUMENTS, |bytes| bytes.clamp(1, BATCH_DOCUMENTS));
            let found = self.find(batch_documents)?;
            let all = found.len() < batch_documents;
            let before = (self.deleted, self.skipped.keys.len());
            for id in found {
                if engine.tasks.stopping() {
                    return Ok(());
                }
                let key = id_key(&id)?;
                // The document is read again under its lock: its date may have changed.
                let is_expired = |document: &Document| {
                    // An index that was dropped concurrently, perhaps with its collection, no
                    // longer deletes anything.
                    let known = engine.catalog.require(name)?.indexes();
                    if !known.indexes.iter().any(|known| known.tree == self.index.tree) {
                        return Ok(false);
                    }
                    let keys = self.index.stored_keys_of(document)?.keys;
                    let (low, high) = dates(self.index, self.cutoff_ms);
                    Ok(keys.iter().any(|key| key.bytes >= low && key.bytes <= high))
                };
                let removed = self.writer.remove(&key, is_expired, |_| Ok(Written::default()));
                match removed {
                    Ok(removed) => self.deleted += u64::from(removed.is_some()),
                    Err(Error::Store(alluvium_store::Error::Claimed { .. })) => drop(self.skipped.keys.insert(key)),
                    Err(error) => {
                        self.skipped.record(error)?;
                        self.skipped.keys.insert(key);
                    }
                }
            }
            if all || before == (self.deleted, self.skipped.keys.len()) {
                return Ok(());
            }
        }
    }

    /// The `_id`s of the first expired documents, at most `most`, without skipped documents.
    fn find(&mut self, most: usize) -> Result<Vec<Value>> {
        let Writer { engine, name, .. } = self.writer;
        let snapshot = engine.snapshot();
        let state = engine.catalog.require(name)?;
        let (low, mut high) = dates(self.index, self.cutoff_ms);
        // This byte is above the key of any `_id`.
        high.push(0xff);
        let bounds = Bounds { lower: Bound::Included(low), upper: Bound::Excluded(high), reverse: false };
        let view = CollectionView::new(engine, state, name, snapshot);
        let mut scan = IndexScan::new(view, self.index.clone(), bounds)?;
        let mut found = Vec::new();
        while found.len() < most {
            let document = match scan.next_document() {
                Ok(Some(document)) => document,
                Ok(None) => break,
                Err(error) => {
                    self.skipped.record(error)?;
                    continue;
                }
            };
            if !found.contains(document.id()) && !self.skipped.holds(document.id())? {
                found.push(document.id().clone());
            }
        }
        Ok(found)
    }
}

/// The documents that have expired and cannot be deleted.
#[derive(Default)]
struct Skipped {
    /// The keys of the `_id`s of these documents.
    keys: HashSet<Vec<u8>>,
    /// The error of the first of these documents.
    error: Option<Error>,
}

impl Skipped {
    /// Records an error that concerns one document. Returns any other error.
    fn record(&mut self, error: Error) -> Result<()> {
        let concerns_one = match &error {
            Error::DamagedDocument { .. }
            | Error::InvalidDocument(_)
            | Error::DocumentTooLarge(_)
            | Error::Index(_)
            | Error::IndexOf { .. } => true,
            Error::Store(error) => matches!(error, alluvium_store::Error::BatchTooLarge { .. }),
            _ => false,
        };
        if !concerns_one {
            return Err(error);
        }
        self.error.get_or_insert(error);
        Ok(())
    }

    fn holds(&self, id: &Value) -> Result<bool> {
        Ok(!self.keys.is_empty() && self.keys.contains(&id_key(id)?))
    }
}

/// The lowest and the highest index key of dates up to the cutoff.
fn dates(index: &Index, cutoff_ms: i64) -> (Vec<u8>, Vec<u8>) {
    let of = |ms: i64| {
        let mut bytes = Vec::new();
        key::encode(&Value::DateTime(ms), &mut bytes);
        bytes
    };
    let (first, last) = (of(i64::MIN), of(cutoff_ms));
    match index.definition.parts().first().map(|part| part.order) {
        Some(Order::Descending) => {
            let inverted = |bytes: Vec<u8>| bytes.into_iter().map(|byte| !byte).collect();
            (inverted(last), inverted(first))
        }
        _ => (first, last),
    }
}
