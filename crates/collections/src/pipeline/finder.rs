//! Finds documents of another collection by many values at once.

use crate::error::Result;
use crate::find::{Planned, Points, Query, plan_points};
use crate::read_only_source::ReadOnlySource;
use crate::source::LocalSource;
use crate::view::CollectionView;
use alluvium_document::Value;
use alluvium_document::path::FieldPath;
use alluvium_exec::Limits;
use alluvium_exec::pipeline::Finder;
use alluvium_exec::points::{Take, by_id, by_index};
use alluvium_query::collation::Collation;
use alluvium_query::filter::Filter;
use alluvium_store::QueryMemory;
use std::sync::Arc;

/// The name under which the look-ups by `_id` are reported.
const BY_ID: &str = "_id_";

/// Finds documents of a collection at a snapshot by the values at a path.
pub(super) struct LocalFinder {
    view: Arc<CollectionView>,
    path: FieldPath,
    limits: Limits,
    collation: Option<Collation>,
    /// The index that was used last.
    index: Option<String>,
    /// The account of the query.
    memory: QueryMemory,
}

impl LocalFinder {
    pub fn new(
        view: Arc<CollectionView>,
        path: &FieldPath,
        limits: &Limits,
        collation: Option<&Collation>,
        memory: QueryMemory,
    ) -> LocalFinder {
        Self { view, path: path.clone(), limits: limits.clone(), collation: collation.cloned(), index: None, memory }
    }
}

impl Finder<crate::error::Error> for LocalFinder {
    fn index(&self) -> &str {
        self.index.as_deref().unwrap_or_default()
    }

    fn find(&mut self, values: &[Value], filter: &Filter, take: Take<'_>) -> Result<bool> {
        let source =
            |indexes| LocalSource { view: self.view.clone(), indexes, natural: false, memory: self.memory.clone() };
        // With a collation, a look-up by `_id` is possible for some values only.
        if self.collation.is_none() && self.index.as_deref() == Some(BY_ID) {
            by_id(&source(Arc::default()), values, &self.limits, take)?;
            return Ok(true);
        }
        let query = Query::of_filter(filter.clone(), self.collation.clone(), self.limits.clone());
        let planned = plan_points(&self.view, query, &self.path, self.index.as_deref())?;
        let Some(Planned { plan, indexes, .. }) = planned else { return Ok(false) };
        self.index = Some(plan.index_name().unwrap_or(BY_ID).to_owned());
        match Points::of(&plan.root, &self.path) {
            Some(Points::Ids) => by_id(&source(indexes), values, &self.limits, take)?,
            Some(Points::Entries(scan)) => {
                let keyed = |value| match &self.collation {
                    Some(collation) => Collation::keyed(collation, value).into_owned(),
                    None => Value::clone(value),
                };
                let values: Vec<Value> = values.iter().map(keyed).collect();
                by_index(source(indexes), scan, &values, &self.limits, take)?;
            }
            None => return Ok(false),
        }
        Ok(true)
    }
}

/// Finds documents of a read-only store by their `_id`s.
pub(super) struct ReadOnlyFinder {
    pub source: ReadOnlySource,
    pub limits: Limits,
}

impl Finder<crate::error::Error> for ReadOnlyFinder {
    fn index(&self) -> &str {
        BY_ID
    }

    fn find(&mut self, values: &[Value], _: &Filter, take: Take<'_>) -> Result<bool> {
        by_id(&self.source, values, &self.limits, take)?;
        Ok(true)
    }
}
