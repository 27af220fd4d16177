//! Common parts of commands that read.

use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::{Hint, Map, Value};

/// True for collections that MongoDB's servers reserve for themselves. Such a collection is empty here: this server
/// stores its content elsewhere or not at all.
pub(crate) fn is_of_server(namespace: &str) -> bool {
    let collection = namespace.split_once('.').map_or("", |(_, collection)| collection);
    collection.starts_with("system.") && !["system.users", "system.roles", "system.version"].contains(&collection)
}

/// The index in the hint of a command.
pub(crate) fn hint(body: &impl Fields) -> Option<Hint> {
    match body.field("hint")? {
        Value::String(name) => Some(Hint::from(&**name)),
        Value::Map(keys) if keys.is_empty() => None,
        Value::Map(keys) => Some(Hint::from(keys.clone())),
        _ => None,
    }
}

/// The collation in a command; an empty collation counts as missing.
pub(crate) fn collation(body: &impl Fields) -> Option<&Map> {
    body.document("collation").filter(|options| !options.is_empty())
}

/// Checks the variables that a command defines. The names must be valid, and the values must be constants.
///
/// # Errors
/// Error 9 for an invalid name, 4738901 for the name of a system variable, 51144 and 4890500 for a value that depends
/// on the time or on a document.
pub(crate) fn check_variables(body: &Map) -> CommandResult<()> {
    for (name, value) in body.document("let").into_iter().flat_map(Map::iter) {
        let name = name.as_str().unwrap_or_default();
        if ["NOW", "CLUSTER_TIME", "USER_ROLES"].contains(&name) {
            let message = format!("the variable '{name}' of 'let' is one of the server, which cannot be set");
            return Err(CommandError::new(4_738_901, "Location4738901", message));
        }
        if name == "CURRENT" {
            check_constant(value)?;
            continue;
        }
        let is_first = |first: char| first.is_ascii_lowercase() || !first.is_ascii();
        let is_other = |other: char| other.is_ascii_alphanumeric() || other == '_' || !other.is_ascii();
        if !name.starts_with(is_first) || !name.chars().all(is_other) {
            let message = format!("'{name}' of 'let' is no name: a lowercase letter, then letters, digits and '_'");
            return Err(CommandError::failed_to_parse(message));
        }
        check_constant(value)?;
    }
    Ok(())
}

/// Refuses an expression that is not a constant.
fn check_constant(value: &Value) -> CommandResult<()> {
    match value {
        Value::String(text) if text.starts_with("$$") => match text[2..].split('.').next() {
            Some("NOW" | "CLUSTER_TIME") => {
                let message = format!("'{text}' cannot be used in the values of 'let'");
                Err(CommandError::new(51144, "Location51144", message))
            }
            Some("ROOT" | "CURRENT") => Err(not_constant(text)),
            _ => Ok(()),
        },
        Value::String(text) if text.len() > 1 && text.starts_with('$') => Err(not_constant(text)),
        Value::Array(values) => values.iter().try_for_each(check_constant),
        Value::Map(map) if map.contains("$literal") => Ok(()),
        Value::Map(map) => map.iter().try_for_each(|(_, value)| check_constant(value)),
        _ => Ok(()),
    }
}

fn not_constant(text: &str) -> CommandError {
    let message = format!("the values of 'let' are constants: '{text}' is of a document");
    CommandError::new(4_890_500, "Location4890500", message)
}

/// Refuses options that are set but not supported. A flag that is false and an empty document count as not set.
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
