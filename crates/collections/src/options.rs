//! The options of a collection, and views.

use crate::error::Result;
use alluvium_document::{Map, Value};
use alluvium_query::filter::FilterError;
use alluvium_query::validator::Validator;

/// The options of a collection, as its description has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollectionOptions {
    /// What its documents must be.
    pub validator: Option<Validator>,
}

impl CollectionOptions {
    /// Reads options by MongoDB's names.
    ///
    /// # Errors
    /// An unknown option, or one that [`Validator::from_options`] refuses.
    pub fn from_map(map: &Map) -> Result<Self> {
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            if !["validator", "validationLevel", "validationAction"].contains(&name) {
                let known = "validator, validationLevel and validationAction";
                return Err(
                    FilterError::BadValue(format!("a collection has no option {name}: there are {known}")).into()
                );
            }
        }
        Ok(Self { validator: Validator::from_options(map)? })
    }

    /// The options by MongoDB's names; empty without options.
    pub fn to_map(&self) -> Map {
        self.validator.as_ref().map(Validator::to_options).unwrap_or_default()
    }
}

/// A view: a pipeline over a collection, or over another view, of the same logical database.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The name of what it is over, without its logical database.
    pub on: String,
    /// The stages, as they were given.
    pub pipeline: Vec<Value>,
}

impl View {
    /// The view in MongoDB's form: `viewOn` and `pipeline`.
    pub fn to_map(&self) -> Map {
        Map::from([("viewOn", Value::from(self.on.as_str())), ("pipeline", Value::Array(self.pipeline.clone()))])
    }

    /// Reads what [`View::to_map`] makes.
    pub fn from_map(map: &Map) -> Option<Self> {
        let on = map.get("viewOn").and_then(Value::as_str)?.to_owned();
        let pipeline = map.get("pipeline").and_then(Value::as_array)?.to_vec();
        Some(Self { on, pipeline })
    }
}
