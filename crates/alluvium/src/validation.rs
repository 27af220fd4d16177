//! Validators of collections.

use crate::target::Target;
use alluvium_collections::error::Result;
use alluvium_document::{InputError, IntoDocument, Map};
use alluvium_query::validator::{ValidationAction, ValidationLevel, Validator};

/// A validator to set, with its options; returned by [`crate::Collection::set_validator`].
///
/// ```
/// # let db = alluvium::Database::in_memory()?;
/// use alluvium::ValidationLevel;
///
/// let pets = db.collection("pets");
/// let rules = r#"{"$jsonSchema": {"required": ["kind"], "properties": {"age": {"bsonType": "int", "minimum": 0}}}}"#;
/// pets.set_validator(rules).level(ValidationLevel::Moderate).run()?;
/// assert!(pets.insert_one(r#"{"kind": "dog", "age": -1}"#).is_err());
/// # alluvium::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "no validator is set until `run`"]
pub struct SetValidator {
    target: Target,
    rules: std::result::Result<Map, InputError>,
    level: ValidationLevel,
    action: ValidationAction,
}

impl SetValidator {
    pub(crate) fn new(target: Target, rules: impl IntoDocument) -> Self {
        Self { target, rules: rules.into_map(), level: ValidationLevel::Strict, action: ValidationAction::Error }
    }

    /// Sets which writes are checked. Default: [`ValidationLevel::Strict`], which checks all writes.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// use alluvium::ValidationLevel;
    ///
    /// pets.put("rex", r#"{"age": -1}"#)?;
    /// pets.set_validator(r#"{"age": {"$gte": 0}}"#).level(ValidationLevel::Moderate).run()?;
    /// pets.update_one(r#"{"_id": "rex"}"#, r#"{"$set": {"kind": "dog"}}"#).run()?; // It was wrong before.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn level(mut self, level: ValidationLevel) -> Self {
        self.level = level;
        self
    }

    /// Sets the action for a document that does not match the rules. Default: [`ValidationAction::Error`].
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// use alluvium::ValidationAction;
    ///
    /// pets.set_validator(r#"{"age": {"$gte": 0}}"#).action(ValidationAction::Warn).run()?;
    /// pets.put("rex", r#"{"age": -1}"#)?; // The log has a warning.
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn action(mut self, action: ValidationAction) -> Self {
        self.action = action;
        self
    }

    /// Sets the validator. Creates the collection if it does not exist. Existing documents are not checked.
    ///
    /// # Errors
    /// [`crate::Error::Filter`], [`crate::Error::Json`] for the rules; as for any write.
    pub fn run(self) -> Result<()> {
        let validator = Validator::new(self.rules?, self.level, self.action)?;
        let (engine, name) = self.target.outside("a change of a collection's options")?;
        engine.catalog.find_or_create(name)?;
        let validator = validator.collated(engine.catalog.collation(name).as_ref())?;
        engine.catalog.change_options(name, |options| options.validator = Some(validator))?;
        Ok(())
    }
}
