//! Checking a whole database.

mod indexes;

use crate::catalog::{self, Open};
use crate::database::CollectionInfo;
use crate::names::FullName;
use crate::{Database, Error, ErrorKind, Result, error, read};
use alluvium_document::row::shapes_used;
use alluvium_document::shape::ShapeTable;
use alluvium_store::{Store, TreeId};
use indexes::{Checking, Counted};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Of one collection, so many damaged documents are named at most.
const MOST_OF_A_COLLECTION: usize = 100;

/// What [`Database::verify_all`] has found.
#[derive(Debug, Clone, Default)]
pub struct VerifyReport {
    /// An error for each damaged place; empty is good.
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
    /// False while it is being built: entries may be missing then, and nobody asks it.
    pub ready: bool,
    /// All entries.
    pub entries: u64,
    /// Those of them that are stale: their documents do not yield them any more, and readers pass over them.
    pub stale: u64,
}

impl Database {
    /// Checks everything: every block, reference and count of the files below, as [`alluvium_store::Store::verify`] does, and
    /// then every document of every collection: that its deltas can be folded, that its shape is there, that
    /// all of its values can be decoded, and that it is found by its `_id`; and every index: that each document has its
    /// entries, and that no entry leads anybody astray. Returns the damage found, one error
    /// for each damaged place (of a collection or an index at most a hundred); empty is good.
    ///
    /// A collection is checked as it is at one snapshot, which lives no longer than any: one that takes longer to check
    /// than [`crate::Builder::snapshot_max_age`] ends it.
    ///
    /// ```
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// for damage in db.verify()? {
    ///     eprintln!("{damage}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What keeps the check itself from going on, such as [`ErrorKind::SnapshotTooOld`].
    pub fn verify(&self) -> Result<Vec<Error>> {
        self.verify_unless(&AtomicBool::new(false))
    }

    /// As [`Database::verify`], until somebody sets `stop`.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// assert!(db.verify_unless(&stop)?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::verify`]; [`ErrorKind::Stopped`] if it was stopped.
    pub fn verify_unless(&self, stop: &AtomicBool) -> Result<Vec<Error>> {
        Ok(self.verify_all(stop)?.damage)
    }

    /// As [`Database::verify`], with what indexes have, until somebody sets `stop`.
    ///
    /// ```
    /// # use std::sync::atomic::AtomicBool;
    /// # fn main() -> alluvium::Result<()> {
    /// # let dir = tempfile::tempdir().expect("a directory");
    /// # let db = alluvium::Database::open(dir.path().join("db"))?;
    /// let pets = db.collection("pets");
    /// pets.create_index(r#"{"kind": 1}"#)?;
    /// pets.put("rex", r#"{"kind": "dog"}"#)?;
    /// let stop = AtomicBool::new(false); // which another thread may set
    /// let report = db.verify_all(&stop)?;
    /// assert!(report.damage.is_empty() && report.indexes[0].entries == 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Database::verify`]; [`ErrorKind::Stopped`] if it was stopped.
    pub fn verify_all(&self, stop: &AtomicBool) -> Result<VerifyReport> {
        let damage = self.inner.store.verify_unless(stop)?.into_iter().map(Into::into).collect();
        let mut report = VerifyReport { damage, indexes: Vec::new() };
        // Documents that cannot be read because of what is named already need no names of their own.
        if report.damage.is_empty() {
            for info in self.collections() {
                self.verify_collection(&info, stop, &mut report)?;
            }
        }
        Error::unless_stopped(stop)?;
        Ok(report)
    }

    fn verify_collection(&self, info: &CollectionInfo, stop: &AtomicBool, report: &mut VerifyReport) -> Result<()> {
        let damage = &mut report.damage;
        let (store, name) = (&self.inner.store, FullName::new(&info.logical, &info.name)?);
        let open = match self.inner.catalog.find(store, &name) {
            Ok(Some(open)) => open,
            // Dropped since.
            Ok(None) => return Ok(()),
            Err(error) => return note(error, damage),
        };
        if store.description(open.system).is_none() {
            let reason = format!("its system tree {} is missing", open.system.0);
            damage.push(Error::DamagedDocument { collection: name.to_string(), id: "(all)".to_owned(), reason });
            return Ok(());
        }
        let snapshot = store.snapshot();
        match Shapes::load(store, &name, open.system, &snapshot) {
            Ok(shapes) => self.verify_at(&open, &snapshot, &shapes, stop, report),
            Err(error) => note(error, damage),
        }
    }

    /// Checks a collection as it is at a snapshot.
    fn verify_at(
        &self,
        open: &Open,
        snapshot: &alluvium_store::Snapshot,
        shapes: &Shapes,
        stop: &AtomicBool,
        report: &mut VerifyReport,
    ) -> Result<()> {
        let damage = &mut report.damage;
        let (store, name) = (&self.inner.store, shapes.name);
        let most = damage.len() + MOST_OF_A_COLLECTION;
        let mut scan = match store.scan(open.documents, alluvium_store::Bounds::all(), Some(snapshot)) {
            Ok(scan) => scan,
            Err(alluvium_store::Error::NoSuchTree(_)) => return Ok(()),
            Err(error) => return note(error.into(), damage),
        };
        let mut counted: Vec<Counted> = open.indexes().indexes.iter().map(Counted::new).collect();
        let mut value = Vec::new();
        loop {
            Error::unless_stopped(stop)?;
            let (key, row) = match scan.next() {
                Ok(Some(found)) => found,
                Ok(None) => break,
                // Where it cannot go on, what follows is not checked.
                Err(error) => return note(error.into(), damage),
            };
            let checked = check_row(store, (name, open.documents, snapshot), shapes, (key, row), &mut value);
            let checked = checked.and_then(|table| match counted.is_empty() {
                true => Ok(()),
                false => {
                    let document = read::decode(&table, name, key, row.to_vec())?;
                    counted.iter_mut().try_for_each(|counted| counted.add(name, &document))
                }
            });
            if let Err(error) = checked {
                note(error, damage)?;
                if damage.len() >= most {
                    return Ok(());
                }
            }
        }
        let checking = Checking { store, name, documents: open.documents, shapes, snapshot, stop };
        for counted in &counted {
            report.indexes.extend(checking.check(counted, damage)?);
        }
        Ok(())
    }
}

/// Checks that a row can be decoded, and that it is found by its key; returns the shapes that it needs.
fn check_row(
    store: &Store,
    (name, documents, snapshot): (&FullName, TreeId, &alluvium_store::Snapshot),
    shapes: &Shapes,
    (key, row): (&[u8], &[u8]),
    value: &mut Vec<u8>,
) -> Result<Arc<ShapeTable>> {
    let table = shapes.of_row(row)?;
    let id = read::check(&table, name, key, row)?;
    match store.get_at(snapshot, documents, key, value)? {
        true => Ok(table),
        false => Err(Error::DamagedDocument {
            collection: name.to_string(),
            id: error::id_text(&id),
            reason: "it is met in a scan, and not found by its _id".to_owned(),
        }),
    }
}

/// The shapes of a collection as they are on disk: those of an open collection are in memory.
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

    /// The shapes that a row of the snapshot needs. Deltas are folded with the shapes that there are by then, so it may have
    /// one that came after the snapshot.
    fn of_row(&self, row: &[u8]) -> Result<Arc<ShapeTable>> {
        let table = self.table.borrow().clone();
        let mut missing = None;
        // Of a damaged row, what stands before the damage is noted.
        let _damaged = shapes_used(row, &mut |number| {
            if missing.is_none() && table.get(number).is_none() {
                missing = Some(number);
            }
        });
        let Some(number) = missing else { return Ok(table) };
        match self.store.get(self.system, &catalog::shape_key(number), &mut Vec::new()) {
            Ok(true) => {
                let now = catalog::load_shapes(self.store, self.name, self.system, None)?;
                self.table.replace(now.clone());
                Ok(now)
            }
            // Missing there too, or dropped since.
            Ok(false) | Err(alluvium_store::Error::NoSuchTree(_)) => Ok(table),
            Err(error) => Err(error.into()),
        }
    }
}

/// Keeps damage; anything else ends the check.
fn note(error: Error, damage: &mut Vec<Error>) -> Result<()> {
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
