//! `create`: a collection or a view.

use super::{Command, Levels, capped, create_options};
use crate::body::Body;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::read;
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{CappedLimits, Collation, Collection, Map, ValidationAction, ValidationLevel, Validator, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("create", Kind::Collection),
        optional("capped", Kind::Flag),
        optional("size", Kind::Number),
        optional("max", Kind::Number),
        optional("autoIndexId", Kind::Flag),
        optional("idIndex", Kind::Document),
        optional("viewOn", Kind::Text),
        optional("pipeline", Kind::Array),
        optional("validator", Kind::Document),
        optional("validationLevel", Kind::Text),
        optional("validationAction", Kind::Text),
        optional("collation", Kind::Document),
        optional("timeseries", Kind::Document),
        optional("clusteredIndex", Kind::Any),
        optional("changeStreamPreAndPostImages", Kind::Document),
        optional("storageEngine", Kind::Document),
        optional("indexOptionDefaults", Kind::Document),
        optional("expireAfterSeconds", Kind::Number),
        optional("encryptedFields", Kind::Document),
        optional("flags", Kind::Integer),
        optional("temp", Kind::Flag),
        optional("recordIdsReplicated", Kind::Flag),
        optional("naturalOrder", Kind::Flag),
    ],
    access: Access::ByFields(needs::writes::create),
    levels: Levels::Local,
    ..Command::writing("create", run).audited().stable().strict().in_transactions()
};

/// Options that the server cannot store.
const UNSUPPORTED: [&str; 2] = ["timeseries", "encryptedFields"];

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let name = call.collection_name()?.to_owned();
    let mut fields = Map::clone(&call.body);
    create_options::check(&mut fields)?;
    call.body = Body::new(fields);
    read::refuse_unsupported("create", &call.body, &[], &UNSUPPORTED)?;
    let limits = capped::limits(&call.body)?;
    let full = call.namespace()?;
    let db = &call.shared.db;
    if let Some(on) = call.body.text("viewOn") {
        if call.transaction.is_some() {
            return Err(CommandError::not_in_transaction("a view cannot be created in a transaction"));
        }
        if call.body.flag("naturalOrder") {
            let message = "a view has the order of its pipeline: 'naturalOrder' is an option of collections";
            return Err(CommandError::invalid_options(message));
        }
        let stages = create_options::stages("create", &call.body)?.unwrap_or_default();
        match read::collation(&call.body) {
            None => db.create_view(&full, on, Value::Array(stages)).run()?,
            Some(collation) => db.create_view(&full, on, Value::Array(stages)).collation(collation).run()?,
        }
        return Ok(call.reply());
    }
    if call.body.get("pipeline").is_some() {
        let message = "'pipeline' requires 'viewOn' to also be specified";
        return Err(CommandError::invalid_options(message));
    }
    let exists = match call.collection_called(&name).identity() {
        Err(alluvium::Error::IsView(_)) => return Err(alluvium::Error::CollectionExists(full).into()),
        found => found?.is_some(),
    };
    let mut new = match call.open_transaction() {
        None => db.create_collection(&full),
        Some(transaction) => transaction.create_collection(&full),
    };
    if let Some(validator) = validator_of(&call.body, &Map::new())? {
        new = new.options(validator.to_options());
    }
    if call.body.contains("naturalOrder") {
        new = new.natural_order(call.body.flag("naturalOrder"));
    }
    if let Some(limits) = limits {
        new = new.capped(limits);
    }
    if let Some(collation) = read::collation(&call.body) {
        new = new.collation(collation);
    }
    if keeps_before(&call.body)? {
        create_options::refuse_images_of_server(&call.db, true)?;
        new = new.keep_before(true);
    }
    for name in create_options::KEPT {
        if let Some(value) = call.body.document(name) {
            new = new.options(Map::from([(name, Value::Map(value.clone()))]));
        }
    }
    match new.run() {
        Ok(_) => {}
        // As in MongoDB, creating a collection again with the same options succeeds, but in a transaction.
        Err(alluvium::Error::CollectionExists(_))
            if exists && call.transaction.is_none() && same_options(call, &name, limits)? =>
        {
            return Ok(call.reply());
        }
        Err(error) => return Err(error.into()),
    }
    Ok(call.reply())
}

fn keeps_before(body: &Map) -> CommandResult<bool> {
    Ok(create_options::images("create", body, None)?.unwrap_or_default())
}

/// True if the collection has the options of the command.
fn same_options(call: &Call<'_>, name: &str, limits: Option<CappedLimits>) -> CommandResult<bool> {
    let collection = call.collection_called(name);
    let wanted =
        read::collation(&call.body).map(Collation::parse).transpose().map_err(alluvium::Error::from)?.flatten();
    let same = wanted.map(|wanted| Value::Map(wanted.to_map())).as_ref() == collection.options()?.get("collation");
    let options = collection.options()?;
    let are_kept = create_options::KEPT.iter().all(|name| options.document(name) == call.body.document(name));
    let images = options.contains("changeStreamPreAndPostImages") == keeps_before(&call.body)?;
    let natural = collection.natural_order()?;
    let is_ordered = match call.body.contains("naturalOrder") {
        true => natural == call.body.flag("naturalOrder"),
        // With the option missing, any existing collection is the same, except a collection in natural order on a
        // server without `--natural-order`.
        false => !natural || call.shared.config.natural_order,
    };
    if !same || !images || !are_kept || !is_ordered || collection.capped()? != limits {
        return Ok(false);
    }
    Ok(match (collection.validator()?, call.body.document("validator")) {
        (None, None) => true,
        (Some(current), Some(wanted)) => current.to_options().document("validator") == Some(wanted),
        _ => false,
    })
}

/// Sets the validator of a collection from the fields of `create` or `collMod`. A missing field keeps its current
/// value.
pub(super) fn set_validator(collection: &Collection, body: &Map) -> CommandResult<()> {
    let current = collection.validator()?.map(|validator| validator.to_options()).unwrap_or_default();
    match validator_of(body, &current)? {
        None => Ok(collection.drop_validator()?),
        Some(validator) => {
            let set = collection.set_validator(validator.rules().clone());
            Ok(set.level(validator.level()).action(validator.action()).run()?)
        }
    }
}

/// The validator in the fields of a command. A missing field has its current value.
fn validator_of(body: &Map, current: &Map) -> CommandResult<Option<Validator>> {
    let rules = body.document("validator").or(current.document("validator")).cloned().unwrap_or_default();
    let level = body.text("validationLevel").or(current.text("validationLevel")).unwrap_or("strict");
    let action = body.text("validationAction").or(current.text("validationAction")).unwrap_or("error");
    let action = match action {
        "error" => ValidationAction::Error,
        "warn" => ValidationAction::Warn,
        "errorAndLog" => ValidationAction::ErrorAndLog,
        other => return Err(create_options::wrong_value("validationAction", other)),
    };
    let level = match level {
        "strict" => ValidationLevel::Strict,
        "moderate" => ValidationLevel::Moderate,
        "off" => return Ok(None),
        other => return Err(create_options::wrong_value("validationLevel", other)),
    };
    if rules.is_empty() {
        return Ok(None);
    }
    Ok(Some(Validator::new(rules, level, action).map_err(alluvium::Error::from)?))
}
