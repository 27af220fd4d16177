//! Filters, as `{age: {$gte: 18}, tags: "news"}`: which documents, and which elements of arrays.
//!
//! The operators: `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`, `$and`, `$or`, `$nor`, `$not`, `$exists`,
//! `$type`, `$all`, `$elemMatch`, `$size`, `$mod`, `$regex` (with `$options`), `$bitsAllSet`, `$bitsAnySet`,
//! `$bitsAllClear`, `$bitsAnyClear`; `$comment` is passed over. Rules are those of MongoDB from version 8.0 on:
//!
//! - **Paths.** Names lead into maps. An array in the way means its elements that are maps; a number also means the
//!   element at that position. An array at the end means its elements and itself, except for `$size` and
//!   `$elemMatch`, which ask for the array, and where a position led to it. Arrays directly within
//!   arrays are not entered.
//! - **What is not there** counts as null, where a path ends in a map, or before a value that is no map. In an array
//!   without maps a path finds nothing, not even null: `{"a.b": null}` does not match `{a: [1]}`.
//! - **Comparison** is in the one order of all values ([`alluvium_document::compare`]), numbers by
//!   value whatever their types. Ranges are of the operand's type only: `{$gt: 5}` matches numbers,
//!   `{$gt: "a"}` strings and symbols. Min and max key are compared with everything. NaN equals
//!   NaN, and is in no range of numbers.
//! - **Equality** with a map is that of all its fields in their order. Null does not equal undefined.
//! - **Regular expressions** are PCRE's, as far as they take time in proportion to the text: they
//!   have no look-around and no back-references. What all patterns of a filter take once they are
//!   compiled is limited. They match strings, symbols, and stored regular expressions that are the
//!   same.
//! - **Negations** (`$ne`, `$nin`, `$not`, `$nor`) match what the rest does not, so also documents without the field.
//!
//! ```
//! use alluvium_document::{Document, json};
//! use alluvium_query::filter::Filter;
//!
//! let filter = json::parse(br#"{"tags": "news", "score": {"$gte": 5, "$lt": 10}}"#)?;
//! let filter = Filter::parse(filter.as_map().ok_or("no map")?)?;
//! assert!(filter.matches(&Document::from_json(r#"{"tags": ["news", "art"], "score": 7.5}"#)?)?);
//! assert!(!filter.matches(&Document::from_json(r#"{"tags": "news", "score": "7"}"#)?)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use alluvium_document::path::FieldPath;
use alluvium_document::row::{RowError, ValueRef};
use alluvium_document::{Document, MAX_DEPTH, Map, Value, bson};

pub(crate) mod bits;
mod error;
mod eval;
mod node;
mod parse;
pub(crate) mod pattern;
mod print;
pub(crate) mod tree;
pub(crate) mod types;

pub use error::FilterError;
use node::Decoded;
pub(crate) use pattern::Patterns;
use tree::{Clause, Condition, Demands, Path};

/// The largest filter, as BSON. MongoDB's limit of documents.
pub const MAX_FILTER_BYTES: usize = 16 << 20;

/// Which documents are meant.
///
/// Two filters are equal if they have the same conditions, in whatever order and words they were written: `{a: 1}` is
/// `{a: {$eq: 1}}`. As text ([`fmt::Display`]) both are `{"a":{"$eq":1}}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// All hold for a document that matches. In one order, none twice.
    pub(crate) clauses: Vec<Clause>,
    pub(crate) demands: Demands,
}

impl Filter {
    /// Reads a filter. One without conditions matches everything.
    ///
    /// # Errors
    /// [`FilterError`]: an operator that is not known or not supported, by its name; an operand
    /// that its operator does not take; a malformed regular expression; patterns that together take
    /// too much once they are compiled; more than [`MAX_FILTER_BYTES`] bytes or [`MAX_DEPTH`]
    /// levels.
    pub fn parse(filter: &Map) -> Result<Self, FilterError> {
        Self::parse_with(filter, &Patterns::default())
    }

    /// As [`Filter::parse`], of a filter that shares what patterns may take with others.
    pub(crate) fn parse_with(filter: &Map, patterns: &Patterns) -> Result<Self, FilterError> {
        check_bounds(filter)?;
        parse::filter(filter, parse::Level::Document, patterns)
    }

    /// As [`Filter::parse_with`], of conditions on the fields of an element: `$ref`, `$id` and `$db` are fields there.
    pub(crate) fn parse_of_element(filter: &Map, patterns: &Patterns) -> Result<Self, FilterError> {
        check_bounds(filter)?;
        parse::filter(filter, parse::Level::Element, patterns)
    }

    /// A filter of these conditions.
    pub(crate) fn of(mut clauses: Vec<Clause>) -> Self {
        print::sort(&mut clauses);
        Self { clauses, demands: Demands::default() }
    }

    /// True if the document matches. Of it no more is decoded than the conditions look at.
    ///
    /// # Errors
    /// [`RowError`] if what is looked at is damaged.
    pub fn matches(&self, document: &Document) -> Result<bool, RowError> {
        if self.clauses.is_empty() {
            return Ok(true);
        }
        self.matches_node(&ValueRef::Map(document.map()?))
    }

    /// As [`Filter::matches`], of a document that is decoded whole.
    pub fn matches_map(&self, document: &Map) -> bool {
        let Ok(matches) = self.matches_node(&Decoded::Map(document));
        matches
    }

    /// True if the value is a map that matches. For values of any type there is [`ElementFilter`].
    pub fn matches_value(&self, value: &Value) -> bool {
        value.as_map().is_some_and(|map| self.matches_map(map))
    }

    /// True if a document whose only field is this one matches: a filter of array elements under a name, as
    /// `{"grade.score": {$gt: 5}}` for `$[grade]`.
    pub fn matches_named(&self, name: &str, value: &Value) -> bool {
        let Ok(matches) = self.matches_node(&Decoded::Named(name, value));
        matches
    }

    /// Where in the array at the path `array` the first element lies for which a condition of the
    /// filter holds: what the positional operator `$` represents. Negations give no position;
    /// `$elemMatch` is asked before others.
    ///
    /// None if there is no such element, or no array, or the filter has no condition that leads into it.
    ///
    /// # Errors
    /// [`RowError`] if what is looked at is damaged.
    pub fn position(&self, document: &Document, array: &FieldPath) -> Result<Option<usize>, RowError> {
        self.position_in(&ValueRef::Map(document.map()?), &Path::new(array.as_str()))
    }

    /// As [`Filter::position`], of a document that is decoded whole.
    pub fn position_in_map(&self, document: &Map, array: &FieldPath) -> Option<usize> {
        let Ok(position) = self.position_in(&Decoded::Map(document), &Path::new(array.as_str()));
        position
    }

    /// True if every document matches, for there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The filter in its one form. [`Filter::parse`] reads it as an equal filter.
    pub fn to_map(&self) -> Map {
        print::to_map(self)
    }

    /// The values that the filter demands at paths without positions, for a document that an upsert inserts: conditions
    /// `$eq`, and `$in` of one value, that are not inside `$or` of several, `$nor` or `$not`. As
    /// they were written: a path may come twice, also with the same value.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.demands.0.iter().map(|(path, value)| (&**path, value))
    }

    /// True if each of the filter's conditions demands a value at a path: [`Filter::equalities`] are all that it says.
    pub fn is_equalities(&self) -> bool {
        self.equalities().count() == self.clauses.len()
    }

    /// The `_id` of the only document that can match, if the filter has no other condition.
    pub fn named_id(&self) -> Option<&Value> {
        match (&self.demands.0[..], self.clauses.len()) {
            ([(path, id)], 1) if &**path == "_id" => Some(id),
            _ => None,
        }
    }
}

/// The filter as JSON in its one form; types that JSON does not have as Extended JSON.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_map().fmt(f)
    }
}

/// Which elements of an array are meant: what `$elemMatch` and `$pull` take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementFilter {
    pub(crate) form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Of the element itself.
    Element(Vec<Condition>),
    /// Of an element's fields, or positions if it is an array; other elements do not match.
    Fields(Filter),
}

impl ElementFilter {
    /// Reads a condition for elements: operators, as `{$gte: 5}`, for the element itself; a map
    /// without, as `{x: 1}`, for the fields of elements that are maps; any other value for what
    /// equals it, or a regular expression matches.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse(condition: &Value) -> Result<Self, FilterError> {
        Self::parse_with(condition, &Patterns::default())
    }

    /// As [`ElementFilter::parse`], of a condition that shares what patterns may take with others.
    pub(crate) fn parse_with(condition: &Value, patterns: &Patterns) -> Result<Self, FilterError> {
        match condition {
            Value::Map(map) => {
                check_bounds(map)?;
                parse::element("an element", map, patterns)
            }
            value => {
                check_bounds(&Map::from([("$eq", value.clone())]))?;
                parse::equal_element(value, patterns)
            }
        }
    }

    /// True if the element matches. Elements of an array that is itself the element are not looked at, but by operators
    /// for arrays.
    pub fn matches(&self, element: &Value) -> bool {
        let Ok(matches) = self.matches_node(&Decoded::from(element));
        matches
    }

    /// As [`ElementFilter::matches`], of an element inside a row.
    ///
    /// # Errors
    /// [`RowError`] if what is looked at is damaged.
    pub fn matches_ref(&self, element: &ValueRef<'_>) -> Result<bool, RowError> {
        self.matches_node(element)
    }
}

/// Bounds what reading and matching can take, and how deep they recurse.
fn check_bounds(filter: &Map) -> Result<(), FilterError> {
    let deep = |value: &Value| value.is_deeper_than(MAX_DEPTH - 1);
    if filter.entries.iter().any(|(name, value)| deep(name) || deep(value)) {
        return Err(FilterError::TooDeep(format!("the filter nests deeper than {MAX_DEPTH} levels")));
    }
    let size = bson::document_size(filter);
    if size > MAX_FILTER_BYTES {
        return Err(FilterError::TooLarge(format!(
            "the filter has {size} bytes as BSON; the limit is {MAX_FILTER_BYTES}"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
