//! Rules for commands whose needed privileges depend on their fields. The registry of commands refers to these rules.

pub(crate) mod administration;
pub(crate) mod pipeline;
pub(crate) mod writes;

use super::name::Name;
use super::privilege::Need;
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::security::action::Action;
use alluvium::{Map, Value};
use alluvium_wire::Sequence;

/// A command before it is carried out.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The database that the command is sent to.
    pub db: &'a str,
    /// The fields.
    pub body: &'a Map,
    /// Arrays of documents that were sent next to the body.
    pub sequences: &'a [Sequence],
    /// The user who sent the command.
    pub user: Option<&'a Name>,
    /// False if the returned needs may exceed the exact needs. This is faster to compute.
    pub exact: bool,
}

/// The privileges that a command needs. The user must have all of them.
pub(crate) type Needs<'a> = Vec<Need<'a>>;

/// Computes the needs of a command. A rule has no side effects, and accepts any body, because it runs before the fields
/// are checked.
pub(crate) type Rule = for<'a> fn(&Subject<'a>) -> CommandResult<Needs<'a>>;

/// The collection that the first field names.
fn argument(body: &Map) -> Option<&str> {
    body.entries.first().and_then(|(_, value)| value.as_str())
}

/// An action on the collection that the first field names; on the whole database if the first field is not a name.
pub(crate) fn on_argument<'a>(subject: &Subject<'a>, action: Action) -> Need<'a> {
    match argument(subject.body) {
        Some(collection) => Need::collection(subject.db, collection, action),
        None => Need::database(subject.db, action),
    }
}

/// An action on a collection with a full name.
fn on_namespace(namespace: Option<&str>, action: Action) -> Need<'_> {
    match namespace.and_then(|namespace| namespace.split_once('.')) {
        Some((db, collection)) => Need::collection(db, collection, action),
        None => Need::any_database(action),
    }
}

pub(crate) fn data_size<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![on_namespace(subject.body.text("dataSize"), Action::Find)])
}

/// The needs of `filemd5`: to read the chunks of the file's bucket.
pub(crate) fn file_md5<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![Need::collection(subject.db, chunks(subject.body), Action::Find)])
}

/// The collection of chunks that `filemd5` reads.
pub(crate) fn chunks(body: &Map) -> String {
    format!("{}.chunks", body.text("root").filter(|root| !root.is_empty()).unwrap_or("fs"))
}

/// The needs of `validateDBMetadata`: an action on one collection, one database, or all databases.
pub(crate) fn validate_metadata<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let text = |name: &str| subject.body.text(name);
    Ok(vec![match (text("db"), text("collection")) {
        (Some(db), Some(collection)) => Need::collection(db, collection, Action::Validate),
        (Some(db), None) => Need::database(db, Action::Validate),
        (None, _) => Need::any_database(Action::Validate),
    }])
}

/// The needs of `listCollections`. Listing only the names of collections that the user may read needs no privilege.
pub(crate) fn list_collections<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.flag("nameOnly") && body.flag("authorizedCollections") {
        true => Ok(Vec::new()),
        false => Ok(vec![Need::database(subject.db, Action::ListCollections)]),
    }
}

/// The needs of `listDatabases`. Without the privilege, users see only databases that they have privileges on.
pub(crate) fn list_databases<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.contains("authorizedDatabases") && !body.flag("authorizedDatabases") {
        true => Ok(vec![Need::server(Action::ListDatabases)]),
        false => Ok(Vec::new()),
    }
}

/// True if a flag is set in a document of a list. The list may be in the body or next to it.
fn any_flag(subject: &Subject<'_>, list: &str, flag: &str) -> bool {
    let in_body = subject.body.elements(list).unwrap_or_default().iter();
    if in_body.filter_map(Value::as_map).any(|map| map.flag(flag)) {
        return true;
    }
    let beside = subject.sequences.iter().filter(|sequence| sequence.name == list);
    // A damaged document is refused when the command runs.
    let decoded = |bytes: &[u8]| alluvium_document::bson::decode_document(bytes).is_ok_and(|map| map.flag(flag));
    beside.flat_map(|sequence| sequence.iter()).any(|bytes| bytes.is_ok_and(decoded))
}
