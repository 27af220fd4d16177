//! Checking a whole database.

mod indexes;

use crate::catalog;
use crate::database::CollectionInfo;
use crate::names::FullName;
use crate::{Database, Error, ErrorKind, Result, error, read};
use indexes::{Checking, Counted};
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
    /// Checks everything: every block, reference and count of the files below, as [`store::Store::verify`] does, and
    /// then every document of every collection: that its deltas can be folded, that its shape is there, that
    /// all of its values can be decoded, and that it is found by its `_id`; and every index: that each document has its
    /// entries, and that no entry leads anybody astray. Returns the damage found, one error
    /// for each damaged place (of a collection or an index at most a hundred); empty is good.
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
    /// What keeps the check itself from going on.
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
        let most = damage.len() + MOST_OF_A_COLLECTION;
        let snapshot = store.snapshot();
        // A fresh look at the shapes: those of the open collection are in memory.
        let shapes = match catalog::load_shapes(store, &name, open.system, Some(&snapshot)) {
            Ok(shapes) => shapes,
            Err(error) => return note(error, damage),
        };
        let mut scan = match store.scan(open.documents, store::Bounds::all(), Some(&snapshot)) {
            Ok(scan) => scan,
            Err(store::Error::NoSuchTree(_)) => return Ok(()),
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
            let checked = read::check(&shapes, &name, key, row);
            let found = store.get_at(&snapshot, open.documents, key, &mut value);
            let checked = checked.and_then(|id| match found? {
                true => Ok(()),
                false => Err(Error::DamagedDocument {
                    collection: name.to_string(),
                    id: error::id_text(&id),
                    reason: "it is met in a scan, and not found by its _id".to_owned(),
                }),
            });
            let checked = checked.and_then(|()| match counted.is_empty() {
                true => Ok(()),
                false => {
                    let document = read::decode(&shapes, &name, key, row.to_vec())?;
                    counted.iter_mut().try_for_each(|counted| counted.add(&name, &document))
                }
            });
            if let Err(error) = checked {
                note(error, damage)?;
                if damage.len() >= most {
                    return Ok(());
                }
            }
        }
        let (documents, snapshot) = (open.documents, &snapshot);
        let checking = Checking { store, name: &name, documents, shapes: &shapes, snapshot, stop };
        for counted in &counted {
            report.indexes.extend(checking.check(counted, damage)?);
        }
        Ok(())
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
