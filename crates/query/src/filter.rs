//! Filters, such as `{age: {$gte: 18}, tags: "news"}`: conditions on documents and on elements of
//! arrays.
//!
//! The operators: `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte`, `$in`, `$nin`, `$and`, `$or`, `$nor`, `$not`, `$exists`,
//! `$type`, `$all`, `$elemMatch`, `$size`, `$mod`, `$regex` (with `$options`), `$bitsAllSet`, `$bitsAnySet`,
//! `$bitsAllClear`, `$bitsAnyClear`, `$expr`, `$jsonSchema`; `$comment` is ignored. The rules are those of MongoDB 8.0 and
//! later:
//!
//! - **Paths.** A path is followed into maps. From an array in the middle of a path, it is followed
//!   into the elements that are maps; a number in the path also selects the element at that
//!   position. For an array at the end of a path, both the array itself and its elements are
//!   tested. Only the array itself is tested by `$size` and `$elemMatch`, and if a position
//!   selected the array. Arrays directly within arrays are not entered.
//! - **A missing field** counts as null if the last value that the path reaches is a map or another
//!   value that is not an array. In an array without maps a path finds nothing, not even null:
//!   `{"a.b": null}` does not match `{a: [1]}`.
//! - **Comparison** uses the order of all values ([`alluvium_document::compare`]); numbers are compared by value
//!   whatever their types. A range contains only values of the operand's type: `{$gt: 5}` matches numbers, `{$gt: "a"}`
//!   strings and symbols. Min and max key are compared with values of all types. NaN equals NaN, and is in no range of
//!   numbers. Strings, including those in arrays and maps, are compared by their bytes, or by the collation of
//!   [`Filter::parse_in`]. Collations do not apply to patterns.
//! - **Equality** of maps compares all fields in their order. Null does not equal undefined.
//! - **Regular expressions** have PCRE's syntax. Most patterns are searched for in time proportional to the text.
//!   Patterns with look-around, back references, atomic groups or possessive counts are searched for by backtracking.
//!   Such a search ends with [`FilterError::TooManySteps`] after [`MATCH_STEPS_MAX`] steps on one text. Recursion and
//!   conditions are not supported. The compiled size of all patterns of a filter is limited. A pattern matches strings,
//!   symbols, and stored regular expressions that are equal to it.
//! - **Negations** (`$ne`, `$nin`, `$not`, `$nor`) match every document that the negated condition
//!   does not match. This includes documents without the field.
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

use std::collections::BTreeSet;
use std::fmt;

use alluvium_document::path::FieldPath;
use alluvium_document::row::{MapRef, ValueRef};
use alluvium_document::{Document, MAX_DEPTH, Map, Value, bson};

pub(crate) mod bits;
mod error;
mod eval;
mod node;
mod operators;
mod parse;
mod position;
mod print;
mod schema;
pub(crate) mod tree;
pub(crate) mod types;

use crate::collation::Collation;
use crate::expression::Variables;
use crate::interrupt::{Interrupt, Interruption};
pub use crate::pattern::MATCH_STEPS_MAX;
use crate::pattern::Patterns;
use crate::work::Work;
pub use error::{FilterError, MatchError};
use node::Decoded;
pub use position::Selection;
pub use schema::Schema;
use tree::{Clause, Condition, Demands, Path, Written};

/// The maximum size of a filter, as BSON: MongoDB's limit for documents.
pub const MAX_FILTER_BYTES: usize = 16 << 20;

/// A condition on documents.
///
/// Two filters are equal if they have the same conditions, in any order and notation: `{a: 1}`
/// equals `{a: {$eq: 1}}`. Both are printed ([`fmt::Display`]) as `{"a":{"$eq":1}}`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    /// A document matches if it meets all of these conditions. They are sorted and have no duplicates.
    pub(crate) clauses: Vec<Clause>,
    pub(crate) demands: Demands,
    pub(crate) written: Written,
}

impl Filter {
    /// Parses a filter. A filter without conditions matches every document.
    ///
    /// # Errors
    /// [`FilterError`]: an operator that is unknown or not supported; an operand that its operator
    /// does not accept; a malformed regular expression; patterns whose compiled size exceeds the
    /// limit; more than [`MAX_FILTER_BYTES`] bytes or [`MAX_DEPTH`] levels.
    pub fn parse(filter: &Map) -> Result<Self, FilterError> {
        Self::parse_with(filter, &Patterns::default())
    }

    /// As [`Filter::parse`], with variables for its `$expr`, and the collation by which its operators
    /// compare strings.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse_in(filter: &Map, variables: &Variables) -> Result<Self, FilterError> {
        check_bounds(filter)?;
        let mut filter =
            parse::filter(filter, parse::Level::Document(variables), &Patterns::interrupted_by(variables.interrupt()))?;
        if let Some(collation) = variables.collation() {
            filter.collate(collation);
        }
        Ok(filter)
    }

    /// True if the filter has an `$expr`. Such a filter cannot be used for an upsert.
    pub fn has_expression(&self) -> bool {
        self.clauses.iter().any(|clause| match clause {
            Clause::Expression(_) => true,
            Clause::Or(branches) | Clause::Nor(branches) => branches.iter().any(Self::has_expression),
            Clause::Field { .. } | Clause::Schema(_) => false,
        })
    }

    /// The names of the top-level fields that the filter examines; `None` if it may examine all.
    pub(crate) fn names(&self) -> Option<BTreeSet<&str>> {
        let mut names = BTreeSet::new();
        self.add_names(&mut names).then_some(names)
    }

    fn add_names<'f>(&'f self, names: &mut BTreeSet<&'f str>) -> bool {
        self.clauses.iter().all(|clause| match clause {
            Clause::Field { path, .. } => {
                names.extend(path.steps.first().map(|step| &*step.name));
                true
            }
            Clause::Or(branches) | Clause::Nor(branches) => branches.iter().all(|branch| branch.add_names(names)),
            Clause::Expression(computed) => match computed.expression.paths() {
                Some(paths) => {
                    names.extend(paths.into_iter().map(FieldPath::first));
                    true
                }
                None => false,
            },
            Clause::Schema(_) => false,
        })
    }

    /// True if the filter draws random numbers. It may then match a document at one time and not at another.
    pub(crate) fn is_random(&self) -> bool {
        self.clauses.iter().any(|clause| match clause {
            Clause::Expression(computed) => computed.expression.is_random(),
            Clause::Or(branches) | Clause::Nor(branches) => branches.iter().any(Self::is_random),
            Clause::Field { .. } | Clause::Schema(_) => false,
        })
    }

    /// Splits the filter into one filter for each condition, in the order in which the conditions were written. All of
    /// them must hold.
    pub(crate) fn conjuncts(&self) -> impl Iterator<Item = Self> {
        self.as_written().map(|clause| Self::of(vec![clause.clone()]))
    }

    /// The same conditions on other paths. `change` returns the new path of each condition. `None` if `change` returns
    /// `None` for a condition, or if a condition examines whole documents.
    pub(crate) fn with_paths(&self, change: &dyn Fn(&Path, &Condition) -> Option<Path>) -> Option<Self> {
        let all = |branches: &[Self]| branches.iter().map(|branch| branch.with_paths(change)).collect::<Option<_>>();
        let clauses = self.as_written().map(|clause| {
            Some(match clause {
                Clause::Field { path, condition } => {
                    Clause::Field { path: change(path, condition)?, condition: condition.clone() }
                }
                Clause::Or(branches) => Clause::Or(all(branches)?),
                Clause::Nor(branches) => Clause::Nor(all(branches)?),
                Clause::Expression(_) | Clause::Schema(_) => return None,
            })
        });
        Some(Self::of(clauses.collect::<Option<_>>()?))
    }

    /// A filter that matches a document if both filters match it.
    #[must_use]
    pub fn and(&self, other: Self) -> Self {
        Self::of(self.clauses.iter().cloned().chain(other.clauses).collect())
    }

    /// As [`Filter::parse`], with a budget for patterns that is shared with other filters.
    pub(crate) fn parse_with(filter: &Map, patterns: &Patterns) -> Result<Self, FilterError> {
        check_bounds(filter)?;
        parse::filter(filter, parse::Level::Document(&Variables::NONE), patterns)
    }

    /// As [`Filter::parse_with`], for conditions on the fields of an array element, where `$ref`,
    /// `$id` and `$db` are fields.
    pub(crate) fn parse_of_element(filter: &Map, patterns: &Patterns) -> Result<Self, FilterError> {
        check_bounds(filter)?;
        parse::filter(filter, parse::Level::Element, patterns)
    }

    /// A filter with these conditions.
    pub(crate) fn of(clauses: Vec<Clause>) -> Self {
        // The default `Work` has no interrupt, so this cannot fail.
        Self::of_counted(clauses, &mut Work::default()).unwrap_or_default()
    }

    /// As [`Filter::of`], for many conditions.
    pub(crate) fn of_counted(mut clauses: Vec<Clause>, work: &mut Work<'_>) -> Result<Self, Interruption> {
        let written = print::sort(&mut clauses, work)?;
        Ok(Self { clauses, demands: Demands::default(), written })
    }

    /// True if the document matches. Only the fields that the conditions refer to are decoded.
    ///
    /// # Errors
    /// [`MatchError`] if one of these fields is damaged, or a pattern takes too many steps.
    pub fn matches(&self, document: &Document) -> Result<bool, MatchError> {
        if self.clauses.is_empty() {
            return Ok(true);
        }
        self.matches_node(&ValueRef::Map(document.map()?))
    }

    /// As [`Filter::matches`], for an encoded document, which is not copied.
    ///
    /// # Errors
    /// As [`Filter::matches`].
    pub fn matches_row(&self, row: MapRef<'_>) -> Result<bool, MatchError> {
        self.matches_node(&ValueRef::Map(row))
    }

    /// As [`Filter::matches`], for a decoded document.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn matches_map(&self, document: &Map) -> Result<bool, FilterError> {
        self.matches_node(&Decoded::Map(document))
    }

    /// True if the value is a map that matches. [`ElementFilter`] tests values of any type.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn matches_value(&self, value: &Value) -> Result<bool, FilterError> {
        value.as_map().map_or(Ok(false), |map| self.matches_map(map))
    }

    /// True if a document that has only this field matches. Used for array filters, such as
    /// `{"grade.score": {$gt: 5}}` for `$[grade]`.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn matches_named(&self, name: &str, value: &Value) -> Result<bool, FilterError> {
        self.matches_node(&Decoded::Named(name, value))
    }

    /// The position that replaces the positional operator `$` for a document that matches. A
    /// condition that an element of an array meets selects the position of the first such element.
    /// If several conditions select positions, the last condition in the order of `selection`
    /// decides. As in MongoDB, the arrays of different conditions are not distinguished. Negations
    /// select nothing. An `$or` selects nothing either, unless all its branches are values of one
    /// field.
    ///
    /// `None` if no condition selects an element.
    ///
    /// # Errors
    /// [`MatchError`] if a value on the path is damaged, or a pattern takes too many steps.
    pub fn position(&self, document: &Document, selection: Selection) -> Result<Option<usize>, MatchError> {
        self.position_in(&ValueRef::Map(document.map()?), selection)
    }

    /// As [`Filter::position`], for a decoded document.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn position_in_map(&self, document: &Map, selection: Selection) -> Result<Option<usize>, FilterError> {
        self.position_in(&Decoded::Map(document), selection)
    }

    /// The collation by which the conditions on fields compare strings. `None` also if no condition has a string.
    pub fn collation(&self) -> Option<&Collation> {
        self.clauses.iter().find_map(|clause| match clause {
            Clause::Field { condition, .. } => condition.collation(),
            Clause::Or(branches) | Clause::Nor(branches) => branches.iter().find_map(Self::collation),
            Clause::Expression(_) | Clause::Schema(_) => None,
        })
    }

    /// The conditions in the order in which MongoDB evaluates them.
    pub(crate) fn as_written(&self) -> impl Iterator<Item = &Clause> {
        self.written.order(self.clauses.len()).filter_map(|at| self.clauses.get(at))
    }

    /// True if the filter has no conditions, so that every document matches.
    pub fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// The filter in its canonical form. [`Filter::parse`] of the result gives an equal filter.
    pub fn to_map(&self) -> Map {
        print::to_map(self)
    }

    /// The values that the filter demands at paths without positions, for the document that an
    /// upsert inserts. They are the values of `$eq`, and of `$in` with one value. Conditions inside
    /// an `$or` of several branches, a `$nor` or a `$not` demand nothing. The values are in the
    /// order in which they were written; a path may occur twice, even with the same value.
    pub fn equalities(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.demands.0.iter().map(|(path, value)| (&**path, value))
    }

    /// True if each condition of the filter demands a value at a path, so that
    /// [`Filter::equalities`] is the whole filter.
    pub fn is_equalities(&self) -> bool {
        self.equalities().count() == self.clauses.len()
    }

    /// The `_id` that a matching document must have, if the filter has no other condition. `None` if the `_id` contains
    /// strings that a collation compares, because several values may equal it.
    pub fn named_id(&self) -> Option<&Value> {
        match (&self.demands.0[..], self.clauses.len()) {
            ([(path, id)], 1) if &**path == "_id" && self.collation().is_none() => Some(id),
            _ => None,
        }
    }
}

/// The filter as JSON in its canonical form. Types that JSON does not have are written as Extended
/// JSON.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_map().fmt(f)
    }
}

/// A condition on elements of an array: the operand of `$elemMatch` or `$pull`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElementFilter {
    pub(crate) form: Form,
    /// The interrupt for tests of elements; set if there are many conditions.
    interrupt: Option<Interrupt>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Conditions on the element itself.
    Element(Vec<Condition>),
    /// A filter on the element's fields, or on its positions if it is an array. Other elements do
    /// not match.
    Fields(Filter),
}

impl ElementFilter {
    /// Parses a condition for elements. Operators, as in `{$gte: 5}`, are conditions on the element
    /// itself. A map without operators, as in `{x: 1}`, is a filter on the fields of elements that
    /// are maps. Any other value matches elements that equal it, and a regular expression matches
    /// text.
    ///
    /// # Errors
    /// As [`Filter::parse`].
    pub fn parse(condition: &Value) -> Result<Self, FilterError> {
        Self::parse_with(condition, &Patterns::default())
    }

    /// As [`ElementFilter::parse`], with a budget for patterns that is shared with other
    /// conditions.
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

    /// True if the element matches. If the element is itself an array, its own elements are
    /// examined only by operators for arrays.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn matches(&self, element: &Value) -> Result<bool, FilterError> {
        self.matches_node(&Decoded::from(element))
    }

    /// As [`ElementFilter::matches`], for an element of an encoded document.
    ///
    /// # Errors
    /// [`MatchError`] if the element is damaged, or a pattern takes too many steps.
    pub fn matches_ref(&self, element: &ValueRef<'_>) -> Result<bool, MatchError> {
        self.matches_node(element)
    }
}

/// Checks the limits on size and nesting. They bound the time of parsing and matching, and the
/// depth of recursion.
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
