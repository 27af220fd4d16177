//! Access to the fields of a document that an update changes. The document is a map, or a draft,
//! which decodes only the necessary fields.

use alluvium_document::{Draft, Map, Value};

use super::UpdateError;

/// Access to the top-level fields of a document.
pub(super) trait Fields {
    /// The value of a field, for changing it in place.
    fn field(&mut self, name: &str) -> Result<Option<&mut Value>, UpdateError>;
    /// Appends a field that does not exist.
    fn append(&mut self, name: &str, value: Value) -> Result<(), UpdateError>;
    /// Removes a field.
    fn remove(&mut self, name: &str) -> Result<(), UpdateError>;
    /// The value of a field, for reading.
    fn copy(&self, name: &str) -> Result<Option<Value>, UpdateError>;
}

impl Fields for Map {
    fn field(&mut self, name: &str) -> Result<Option<&mut Value>, UpdateError> {
        Ok(self.get_mut(name))
    }

    fn append(&mut self, name: &str, value: Value) -> Result<(), UpdateError> {
        self.push(name, value);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<(), UpdateError> {
        Map::remove(self, name);
        Ok(())
    }

    fn copy(&self, name: &str) -> Result<Option<Value>, UpdateError> {
        Ok(self.get(name).cloned())
    }
}

impl Fields for Draft {
    fn field(&mut self, name: &str) -> Result<Option<&mut Value>, UpdateError> {
        Ok(self.get_mut(name)?)
    }

    fn append(&mut self, name: &str, value: Value) -> Result<(), UpdateError> {
        Ok(self.set(name, value)?)
    }

    fn remove(&mut self, name: &str) -> Result<(), UpdateError> {
        Draft::remove(self, name)?;
        Ok(())
    }

    fn copy(&self, name: &str) -> Result<Option<Value>, UpdateError> {
        Ok(self.get(name)?)
    }
}
