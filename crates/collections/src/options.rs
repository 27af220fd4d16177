//! The options of a collection, and views.

use crate::error::Result;
use crate::limits::CappedLimits;
use alluvium_document::{Map, Value};
use alluvium_query::collation::{Collation, CollationError};
use alluvium_query::expression::Memory;
use alluvium_query::filter::FilterError;
use alluvium_query::index::{IndexError, Unbuilt};
use alluvium_query::validator::Validator;

/// The options of a collection, which are stored in its description.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CollectionOptions {
    /// The rules that its documents must match.
    pub validator: Option<Validator>,
    /// The default collation of queries, writes by filter, pipelines and indexes. It never changes. It does not apply
    /// to the uniqueness of `_id`s, which are compared by their bytes: a collection may have two documents whose `_id`s
    /// are equal by the collation.
    pub collation: Option<Collation>,
    /// The limits of a capped collection.
    pub capped: Option<CappedLimits>,
    /// True if the documents keep the order in which they were inserted, as in a capped collection. MongoDB does not
    /// have this option, and clients do not see it.
    pub natural_order: bool,
    /// True if each recorded change has the document before it ([`crate::history::Change::before`]).
    pub keeps_before: bool,
    /// Options by MongoDB's names that have no effect, but are returned to clients.
    pub without_effect: Map,
    /// The definitions of indexes that are not built. They are not among the options by MongoDB's names.
    pub unbuilt: Vec<Unbuilt>,
}

/// The name of the index that every collection has.
pub const ID_INDEX: &str = "_id_";

/// The options that have no effect.
pub const WITHOUT_EFFECT: [&str; 3] = ["clusteredIndex", "storageEngine", "indexOptionDefaults"];

/// The option for change streams: a document whose field `enabled` is true if changes have the document before them.
pub const IMAGES: &str = "changeStreamPreAndPostImages";

/// The name of the field of a description that states that the documents keep their order.
const NATURAL_ORDER: &str = "naturalOrder";

/// The name of the field of a description that contains the indexes that are not built.
const UNBUILT: &str = "unbuiltIndexes";

impl CollectionOptions {
    /// Reads options by MongoDB's names.
    ///
    /// # Errors
    /// An unknown option, or one that [`Collation::parse`] or [`Validator::from_options`] refuses.
    pub fn from_map(map: &Map) -> Result<Self> {
        for (name, _) in map.iter() {
            let name = name.as_str().unwrap_or_default();
            let is_known = ["collation", "validator", "validationLevel", "validationAction"].contains(&name)
                || CappedLimits::OPTIONS.contains(&name)
                || name == IMAGES
                || WITHOUT_EFFECT.contains(&name);
            if !is_known {
                let known = "collation, validator, validationLevel, validationAction, capped, size, max and changeStreamPreAndPostImages";
                return Err(
                    FilterError::BadValue(format!("a collection has no option {name}: there are {known}")).into()
                );
            }
        }
        let collation = collation_in(map)?;
        let validator = Validator::from_options(map)?;
        let validator = validator.map(|validator| validator.collated(collation.as_ref())).transpose()?;
        let mut without_effect = Map::new();
        for name in WITHOUT_EFFECT {
            if let Some(value) = map.get(name) {
                without_effect.push(name, value.clone());
            }
        }
        let capped = CappedLimits::from_options(map)?;
        let keeps_before = images_in(map)?;
        let (natural_order, unbuilt) = (false, Vec::new());
        Ok(Self { validator, collation, capped, natural_order, keeps_before, without_effect, unbuilt })
    }

    /// The same options, with the memory of the validator's expressions charged to `memory`.
    pub(crate) fn counted_in(mut self, memory: &Memory) -> Self {
        self.validator = self.validator.map(|validator| validator.counted_in(memory));
        self
    }

    /// The options by MongoDB's names; empty without options.
    pub fn to_map(&self) -> Map {
        let mut map = self.capped.as_ref().map(CappedLimits::to_options).unwrap_or_default();
        map.entries.extend(self.validator.as_ref().map(Validator::to_options).unwrap_or_default().entries);
        if let Some(collation) = &self.collation {
            map.push("collation", collation.to_map());
        }
        if self.keeps_before {
            map.push(IMAGES, Map::from([("enabled", true)]));
        }
        map.entries.extend(self.without_effect.entries.iter().cloned());
        map
    }

    /// The definition of the index on `_id` of a collection with these options.
    pub fn id_index(&self) -> Map {
        let keys = Value::Map(Map::from([("_id", 1)]));
        let mut id = Map::from([("v", Value::from(2)), ("key", keys), ("name", Value::from(ID_INDEX))]);
        if let Some(collation) = &self.collation {
            id.push("collation", collation.to_map());
        }
        id
    }

    /// The limits of a collection whose documents have an order; unlimited if it is not capped. `None` if the documents
    /// have no order.
    pub fn order(&self) -> Option<CappedLimits> {
        self.capped.or_else(|| self.natural_order.then_some(CappedLimits::NONE))
    }

    /// All options, in the form that the description of a collection contains.
    pub(crate) fn to_description(&self) -> Map {
        let mut map = self.to_map();
        if self.natural_order {
            map.push(NATURAL_ORDER, true);
        }
        if !self.unbuilt.is_empty() {
            let indexes = self.unbuilt.iter().map(|index| Value::Map(index.to_map()));
            map.push(UNBUILT, Value::Array(indexes.collect()));
        }
        map
    }

    /// Reads the result of [`CollectionOptions::to_description`].
    ///
    /// # Errors
    /// As [`CollectionOptions::from_map`]; a definition of an index that cannot be read.
    pub(crate) fn from_description(mut map: Map) -> Result<Self> {
        let indexes = map.remove(UNBUILT);
        let natural_order = map.remove(NATURAL_ORDER) == Some(Value::Bool(true));
        let mut options = Self { natural_order, ..Self::from_map(&map)? };
        for index in indexes.as_ref().and_then(Value::as_array).unwrap_or_default() {
            let definition = index.as_map().ok_or_else(|| IndexError::BadValue("an index is a map".to_owned()))?;
            options.unbuilt.push(Unbuilt::from_map(definition)?);
        }
        Ok(options)
    }
}

/// True if the options ask for the documents before changes.
///
/// # Errors
/// The option has another form.
pub fn images_in(map: &Map) -> Result<bool> {
    let Some(images) = map.get(IMAGES) else { return Ok(false) };
    match images.as_map().map(|images| &images.entries[..]) {
        Some([(name, Value::Bool(enabled))]) if name.as_str() == Some("enabled") => Ok(*enabled),
        _ => Err(FilterError::BadValue(format!("{IMAGES} must be {{enabled: true}} or {{enabled: false}}")).into()),
    }
}

/// The collation among options; `None` if it is missing or `simple`.
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
    /// The stages as given.
    pub pipeline: Vec<Value>,
    /// The collation of its stages and of all queries of the view.
    pub collation: Option<Collation>,
}

impl View {
    /// The view in MongoDB's form: `viewOn`, `pipeline`, and `collation` if it has one.
    pub fn to_map(&self) -> Map {
        let on = Value::from(self.on.as_str());
        let mut map = Map::from([("viewOn", on), ("pipeline", Value::Array(self.pipeline.clone()))]);
        if let Some(collation) = &self.collation {
            map.push("collation", collation.to_map());
        }
        map
    }

    /// Reads the result of [`View::to_map`].
    pub fn from_map(map: &Map) -> Option<Self> {
        let on = map.get("viewOn").and_then(Value::as_str)?.to_owned();
        let pipeline = map.get("pipeline").and_then(Value::as_array)?.to_vec();
        Some(Self { on, pipeline, collation: collation_in(map).ok()? })
    }
}
