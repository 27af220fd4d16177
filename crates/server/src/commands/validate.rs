//! `validate`: checks the files, the indexes, and the documents of a collection.

use super::Command;
use crate::call::Call;
use crate::collection_uuid;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Kind, is_true, optional, required};
use crate::listing;
use crate::security::access::Access;
use crate::security::action::Action;
use crate::writes::int;
use alluvium::{Collection, Error, Map, Value, VerifyReport};
use alluvium_document::BsonBuilder;
use std::sync::Arc;

pub(super) const COMMAND: Command = Command {
    fields: &[
        required("validate", Kind::Collection),
        optional("full", Kind::Any),
        optional("background", Kind::Any),
        optional("repair", Kind::Any),
        optional("fixMultikey", Kind::Any),
        optional("metadata", Kind::Any),
        optional("checkBSONConformance", Kind::Any),
    ],
    access: Access::Collection(Action::Validate),
    ..Command::reading("validate", run)
};

/// The checks to make. An option is on if its value is not false, zero or null.
struct Options {
    full: bool,
    background: bool,
    repair: bool,
    fix_multikey: bool,
    metadata: bool,
    conformance: bool,
}

impl Options {
    fn of(call: &Call<'_>) -> CommandResult<Self> {
        let is_set = |name: &str| call.body.get(name).is_some_and(is_true);
        let options = Self {
            full: is_set("full"),
            background: is_set("background"),
            repair: is_set("repair"),
            fix_multikey: is_set("fixMultikey"),
            metadata: is_set("metadata"),
            conformance: is_set("checkBSONConformance"),
        };
        options.check(call.shared.config.replica_set.is_some())?;
        Ok(options)
    }

    fn check(&self, in_set: bool) -> CommandResult<()> {
        let repairs = self.repair || self.fix_multikey;
        let exclusive = [
            ("background", "full", self.background && self.full),
            ("background", "repair", self.background && repairs),
            ("metadata", "full", self.metadata && self.full),
            ("metadata", "background", self.metadata && self.background),
            ("metadata", "repair", self.metadata && repairs),
            ("metadata", "checkBSONConformance", self.metadata && self.conformance),
            ("checkBSONConformance", "repair", self.conformance && repairs),
        ];
        if let Some((one, other, _)) = exclusive.iter().find(|(_, _, both)| *both) {
            let message = format!(
                "Running the validate command with both {{ {one}: true }} and {{ {other}: true }} is not supported."
            );
            return Err(CommandError::invalid_options(message));
        }
        if self.background && !in_set {
            let message = "Running the validate command with { background: true } is not supported on standalone nodes";
            return Err(CommandError::not_supported(message));
        }
        if self.repair && in_set {
            let message =
                "Running the validate command with { repair: true } can only be performed in standalone mode.";
            return Err(CommandError::invalid_options(message));
        }
        Ok(())
    }

    fn repair_mode(&self) -> &'static str {
        match (self.repair, self.fix_multikey) {
            (true, _) => "FixErrors",
            (false, true) => "AdjustMultikey",
            (false, false) => "None",
        }
    }
}

/// Checks the files of the whole database, because collections share files. Only `alluvium repair` repairs damage,
/// while no server has the database open.
fn run(call: &mut Call<'_>) -> CommandResult<BsonBuilder> {
    let options = Options::of(call)?;
    let namespace = call.namespace()?;
    let collection = call.collection()?;
    let full = collection.full_name().unwrap_or_default();
    let missing = || CommandError::namespace_not_found(format!("Collection '{namespace}' does not exist to validate."));
    match collection.require_existing() {
        Ok(()) => {}
        Err(Error::NoSuchCollection { .. }) => return Err(missing()),
        // MongoDB looks up such names, too, and finds no collection.
        Err(Error::InvalidName(error)) if error.name.contains('$') => return Err(missing()),
        Err(error) => return Err(error.into()),
    }
    let mut reply = Map::from([("ns", Value::from(namespace.as_str())), ("uuid", collection_uuid::of(&collection)?)]);
    let report = match options.metadata {
        true => None,
        false => Some(call.shared.db.verify().max_time(call.time_left()?).stop_when(Arc::clone(&call.stop)).run()?),
    };
    let mut warnings = Vec::new();
    if report.is_some() {
        let others = unlike_the_rules(call, &collection)?;
        if others > 0 {
            let warning = "Detected one or more documents not compliant with the collection's schema.";
            warnings.push(Value::from(warning));
        }
        reply.push("nInvalidDocuments", int(0));
        reply.push("nNonCompliantDocuments", int(others));
        reply.push("nrecords", int(collection.count()?));
    }
    let damage = report.as_ref().map(|report| report.damage.as_slice()).unwrap_or_default();
    let errors: Vec<Value> = damage.iter().map(|error| Value::from(error.to_string())).collect();
    add_indexes(&collection, &full, report.as_ref(), &mut reply)?;
    reply.push("repaired", false);
    reply.push("repairMode", options.repair_mode());
    reply.push("valid", errors.is_empty());
    reply.push("warnings", Value::Array(warnings));
    if !errors.is_empty() {
        reply.push("advice", "stop the server, and run: alluvium repair");
    }
    reply.push("errors", Value::Array(errors));
    for name in ["extraIndexEntries", "missingIndexEntries", "corruptRecords"] {
        // These lists stay empty, because damaged parts are not listed one by one: the errors name the files.
        reply.push(name, Value::Array(Vec::new()));
    }
    call.answer(&reply)
}

/// The number of documents that the validator of the collection would refuse.
fn unlike_the_rules(call: &Call<'_>, collection: &Collection) -> CommandResult<u64> {
    let Some(validator) = collection.validator()? else { return Ok(0) };
    let rules = Value::Array(vec![Value::Map(validator.rules().clone())]);
    let others = collection.find(Map::from([("$nor", rules)])).max_time(call.time_left()?);
    Ok(others.stop_when(Arc::clone(&call.stop)).count()?)
}

/// Adds the indexes and the number of entries in each. Documents are stored in the order of `_id`.
fn add_indexes(
    collection: &Collection,
    full: &str,
    report: Option<&VerifyReport>,
    reply: &mut Map,
) -> CommandResult<()> {
    let indexes = collection.indexes()?;
    reply.push("nIndexes", int(indexes.len() as u64));
    let (mut keys, mut details) = (Map::new(), Map::new());
    for index in indexes {
        let checked = report.map(|report| report.indexes.iter());
        let found = checked.and_then(|mut all| all.find(|one| one.collection == full && one.name == index.name));
        if report.is_some() {
            let entries = match found {
                Some(index) => index.entries.saturating_sub(index.stale),
                None => collection.count()?,
            };
            keys.push(index.name.as_str(), int(entries));
        }
        let spec = Value::Map(listing::definition(index.definition));
        details.push(index.name.as_str(), Map::from([("valid", Value::Bool(true)), ("spec", spec)]));
    }
    if report.is_some() {
        reply.push("keysPerIndex", keys);
    }
    reply.push("indexDetails", details);
    Ok(())
}
