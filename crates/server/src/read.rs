//! Common parts of commands that read.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Hint, Map, Value};

/// True for collections that MongoDB's servers have for themselves, and this one keeps elsewhere or not at all. They are
/// empty.
pub(crate) fn is_of_server(namespace: &str) -> bool {
    let collection = namespace.split_once('.').map_or("", |(_, collection)| collection);
    collection.starts_with("system.") && !["system.users", "system.roles", "system.version"].contains(&collection)
}

/// The index that a command names.
pub(crate) fn hint(body: &Map) -> Option<Hint> {
    match body.get("hint")? {
        Value::String(name) => Some(Hint::from(&**name)),
        Value::Map(keys) if keys.is_empty() => None,
        Value::Map(keys) => Some(Hint::from(keys.clone())),
        _ => None,
    }
}

/// The collation that a command asks for; an empty one counts as missing.
pub(crate) fn collation(body: &Map) -> Option<&Map> {
    body.document("collation").filter(|options| !options.is_empty())
}

/// Refuses options that are set and have no effect here. A flag that is false, and an empty document, ask for nothing.
///
/// # Errors
/// Error 115.
pub(crate) fn refuse_unsupported(command: &str, body: &Map, flags: &[&str], documents: &[&str]) -> CommandResult<()> {
    let is_set = |name: &&&str| body.flag(name) || body.document(name).is_some_and(|map| !map.is_empty());
    match flags.iter().chain(documents).find(is_set) {
        None => Ok(()),
        Some(name) => {
            let message = format!("the option '{name}' of {command} is not supported");
            Err(CommandError::not_supported(message))
        }
    }
}
