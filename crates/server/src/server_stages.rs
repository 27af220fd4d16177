//! Stages of pipelines that only a server knows: their documents are its operations, sessions and collections.
//!
//! Such a stage begins a pipeline. Its documents are listed, and the stages after it run over the list.

pub(crate) mod catalog;
pub(crate) mod operations;
pub(crate) mod plans;
pub(crate) mod sessions;
pub(crate) mod statistics;

use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::error::{CommandError, CommandResult};
use crate::fields::{self, Field, Fields};
use crate::listing;
use alluvium::{Map, Value};
use alluvium_document::BsonBuilder;

/// What a stage is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    /// A collection.
    Collection,
    /// A database, `{aggregate: 1}`.
    Database,
    /// The database `admin`.
    Admin,
    /// The collection `config.system.sessions`.
    Sessions,
}

/// A stage.
struct ServerStage {
    name: &'static str,
    over: Over,
    /// The error over something else.
    misplaced: (i32, &'static str),
    /// The error in `$facet` over something else: that of the place or, if true, the one above.
    checks_place_first: bool,
    /// True if it has no read concern but `local`.
    is_local: bool,
    documents: fn(&Call<'_>, &Value) -> CommandResult<Vec<Map>>,
}

const INVALID_NAMESPACE: (i32, &str) = (73, "InvalidNamespace");

static STAGES: [ServerStage; 9] = [
    ServerStage {
        name: "$collStats",
        over: Over::Collection,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: false,
        documents: statistics::of_collection,
    },
    ServerStage {
        name: "$indexStats",
        over: Over::Collection,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: false,
        documents: statistics::of_indexes,
    },
    ServerStage {
        name: operations::CURRENT_OP,
        over: Over::Admin,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: true,
        documents: operations::documents,
    },
    ServerStage {
        name: "$listClusterCatalog",
        over: Over::Database,
        misplaced: (9_621_301, "Location9621301"),
        checks_place_first: true,
        is_local: true,
        documents: catalog::documents,
    },
    ServerStage {
        name: "$listLocalSessions",
        over: Over::Database,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: true,
        documents: sessions::documents,
    },
    ServerStage {
        name: "$listSessions",
        over: Over::Sessions,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: true,
        documents: sessions::documents,
    },
    ServerStage {
        name: "$planCacheStats",
        over: Over::Collection,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: true,
        documents: plans::cache,
    },
    ServerStage {
        name: "$querySettings",
        over: Over::Database,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: false,
        is_local: true,
        documents: plans::settings,
    },
    ServerStage {
        name: "$queryStats",
        over: Over::Admin,
        misplaced: INVALID_NAMESPACE,
        checks_place_first: true,
        is_local: true,
        documents: plans::statistics,
    },
];

fn find(name: &str) -> Option<&'static ServerStage> {
    STAGES.iter().find(|stage| stage.name == name)
}

/// True for a stage that has no read concern but `local`.
pub(crate) fn is_local(name: &str) -> bool {
    find(name).is_some_and(|stage| stage.is_local)
}

/// The name and the operand of a stage.
fn parts(stage: &Value) -> Option<(&str, &Value)> {
    let (name, operand) = stage.as_map()?.entries.first()?;
    Some((name.as_str()?, operand))
}

/// The collection or database of a pipeline.
#[derive(Clone, Copy)]
struct Place<'a> {
    db: &'a str,
    /// The collection that it is over.
    collection: Option<&'a str>,
    /// It is of a `$facet`.
    in_facet: bool,
}

impl ServerStage {
    fn fits(&self, place: Place<'_>) -> bool {
        match self.over {
            Over::Collection => place.collection.is_some(),
            Over::Database => place.collection.is_none(),
            Over::Admin => place.collection.is_none() && place.db == "admin",
            Over::Sessions => place.db == "config" && place.collection == Some("system.sessions"),
        }
    }

    fn check(&self, at: usize, place: Place<'_>) -> CommandResult<()> {
        let name = self.name;
        let (code, code_name) = self.misplaced;
        let misplaced = || {
            let target = match self.over {
                Over::Collection => "a collection",
                Over::Database => "a database, as {aggregate: 1}",
                Over::Admin => "the database admin, as {aggregate: 1}",
                Over::Sessions => "the collection config.system.sessions",
            };
            Err(CommandError::new(code, code_name, format!("{name} must be run against {target}")))
        };
        let fits = self.fits(place);
        if !fits && (!place.in_facet || self.checks_place_first) {
            return misplaced();
        }
        if place.in_facet {
            let message = format!("{name} is not allowed to be used within a $facet stage");
            return Err(CommandError::new(40600, "Location40600", message));
        }
        if at > 0 {
            let message = format!("{name} is only valid as the first stage in a pipeline");
            return Err(CommandError::new(40602, "Location40602", message));
        }
        Ok(())
    }
}

/// Checks that the stages of this module are where they may be.
///
/// # Errors
/// Error 73 or that of the stage over something else; 40600 in `$facet`; 40602 behind another stage.
pub(crate) fn check(db: &str, collection: Option<&str>, stages: &[Value]) -> CommandResult<()> {
    check_in(Place { db, collection, in_facet: false }, stages)
}

fn check_in(place: Place<'_>, stages: &[Value]) -> CommandResult<()> {
    for (at, stage) in stages.iter().enumerate() {
        let Some((name, operand)) = parts(stage) else { continue };
        if let Some(known) = find(name) {
            if stage.as_map().is_some_and(|stage| stage.len() > 1) {
                let message = "A pipeline stage specification object must contain exactly one field.";
                return Err(CommandError::new(40323, "Location40323", message));
            }
            known.check(at, place)?;
        }
        let Some(operand) = operand.as_map() else { continue };
        match name {
            "$facet" => {
                for (_, inner) in operand.iter() {
                    check_in(Place { in_facet: true, ..place }, inner.as_array().unwrap_or_default())?;
                }
            }
            "$lookup" | "$unionWith" => {
                let of = operand.text(if name == "$lookup" { "from" } else { "coll" });
                let inner = operand.elements("pipeline").unwrap_or_default();
                check_in(Place { collection: of.or(place.collection), ..place }, inner)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// The reply of a pipeline that begins with a stage of this module; `None` for another one.
///
/// # Errors
/// Errors of the stages.
pub(crate) fn run(call: &Call<'_>) -> CommandResult<Option<BsonBuilder>> {
    let stages = call.body.elements("pipeline").unwrap_or_default();
    let Some((name, operand)) = stages.first().and_then(parts) else { return Ok(None) };
    let Some(stage) = find(name) else { return Ok(None) };
    let mut all = vec![listing::stage((stage.documents)(call, operand)?)];
    all.extend(stages.iter().skip(1).cloned());
    let collection = call.argument().as_str();
    let namespace = format!("{}.{}", call.db, collection.unwrap_or("$cmd.aggregate"));
    let cursor = call.collection_called("list").aggregate(Value::Array(all)).run()?;
    let size = call.body.document("cursor").map_or(Ok(None), |cursor| cursor.count("batchSize"))?;
    let batch = FirstBatch { size: size.unwrap_or(FIRST_BATCH), ..FirstBatch::of(cursor, namespace) };
    batch.reply(call).map(Some)
}

/// The options of a stage, with their types checked.
fn options<'a>(
    name: &str,
    operand: &'a Value,
    known: &[Field],
    no_object: (i32, &'static str),
) -> CommandResult<&'a Map> {
    let (code, code_name) = no_object;
    let Some(options) = operand.as_map() else {
        let message = format!("{name} options must be specified in an object, but found: {}", operand.type_name());
        return Err(CommandError::new(code, code_name, message));
    };
    fields::refuse_unknown(name, known, options.entries.iter().map(|(name, _)| name))?;
    fields::check(name, known, options)?;
    Ok(options)
}
