//! `$planCacheStats`, `$querySettings`, `$queryStats`: they return no documents, because plans are not cached, queries
//! have no settings, and queries are not counted by shape.

use super::options;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, optional};
use alluvium::{Map, Value};

const SETTINGS: &[Field] = &[optional("showDebugQueryShape", Kind::Bool).not_null()];
const STATISTICS: &[Field] = &[optional("transformIdentifiers", Kind::Document)];

pub(super) fn cache(call: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let wrong = || CommandError::failed_to_parse("$planCacheStats parameters object may contain only 'allHosts' field");
    let options = operand.as_map().ok_or_else(wrong)?;
    if options.len() > 1 || options.entries.iter().any(|(name, _)| name.as_str() != Some("allHosts")) {
        return Err(wrong());
    }
    match options.get("allHosts") {
        None | Some(Value::Bool(false)) => {}
        Some(Value::Bool(true)) => {
            let message = "$planCacheStats stage supports allHosts parameter only for sharded clusters";
            return Err(CommandError::new(4_503_200, "Location4503200", message));
        }
        Some(_) => return Err(CommandError::new(13111, "Location13111", "allHosts is a boolean")),
    }
    let name = call.argument().as_str().unwrap_or_default();
    let full = format!("{}.{name}", call.db);
    let exists = call.shared.db.views().iter().any(|(view, _)| *view == full)
        || call.collection_called(name).identity()?.is_some();
    match exists {
        true => Ok(Vec::new()),
        false => {
            let message = format!("$planCacheStats was run on the collection {full}, which does not exist");
            Err(CommandError::new(50933, "Location50933", message))
        }
    }
}

pub(super) fn settings(_: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    options("$querySettings", operand, SETTINGS, (7_746_800, "Location7746800"))?;
    Ok(Vec::new())
}

pub(super) fn statistics(_: &Call<'_>, operand: &Value) -> CommandResult<Vec<Map>> {
    let options = options("$queryStats", operand, STATISTICS, (9, "FailedToParse"))?;
    match options.document("transformIdentifiers") {
        None => Ok(Vec::new()),
        Some(_) => Err(CommandError::not_supported("the option transformIdentifiers of $queryStats is not supported")),
    }
}
