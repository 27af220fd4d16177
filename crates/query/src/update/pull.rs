//! Which elements `$pull` removes.

use alluvium_document::compare::equal;
use alluvium_document::{Map, Value};

use super::UpdateError;
use super::place::check_canonical;
use crate::dollar::is_reference_name;
use crate::filter::{Filter, FilterError, Patterns};

/// The name under which an element is in a filter of elements.
const ELEMENT: &str = "element";

/// Which elements go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Pull {
    /// Those that equal the value.
    Equal(Value),
    /// Those for which the filter matches a document with the element as its only field, [`ELEMENT`].
    Element(Filter),
    /// Maps that the filter matches.
    Fields(Filter),
}

impl Pull {
    /// The condition that an operand of `$pull` represents: operators for the element itself; a map without, or with
    /// `$and`, `$or`, `$nor` or the fields `$ref`, `$id`, `$db` of references, for elements that
    /// are maps; a regular expression; any other value for what equals it.
    pub fn parse(operand: &Value, patterns: &Patterns) -> Result<Self, UpdateError> {
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

    /// True if the element goes.
    pub fn matches(&self, element: &Value) -> bool {
        match self {
            Self::Equal(value) => equal(element, value),
            Self::Element(filter) => filter.matches_named(ELEMENT, element),
            Self::Fields(filter) => filter.matches_value(element),
        }
    }

    /// The filter, if it is one.
    pub fn filter(&self) -> Option<&Filter> {
        match self {
            Self::Equal(_) => None,
            Self::Element(filter) | Self::Fields(filter) => Some(filter),
        }
    }
}

/// An element has no name that its user would know.
fn without_name(error: FilterError) -> FilterError {
    match error {
        FilterError::BadValue(what) => {
            FilterError::BadValue(what.replace(&format!("'{ELEMENT}'"), "the condition of $pull"))
        }
        error => error,
    }
}

/// True if a map holds operators for the element itself.
fn is_operators(map: &Map) -> bool {
    let first = map.entries.first().and_then(|(name, _)| name.as_str());
    let of_fields = |name: &str| ["$and", "$or", "$nor", "$comment"].contains(&name) || is_reference_name(name);
    first.is_some_and(|name| name.starts_with('$') && !of_fields(name))
}
