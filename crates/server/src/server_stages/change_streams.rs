//! `$changeStream`: the changes of a collection, of a database, or of everything.

use crate::batch::{FIRST_BATCH, FirstBatch};
use crate::call::Call;
use crate::cluster_time::LastingTimes;
use crate::error::{CommandError, CommandResult};
use crate::fields::{Field, Fields, Kind, optional};
use crate::read;
use alluvium::{
    BeforeDocument, ChangeScope, ChangeStream, FullDocument, FullName, Map, ResumeToken, Timestamp, Value, Watch,
};
use alluvium_document::BsonBuilder;
use alluvium_query::pipeline::stages::{self, StageName};
use std::sync::Arc;

/// The options of the stage. Those below `showExpandedEvents` are for clusters and for MongoDB itself.
const OPTIONS: &[Field] = &[
    optional("resumeAfter", Kind::Document),
    optional("startAfter", Kind::Document),
    optional("startAtOperationTime", Kind::Any),
    optional("fullDocument", Kind::Text),
    optional("fullDocumentBeforeChange", Kind::Text),
    optional("allChangesForCluster", Kind::Bool).not_null(),
    optional("showExpandedEvents", Kind::Bool).not_null(),
    optional("allowToRunOnConfigDB", Kind::Bool).not_null(),
    optional("allowToRunOnSystemNS", Kind::Bool).not_null(),
    optional("ignoreRemovedShards", Kind::Bool).not_null(),
    optional("matchCollectionUUIDForUpdateLookup", Kind::Bool).not_null(),
    optional("showMigrationEvents", Kind::Bool).not_null(),
    optional("showRawUpdateDescription", Kind::Bool).not_null(),
    optional("showSystemEvents", Kind::Bool).not_null(),
    optional("version", Kind::Text).not_null(),
];

/// The options that have no effect if they are true: there is one server, and a lookup reads only the collection of the
/// change.
const WITHOUT_EFFECT: [&str; 3] = ["ignoreRemovedShards", "matchCollectionUUIDForUpdateLookup", "showMigrationEvents"];

/// The options that are refused if they are true.
const REFUSED: [&str; 4] =
    ["allowToRunOnConfigDB", "allowToRunOnSystemNS", "showRawUpdateDescription", "showSystemEvents"];

/// True if the command is an `aggregate` of a change stream.
pub(crate) fn is_wanted(body: &impl Fields) -> bool {
    let stages = body.elements("pipeline").unwrap_or_default();
    stages::first(stages).is_some_and(|first| first.stage == StageName::ChangeStream)
}

/// The place at which a stream begins.
enum Beginning {
    Now,
    At(Timestamp),
    ResumeAfter(ResumeToken),
    StartAfter(ResumeToken),
}

/// The checked options.
struct Options {
    start: Beginning,
    full_document: FullDocument,
    before: BeforeDocument,
    expanded: bool,
}

/// Opens a change stream, and replies with its first batch, without waiting for events.
///
/// # Errors
/// The errors of [`check_options`]; error 166 for a view; the errors of opening the stream.
pub(super) fn run(call: &Call<'_>) -> CommandResult<BsonBuilder> {
    let stages = call.body.elements("pipeline").unwrap_or_default();
    let options = check_options(call, stages)?;
    check_stages(stages)?;
    let stream = open(call, &options, &stages[1..])?;
    let namespace = format!("{}.{}", call.db, call.argument().as_str().unwrap_or("$cmd.aggregate"));
    let size = call.body.document("cursor").map_or(Ok(None), |cursor| cursor.count("batchSize"))?;
    FirstBatch { size: size.unwrap_or(FIRST_BATCH), ..FirstBatch::of_changes(stream, namespace) }.reply(call)
}

/// Checks the options of the stage, and that it is allowed on its target.
///
/// # Errors
/// Error 40573 without a replica set; 6188500, 40415, 14 and 2 for options of a wrong form; 72 and 73 for a target that has
/// no streams; 115 for an option that is not supported; 50865 and 40674 for several starts; 9 and 40647 for a text that
/// is no token; 260 for the token of an invalidation after which the stream cannot be resumed.
fn check_options(call: &Call<'_>, stages: &[Value]) -> CommandResult<Options> {
    let operand = stages.first().and_then(stages::parts).map_or(&Value::Null, |(_, operand)| operand);
    let options = super::options("$changeStream", operand, OPTIONS, (6_188_500, "Location6188500"))?;
    if call.shared.config.replica_set.is_none() {
        let message = "The $changeStream stage is only supported on replica sets: start the server with a replica set";
        return Err(CommandError::new(40_573, "Location40573", message));
    }
    check_target(call, options)?;
    let is_true = |name: &&&str| options.flag(name);
    if let Some(name) = REFUSED.iter().find(is_true) {
        return Err(CommandError::not_supported(format!("the option {name} of $changeStream is not supported")));
    }
    WITHOUT_EFFECT.iter().filter(is_true).for_each(|name| log::debug!("{name} of $changeStream has no effect"));
    let choices = [
        ("default", FullDocument::Default),
        ("updateLookup", FullDocument::UpdateLookup),
        ("whenAvailable", FullDocument::WhenAvailable),
        ("required", FullDocument::Required),
    ];
    let full_document = choice(options, "fullDocument", choices)?;
    let choices = [
        ("off", BeforeDocument::Off),
        ("whenAvailable", BeforeDocument::WhenAvailable),
        ("required", BeforeDocument::Required),
    ];
    let before = choice(options, "fullDocumentBeforeChange", choices)?;
    Ok(Options { start: start(options)?, full_document, before, expanded: options.flag("showExpandedEvents") })
}

/// The choice that an option names; the first one if the option is missing.
fn choice<T: Copy, const N: usize>(options: &Map, option: &str, choices: [(&str, T); N]) -> CommandResult<T> {
    let name = options.text(option).unwrap_or(choices[0].0);
    choices.iter().find(|(known, _)| *known == name).map(|(_, choice)| *choice).ok_or_else(|| {
        let message = format!("Enumeration value '{name}' for field '$changeStream.{option}' is not a valid value.");
        CommandError::bad_value(message)
    })
}

fn start(options: &Map) -> CommandResult<Beginning> {
    let token = |name: &str| options.document(name).map(ResumeToken::parse).transpose().map_err(alluvium::Error::from);
    let at = match options.get("startAtOperationTime") {
        None | Some(Value::Null) => None,
        Some(Value::Timestamp(time)) => Some(*time),
        Some(other) => {
            let found = other.type_name();
            let message = format!(
                "BSON field '$changeStream.startAtOperationTime' is the wrong type '{found}', expected type 'timestamp'"
            );
            return Err(CommandError::type_mismatch(message));
        }
    };
    let (resume_after, start_after) = (token("resumeAfter")?, token("startAfter")?);
    if resume_after.is_some() && start_after.is_some() {
        let message = "Do not specify both 'resumeAfter' and 'startAfter' in a $changeStream stage";
        return Err(CommandError::new(50_865, "Location50865", message));
    }
    match (resume_after, start_after, at) {
        (None, None, None) => Ok(Beginning::Now),
        (None, None, Some(time)) => Ok(Beginning::At(time)),
        (Some(token), _, None) => Ok(Beginning::ResumeAfter(token)),
        (None, Some(token), None) => Ok(Beginning::StartAfter(token)),
        _ => {
            let message = "Only one type of resume option is allowed, but multiple were found";
            Err(CommandError::new(40_674, "Location40674", message))
        }
    }
}

/// Checks that there are change streams over the target.
fn check_target(call: &Call<'_>, options: &Map) -> CommandResult<()> {
    let (db, collection) = (call.db.as_str(), call.argument().as_str());
    let is_whole = options.flag("allChangesForCluster");
    if is_whole && (db != "admin" || collection.is_some()) {
        let message = format!(
            "A $changeStream with 'allChangesForCluster:true' may only be opened on the 'admin' database, and with no \
             collection name; found {db}.{}",
            collection.unwrap_or("$cmd.aggregate")
        );
        return Err(CommandError::invalid_options(message));
    }
    if ["config", "local"].contains(&db) || db == "admin" && !is_whole {
        let message = format!("$changeStream may not be opened on the internal {db} database");
        return Err(CommandError::invalid_namespace(message));
    }
    let Some(collection) = collection else { return Ok(()) };
    let full = format!("{db}.{collection}");
    if collection.starts_with("system.") {
        let message = format!("$changeStream may not be opened on the internal {full} collection");
        return Err(CommandError::invalid_namespace(message));
    }
    if call.collection_called(collection).full_name().is_ok_and(|name| is_view(call, &name, &full)) {
        let message = format!("$changeStream is not supported on views: {full} is one; watch its collection");
        return Err(CommandError::new(166, "CommandNotSupportedOnView", message));
    }
    Ok(())
}

fn is_view(call: &Call<'_>, name: &str, full: &str) -> bool {
    call.shared.db.views().iter().any(|(view, _)| view == full || view == name)
}

/// Checks the operand of the last stage. The library checks the other stages.
fn check_stages(stages: &[Value]) -> CommandResult<()> {
    let split = StageName::ChangeStreamSplitLargeEvent.name();
    match stages.last().and_then(stages::parts) {
        Some((name, operand)) if name == split && operand.as_map().is_none_or(|operand| !operand.is_empty()) => {
            let message = format!("{split} spec should be an empty object");
            Err(CommandError::new(7_182_800, "Location7182800", message))
        }
        _ => Ok(()),
    }
}

/// Opens a change stream with the stages after `$changeStream`.
fn open(call: &Call<'_>, options: &Options, stages: &[Value]) -> CommandResult<ChangeStream> {
    let shared = call.shared;
    let (watch, scope) = match call.argument().as_str() {
        Some(collection) => {
            let collection = call.collection_called(collection);
            let name = FullName::parse(&collection.full_name()?).map_err(alluvium::Error::from)?;
            (collection.watch(), ChangeScope::Collection(name))
        }
        None if call.db == "admin" => (shared.db.watch(), ChangeScope::Everything),
        None => {
            let watch = shared.db.logical_database(&call.db).watch();
            (watch, ChangeScope::Logical(call.db.as_str().into()))
        }
    };
    let is_recorded = shared.db.recorded().iter().any(|recorded| recorded.scope.includes(&scope));
    let writing = shared.writes.enter();
    if !is_recorded && writing.is_none() {
        let message = "the first change stream begins to record changes, which is a write: fsync has locked writes";
        return Err(CommandError::illegal_operation(message));
    }
    let times = LastingTimes::new(&shared.cluster_time, &shared.writes);
    let mut watch = watch
        .full_document(options.full_document)
        .before_change(options.before)
        .expanded(options.expanded)
        .cluster_times(Arc::new(times))
        .stop_when(Arc::clone(&call.stop));
    let mut stages = stages.to_vec();
    watch = match options.start {
        Beginning::Now => watch,
        Beginning::ResumeAfter(token) => watch.resume_after(token),
        Beginning::StartAfter(token) => watch.start_after(token),
        Beginning::At(time) => at(call, watch, time, is_recorded, &mut stages),
    };
    watch = watch.pipeline(Value::Array(stages));
    if let Some(collation) = read::collation(&call.body) {
        watch = watch.collation(collation);
    }
    if let Some(variables) = call.body.document("let") {
        watch = watch.variables(variables);
    }
    let stream = watch.run()?;
    shared.cluster_time.keep(&shared.writes);
    Ok(stream)
}

/// Makes a stream begin with the first event that is not before a time. If there is no such write yet, a stream that
/// begins to record has all of them.
fn at(call: &Call<'_>, watch: Watch, time: Timestamp, is_recorded: bool, stages: &mut Vec<Value>) -> Watch {
    let shared = call.shared;
    if time > shared.time() {
        let later = Value::Map(Map::from([("$gte", Value::Timestamp(time))]));
        let later = Value::Map(Map::from([("clusterTime", later)]));
        stages.insert(0, Value::Map(Map::from([(StageName::Match.name(), later)])));
    }
    let number = shared.cluster_time.number_at(time, &shared.writes);
    match is_recorded || number <= shared.db.store().visible() {
        true => watch.from_number(number),
        false => watch,
    }
}
