//! Rewriting of pipelines into equivalent pipelines that are cheaper.
//!
//! | stages | become |
//! |---|---|
//! | a filter after a stage that leaves its fields as they are | the filter first, each of its conditions that can be |
//! | a filter on a field that only has another name before the stage, or on the key of groups | the filter on that field, first |
//! | a filter after `$unionWith` | the filter on both sides of it |
//! | a filter after `$redact` | the filter, and before `$redact` a copy of those of its conditions that removing values cannot fulfil |
//! | a filter after `$lookup` with a pipeline and `$unwind` of its array | the filter at the end of that pipeline |
//! | `$unwind` of its array after `$graphLookup` | a `$graphLookup` that makes no array |
//! | filters, limits and skips beside each other | one |
//! | a limit or skip after a stage that makes one document of each | the limit or skip first |
//! | a limit after a sort | a sort that keeps the first documents only |
//! | a filter without conditions, a skip of nothing | nothing |

use super::each::Each;
use super::stage::{GraphLookup, Lookup, Pipeline, Stage, UnionWith};
use crate::filter::Filter;
use crate::filter::tree::{Clause, Comparison, Condition, Path, Test};
use alluvium_document::path::FieldPath;
use alluvium_document::{Map, Value};
use std::sync::Arc;

/// Merges stages with the stages before them, and moves filters, limits and skips towards the start if that does not
/// change the result.
pub(super) fn merged(stages: Vec<Stage>) -> Vec<Stage> {
    let mut merged: Vec<Stage> = Vec::with_capacity(stages.len());
    for stage in stages {
        push(&mut merged, stage);
    }
    merged
}

fn push(stages: &mut Vec<Stage>, stage: Stage) {
    match (stages.last_mut(), stage) {
        // An empty filter is removed only if another stage precedes it. A filter alone defines the source of the
        // documents.
        (Some(_), Stage::Match(filter)) if filter.is_empty() => {}
        (Some(_), Stage::Skip(0)) => {}
        (Some(Stage::Match(before)), Stage::Match(filter)) => *before = before.and(filter),
        (Some(_), Stage::Match(filter)) => push_filter(stages, filter),
        (Some(Stage::Sort { limit, .. }), Stage::Limit(n)) => *limit = Some(limit.map_or(n, |limit| limit.min(n))),
        (Some(Stage::Limit(before)), Stage::Limit(n)) => *before = n.min(*before),
        (Some(Stage::Skip(before)), Stage::Skip(n)) => *before = before.saturating_add(n),
        (Some(Stage::GraphLookup(lookup)), Stage::Each(Each::Unwind(unwind)))
            if lookup.unwind.is_none() && lookup.into == unwind.path =>
        {
            *lookup = Arc::new(GraphLookup { unwind: Some(unwind), ..(**lookup).clone() });
        }
        // The first n documents after a skip of m are among the first n + m documents before it.
        (Some(Stage::Skip(skipped)), Stage::Limit(n)) => {
            let skipped = *skipped;
            stages.pop();
            push(stages, Stage::Limit(n.saturating_add(skipped)));
            push(stages, Stage::Skip(skipped));
        }
        (Some(before), stage @ (Stage::Limit(_) | Stage::Skip(_))) if is_one_to_one(before) => {
            let before = stages.pop();
            push(stages, stage);
            stages.extend(before);
        }
        (_, stage) => stages.push(stage),
    }
}

/// True if the stage turns each document into exactly one document, independently of other documents.
fn is_one_to_one(stage: &Stage) -> bool {
    match stage {
        Stage::Each(each) => matches!(each, Each::Project(..) | Each::Add(..) | Each::Replace(..)),
        Stage::Lookup(_) => true,
        Stage::GraphLookup(lookup) => lookup.unwind.is_none(),
        _ => false,
    }
}

/// Adds a filter. Conditions that can be checked earlier are moved before the last stages.
fn push_filter(stages: &mut Vec<Stage>, filter: Filter) {
    let Some(mut before) = stages.pop() else { return stages.push(Stage::Match(filter)) };
    let (mut earlier, mut later) = (Vec::new(), Vec::new());
    if let (Stage::Union(union), false) = (&mut before, filter.is_random()) {
        let UnionWith { collection, pipeline } = (**union).clone();
        let pipeline = Pipeline::then(pipeline, vec![Stage::Match(filter.clone())]);
        *union = Arc::new(UnionWith { collection, pipeline });
        earlier.push(filter);
    } else {
        for condition in filter.conjuncts() {
            match moved(&before, &condition) {
                Some(moved) => earlier.push(moved),
                None => {
                    if let Stage::Each(Each::Redact(_)) = before {
                        earlier.extend(before_redact(&condition));
                    }
                    later.push(condition);
                }
            }
        }
    }
    let all = |conditions: Vec<Filter>| conditions.into_iter().reduce(|all, next| all.and(next));
    if let Some(earlier) = all(earlier) {
        push(stages, Stage::Match(earlier));
    }
    let joined = match (&before, stages.last_mut()) {
        (Stage::Each(Each::Unwind(unwind)), Some(Stage::Lookup(lookup)))
            if unwind.path == lookup.into && unwind.position.is_none() && !unwind.keeps_empty =>
        {
            Some(lookup)
        }
        _ => None,
    };
    let later = match joined {
        Some(lookup) => into_lookup(lookup, later),
        None => later,
    };
    stages.push(before);
    stages.extend(all(later).map(Stage::Match));
}

/// A condition that can be checked before a stage instead of after it. The returned condition is true for a document
/// exactly if the given condition is true for the stage's result. `None` if no such condition is known.
fn moved(stage: &Stage, condition: &Filter) -> Option<Filter> {
    let same = || Some(condition.clone());
    if let Stage::Sort { limit, .. } = stage {
        // A filter before the sort sees the same documents in the same order. With a limit it could see more of them.
        return if limit.is_none() { same() } else { None };
    }
    if condition.is_random() {
        return None;
    }
    let names = condition.names();
    let is_of = |path: &FieldPath| names.as_ref().is_none_or(|names| names.contains(path.first()));
    let leaves = |paths: &[&FieldPath]| if paths.iter().any(|path| is_of(path)) { None } else { same() };
    match stage {
        Stage::Each(Each::Add(_, fields)) => {
            leaves(&fields.iter().map(|(path, _)| path).collect::<Vec<_>>()).or_else(|| {
                condition.with_paths(&|path, _| {
                    let mut set = fields.iter().filter(|(field, _)| field.first() == first(path));
                    match (set.next(), set.next()) {
                        (None, _) => Some(path.clone()),
                        (Some((field, value)), None) if field.depth() == 1 => {
                            path.renamed(1, value.as_path().and_then(name)?)
                        }
                        _ => None,
                    }
                })
            })
        }
        Stage::Each(Each::Project(_, projection)) => {
            if names.as_ref().is_some_and(|names| names.iter().all(|name| projection.keeps(name))) {
                return same();
            }
            condition.with_paths(&|path, _| match projection.keeps(first(path)) {
                true => Some(path.clone()),
                false => path.renamed(1, projection.computed_as(first(path)).and_then(name)?),
            })
        }
        Stage::Each(Each::Unwind(unwind)) => {
            leaves(&std::iter::once(&unwind.path).chain(&unwind.position).collect::<Vec<_>>())
        }
        Stage::Lookup(lookup) => leaves(&[&lookup.into]),
        Stage::GraphLookup(lookup) => {
            let position = lookup.unwind.as_ref().and_then(|unwind| unwind.position.as_ref());
            leaves(&std::iter::once(&lookup.into).chain(position).collect::<Vec<_>>())
        }
        // All documents of a group or partition have equal key values, but perhaps of different types.
        Stage::Group(group) => condition.with_paths(&|path, condition| match &path.steps[..] {
            [id, rest @ ..] if &*id.name == "_id" && is_by_value(condition) => {
                let (taken, from) = match rest.first() {
                    _ if group.id_path().is_some() => (1, group.id_path()?),
                    Some(field) => (2, group.id_field(&field.name)?),
                    None => return None,
                };
                path.renamed(taken, name(from)?)
            }
            _ => None,
        }),
        Stage::Window(window) => condition.with_paths(&|path, condition| {
            let partition = window.partition_path().and_then(name)?;
            (partition == first(path) && is_by_value(condition) && !window.sets(partition)).then(|| path.clone())
        }),
        _ => None,
    }
}

fn first(path: &Path) -> &str {
    path.steps.first().map_or("", |step| &step.name)
}

/// The name, if the path has only one name.
fn name(path: &FieldPath) -> Option<&str> {
    (path.depth() == 1).then(|| path.first())
}

/// True if the condition treats equal values alike, and a missing value like null.
fn is_by_value(condition: &Condition) -> bool {
    match condition {
        Condition::Test(Test::Compare(..)) => true,
        Condition::Test(Test::In(list)) => list.patterns.is_empty(),
        Condition::Test(_) => false,
        Condition::Not(inner) => inner.iter().all(is_by_value),
    }
}

/// Moves a condition before `$redact`, if every document that meets it after `$redact` also meets it before. `$redact`
/// only removes values. Therefore a value after it that is not a map, an array or null existed before.
fn before_redact(condition: &Filter) -> Option<Filter> {
    let [Clause::Field { .. }] = &condition.clauses[..] else { return None };
    condition.with_paths(&|path, condition| match condition {
        Condition::Test(Test::Compare(comparison, operand)) => {
            let is_whole =
                matches!(operand.value, Value::Map(_) | Value::Array(_) | Value::Null | Value::MinKey | Value::MaxKey);
            let by_position = path.steps.iter().any(|step| step.position.is_some());
            let is_equality = *comparison == Comparison::Equal;
            (is_equality && !is_whole && !by_position).then(|| path.clone())
        }
        _ => None,
    })
}

/// Adds conditions on the documents of a `$lookup` to its pipeline, and returns the conditions that cannot be added.
/// None are added to a `$lookup` without a pipeline, because it looks up many documents at a time instead.
fn into_lookup(lookup: &mut Arc<Lookup>, conditions: Vec<Filter>) -> Vec<Filter> {
    let (Some(into), true) = (name(&lookup.into), lookup.has_stages()) else { return conditions };
    let mut others = Vec::new();
    let mut stages = lookup.stages.as_array().map(<[Value]>::to_vec).unwrap_or_default();
    let before = stages.len();
    for condition in conditions {
        match condition.with_paths(&|path, _| (first(path) == into).then(|| path.without_first()).flatten()) {
            Some(inner) if !condition.is_random() => {
                stages.push(Value::Map(Map::from([("$match", Value::Map(inner.to_map()))])));
            }
            _ => others.push(condition),
        }
    }
    if stages.len() > before {
        let stages = Value::Array(stages);
        *lookup = Arc::new(Lookup { stages, ..(**lookup).clone() });
    }
    others
}

#[cfg(test)]
mod tests;
