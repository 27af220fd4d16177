//! `applyOps`: applies entries of an operation log, as `mongorestore --oplogReplay` sends them.
//!
//! An entry inserts, changes or deletes one document, or is a command. Entries can be applied more than once: inserting
//! a document that exists replaces the document, and a command whose effect exists already succeeds.

mod delta;
mod entry;

use super::Command;
use crate::body::Body;
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Fields, Kind, optional, required};
use crate::figures::Figures;
use crate::oplog;
use crate::security::access::Access;
use crate::security::needs::{Needs, Subject};
use alluvium::{Collection, Error, Map, Value};
use alluvium_document::BsonBuilder;
use entry::{Change, Ddl, Entry};
use std::mem;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("applyOps", Kind::Array).not_null(),
        optional("alwaysUpsert", Kind::Bool),
        optional("preCondition", Kind::Any),
        optional("allowAtomic", Kind::Any),
        optional("prepare", Kind::Any),
        optional("partialTxn", Kind::Any),
        optional("count", Kind::Number),
        optional("oplogApplicationMode", Kind::Text),
        optional("bypassDocumentValidation", Kind::Flag),
    ],
    access: Access::ByFields(needs),
    namespace: |db, _| db.to_owned(),
    ..Command::writing("applyOps", run).audited()
};

/// The modes of `applyOps`. In MongoDB, they differ in the errors that a member of a replica set may ignore. Here they
/// are all the same.
const MODES: [&str; 4] = ["ApplyOps", "InitialSync", "Recovering", "Secondary"];

/// The privileges that the entries need: the privileges of the same write or command outside of `applyOps`.
fn needs<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = Needs::new();
    let ops = subject.body.elements("applyOps").unwrap_or_default();
    // A malformed entry is refused when the command runs, before any entry is applied.
    for entry in ops.iter().filter_map(|op| Entry::parse(op, 0).ok()) {
        entry.add_needs(&mut needs)?;
    }
    Ok(needs)
}

fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    check(&call.body)?;
    let entries = entries(call.body.elements("applyOps").unwrap_or_default(), 0)?;
    let (mut results, mut failure) = (Vec::new(), None);
    for entry in entries.iter().filter(|entry| !matches!(entry, Entry::Nothing)) {
        let applied = apply(call, entry);
        results.push(Value::Bool(matches!(applied, Ok(true))));
        match applied {
            Ok(true) => {}
            // The remaining entries are still applied.
            Ok(false) => {
                let message = "applyOps had one or more errors applying ops: an update found no document";
                failure = Some(CommandError::new(8, "UnknownError", message));
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    let applied = i32::try_from(results.len()).unwrap_or(i32::MAX);
    match failure {
        Some(error) => Err(error.with("applied", applied).with("results", results)),
        None => call.answer(&Map::from([("applied", Value::from(applied)), ("results", Value::Array(results))])),
    }
}

/// Refuses options that MongoDB refuses.
fn check(body: &Map) -> CommandResult<()> {
    let refuse = |code, name, field: &str| {
        Err(CommandError::new(code, name, format!("applyOps cannot have the field '{field}'")))
    };
    if body.contains("prepare") {
        return refuse(2, "BadValue", "prepare");
    }
    if body.contains("partialTxn") {
        return refuse(31_056, "Location31056", "partialTxn");
    }
    if body.contains("count") {
        return refuse(31_240, "Location31240", "count");
    }
    if body.contains("preCondition") {
        return refuse(6_711_600, "Location6711600", "preCondition");
    }
    if body.flag("alwaysUpsert") {
        return refuse(6_711_601, "Location6711601", "alwaysUpsert: true");
    }
    match body.text("oplogApplicationMode") {
        Some(mode) if !MODES.contains(&mode) => {
            let message = format!("'{mode}' is no mode of applyOps: one of {}", MODES.join(", "));
            Err(CommandError::failed_to_parse(message))
        }
        _ => Ok(()),
    }
}

/// Parses the entries of a list. All entries are checked before the first is applied.
fn entries(ops: &[Value], depth: usize) -> CommandResult<Vec<Entry>> {
    let entries = ops.iter().map(|op| Entry::parse(op, depth)).collect::<CommandResult<Vec<_>>>()?;
    if entries.len() > 1 && entries.iter().any(|entry| matches!(entry, Entry::Ddl(ddl) if ddl.drops_database())) {
        let message = "dropDatabase in an applyOps must be the only entry";
        return Err(CommandError::new(6_275_900, "Location6275900", message));
    }
    Ok(entries)
}

/// Applies an entry. Returns false for an update that found no document.
fn apply(call: &mut Call<'_>, entry: &Entry) -> CommandResult<bool> {
    match entry {
        Entry::Nothing => Ok(true),
        Entry::Nested(ops) => {
            for entry in entries(ops, 1)? {
                if !apply(call, &entry)? {
                    let message = "an entry of a nested applyOps found no document to update";
                    return Err(CommandError::new(8, "UnknownError", message));
                }
            }
            Ok(true)
        }
        Entry::Document { db, collection, uuid, change } => {
            call.shared.write_block.check(db)?;
            let outer = mem::replace(&mut call.db, db.clone());
            let done = apply_to_document(call, collection, uuid.as_ref(), change);
            call.db = outer;
            done
        }
        Entry::Ddl(ddl) => match carry_out(call, ddl) {
            Err(error) if !ddl.is_done(error.code) => Err(error),
            _ => Ok(true),
        },
    }
}

/// Applies an entry to a document of the call's database.
fn apply_to_document(call: &Call<'_>, name: &str, uuid: Option<&Value>, change: &Change) -> CommandResult<bool> {
    if let Some(uuid) = uuid
        && collection_uuid::check(call.shared, &call.db, name, uuid).is_err()
    {
        let message = format!("the collection {}.{name} has another UUID than the entry", call.db);
        return Err(CommandError::new(3_318_200, "Location3318200", message));
    }
    let collection = call.recording(name, 0, |_| Map::new())?;
    if collection.identity()?.is_none() {
        return match change {
            Change::Delete(_) => Ok(true),
            _ => Err(CommandError::namespace_not_found(format!(
                "cannot apply an insert or update to {}.{name}, which does not exist",
                call.db
            ))),
        };
    }
    let counters = &call.shared.figures;
    match change {
        Change::Insert(id, document) => {
            Figures::add(&counters.inserts, 1);
            match collection.insert_one(document) {
                Err(Error::DuplicateKey { .. }) => replace(&collection, id, document, true).map(|_| true),
                inserted => Ok(inserted.map(|_| true)?),
            }
        }
        Change::Replace(id, document) => {
            Figures::add(&counters.updates, 1);
            replace(&collection, id, document, false)
        }
        Change::Update(id, update) => {
            Figures::add(&counters.updates, 1);
            Ok(collection.update_one(by_id(id), update).run()?.matched_count > 0)
        }
        Change::Delta(id, delta) => {
            Figures::add(&counters.updates, 1);
            apply_delta(&collection, id, delta)
        }
        Change::Delete(id) => {
            Figures::add(&counters.deletes, 1);
            collection.delete_one(by_id(id)).run()?;
            Ok(true)
        }
    }
}

/// The filter for the document with an `_id` of any type.
fn by_id(id: &Value) -> Map {
    Map::from([("_id", Value::Map(Map::from([("$eq", id.clone())])))])
}

fn replace(collection: &Collection, id: &Value, document: &Map, upsert: bool) -> CommandResult<bool> {
    let done = collection.replace_one(by_id(id), document).upsert(upsert).run()?;
    Ok(done.matched_count > 0)
}

fn apply_delta(collection: &Collection, id: &Value, delta: &Map) -> CommandResult<bool> {
    let mut refused = None;
    let found = collection.modify(id.clone(), |draft| {
        refused = None;
        let mut changed = draft.map()?.clone();
        match delta::apply(&mut changed, delta) {
            Ok(()) if changed.get("_id") == Some(id) => {
                draft.replace(changed);
                return Ok(true);
            }
            Ok(()) => {
                let message = "the update would change the _id of the document";
                refused = Some(CommandError::new(66, "ImmutableField", message));
            }
            Err(error) => refused = Some(error),
        }
        Ok(false)
    })?;
    match refused {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

/// Carries out a command of an entry.
fn carry_out(call: &mut Call<'_>, ddl: &Ddl) -> CommandResult<()> {
    call.shared.write_block.check(&ddl.db)?;
    let command = ddl.command(call);
    let mut body = ddl.body(command)?;
    fields::check(command.name, command.fields, &body)?;
    if command.is_strict {
        fields::refuse_unknown(command.name, command.fields, body.entries.iter().skip(1).map(|(name, _)| name))?;
    }
    if let Some(limit) = call.body.get("maxTimeMS") {
        body.push("maxTimeMS", limit.clone());
    }
    let namespace = (command.namespace)(&ddl.db, &body);
    oplog::refuse_write(&call.shared.config, &namespace)?;
    oplog::refuse(&namespace)?;
    let outer = (
        mem::replace(&mut call.name, command.name),
        mem::replace(&mut call.db, ddl.db.clone()),
        mem::replace(&mut call.body, Body::new(body)),
    );
    let (shared, client) = (call.shared, call.client);
    let done = shared.security.recorded(&client.peer, command.name, &namespace, || (command.run)(call));
    (call.name, call.db, call.body) = outer;
    call.note_durable(false);
    done.map(drop)
}
