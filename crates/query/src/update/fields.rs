//! The fields of a document that an update changes: of a map, or of a draft, which is decoded only as far as necessary.

use alluvium_document::{Draft, Map, Value};

use super::UpdateError;

/// Access to the top-level fields of a document.
pub(super) trait Fields {
    /// The value of a field, to be changed in place.
    fn field(&mut self, name: &str) -> Result<Option<&mut Value>, UpdateError>;
    /// Appends a field that is not there.
    fn append(&mut self, name: &str, value: Value) -> Result<(), UpdateError>;
    /// Removes a field.
    fn remove(&mut self, name: &str) -> Result<(), UpdateError>;
    /// The value of a field, not to be changed.
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
