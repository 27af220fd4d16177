//! The options of a collection, and views.

use crate::error::Result;
use crate::limits::CappedLimits;
use alluvium_document::{Map, Value};
use alluvium_query::collation::{Collation, CollationError};
use alluvium_query::filter::FilterError;
use alluvium_query::validator::Validator;

/// The options of a collection, as its description has them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollectionOptions {
    /// The rules that its documents must match.
    pub validator: Option<Validator>,
    /// The order of strings in queries, writes by filter, pipelines and indexes that name no collation. It never
    /// changes. Two documents whose `_id`s are equal by it alone may be in a collection: an `_id` is compared by its
    /// bytes there.
    pub collation: Option<Collation>,
    /// How much of it is kept, if it is capped.
    pub capped: Option<CappedLimits>,
}

impl CollectionOptions {
    /// Reads options by MongoDB's names.
    ///
    /// # Errors
    /// An unknown option, or one that [`Collation::parse`] or [`Validator::from_options`] refuses.
    pub fn from_map(map: &Map) -> Result<Self> {
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            let is_known = ["collation", "validator", "validationLevel", "validationAction"].contains(&name)
                || CappedLimits::OPTIONS.contains(&name);
            if !is_known {
                let known = "collation, validator, validationLevel, validationAction, capped, size and max";
                return Err(
                    FilterError::BadValue(format!("a collection has no option {name}: there are {known}")).into()
                );
            }
        }
        let collation = collation_in(map)?;
        let validator = Validator::from_options(map)?;
        let validator = validator.map(|validator| validator.collated(collation.as_ref())).transpose()?;
        Ok(Self { validator, collation, capped: CappedLimits::from_options(map)? })
    }

    /// The options by MongoDB's names; empty without options.
    pub fn to_map(&self) -> Map {
        let mut map = self.capped.as_ref().map(CappedLimits::to_options).unwrap_or_default();
        map.entries.extend(self.validator.as_ref().map(Validator::to_options).unwrap_or_default().entries);
        if let Some(collation) = &self.collation {
            map.push("collation", collation.to_map());
        }
        map
    }
}

/// The collation among options; `None` without one, and for `simple`.
fn collation_in(map: &Map) -> std::result::Result<Option<Collation>, CollationError> {
    match map.get("collation") {
        None => Ok(None),
        Some(Value::Map(options)) => Collation::parse(options),
        Some(_) => Collation::parse(&Map::new()),
    }
}

/// A view: a pipeline over a collection, or over another view, of the same logical database.
#[derive(Debug, Clone, PartialEq)]
pub struct View {
    /// The name of its collection or view, without the logical database.
    pub on: String,
    /// The stages, as they were given.
    pub pipeline: Vec<Value>,
    /// The collation of its stages and of all queries of the view.
    pub collation: Option<Collation>,
}

impl View {
    /// The view in MongoDB's form: `viewOn` and `pipeline`, perhaps `collation`.
    pub fn to_map(&self) -> Map {
        let on = Value::from(self.on.as_str());
        let mut map = Map::from([("viewOn", on), ("pipeline", Value::Array(self.pipeline.clone()))]);
        if let Some(collation) = &self.collation {
            map.push("collation", collation.to_map());
        }
        map
    }

    /// Reads what [`View::to_map`] makes.
    pub fn from_map(map: &Map) -> Option<Self> {
        let on = map.get("viewOn").and_then(Value::as_str)?.to_owned();
        let pipeline = map.get("pipeline").and_then(Value::as_array)?.to_vec();
        Some(Self { on, pipeline, collation: collation_in(map).ok()? })
    }
}
