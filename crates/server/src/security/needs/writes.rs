//! The privileges for writes and for changes to collections.

use super::{Needs, Subject, any_flag, on_argument, on_namespace, pipeline};
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::security::action::Action;
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_document::bson::decode_document;
use std::borrow::Cow;

pub(crate) fn update<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![on_argument(subject, Action::Update)];
    if !subject.exact || any_flag(subject, "updates", "upsert") {
        needs.push(on_argument(subject, Action::Insert));
    }
    Ok(needs)
}

pub(crate) fn find_and_modify<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let change = if subject.body.flag("remove") { Action::Remove } else { Action::Update };
    let mut needs = vec![on_argument(subject, Action::Find), on_argument(subject, change)];
    if subject.body.flag("upsert") {
        needs.push(on_argument(subject, Action::Insert));
    }
    Ok(needs)
}

pub(crate) fn create<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![on_argument(subject, Action::CreateCollection).or(Action::Insert)];
    add_view(subject, &mut needs);
    Ok(needs)
}

pub(crate) fn clone_as_capped<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let to = subject.body.text("toCollection").unwrap_or_default();
    let on_target = |action| Need::collection(subject.db, to, action);
    Ok(vec![on_argument(subject, Action::Find), on_target(Action::Insert), on_target(Action::ConvertToCapped)])
}

pub(crate) fn coll_mod<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let mut needs = vec![on_argument(subject, Action::CollMod)];
    add_view(subject, &mut needs);
    if subject.body.contains("pipeline") && !subject.body.contains("viewOn") {
        // The collection that the view reads does not change, and is not known here.
        needs.push(Need::database(subject.db, Action::Find));
    }
    Ok(needs)
}

/// A view shows its content to everyone who may read the view. Therefore, the user who defines the view must have the
/// right to read this content.
fn add_view<'a>(subject: &Subject<'a>, needs: &mut Needs<'a>) {
    let on = subject.body.text("viewOn");
    if let Some(on) = on {
        needs.push(Need::collection(subject.db, on, Action::Find));
    }
    let stages = subject.body.elements("pipeline").unwrap_or_default();
    pipeline::add(subject.db, on, stages, needs);
}

pub(crate) fn rename_collection<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let body = subject.body;
    let (from, to) = (body.text("renameCollection"), body.text("to"));
    let database = |name: Option<&'a str>| name.and_then(|name| name.split_once('.')).map(|(db, _)| db);
    let mut needs = Vec::new();
    if database(from).is_some() && database(from) == database(to) {
        needs.extend([from, to].map(|name| on_namespace(name, Action::RenameCollectionSameDb)));
    } else {
        needs.extend([Action::Find, Action::DropCollection].map(|action| on_namespace(from, action)));
        needs.extend([Action::Insert, Action::CreateIndex].map(|action| on_namespace(to, action)));
    }
    if body.flag("dropTarget") {
        needs.push(on_namespace(to, Action::DropCollection));
    }
    Ok(needs)
}

/// The documents of a list, which may be in the body or next to it.
fn documents<'a>(subject: &Subject<'a>, list: &str) -> Vec<Cow<'a, Map>> {
    let in_body = subject.body.elements(list).unwrap_or_default().iter().filter_map(Value::as_map).map(Cow::Borrowed);
    let beside = subject.sequences.iter().filter(|sequence| sequence.name == list);
    // A damaged document is refused when the command runs.
    let decoded = beside.flat_map(|sequence| sequence.iter()).filter_map(|bytes| decode_document(bytes.ok()?).ok());
    in_body.chain(decoded.map(Cow::Owned)).collect()
}

pub(crate) fn bulk_write<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let infos = documents(subject, "nsInfo");
    let namespaces: Vec<&str> = infos.iter().map(|info| info.text("ns").unwrap_or_default()).collect();
    let need = |namespace: &str, action| match namespace.split_once('.') {
        Some((db, collection)) => Need::collection(db.to_owned(), collection.to_owned(), action),
        None => Need::any_database(action),
    };
    if !subject.exact {
        let writes = [Action::Insert, Action::Update, Action::Remove];
        return Ok(namespaces.iter().flat_map(|name| writes.map(|action| need(name, action))).collect());
    }
    let mut needs = Vec::new();
    let mut add = |namespace: &str, action| {
        let need = need(namespace, action);
        if !needs.contains(&need) {
            needs.push(need);
        }
    };
    for operation in documents(subject, "ops") {
        let first = operation.entries.first().and_then(|(name, _)| name.as_str()).unwrap_or_default();
        let at = operation.integer(first).and_then(|at| usize::try_from(at).ok());
        // An operation whose namespace is not listed is refused when the command runs.
        let namespace = at.and_then(|at| namespaces.get(at)).copied().unwrap_or_default();
        match first {
            "insert" => add(namespace, Action::Insert),
            "update" => {
                add(namespace, Action::Update);
                if operation.flag("upsert") {
                    add(namespace, Action::Insert);
                }
            }
            _ => add(namespace, Action::Remove),
        }
    }
    Ok(needs)
}
