//! The elements that `$pull` removes.

use alluvium_document::{Map, Value};

use super::UpdateError;
use super::place::{check_canonical, refuse_special};
use crate::collation::{Collation, compare_by};
use crate::dollar::is_reference_name;
use crate::filter::{Filter, FilterError};
use crate::pattern::Patterns;

/// The field name that represents the element in a filter on elements.
const ELEMENT: &str = "element";

/// The condition that selects the elements to remove.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pull {
    /// Removes elements that are equal to the value.
    Equal(Value),
    /// Removes an element if the filter matches a document that has the element as its only field,
    /// [`ELEMENT`].
    Element(Filter),
    /// Removes maps that match the filter.
    Fields(Filter),
}

impl Pull {
    /// Parses the operand of `$pull`. Operators are conditions on the element itself. A map without
    /// operators, or with `$and`, `$or`, `$nor` or the reference fields `$ref`, `$id`, `$db`, is a
    /// filter for elements that are maps. A regular expression matches text. Any other value
    /// matches elements that are equal to it.
    pub fn parse(operand: &Value, patterns: &Patterns) -> Result<Self, UpdateError> {
        if let Value::Map(map) = operand {
            refuse_special(map)?;
        }
        match operand {
            Value::Map(map) if is_operators(map) => Self::of_element(operand, patterns),
            Value::Map(map) => Self::fields(Filter::parse_of_element(map, patterns)?),
            Value::Regex(_) => Self::of_element(operand, patterns),
            value => Ok(Self::Equal(value.clone())),
        }
    }

    fn of_element(condition: &Value, patterns: &Patterns) -> Result<Self, UpdateError> {
        let filter = Filter::parse_with(&Map::from([(ELEMENT, condition.clone())]), patterns);
        Self::element(filter.map_err(without_name)?)
    }

    pub fn element(filter: Filter) -> Result<Self, UpdateError> {
        check_canonical(&filter, "a condition of $pull")?;
        Ok(Self::Element(filter))
    }

    pub fn fields(filter: Filter) -> Result<Self, UpdateError> {
        check_canonical(&filter, "a condition of $pull")?;
        Ok(Self::Fields(filter))
    }

    /// Makes the conditions of a filter compare strings by a collation.
    pub fn collate(&mut self, collation: &Collation) {
        match self {
            Self::Equal(_) => {}
            Self::Element(filter) | Self::Fields(filter) => filter.collate(collation),
        }
    }

    /// True if the element must be removed. The value of [`Pull::Equal`] is compared by the collation.
    ///
    /// # Errors
    /// [`FilterError::TooManySteps`].
    pub fn matches(&self, element: &Value, collation: Option<&Collation>) -> Result<bool, FilterError> {
        match self {
            Self::Equal(value) => Ok(compare_by(collation, element, value).is_eq()),
            Self::Element(filter) => filter.matches_named(ELEMENT, element),
            Self::Fields(filter) => filter.matches_value(element),
        }
    }

    /// The filter, if the condition has one.
    pub fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Equal(_) => None,
            Self::Element(filter) | Self::Fields(filter) => Some(filter),
        }
    }
}

/// Removes [`ELEMENT`] from the message of the error, because users do not know this name.
fn without_name(error: FilterError) -> FilterError {
    match error {
        FilterError::BadValue(what) => {
            FilterError::BadValue(what.replace(&format!("'{ELEMENT}'"), "the condition of $pull"))
        }
        error => error,
    }
}

/// True if a map holds operators on the element itself.
fn is_operators(map: &Map) -> bool {
    let first = map.entries.first().and_then(|(name, _)| name.as_str());
    let of_fields = |name: &str| ["$and", "$or", "$nor", "$comment"].contains(&name) || is_reference_name(name);
    first.is_some_and(|name| name.starts_with('$') && !of_fields(name))
}
