//! `collMod`: changes the options of a collection.

use super::{Command, Levels, capped, create, create_options};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields, Kind, optional, required};
use crate::read;
use crate::security::access::Access;
use crate::security::needs;
use alluvium::{CappedLimits, Error, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("collMod", Kind::Collection),
        optional("index", Kind::Document),
        optional("validator", Kind::Document),
        optional("validationLevel", Kind::Text),
        optional("validationAction", Kind::Text),
        optional("viewOn", Kind::Text),
        optional("pipeline", Kind::Array),
        optional("expireAfterSeconds", Kind::Any),
        optional("changeStreamPreAndPostImages", Kind::Document),
        optional("cappedSize", Kind::Number),
        optional("cappedMax", Kind::Number),
        optional("dryRun", Kind::Flag),
        optional("timeseries", Kind::Document),
        optional("recordIdsReplicated", Kind::Flag),
    ],
    access: Access::ByFields(needs::writes::coll_mod),
    levels: Levels::Local,
    ..Command::writing("collMod", run).audited().stable().strict()
};

/// The name of the index on `_id`.
const ID_INDEX: &str = "_id_";

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    check(&call.body)?;
    let full = call.namespace()?;
    let db = &call.shared.db;
    let validates = ["validator", "validationLevel", "validationAction"].iter().any(|name| call.body.contains(name));
    if validates && ["admin", "config", "local"].contains(&call.db.as_str()) {
        let message = format!("Document validators are not allowed on collections in the {} database", call.db);
        return Err(CommandError::invalid_options(message));
    }
    if validates && full.ends_with(".system.views") {
        return Err(CommandError::invalid_options("Document validators are not allowed on system collections"));
    }
    let view = db.views().into_iter().find(|(name, _)| *name == full).map(|(_, view)| view);
    let size = call.body.coerced("cappedSize").map(capped::size).transpose()?;
    let documents = call.body.coerced("cappedMax").map(capped::documents).transpose()?;
    let images = create_options::images("collMod", &call.body, view.is_some().then_some(&*full))?;
    create_options::refuse_images_of_server(&call.db, images == Some(true))?;
    if let Some(view) = view {
        if size.is_some() || documents.is_some() {
            return Err(not_capped(&full));
        }
        if validates {
            return Err(CommandError::invalid_options(format!(
                "{full} is a view: documents are checked in its collection"
            )));
        }
        if call.body.contains("index") {
            return Err(CommandError::invalid_options(format!("{full} is a view, which has no indexes")));
        }
        if call.body.text("viewOn") == Some("") {
            return Err(CommandError::bad_value("'viewOn' cannot be empty"));
        }
        let on = call.body.text("viewOn").unwrap_or(&view.on).to_owned();
        let stages = create_options::stages("collMod", &call.body)?.unwrap_or_else(|| view.pipeline.clone());
        db.change_view(&full, &on, Value::Array(stages))?;
        return Ok(call.reply());
    }
    let collection = call.collection()?;
    collection.require_existing().map_err(|error| match error {
        Error::NoSuchCollection { .. } => CommandError::namespace_not_found(format!("ns does not exist: {full}")),
        error => error.into(),
    })?;
    if call.body.contains("viewOn") || call.body.contains("pipeline") {
        return Err(CommandError::invalid_options(format!("{full} is no view: it has no viewOn and no pipeline")));
    }
    if size.is_some() || documents.is_some() {
        let limits = collection.capped()?.ok_or_else(|| not_capped(&full))?;
        let (size_bytes, documents) = (size.unwrap_or(limits.size_bytes), documents.unwrap_or(limits.documents));
        collection.set_capped(CappedLimits { size_bytes, documents })?;
    }
    if validates {
        create::set_validator(&collection, &call.body)?;
    }
    if let Some(enabled) = images {
        collection.keep_before(enabled)?;
    }
    let changes = ["index", "cappedSize", "cappedMax", "changeStreamPreAndPostImages"];
    if !validates && !changes.iter().any(|name| call.body.contains(name)) {
        collection.note_modified()?;
    }
    let mut reply = Map::new();
    if let Some(index) = call.body.document("index") {
        change_index(&collection, index, &mut reply)?;
    }
    call.answer(&reply)
}

/// Checks options that have special rules.
fn check(body: &Map) -> CommandResult<()> {
    let converts = body.document("index").is_some_and(|index| index.flag("unique"));
    if body.flag("dryRun") && !converts {
        return Err(CommandError::invalid_options("'dryRun' is for the conversion of an index to a unique one only"));
    }
    read::refuse_unsupported("collMod", body, &[], &["timeseries"])?;
    match body.get("expireAfterSeconds") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(text)) if &**text != "off" => {
            let message = format!("'expireAfterSeconds' is a number or \"off\", not \"{text}\"");
            Err(CommandError::invalid_options(message))
        }
        Some(value) if value.is_number() || value.as_str().is_some() => {
            let message = "'expireAfterSeconds' is only supported on time-series collections and clustered ones";
            Err(CommandError::invalid_options(message))
        }
        Some(value) => {
            let message = format!("'expireAfterSeconds' is a number or \"off\", not of type {}", value.type_name());
            Err(CommandError::type_mismatch(message))
        }
    }
}

fn not_capped(name: &str) -> CommandError {
    CommandError::invalid_options(format!("Collection {name} is not capped: cappedSize and cappedMax cannot be set"))
}

/// The fields of an index change.
const INDEX: &[Field] = &[
    optional("name", Kind::Text),
    optional("keyPattern", Kind::Document),
    optional("hidden", Kind::Flag),
    optional("expireAfterSeconds", Kind::Number),
    optional("unique", Kind::Flag),
    optional("prepareUnique", Kind::Flag),
];

/// Changes whether an index is hidden, and the expiry of its documents.
fn change_index(collection: &alluvium::Collection, change: &Map, reply: &mut Map) -> CommandResult<()> {
    fields::refuse_unknown("collMod.index", INDEX, change.entries.iter().map(|(name, _)| name))?;
    fields::check("collMod.index", INDEX, change)?;
    let hint = match (change.text("name"), change.document("keyPattern")) {
        (Some(name), None) => alluvium::Hint::from(name),
        (None, Some(keys)) => alluvium::Hint::from(keys.clone()),
        _ => return Err(CommandError::invalid_options("an index is given by either name or keyPattern")),
    };
    if change.flag("prepareUnique") {
        let message = "prepareUnique is not supported: drop the index, and create it with the option unique";
        return Err(CommandError::not_supported(message));
    }
    let is_given = |name: &str| change.get(name).is_some_and(|value| *value != Value::Null);
    let makes_unique = change.flag("unique");
    if is_given("unique") && !makes_unique {
        return Err(CommandError::bad_value("an index cannot be made not unique: drop the index, and create it again"));
    }
    let hidden = change.get("hidden").filter(|hidden| **hidden != Value::Null).map(|_| change.flag("hidden"));
    let expiry = change.truncated("expireAfterSeconds");
    if hidden.is_none() && expiry.is_none() && !is_given("prepareUnique") && !makes_unique {
        let message = "no expireAfterSeconds, hidden, unique, or prepareUnique field";
        return Err(CommandError::invalid_options(message));
    }
    let name = collection.index_name(hint)?;
    if makes_unique && !is_unique(collection, &name)? {
        let message = "an index without prepareUnique cannot be made unique: drop it, and create it with unique";
        return Err(CommandError::invalid_options(message));
    }
    if name == ID_INDEX && hidden.is_some() {
        return Err(CommandError::bad_value("can't hide _id index"));
    }
    if let Some(seconds) = expiry {
        if name == ID_INDEX {
            return Err(CommandError::invalid_options("the _id field does not support TTL indexes"));
        }
        let Ok(seconds) = u32::try_from(seconds.min(i64::from(i32::MAX))) else {
            return Err(CommandError::invalid_options(format!("expireAfterSeconds is at least 0, not {seconds}")));
        };
        let changed = collection.change_expiry(name.as_str(), seconds);
        let before = changed.map_err(|error| CommandError::invalid_options(error.to_string()))?;
        if let Some(old) = before.get("expireAfterSeconds") {
            reply.push("expireAfterSeconds_old", old.clone());
        }
        reply.push("expireAfterSeconds_new", i64::from(seconds));
    }
    if let Some(hidden) = hidden {
        let was = collection.hide_index(name.as_str(), hidden)?.flag("hidden");
        if was != hidden {
            reply.push("hidden_old", was);
            reply.push("hidden_new", hidden);
        }
    }
    Ok(())
}

/// True if the index is unique.
fn is_unique(collection: &alluvium::Collection, name: &str) -> CommandResult<bool> {
    let mut indexes = collection.indexes()?.into_iter();
    Ok(indexes.any(|index| index.name == name && index.definition.flag("unique")))
}
