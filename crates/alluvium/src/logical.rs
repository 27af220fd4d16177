//! Logical databases: the part of a collection's name before the first dot.

use crate::collection::Collection;
use crate::create_collection::CreateCollection;
use crate::target::Target;
use crate::watch::Watch;
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::error::{Error, Result};
use alluvium_collections::history::Scope;
use alluvium_collections::names::{FullName, check_logical};

/// A handle on a logical database, which MongoDB's clients call a database.
#[derive(Clone)]
pub struct LogicalDatabase {
    engine: EngineHandle,
    name: String,
}

impl LogicalDatabase {
    pub(crate) fn new(engine: EngineHandle, name: &str) -> Self {
        Self { engine, name: name.to_owned() }
    }

    /// The name.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// assert_eq!(db.logical_database("shop").name(), "shop");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Watches the changes of its collections, as [`crate::Database::watch`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let mut changes = db.logical_database("shop").watch().run()?;
    /// db.collection("shop.pets").put("rex", r#"{"age": 3}"#)?;
    /// db.collection("zoo.pets").put("leo", r#"{"age": 9}"#)?;
    /// assert_eq!(changes.count(), 1);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn watch(&self) -> Watch {
        let name = check_logical(&self.name).map(|()| Scope::Logical(self.name.as_str().into()));
        Watch::new(&self.engine, name.map_err(Error::from))
    }

    /// A handle on a collection of this logical database; the name may contain dots.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.logical_database("shop").collection("orders").put(1, r#"{"sum": 20}"#)?;
    /// assert!(db.collection("shop.orders").get(1)?.is_some());
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection(&self, name: &str) -> Collection {
        Collection::new(Target::new(&self.engine, FullName::new(&self.name, name)))
    }

    /// The names of the collections, sorted.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("shop.orders").run()?;
    /// assert_eq!(db.logical_database("shop").collection_names(), ["orders"]);
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn collection_names(&self) -> Vec<String> {
        let all = self.engine.catalog.list().into_iter();
        all.filter(|n| n.logical == self.name).map(|n| n.collection.into()).collect()
    }

    /// A collection to create in this logical database, like [`crate::Database::create_collection`]; the name may
    /// contain dots.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// let orders = db.logical_database("shop").create_collection("orders").run()?;
    /// assert_eq!(orders.full_name()?, "shop.orders");
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn create_collection(&self, name: &str) -> CreateCollection {
        CreateCollection::new(Target::new(&self.engine, FullName::new(&self.name, name)))
    }

    /// Drops all collections and views of the logical database. Each of them is dropped atomically, but the whole drop
    /// is not atomic. A collection that is dropped or renamed concurrently is skipped.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// db.create_collection("shop.orders").run()?;
    /// db.logical_database("shop").drop()?;
    /// assert!(db.collections().is_empty());
    /// # alluvium::Result::Ok(())
    /// ```
    ///
    /// # Errors
    /// As [`Database::drop_collection`].
    pub fn drop(&self) -> Result<()> {
        check_logical(&self.name)?;
        let catalog = &self.engine.catalog;
        let views = catalog.views().into_iter().map(|(name, _)| name);
        self.drop_listed(catalog.list().into_iter().chain(views).filter(|name| name.logical == self.name))
    }

    fn drop_listed(&self, names: impl IntoIterator<Item = FullName>) -> Result<()> {
        for name in names {
            match self.engine.catalog.drop_with_logical(&name) {
                Ok(()) | Err(Error::NoSuchCollection { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
