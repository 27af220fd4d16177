//! The stable API of MongoDB, version 1: the commands and stages that clients may use if they set `apiStrict`.

use crate::body::Body;
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
use alluvium::Value;
use alluvium_query::pipeline::stages;

/// The only version that exists.
pub(crate) const VERSION: &str = "1";

/// The versions of the stable API that include a command; `is_stable` is true if version 1 includes it.
pub(crate) fn versions(is_stable: bool) -> impl Iterator<Item = &'static str> {
    is_stable.then_some(VERSION).into_iter()
}

/// Checks the API version that a client declares.
///
/// # Errors
/// Error 322 for another version. Error 323 for a command or stage outside version 1, if the client set `apiStrict`.
pub(crate) fn check(command: &str, is_stable: bool, body: &Body) -> CommandResult<()> {
    let Some(version) = body.text("apiVersion") else {
        let options = ["apiStrict", "apiDeprecationErrors"];
        return match options.iter().any(|option| body.contains(option)) {
            true => {
                let message = "Provided apiStrict and/or apiDeprecationErrors without passing apiVersion";
                Err(CommandError::new(4_886_600, "Location4886600", message))
            }
            false => Ok(()),
        };
    };
    if version != VERSION {
        let message = format!("API version must be \"{VERSION}\", not \"{version}\"");
        return Err(CommandError::new(322, "APIVersionError", message));
    }
    if !body.flag("apiStrict") {
        return Ok(());
    }
    let strict = |what: String| {
        let message = format!("Provided apiStrict:true, but {what} is not in API Version {VERSION}");
        Err(CommandError::new(323, "APIStrictError", message))
    };
    if !is_stable {
        return strict(format!("the command {command}"));
    }
    if body.contains("pipeline") && body.flag("explain") {
        return strict("the option explain of aggregate".to_owned());
    }
    match other_stage(body.elements("pipeline").unwrap_or_default()) {
        Some(name) => strict(format!("stage {name}")),
        None => Ok(()),
    }
}

/// Returns the first stage of a pipeline that is not in version 1. Stages nested within a stage are not examined.
pub(crate) fn other_stage(pipeline: &[Value]) -> Option<&'static str> {
    let mut stages = pipeline.iter().filter_map(stages::parts);
    stages
        .find_map(|(name, operand)| Some(stages::find(name)?).filter(|row| !row.is_in_api(operand)))
        .map(|row| row.name)
}
