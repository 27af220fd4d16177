//! `collMod`: changes the options of a collection.

use super::{Command, capped, create};
use crate::access::Access;
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Fields, Kind, optional, required};
use crate::read;
use alluvium::{CappedLimits, Error, Map, Value};
use alluvium_document::BsonBuilder;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("collMod", Kind::Text),
        optional("index", Kind::Document),
        optional("validator", Kind::Document),
        optional("validationLevel", Kind::Text),
        optional("validationAction", Kind::Text),
        optional("viewOn", Kind::Text),
        optional("pipeline", Kind::Documents),
        optional("expireAfterSeconds", Kind::Any),
        optional("changeStreamPreAndPostImages", Kind::Document),
        optional("cappedSize", Kind::Number),
        optional("cappedMax", Kind::Number),
        optional("dryRun", Kind::Flag),
    ],
    access: Access::ByFields,
    ..Command::writing("collMod", run)
};

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let flags = ["expireAfterSeconds", "dryRun"];
    read::refuse_unsupported("collMod", &call.body, &flags, &["changeStreamPreAndPostImages"])?;
    let full = call.namespace()?;
    let db = &call.shared.db;
    let view = db.views().into_iter().find(|(name, _)| *name == full).map(|(_, view)| view);
    let size = call.body.coerced("cappedSize").map(capped::size).transpose()?;
    let documents = call.body.coerced("cappedMax").map(capped::documents).transpose()?;
    if let Some(view) = view {
        if size.is_some() || documents.is_some() {
            return Err(not_capped(&full));
        }
        let on = call.body.text("viewOn").unwrap_or(&view.on).to_owned();
        let stages = call.body.elements("pipeline").map_or(view.pipeline.clone(), <[Value]>::to_vec);
        // Checked before the old one is dropped.
        db.drop_collection(&full)?;
        if let Err(error) = db.create_view(&full, &on, Value::Array(stages)) {
            db.create_view(&full, &view.on, Value::Array(view.pipeline))?;
            return Err(error.into());
        }
        return Ok(call.reply());
    }
    let collection = call.collection()?;
    collection.require_existing().map_err(|error| match error {
        Error::NoSuchCollection { .. } => CommandError::namespace_not_found(format!("ns does not exist: {full}")),
        error => error.into(),
    })?;
    if size.is_some() || documents.is_some() {
        let limits = collection.capped()?.ok_or_else(|| not_capped(&full))?;
        let (size_bytes, documents) = (size.unwrap_or(limits.size_bytes), documents.unwrap_or(limits.documents));
        collection.set_capped(CappedLimits { size_bytes, documents })?;
    }
    if ["validator", "validationLevel", "validationAction"].iter().any(|name| call.body.contains(name)) {
        create::set_validator(&collection, &call.body)?;
    }
    let mut reply = Map::new();
    if let Some(index) = call.body.document("index") {
        change_index(&collection, index, &mut reply)?;
    }
    call.answer(&reply)
}

fn not_capped(name: &str) -> CommandError {
    CommandError::invalid_options(format!("Collection {name} is not capped: cappedSize and cappedMax cannot be set"))
}

/// Changes when the documents of an index expire: the index is made again with the other time.
fn change_index(collection: &alluvium::Collection, change: &Map, reply: &mut Map) -> CommandResult<()> {
    let Some(after) = change.integer("expireAfterSeconds") else {
        let message = "only expireAfterSeconds of an index can be changed: drop the index, and create it with the \
                       other options";
        return Err(CommandError::not_supported(message));
    };
    let hint = match (change.text("name"), change.document("keyPattern")) {
        (Some(name), None) => alluvium::Hint::from(name),
        (None, Some(keys)) => alluvium::Hint::from(keys.clone()),
        _ => return Err(CommandError::invalid_options("an index is given by either name or keyPattern")),
    };
    let name = collection.index_name(hint)?;
    let indexes = collection.indexes()?;
    let Some(index) = indexes.into_iter().find(|index| index.name == name) else {
        return Err(CommandError::new(27, "IndexNotFound", format!("cannot find index {name}")));
    };
    let keys = index.definition.document("key").cloned().unwrap_or_default();
    let mut options = index.definition;
    ["v", "key"].iter().for_each(|field| drop(options.remove(field)));
    if let Some(old) = options.insert("expireAfterSeconds", Value::Int64(after)) {
        reply.push("expireAfterSeconds_old", old);
    }
    collection.drop_index(name.as_str())?;
    collection.create_index(keys).options(options).run()?;
    reply.push("expireAfterSeconds_new", Value::Int64(after));
    Ok(())
}
