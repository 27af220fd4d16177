//! What pipelines need.

use super::{Needs, Subject};
use crate::error::CommandResult;
use crate::fields::Fields;
use crate::security::action::Action;
use crate::security::privilege::Need;
use alluvium::{Map, Value};

/// The stages that use no collection but their input.
const PLAIN: [&str; 23] = [
    "$addFields",
    "$bucket",
    "$bucketAuto",
    "$count",
    "$densify",
    "$documents",
    "$fill",
    "$group",
    "$limit",
    "$match",
    "$project",
    "$redact",
    "$replaceRoot",
    "$replaceWith",
    "$sample",
    "$set",
    "$setWindowFields",
    "$skip",
    "$sort",
    "$sortByCount",
    "$unset",
    "$unwind",
    "$geoNear",
];

pub(crate) fn aggregate<'a>(subject: &Subject<'a>) -> CommandResult<Needs<'a>> {
    let stages = subject.body.elements("pipeline").unwrap_or_default();
    let mut needs = Vec::new();
    let first = stages.first().and_then(name);
    let own = matches!(first, Some("$collStats" | "$indexStats" | "$planCacheStats" | "$changeStream"));
    match super::argument(subject.body) {
        // These stages read figures of the collection, not its documents.
        Some(_) if own => {}
        Some(collection) => needs.push(Need::collection(subject.db, collection, Action::Find)),
        None => {}
    }
    let collection = super::argument(subject.body);
    add(subject.db, collection, stages, &mut needs);
    Ok(needs)
}

fn name(stage: &Value) -> Option<&str> {
    stage.as_map()?.entries.first()?.0.as_str()
}

/// The needs of the stages of a pipeline over a collection of a database.
pub(super) fn add<'a>(db: &'a str, collection: Option<&'a str>, stages: &'a [Value], needs: &mut Needs<'a>) {
    for stage in stages.iter().filter_map(Value::as_map) {
        // A stage with several fields is refused later; each is looked at all the same.
        for (name, operand) in &stage.entries {
            add_stage(db, collection, name.as_str().unwrap_or_default(), operand, needs);
        }
    }
}

fn add_stage<'a>(db: &'a str, collection: Option<&'a str>, name: &str, operand: &'a Value, needs: &mut Needs<'a>) {
    let own = |action| match collection {
        Some(collection) => Need::collection(db, collection, action),
        None => Need::database(db, action),
    };
    match name {
        _ if PLAIN.contains(&name) => {}
        "$facet" => {
            for (_, inner) in operand.as_map().into_iter().flat_map(Map::iter) {
                add(db, collection, inner.as_array().unwrap_or_default(), needs);
            }
        }
        "$lookup" | "$graphLookup" => {
            let Some(map) = operand.as_map() else { return };
            let from = fields(map, "from");
            from.for_each(|from| add_target(db, from, &[Action::Find], needs));
            let inner = map.get("from").and_then(Value::as_str);
            fields(map, "pipeline").for_each(|stages| add(db, inner, stages.as_array().unwrap_or_default(), needs));
        }
        "$unionWith" => match operand {
            Value::Map(map) => {
                fields(map, "coll").for_each(|coll| add_target(db, coll, &[Action::Find], needs));
                let inner = map.get("coll").and_then(Value::as_str);
                let pipelines = fields(map, "pipeline");
                pipelines.for_each(|stages| add(db, inner, stages.as_array().unwrap_or_default(), needs));
            }
            coll => add_target(db, coll, &[Action::Find], needs),
        },
        "$out" => add_target(db, operand, &[Action::Insert, Action::Remove], needs),
        "$merge" => match operand.as_map().filter(|map| map.contains("into")) {
            Some(map) => {
                let into = fields(map, "into");
                into.for_each(|into| add_target(db, into, &[Action::Insert, Action::Update], needs));
            }
            None => add_target(db, operand, &[Action::Insert, Action::Update], needs),
        },
        "$collStats" => needs.push(own(Action::CollStats)),
        "$indexStats" => needs.push(own(Action::IndexStats)),
        "$planCacheStats" => needs.push(own(Action::PlanCacheRead)),
        "$changeStream" => {
            needs.push(own(Action::ChangeStream));
            needs.push(own(Action::Find));
        }
        // One's own sessions need nothing.
        "$listLocalSessions" | "$listSessions" => {
            let others = ["allUsers", "users"];
            if operand.as_map().is_some_and(|options| others.iter().any(|name| options.contains(name))) {
                needs.push(Need::server(Action::ListSessions));
            }
        }
        "$listClusterCatalog" => needs.push(match db {
            "admin" => Need::any_database(Action::ListCollections),
            _ => Need::database(db, Action::ListCollections),
        }),
        "$queryStats" => needs.push(Need::server(Action::QueryStatsRead)),
        "$currentOp" => needs.push(Need::server(Action::Inprog)),
        // An unknown stage is refused when the pipeline is parsed. If one is added there and not here, only users who
        // may read everything can use it.
        _ => needs.push(Need::any_database(Action::Find)),
    }
}

/// All values of a field: if there are several, the parser chooses one.
fn fields<'a>(map: &'a Map, name: &'static str) -> impl Iterator<Item = &'a Value> {
    map.entries.iter().filter(move |(field, _)| field.as_str() == Some(name)).map(|(_, value)| value)
}

/// Actions on a collection that is given by its name, or as `{db, coll}`.
fn add_target<'a>(db: &'a str, target: &'a Value, actions: &[Action], needs: &mut Needs<'a>) {
    for action in actions.iter().copied() {
        match target {
            Value::String(collection) => needs.push(Need::collection(db, collection.as_str(), action)),
            Value::Map(map) => match (map.text("db"), map.text("coll")) {
                (db_of, Some(collection)) => {
                    needs.push(Need::collection(db_of.unwrap_or(db), collection, action));
                    // With two names, both are needed.
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
