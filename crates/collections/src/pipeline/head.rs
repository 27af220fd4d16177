//! The query at the head of a pipeline.

use crate::find::Query;
use alluvium_document::path::FieldPath;
use alluvium_exec::{Limits, Request};
use alluvium_query::collation::Collation;
use alluvium_query::filter::Filter;
use alluvium_query::pipeline::{Pipeline, Stage};
use alluvium_query::sort::Sort;

/// Splits stages into the query at the head and the remaining stages.
pub(super) fn split(
    stages: Vec<Stage>,
    limits: &Limits,
    allow_disk_use: bool,
    collation: Option<&Collation>,
) -> (Query, Vec<Stage>) {
    let mut stages = stages.into_iter().peekable();
    let (mut filter, mut sort, mut limit, mut skip) = (Filter::default(), Sort::default(), None, 0);
    while let Some(Stage::Match(_)) = stages.peek() {
        if let Some(Stage::Match(next)) = stages.next() {
            filter = filter.and(next);
        }
    }
    if let Some(Stage::Sort { .. }) = stages.peek()
        && let Some(Stage::Sort { sort: order, limit: most }) = stages.next()
    {
        (sort, limit) = (order, most);
    }
    if limit.is_none()
        && let Some(Stage::Limit(_)) = stages.peek()
        && let Some(Stage::Limit(most)) = stages.next()
    {
        limit = Some(most);
    }
    if let Some(Stage::Skip(_)) = stages.peek()
        && let Some(Stage::Skip(n)) = stages.next()
    {
        // The limit of a query counts only documents after the skipped documents.
        (skip, limit) = (n, limit.map(|limit: u64| limit.saturating_sub(n)));
    }
    let stages: Vec<Stage> = stages.collect();
    let needs = Pipeline::needs(&stages).map(outermost);
    // A skip or a limit counts documents, so documents with equal values must not be left out. A sort decides which
    // of them names its group.
    let any_of_equals = match stages.first() {
        Some(Stage::Group(group)) => group.distinct_path().is_some() && sort.is_empty() && skip == 0 && limit.is_none(),
        _ => false,
    };
    let request = Request { any_of_equals, sort, needs, allow_disk_use, limits: limits.clone(), ..Request::default() };
    let collation = collation.cloned();
    (Query { filter, projection: None, skip, limit, hint: None, only: None, collation, dates: None, request }, stages)
}

/// The paths that are not within another of the paths.
fn outermost(mut paths: Vec<FieldPath>) -> Vec<FieldPath> {
    paths.sort_by(|a, b| a.as_str().cmp(b.as_str()));
    paths.dedup();
    let all = paths.clone();
    paths.retain(|path| !all.iter().any(|other| other != path && path.starts_with(other)));
    paths
}
