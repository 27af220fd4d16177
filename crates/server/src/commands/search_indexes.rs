//! `createSearchIndexes`, `updateSearchIndex`, `dropSearchIndex`: they fail, because the server has no text search, as
//! MongoDB outside of Atlas.

use super::Command;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, required};
use crate::security::access::Access;
use crate::security::action::Action;
use alluvium::Value;
use alluvium_document::BsonBuilder;
use alluvium_query::pipeline::stages::StageName;

const fn command(name: &'static str, fields: &'static [Field], action: Action) -> Command {
    Command { fields, access: Access::Collection(action), ..Command::reading(name, run) }
}

pub(super) const CREATE: Command = command(
    "createSearchIndexes",
    &[required("createSearchIndexes", Kind::Text), required("indexes", Kind::Documents)],
    Action::CreateSearchIndexes,
);

pub(super) const UPDATE: Command =
    command("updateSearchIndex", &[required("updateSearchIndex", Kind::Text)], Action::UpdateSearchIndex);

pub(super) const DROP: Command =
    command("dropSearchIndex", &[required("dropSearchIndex", Kind::Text)], Action::DropSearchIndex);

fn run(_call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    Err(refusal())
}

fn refusal() -> CommandError {
    let message = "search indexes are not supported: they are a service of MongoDB Atlas";
    CommandError::new(31082, "SearchNotEnabled", message)
}

/// Refuses a pipeline that lists search indexes.
///
/// # Errors
/// Error 31082.
pub(super) fn check_pipeline(call: &Call<'_>) -> CommandResult<()> {
    let first = call.body.elements("pipeline").and_then(|stages| stages.first()).and_then(Value::as_map);
    let lists = first.is_some_and(|first| first.contains(StageName::ListSearchIndexes.name()));
    if lists { Err(refusal()) } else { Ok(()) }
}
