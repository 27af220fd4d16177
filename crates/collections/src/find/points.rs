//! Plans that look up single values at a path.

use super::planning::{Planned, plan};
use super::query::{IndexHint, Query};
use crate::error::{Error, Result};
use crate::view::CollectionView;
use alluvium_document::path::FieldPath;
use alluvium_query::plan::{AccessPath, IndexScan, Node, PlanError, Rejection};

/// A plan that finds the documents with one of several values at a path, without another condition.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Points<'p> {
    /// The values are `_id`s.
    Ids,
    /// A scan of an index with these values as the bounds of its first part, and without bounds of the other parts.
    Entries(&'p IndexScan),
}

impl<'p> Points<'p> {
    /// The look-ups of a plan that looks up single values at `path` and does nothing else; `None` for any other plan.
    pub fn of(node: &'p Node, path: &FieldPath) -> Option<Self> {
        match node {
            Node::Lookup { filter, .. } => filter.is_empty().then_some(Self::Ids),
            Node::Fetch { input, filter } => match &**input {
                Node::Index(scan) if filter.is_empty() && scan.keys.is_empty() && !scan.backward => {
                    let (first, rest) = scan.bounds.split_first()?;
                    let is_points = first.part.path == *path && first.is_points();
                    let alone = is_points && rest.iter().all(|part| part.is_all());
                    alone.then_some(Self::Entries(scan))
                }
                _ => None,
            },
            _ => None,
        }
    }
}

/// The plan of a query for single values at a path. Uses the known index if it is suitable, otherwise the cheapest
/// suitable index, even if another plan is cheaper. `None` if no index is suitable.
pub(crate) fn plan_points(
    view: &CollectionView,
    mut query: Query,
    path: &FieldPath,
    known: Option<&str>,
) -> Result<Option<Planned>> {
    let mut hinted = |hint: Option<IndexHint>| {
        query.hint = hint;
        match plan(view, &query, false) {
            Err(Error::Plan(PlanError::HintCannotAnswer { .. } | PlanError::UnknownIndex(_))) => Ok(None),
            planned => planned.map(Some),
        }
    };
    let serves = |planned: &Planned| Points::of(&planned.plan.root, path).is_some();
    if let Some(known) = known
        && let Some(planned) = hinted(Some(IndexHint::Usable(known.to_owned())))?.filter(serves)
    {
        return Ok(Some(planned));
    }
    let Some(cheapest) = hinted(None)? else { return Ok(None) };
    if serves(&cheapest) {
        return Ok(Some(cheapest));
    }
    let costlier = |reason: &Rejection| !matches!(reason, Rejection::Unusable(_));
    for other in cheapest.plan.rejected.iter().filter(|other| costlier(&other.reason)) {
        let hint = match &other.access {
            AccessPath::Lookup => IndexHint::Name("_id_".to_owned()),
            AccessPath::Index(name) => IndexHint::Usable(name.clone()),
            _ => continue,
        };
        if let Some(planned) = hinted(Some(hint))?.filter(serves) {
            return Ok(Some(planned));
        }
    }
    Ok(None)
}
