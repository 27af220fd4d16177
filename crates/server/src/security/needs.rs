//! The rules for commands whose needed privileges depend on their fields. The registry of commands names these rules.

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
    /// The database that it is sent to.
    pub db: &'a str,
    /// The fields.
    pub body: &'a Map,
    /// Arrays of documents that were sent beside the fields.
    pub sequences: &'a [Sequence],
    /// The user who sent it.
    pub user: Option<&'a Name>,
    /// False if the returned needs may exceed the exact ones, which is cheaper to compute.
    pub exact: bool,
}

/// The privileges that a command needs. The user must have all of them.
pub(crate) type Needs<'a> = Vec<Need<'a>>;

/// Finds out what a command needs. It is pure, and accepts any body, since it runs before the fields are checked.
pub(crate) type Rule = for<'a> fn(&Subject<'a>) -> CommandResult<Needs<'a>>;

/// The collection that the first field names.
fn argument(body: &Map) -> Option<&str> {
    body.entries.first().and_then(|(_, value)| value.as_str())
}

/// An action on the collection that the first field names; on the whole database if it is no name.
pub(crate) fn on_argument<'a>(subject: &Subject<'a>, action: Action) -> Need<'a> {
    match argument(subject.body) {
        Some(collection) => Need::collection(subject.db, collection, action),
        None => Need::database(subject.db, action),
    }
}

/// An action on a collection that is given by its full name.
fn on_namespace(namespace: Option<&str>, action: Action) -> Need<'_> {
    match namespace.and_then(|namespace| namespace.split_once('.')) {
        Some((db, collection)) => Need::collection(db, collection, action),
        None => Need::any_database(action),
    }
}

pub(crate) fn data_size<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![on_namespace(subject.body.text("dataSize"), Action::Find)])
}

/// The chunks of the file's bucket.
pub(crate) fn file_md5<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![Need::collection(subject.db, chunks(subject.body), Action::Find)])
}

/// The collection of the chunks that `filemd5` reads.
pub(crate) fn chunks(body: &Map) -> String {
    format!("{}.chunks", body.text("root").filter(|root| !root.is_empty()).unwrap_or("fs"))
}

/// All that is to be checked, of one collection, one database, or all.
pub(crate) fn validate_metadata<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let text = |name: &str| subject.body.text(name);
    Ok(vec![match (text("db"), text("collection")) {
        (Some(db), Some(collection)) => Need::collection(db, collection, Action::Validate),
        (Some(db), None) => Need::database(db, Action::Validate),
        (None, _) => Need::any_database(Action::Validate),
    }])
}

/// A list of the names alone, of the collections that the user may read, needs nothing.
pub(crate) fn list_collections<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.flag("nameOnly") && body.flag("authorizedCollections") {
        true => Ok(Vec::new()),
        false => Ok(vec![Need::database(subject.db, Action::ListCollections)]),
    }
}

/// Without the action, the list has only the databases of the user.
pub(crate) fn list_databases<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.contains("authorizedDatabases") && !body.flag("authorizedDatabases") {
        true => Ok(vec![Need::server(Action::ListDatabases)]),
        false => Ok(Vec::new()),
    }
}

/// True if a field is set in a document of a list, wherever the list was sent.
fn any_flag(subject: &Subject<'_>, list: &str, flag: &str) -> bool {
    let in_body = subject.body.elements(list).unwrap_or_default().iter();
    if in_body.filter_map(Value::as_map).any(|map| map.flag(flag)) {
        return true;
    }
    let beside = subject.sequences.iter().filter(|sequence| sequence.name == list);
    // A document that is damaged is refused when the command runs.
    let decoded = |bytes: &[u8]| alluvium_document::bson::decode_document(bytes).is_ok_and(|map| map.flag(flag));
    beside.flat_map(|sequence| sequence.iter()).any(|bytes| bytes.is_ok_and(decoded))
}
