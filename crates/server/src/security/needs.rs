//! What a command needs, found from its name and fields alone.
//!
//! Most commands need one action on their collection. The commands of [`BY_FIELDS`] have functions, which are pure: they
//! read the body, and accept any, since they run before its fields are checked.

mod administration;
mod pipeline;
mod writes;

use super::name::Name;
use super::privilege::Need;
use crate::access::{Access, Action};
use crate::error::{CommandError, CommandResult};
use crate::fields::Fields;
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
    /// False if more than the exact needs may be returned, which is cheaper to find out.
    pub exact: bool,
}

/// What a command needs; all of it.
pub(crate) type Needs<'a> = Vec<Need<'a>>;

type Rule = for<'a> fn(&Subject<'a>) -> CommandResult<Needs<'a>>;

/// The commands whose needs depend on their fields.
const BY_FIELDS: &[(&str, Rule)] = &[
    ("_mergeAuthzCollections", administration::merge_authorization),
    ("aggregate", pipeline::aggregate),
    ("bulkWrite", writes::bulk_write),
    ("cloneCollectionAsCapped", writes::clone_as_capped),
    ("collMod", writes::coll_mod),
    ("create", writes::create),
    ("createRole", administration::create_role),
    ("createUser", administration::create_user),
    ("dataSize", data_size),
    ("explain", explain),
    ("filemd5", file_md5),
    ("findAndModify", writes::find_and_modify),
    ("grantPrivilegesToRole", administration::grant_privileges),
    ("grantRolesToRole", administration::grant_roles),
    ("grantRolesToUser", administration::grant_roles),
    ("listCollections", list_collections),
    ("listDatabases", list_databases),
    ("renameCollection", writes::rename_collection),
    ("revokePrivilegesFromRole", administration::revoke_privileges),
    ("revokeRolesFromRole", administration::revoke_roles),
    ("revokeRolesFromUser", administration::revoke_roles),
    ("rolesInfo", administration::roles_info),
    ("update", writes::update),
    ("updateRole", administration::update_role),
    ("updateUser", administration::update_user),
    ("usersInfo", administration::users_info),
    ("validateDBMetadata", validate_metadata),
];

/// True if a command of [`Access::ByFields`] has a function here.
#[cfg(test)]
pub(crate) fn has_rule(command: &str) -> bool {
    BY_FIELDS.iter().any(|(name, _)| *name == command)
}

/// What a command needs.
///
/// # Errors
/// Errors of fields that are malformed; error 13 for a command without a rule.
pub(crate) fn of<'a>(command: &str, access: Access, subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    match access {
        Access::Open | Access::Login => Ok(Vec::new()),
        Access::Collection(action) => Ok(vec![on_argument(subject, action)]),
        Access::Database(action) => Ok(vec![Need::database(subject.db, action)]),
        Access::Server(action) => Ok(vec![Need::server(action)]),
        Access::ByFields => match BY_FIELDS.iter().find(|(name, _)| *name == command) {
            Some((_, rule)) => rule(subject),
            None => Err(CommandError::unauthorized(format!("there is no rule who may run {command}"))),
        },
    }
}

/// The collection that the first field names.
fn argument(body: &Map) -> Option<&str> {
    body.entries.first().and_then(|(_, value)| value.as_str())
}

/// An action on the collection that the first field names; on the whole database if it is no name.
fn on_argument<'a>(subject: &Subject<'a>, action: Action) -> Need<'a> {
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

fn data_size<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![on_namespace(subject.body.text("dataSize"), Action::Find)])
}

/// The chunks of the file's bucket.
fn file_md5<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    Ok(vec![Need::collection(subject.db, chunks(subject.body), Action::Find)])
}

/// The collection of the chunks that `filemd5` reads.
pub(crate) fn chunks(body: &Map) -> String {
    format!("{}.chunks", body.text("root").filter(|root| !root.is_empty()).unwrap_or("fs"))
}

/// All that is to be checked, of one collection, one database, or all.
fn validate_metadata<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let text = |name: &str| subject.body.text(name);
    Ok(vec![match (text("db"), text("collection")) {
        (Some(db), Some(collection)) => Need::collection(db, collection, Action::Validate),
        (Some(db), None) => Need::database(db, Action::Validate),
        (None, _) => Need::any_database(Action::Validate),
    }])
}

/// A list of the names alone, of the collections that the user may read, needs nothing.
fn list_collections<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.flag("nameOnly") && body.flag("authorizedCollections") {
        true => Ok(Vec::new()),
        false => Ok(vec![Need::database(subject.db, Action::ListCollections)]),
    }
}

/// Without the action, the list has only the databases of the user.
fn list_databases<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    match body.contains("authorizedDatabases") && !body.flag("authorizedDatabases") {
        true => Ok(vec![Need::server(Action::ListDatabases)]),
        false => Ok(Vec::new()),
    }
}

/// The needs of the command that is explained.
fn explain<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let inner = subject.body.document("explain");
    let name = inner.and_then(|inner| inner.entries.first()).and_then(|(name, _)| name.as_str());
    let (Some(body), Some(name)) = (inner, name) else {
        return Ok(vec![Need::database(subject.db, Action::Find)]);
    };
    let subject = Subject { body, sequences: &[], ..*subject };
    match name {
        "aggregate" => pipeline::aggregate(&subject),
        "update" => writes::update(&subject),
        "findAndModify" | "findandmodify" => writes::find_and_modify(&subject),
        "delete" => Ok(vec![on_argument(&subject, Action::Remove)]),
        // Other commands cannot be explained; those that can only read.
        _ => Ok(vec![on_argument(&subject, Action::Find)]),
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
