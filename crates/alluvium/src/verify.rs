//! Checking a whole database.

use crate::catalog;
use crate::database::CollectionInfo;
use crate::names::FullName;
use crate::{Database, Error, ErrorKind, Result, error, read};
use std::sync::atomic::AtomicBool;

/// Of one collection, so many damaged documents are named at most.
const MOST_OF_A_COLLECTION: usize = 100;

impl Database {
    /// Checks everything: every block, reference and count of the files below, as [`store::Store::verify`] does, and
    /// then every document of every collection: that its deltas can be folded, that its shape is there, that
    /// all of its values can be decoded, and that it is found by its `_id`. Returns the damage found, one error
    /// for each damaged place (of a collection at most a hundred documents); empty is good.
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
        let found = self.inner.store.verify_unless(stop)?;
        let mut damage: Vec<Error> = found.into_iter().map(Into::into).collect();
        // Documents that cannot be read because of what is named already need no names of their own.
        if damage.is_empty() {
            for info in self.collections() {
                self.verify_collection(&info, stop, &mut damage)?;
            }
        }
        Error::unless_stopped(stop)?;
        Ok(damage)
    }

    fn verify_collection(&self, info: &CollectionInfo, stop: &AtomicBool, damage: &mut Vec<Error>) -> Result<()> {
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
        let mut value = Vec::new();
        loop {
            Error::unless_stopped(stop)?;
            let (key, row) = match scan.next() {
                Ok(Some(found)) => found,
                Ok(None) => return Ok(()),
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
            if let Err(error) = checked {
                note(error, damage)?;
                if damage.len() >= most {
                    return Ok(());
                }
            }
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
