//! Rewriting of pipelines into equal ones that are cheaper.

use super::each::Each;
use super::stage::Stage;
use crate::filter::Filter;
use alluvium_document::path::FieldPath;

/// Merges stages with those before them, and moves filters forward where that changes nothing.
pub(super) fn merged(stages: Vec<Stage>) -> Vec<Stage> {
    let mut merged: Vec<Stage> = Vec::with_capacity(stages.len());
    for stage in stages {
        push(&mut merged, stage);
    }
    merged
}

fn push(stages: &mut Vec<Stage>, stage: Stage) {
    match (stages.last_mut(), stage) {
        // A sort sees the same documents in the same order, only fewer.
        (Some(Stage::Sort { limit: None, .. }), Stage::Match(filter)) => {
            if let Some(sort) = stages.pop() {
                push(stages, Stage::Match(filter));
                stages.push(sort);
            }
        }
        // A filter on other fields than those that a stage changes sees the same before it.
        (Some(before), Stage::Match(filter)) if leaves(before, &filter) => {
            if let Some(before) = stages.pop() {
                push(stages, Stage::Match(filter));
                stages.push(before);
            }
        }
        (Some(Stage::Match(before)), Stage::Match(filter)) => *before = before.and(filter),
        (Some(Stage::Sort { limit, .. }), Stage::Limit(n)) => *limit = Some(limit.map_or(n, |limit| limit.min(n))),
        (Some(Stage::Limit(before)), Stage::Limit(n)) => *before = n.min(*before),
        (Some(Stage::Skip(before)), Stage::Skip(n)) => *before = before.saturating_add(n),
        // The first documents after a skip are among the first before it.
        (Some(Stage::Skip(skipped)), Stage::Limit(n)) => {
            let skipped = *skipped;
            stages.pop();
            push(stages, Stage::Limit(n.saturating_add(skipped)));
            stages.push(Stage::Skip(skipped));
        }
        (_, stage) => stages.push(stage),
    }
}

/// True if a stage passes on the documents that it gets, changed only in fields that a filter does not
/// examine.
fn leaves(stage: &Stage, filter: &Filter) -> bool {
    let Some(names) = filter.names() else { return false };
    let leaves = |path: &FieldPath| !names.contains(path.first());
    match stage {
        Stage::Each(Each::Add(_, fields)) => fields.iter().all(|(path, _)| leaves(path)),
        Stage::Each(Each::Project(_, projection)) => names.iter().all(|name| projection.keeps(name)),
        Stage::Each(Each::Unwind(unwind)) => leaves(&unwind.path) && unwind.position.iter().all(leaves),
        Stage::Lookup(lookup) => leaves(&lookup.into),
        Stage::GraphLookup(lookup) => leaves(&lookup.into),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
