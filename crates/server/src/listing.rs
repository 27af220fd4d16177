//! Lists of entries that are not documents of a collection, filtered like documents.

use crate::call::Call;
use crate::error::CommandResult;
use alluvium::{Document, Map, Value};

/// The entries of a list that match a filter.
///
/// # Errors
/// Errors of the filter.
pub(crate) fn filtered(call: &Call<'_>, list: Vec<Map>, filter: Option<&Map>) -> CommandResult<Vec<Map>> {
    let Some(filter) = filter.filter(|filter| !filter.is_empty()) else { return Ok(list) };
    let matching = Map::from([("$match", Value::Map(filter.clone()))]);
    let stages = Value::Array(vec![stage(list), Value::Map(matching)]);
    let found = call.collection_called("list").aggregate(stages).run()?;
    let map = |document: alluvium::Result<Document>| Ok(document?.to_map().map_err(alluvium::Error::from)?);
    found.map(map).collect()
}

/// A `$documents` stage with the entries of a list. The entries are literals, so that a validator among them is not
/// evaluated as an expression.
pub(crate) fn stage(list: Vec<Map>) -> Value {
    let literal = Map::from([("$literal", Value::Array(list.into_iter().map(Value::Map).collect()))]);
    Value::Map(Map::from([("$documents", Value::Map(literal))]))
}

/// An index definition as MongoDB shows it: `expireAfterSeconds` is a 32-bit integer.
pub(crate) fn definition(mut definition: Map) -> Map {
    if let Some(Value::Int64(seconds)) = definition.get("expireAfterSeconds")
        && let Ok(seconds) = i32::try_from(*seconds)
    {
        definition.insert("expireAfterSeconds", seconds);
    }
    definition
}

/// Converts maps to documents.
///
/// # Errors
/// Error 22 for a map that is nested too deep.
pub(crate) fn documents(list: &[Map]) -> CommandResult<Vec<Document>> {
    list.iter().map(|map| Ok(Document::from_map(map).map_err(alluvium::Error::from)?)).collect()
}
