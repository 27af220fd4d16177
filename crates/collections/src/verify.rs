//! Checks a whole database.

mod indexes;

use crate::capped;
use crate::catalog;
use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result, id_text};
use crate::names::FullName;
use crate::read;
use crate::state::CollectionState;
use crate::trees::shape_key;
use alluvium_document::row::shapes_used;
use alluvium_document::shape::ShapeTable;
use alluvium_exec::Limits;
use alluvium_store::{Store, TreeId};
use indexes::{Checking, Counted};
use std::cell::RefCell;
use std::sync::Arc;

/// The maximum number of damaged documents that are named for one collection.
const MOST_OF_A_COLLECTION: usize = 100;

/// The findings of `Database::verify`.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// An error for each damaged place; empty if there is no damage.
    pub damage: Vec<Error>,
    /// The indexes that were checked, in the order of their collections' names.
    pub indexes: Vec<VerifiedIndex>,
}

/// An index that was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedIndex {
    /// The collection's full name.
    pub collection: String,
    /// The index.
    pub name: String,
    /// False while it is being built. Until it is ready, entries may be missing, and queries do not use it.
    pub ready: bool,
    /// The number of entries.
    pub entries: u64,
    /// The number of stale entries. Their documents no longer yield them, and readers skip them.
    pub stale: u64,
}

/// Checks the whole database: see `Database::verify`.
///
/// # Errors
/// Errors that prevent the check itself; [`Error::Stopped`] and [`Error::MaxTimeExpired`] by the limits.
pub fn verify(engine: &Engine, mut limits: Limits) -> Result<VerifyReport> {
    limits.begin(&engine.env);
    let check_stop: CheckStop<'_> = &|| Ok(limits.check(&engine.env)?);
    let damage = engine.store().verify_until(&|| check_stop().is_err())?.into_iter().map(Into::into).collect();
    let mut report = VerifyReport { damage, indexes: Vec::new() };
    // Documents in a damaged file cannot be read; the error of the file names the damage already.
    if report.damage.is_empty() {
        for name in engine.catalog.list_all() {
            verify_collection(engine, &name, check_stop, &mut report)?;
        }
    }
    check_stop()?;
    Ok(report)
}

/// An error if the check shall stop.
type CheckStop<'a> = &'a dyn Fn() -> Result<()>;

fn verify_collection(
    engine: &Engine,
    name: &FullName,
    check_stop: CheckStop<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    let damage = &mut report.damage;
    let store = engine.store();
    let snapshot = engine.snapshot();
    let state = match engine.collection_at(name, Some(&snapshot)) {
        Ok(state) if state.exists() => state,
        // Dropped or renamed concurrently.
        Ok(_) => return Ok(()),
        Err(error) => return record(error, damage),
    };
    // Both trees of a collection are dropped together, so the system tree must exist.
    if !store.is_readable_at(&snapshot.store, state.system)? {
        let reason = format!("its system tree {} is missing", state.system.0);
        damage.push(Error::DamagedDocument { collection: name.to_string(), id: "(all)".to_owned(), reason });
        return Ok(());
    }
    match Shapes::load(store, name, state.system, &snapshot.store) {
        Ok(shapes) => verify_at(engine, &state, &snapshot.store, &shapes, check_stop, report),
        Err(error) => record(error, damage),
    }
}

/// Checks a collection at a snapshot.
fn verify_at(
    engine: &Engine,
    state: &CollectionState,
    snapshot: &alluvium_store::Snapshot,
    shapes: &Shapes,
    check_stop: CheckStop<'_>,
    report: &mut VerifyReport,
) -> Result<()> {
    let damage = &mut report.damage;
    let (store, name) = (engine.store(), shapes.name);
    let most = damage.len() + MOST_OF_A_COLLECTION;
    let mut scan = match store.scan(state.documents, alluvium_store::Bounds::all(), Some(snapshot)) {
        Ok(scan) => scan,
        Err(alluvium_store::Error::NoSuchTree(_)) => return Ok(()),
        Err(error) => return record(error.into(), damage),
    };
    let indexes = state.indexes();
    let mut counted: Vec<Counted> = indexes.indexes.iter().map(|index| Counted::new(index, snapshot)).collect();
    let place = CheckedDocuments { store, name, documents: state.documents, snapshot };
    let (mut value, mut documents) = (Vec::new(), 0);
    loop {
        check_stop()?;
        let (key, row) = match scan.next() {
            Ok(Some(found)) => found,
            Ok(None) => break,
            // The scan cannot continue, so the following documents are not checked.
            Err(error) => return record(error.into(), damage),
        };
        documents += 1;
        let checked = place.check(shapes, key, row, &mut value);
        let checked = checked.and_then(|table| match counted.is_empty() {
            true => Ok(()),
            false => {
                let document = read::decode_copy(&table, name, key, row)?;
                counted.iter_mut().try_for_each(|counted| counted.add(name, &document))
            }
        });
        if let Err(error) = checked {
            record(error, damage)?;
            if damage.len() >= most {
                return Ok(());
            }
        }
    }
    if indexes.options.order().is_some()
        && let Err(error) = capped::check(store, state, name, snapshot, documents)
    {
        record(error, damage)?;
    }
    let checking = Checking { store, name, documents: state.documents, shapes, snapshot, check_stop };
    for counted in &counted {
        report.indexes.extend(checking.check(counted, damage)?);
    }
    Ok(())
}

/// The documents of a collection at a snapshot.
struct CheckedDocuments<'a> {
    store: &'a Store,
    name: &'a FullName,
    documents: TreeId,
    snapshot: &'a alluvium_store::Snapshot,
}

impl CheckedDocuments<'_> {
    /// Checks that a row can be decoded, and that a look-up by its key finds it. Returns a table with the shapes of the
    /// row.
    fn check(&self, shapes: &Shapes, key: &[u8], row: &[u8], value: &mut Vec<u8>) -> Result<Arc<ShapeTable>> {
        let table = shapes.of_row(row)?;
        let id = read::check(&table, self.name, key, row)?;
        match self.store.get_at(self.snapshot, self.documents, key, value)? {
            true => Ok(table),
            false => Err(Error::DamagedDocument {
                collection: self.name.to_string(),
                id: id_text(&id),
                reason: "a scan finds it, and a lookup by its _id does not".to_owned(),
            }),
        }
    }
}

/// The shapes of a collection that are stored on disk, which are read again because an open collection has its shapes
/// in memory.
struct Shapes<'a> {
    store: &'a Store,
    name: &'a FullName,
    system: TreeId,
    table: RefCell<Arc<ShapeTable>>,
}

impl<'a> Shapes<'a> {
    fn load(store: &'a Store, name: &'a FullName, system: TreeId, snapshot: &alluvium_store::Snapshot) -> Result<Self> {
        let table = catalog::load_shapes(store, name, system, Some(snapshot))?;
        Ok(Self { store, name, system, table: RefCell::new(table) })
    }

    /// A table with the shapes of a row of the snapshot. A delta may be folded after the snapshot was taken, so the row
    /// may use a shape that is newer than the snapshot.
    fn of_row(&self, row: &[u8]) -> Result<Arc<ShapeTable>> {
        let table = self.table.borrow().clone();
        let mut missing = None;
        // For a damaged row, the shapes before the damage are reported.
        let _damaged = shapes_used(row, &mut |number| {
            if missing.is_none() && table.get(number).is_none() {
                missing = Some(number);
            }
        });
        let Some(number) = missing else { return Ok(table) };
        match self.store.get(self.system, &shape_key(number), &mut Vec::new()) {
            Ok(true) => {
                let now = catalog::load_shapes(self.store, self.name, self.system, None)?;
                self.table.replace(now.clone());
                Ok(now)
            }
            // The shape is also missing on disk, or the collection was dropped concurrently.
            Ok(false) | Err(alluvium_store::Error::NoSuchTree(_)) => Ok(table),
            Err(error) => Err(error.into()),
        }
    }
}

/// Records damage. Any other error ends the check.
fn record(error: Error, damage: &mut Vec<Error>) -> Result<()> {
    match error.kind() {
        ErrorKind::Corruption => {
            damage.push(error);
            Ok(())
        }
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests;
