//! `$jsonSchema`: conditions on the types and the form of documents.
//!
//! The rules are those of JSON Schema, draft 4, with MongoDB's changes: `bsonType` names types of BSON; `type` names
//! types of JSON, except `integer`; `$ref`, `$schema`, `default`, `definitions`, `format` and `id` are refused. If a
//! condition applies to values of one type, values of all other types meet it.

mod check;
mod parse;

use super::error::FilterError;
use super::types::TypeSet;
use crate::interrupt::Interrupt;
use crate::pattern::{Pattern, Patterns};
use crate::work::Work;
use alluvium_document::{Map, Value};

/// A schema of values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Schema {
    types: Option<TypeSet>,
    values: Option<Vec<Value>>,
    all_of: Vec<Schema>,
    any_of: Vec<Schema>,
    one_of: Vec<Schema>,
    not: Option<Box<Schema>>,
    numbers: Numbers,
    texts: Texts,
    arrays: Arrays,
    maps: Maps,
    /// The interrupt for checks of long documents. Only the outermost schema has one.
    interrupt: Option<Interrupt>,
}

/// Conditions on numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Numbers {
    /// The minimum; true if the minimum itself is excluded.
    minimum: Option<(Value, bool)>,
    maximum: Option<(Value, bool)>,
    multiple_of: Option<Value>,
}

/// Conditions on text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Texts {
    min_length: Option<u64>,
    max_length: Option<u64>,
    pattern: Option<Pattern>,
}

/// Conditions on arrays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Arrays {
    min_items: Option<u64>,
    max_items: Option<u64>,
    unique: bool,
    items: Items,
    /// The rule for elements after the elements that `items` lists.
    additional: Others,
}

/// Conditions on elements.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Items {
    #[default]
    Any,
    /// One schema for all elements.
    Each(Box<Schema>),
    /// One schema for each position.
    Listed(Vec<Schema>),
}

/// The rule for fields or elements that no other rule covers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Others {
    #[default]
    Allowed,
    Refused,
    Obey(Box<Schema>),
}

/// Conditions on maps.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Maps {
    required: Vec<Box<str>>,
    properties: Vec<(Box<str>, Schema)>,
    patterns: Vec<(Pattern, Schema)>,
    /// The rule for fields that neither `properties` nor `patterns` match.
    additional: Others,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
    dependencies: Vec<(Box<str>, Dependency)>,
}

/// A rule that applies to a map if it has a certain field.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Dependency {
    Fields(Vec<Box<str>>),
    Schema(Box<Schema>),
}

impl Schema {
    /// Parses a schema.
    ///
    /// # Errors
    /// [`FilterError`]: an unknown keyword, or an operand that it does not accept.
    pub fn parse(schema: &Map) -> Result<Self, FilterError> {
        Self::parse_with(schema, &Patterns::default())
    }

    /// As [`Schema::parse`], with a budget for patterns that is shared with other conditions.
    pub(crate) fn parse_with(schema: &Map, patterns: &Patterns) -> Result<Self, FilterError> {
        let interrupt = patterns.interrupt().cloned();
        Ok(Self { interrupt, ..parse::schema(schema, patterns)? })
    }

    /// True if a document obeys the schema.
    ///
    /// # Errors
    /// A pattern takes too many steps, or the query was interrupted.
    pub fn allows(&self, document: &Map) -> Result<bool, FilterError> {
        check::map_obeys(self, document, &mut Work::asking(self.interrupt.as_ref()))
    }
}
