//! Persistent settings that clients change. MongoDB stores the same documents in the same collections.

use crate::error::CommandResult;
use alluvium::{Collection, Database, Durability, Map};

/// The document that stores a setting.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    database: &'static str,
    collection: &'static str,
    id: &'static str,
}

/// The feature compatibility version.
pub(crate) const FEATURES: Place =
    Place { database: "admin", collection: "system.version", id: "featureCompatibilityVersion" };

/// The default read and write concerns.
pub(crate) const CONCERNS: Place = Place { database: "config", collection: "settings", id: "ReadWriteConcernDefaults" };

impl Place {
    fn collection(self, db: &Database) -> Collection {
        db.logical_database(self.database).collection(self.collection).with_durability(Durability::Sync)
    }

    /// Reads the setting; `None` if it is not stored.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn read(self, db: &Database) -> CommandResult<Option<Map>> {
        let document = self.collection(db).get(self.id)?;
        Ok(document.map(|document| document.to_map().map_err(alluvium::Error::from)).transpose()?)
    }

    /// Writes the setting. The setting is on the disk when this function returns.
    ///
    /// # Errors
    /// Errors of writing.
    pub(crate) fn write(self, db: &Database, setting: Map) -> CommandResult<()> {
        Ok(self.collection(db).put(self.id, self.document(setting))?)
    }

    /// The document with the setting.
    pub(crate) fn document(self, setting: Map) -> Map {
        let mut document = Map::from([("_id", alluvium::Value::from(self.id))]);
        document.entries.extend(setting.entries);
        document
    }

    /// True if the setting is stored in this collection.
    pub(crate) fn is_in(self, database: &str, collection: &str) -> bool {
        self.database == database && self.collection == collection
    }

    /// The place as text, for messages.
    pub(crate) fn shown(self) -> String {
        format!("{} in {}.{}", self.id, self.database, self.collection)
    }
}
