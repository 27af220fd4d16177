//! `validateDBMetadata`: lists the parts of a database that the stable API excludes.

use super::Command;
use crate::api;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("apiParameters", Kind::Document),
        optional("db", Kind::Text),
        optional("collection", Kind::Text),
    ],
    access: Access::ByFields(needs::validate_metadata),
    ..Command::reading("validateDBMetadata", run).strict()
};

const PARAMETERS: &[Field] = &[
    required("version", Kind::Text),
    optional("strict", Kind::Bool).not_null(),
    optional("deprecationErrors", Kind::Bool).not_null(),
];

/// The most bytes of a database name.
const DB_BYTES_MAX: usize = 63;

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let parameters = call.body.document("apiParameters").cloned().unwrap_or_default();
    fields::check("apiParameters", PARAMETERS, &parameters)?;
    fields::refuse_unknown("apiParameters", PARAMETERS, parameters.iter().map(|(name, _)| name))?;
    let (db, collection) = (call.body.text("db"), call.body.text("collection"));
    db.map_or(Ok(()), check_database)?;
    collection.map_or(Ok(()), check_collection)?;
    let mut errors = Vec::new();
    // There are no rules for other API versions.
    if parameters.text("version") == Some(api::VERSION) && parameters.flag("strict") {
        let is_wanted = |of: &str, name: &str| db.is_none_or(|db| db == of) && collection.is_none_or(|c| c == name);
        add_indexes(call, &is_wanted, &mut errors)?;
        add_views(call, &is_wanted, &mut errors);
    }
    call.answer(&Map::from([("apiVersionErrors", Value::Array(errors))]))
}

fn check_database(name: &str) -> CommandResult<()> {
    if name.is_empty() {
        return Err(CommandError::new(28_539, "Location28539", "the name of a database is not empty"));
    }
    if name.len() > DB_BYTES_MAX || name.contains(['.', '\0']) {
        return Err(CommandError::invalid_namespace(format!("Invalid database name: '{name}'")));
    }
    match name.contains(['/', '\\', ' ', '"']) {
        true => Err(CommandError::new(13_280, "Location13280", format!("invalid db name: {name}"))),
        false => Ok(()),
    }
}

fn check_collection(name: &str) -> CommandResult<()> {
    match name.is_empty() || name.starts_with('.') || name.contains('\0') {
        true => Err(CommandError::invalid_namespace(format!("Invalid collection name: '{name}'"))),
        false => Ok(()),
    }
}

fn error(namespace: &str, message: String) -> Value {
    Value::Map(Map::from([
        ("ns", Value::from(namespace)),
        ("code", Value::Int32(323)),
        ("codeName", Value::from("APIStrictError")),
        ("errmsg", Value::from(message)),
    ]))
}

/// Lists the indexes that the API excludes, which are sparse indexes and text indexes.
fn add_indexes(call: &Call<'_>, wanted: &dyn Fn(&str, &str) -> bool, errors: &mut Vec<Value>) -> CommandResult<()> {
    for info in call.shared.db.collections().into_iter().filter(|info| wanted(&info.database, &info.name)) {
        let full = format!("{}.{}", info.database, info.name);
        let collection = call.shared.db.logical_database(&info.database).collection(&info.name);
        for index in collection.indexes()? {
            let keys = index.definition.document("key");
            let is_text = keys.is_some_and(|keys| keys.iter().any(|(_, kind)| kind.as_str() == Some("text")));
            if is_text || index.definition.flag("sparse") {
                let message =
                    format!("The index with name {} is not allowed in API version {}.", index.name, api::VERSION);
                errors.push(error(&full, message));
            }
        }
    }
    Ok(())
}

/// Lists the views with stages that are not in the stable API.
fn add_views(call: &Call<'_>, wanted: &dyn Fn(&str, &str) -> bool, errors: &mut Vec<Value>) {
    for (full, view) in call.shared.db.views() {
        let is_wanted = full.split_once('.').is_some_and(|(db, name)| wanted(db, name));
        let definition = view.to_map();
        let stages = definition.elements("pipeline").unwrap_or_default();
        if let Some(stage) = api::other_stage(stages).filter(|_| is_wanted) {
            let message = format!("The stage {stage} of the view is not allowed in API version {}.", api::VERSION);
            errors.push(error(&full, message));
        }
    }
}
