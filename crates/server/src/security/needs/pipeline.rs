//! The privileges that pipelines need.

use super::{Needs, Subject};
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::security::action::Action;
use crate::security::privilege::Need;
use alluvium::{Map, Value};
use alluvium_query::pipeline::stages::{self, RawStage, StageName};

/// The privileges that a user needs for a stage, in addition to reading the collection of the pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rights {
    /// No further privileges.
    Input,
    /// Actions on each collection that the operand names. Pipelines in the operand have the needs of their own stages.
    Named(&'static [Action]),
    /// Actions on the collection or database of the pipeline. The stage reads figures, and no documents.
    Figures(&'static [Action]),
    /// Actions on the collection or database of the pipeline, or on all databases if the database is `admin`. The stage
    /// reads their changes.
    Changes(&'static [Action]),
    /// An action on the server.
    Server(Action),
    /// None for the user's own sessions; an action on the server for the sessions of others.
    Sessions(Action),
    /// An action on the database, or on all databases if the database is `admin`.
    Databases(Action),
    /// Reading everything. The stage is refused when the pipeline is parsed.
    Everything,
}

/// The privileges that a user needs for a stage. An unknown stage needs [`Rights::Everything`].
pub(crate) fn rights(stage: StageName) -> Rights {
    match stage {
        StageName::AddFields
        | StageName::Bucket
        | StageName::ChangeStreamSplitLargeEvent
        | StageName::BucketAuto
        | StageName::Count
        | StageName::Densify
        | StageName::Documents
        | StageName::Facet
        | StageName::Fill
        | StageName::GeoNear
        | StageName::Group
        | StageName::Limit
        | StageName::Match
        | StageName::Project
        | StageName::Redact
        | StageName::ReplaceRoot
        | StageName::ReplaceWith
        | StageName::Sample
        | StageName::Set
        | StageName::SetWindowFields
        | StageName::Skip
        | StageName::Sort
        | StageName::SortByCount
        | StageName::Unset
        | StageName::Unwind => Rights::Input,
        StageName::GraphLookup | StageName::Lookup | StageName::UnionWith => Rights::Named(&[Action::Find]),
        StageName::Merge => Rights::Named(&[Action::Insert, Action::Update]),
        StageName::Out => Rights::Named(&[Action::Insert, Action::Remove]),
        StageName::ChangeStream => Rights::Changes(&[Action::ChangeStream, Action::Find]),
        StageName::CollStats => Rights::Figures(&[Action::CollStats]),
        StageName::IndexStats => Rights::Figures(&[Action::IndexStats]),
        StageName::PlanCacheStats => Rights::Figures(&[Action::PlanCacheRead]),
        StageName::CurrentOp => Rights::Server(Action::Inprog),
        StageName::QueryStats => Rights::Server(Action::QueryStatsRead),
        StageName::ListLocalSessions | StageName::ListSessions => Rights::Sessions(Action::ListSessions),
        StageName::ListClusterCatalog => Rights::Databases(Action::ListCollections),
        StageName::ListSampledQueries
        | StageName::ListSearchIndexes
        | StageName::QuerySettings
        | StageName::RankFusion
        | StageName::Search
        | StageName::SearchMeta
        | StageName::ShardedDataDistribution
        | StageName::VectorSearch => Rights::Everything,
    }
}

pub(crate) fn aggregate<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let stages = subject.body.elements("pipeline").unwrap_or_default();
    let mut needs = Vec::new();
    let reads_figures = stages::first(stages)
        .is_some_and(|first| matches!(rights(first.stage), Rights::Figures(_) | Rights::Changes(_)));
    let collection = super::argument(subject.body);
    if let Some(collection) = collection.filter(|_| !reads_figures) {
        needs.push(Need::collection(subject.db, collection, Action::Find));
    }
    add(subject.db, collection, stages, &mut needs);
    Ok(needs)
}

/// Adds the needs of all stages of a pipeline, including nested pipelines. A stage with several fields is refused
/// later; here, each of its fields is examined.
pub(super) fn add<'a>(db: &'a str, collection: Option<&'a str>, stages: &'a [Value], needs: &mut Needs<'a>) {
    for stage in stages::walk(collection, stages) {
        add_stage(db, &stage, needs);
    }
}

fn add_stage<'a>(db: &'a str, raw: &RawStage<'a>, needs: &mut Needs<'a>) {
    let Some(row) = raw.row else { return needs.push(Need::any_database(Action::Find)) };
    match rights(row.stage) {
        Rights::Input => {}
        Rights::Named(actions) => {
            row.named_collections(raw.operand).for_each(|target| add_target(db, target, actions, needs));
        }
        Rights::Figures(actions) => needs.extend(actions.iter().map(|action| match raw.collection {
            Some(collection) => Need::collection(db, collection, *action),
            None => Need::database(db, *action),
        })),
        Rights::Changes(actions) => needs.extend(actions.iter().map(|action| match raw.collection {
            Some(collection) => Need::collection(db, collection, *action),
            None if db == "admin" => Need::any_database(*action),
            None => Need::database(db, *action),
        })),
        Rights::Server(action) => needs.push(Need::server(action)),
        Rights::Sessions(action) => {
            let others = ["allUsers", "users"];
            if raw.operand.as_map().is_some_and(|options| others.iter().any(|name| options.contains(name))) {
                needs.push(Need::server(action));
            }
        }
        Rights::Databases(action) => needs.push(match db {
            "admin" => Need::any_database(action),
            _ => Need::database(db, action),
        }),
        Rights::Everything => needs.push(Need::any_database(Action::Find)),
    }
}

/// All values of a field. If the field occurs several times, the parser may use any of them.
fn fields<'a>(map: &'a Map, name: &'static str) -> impl Iterator<Item = &'a Value> {
    map.entries.iter().filter(move |(field, _)| field.as_str() == Some(name)).map(|(_, value)| value)
}

/// Adds actions on a collection, which is given by its name or as `{db, coll}`.
fn add_target<'a>(db: &'a str, target: &'a Value, actions: &[Action], needs: &mut Needs<'a>) {
    for action in actions.iter().copied() {
        match target {
            Value::String(collection) => needs.push(Need::collection(db, collection.as_str(), action)),
            Value::Map(map) => match (map.text("db"), map.text("coll")) {
                (db_of, Some(collection)) => {
                    needs.push(Need::collection(db_of.unwrap_or(db), collection, action));
                    // If a name occurs twice, the actions are needed for both values.
                    for other in fields(map, "db").chain(fields(map, "coll")).filter_map(Value::as_str) {
                        if Some(other) != db_of && other != collection {
                            needs.push(Need::any_database(action));
                        }
                    }
                }
                _ => needs.push(Need::any_database(action)),
            },
            _ => needs.push(Need::any_database(action)),
        }
    }
}

#[cfg(test)]
mod tests;
