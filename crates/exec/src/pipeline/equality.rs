//! Shared by the stages that find documents of another collection by equality.

use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use alluvium_query::collation::Collation;
use alluvium_query::expression::Variables;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::PipelineError;

/// The most bytes of the array that a document gets, which is MongoDB's limit between stages.
pub(super) const BYTES_MAX: usize = 100 << 20;

/// The filter for documents that have one of the values at a path, compared by the collation;
/// `None` if there are no values.
pub(super) fn equals_one(
    path: &FieldPath,
    values: Vec<Value>,
    collation: Option<&Collation>,
) -> Result<Option<Filter>, PipelineError> {
    let variables = Variables::NONE.collated(collation.cloned());
    let condition = |values: Vec<Value>| {
        let mut values = values;
        match values.len() {
            0 => None,
            1 => values.pop().map(|value| Map::from([("$eq", value)])),
            _ => Some(Map::from([("$in", Value::Array(values))])),
        }
    };
    // In a list, a regular expression would be a pattern, and undefined would be refused.
    let is_plain = |value: &Value| !matches!(value, Value::Regex(_) | Value::Undefined);
    let (plain, others): (Vec<Value>, Vec<Value>) = values.into_iter().partition(is_plain);
    let mut branches: Vec<Value> = Vec::new();
    branches.extend(condition(plain).map(|one| Value::Map(Map::from([(path.as_str(), one)]))));
    for value in others.into_iter().filter(|value| *value != Value::Undefined) {
        branches.push(Value::Map(Map::from([(path.as_str(), Map::from([("$eq", value)]))])));
    }
    match (branches.len(), branches.pop()) {
        (1, Some(Value::Map(only))) => Ok(Some(Filter::parse_in(&only, &variables)?)),
        (_, Some(last)) => {
            branches.push(last);
            Ok(Some(Filter::parse_in(&Map::from([("$or", Value::Array(branches))]), &variables)?))
        }
        _ => Ok(None),
    }
}
