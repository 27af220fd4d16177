//! Logical databases: the part of a collection's name before the first dot.

use crate::names::{FullName, check_logical};
use crate::{Collection, Database, Result};

/// A handle on a logical database: what MongoDB's clients call a database.
#[derive(Clone)]
pub struct LogicalDatabase {
    database: Database,
    name: String,
}

impl LogicalDatabase {
    pub(crate) fn new(database: Database, name: &str) -> Self {
        Self { database, name: name.to_owned() }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A handle on one of its collections; the name may have dots.
    pub fn collection(&self, name: &str) -> Collection {
        Collection::new(self.database.clone(), FullName::new(&self.name, name))
    }

    /// The names of its collections, sorted.
    pub fn list_collection_names(&self) -> Vec<String> {
        let all = self.database.inner.catalog.list().into_iter();
        all.filter(|n| n.logical == self.name).map(|n| n.collection).collect()
    }

    /// Creates an empty collection.
    ///
    /// # Errors
    /// As [`Database::create_collection`].
    pub fn create_collection(&self, name: &str) -> Result<Collection> {
        let name = FullName::new(&self.name, name)?;
        self.database.inner.catalog.create(&self.database.inner.store, &name)?;
        Ok(Collection::new(self.database.clone(), Ok(name)))
    }

    /// Drops all its collections. Each goes at once; together they are not one batch.
    ///
    /// # Errors
    /// As [`Database::drop_collection`].
    pub fn drop(&self) -> Result<()> {
        check_logical(&self.name)?;
        for name in self.list_collection_names() {
            self.collection(&name).drop()?;
        }
        Ok(())
    }
}
