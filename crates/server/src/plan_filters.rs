//! The indexes that queries may use, by query shape: the filters of `planCacheSetFilter`. They last until the server
//! stops.

use crate::fields::Fields;
use alluvium::{Map, Value};
use std::collections::HashMap;

/// The filters of all collections, by full collection name.
#[derive(Default)]
pub(crate) struct PlanFilters {
    by_collection: HashMap<String, Vec<PlanFilter>>,
}

/// The indexes that queries of one shape may use.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PlanFilter {
    /// The shape.
    pub query: QueryShape,
    /// The names of indexes, or their keys.
    pub indexes: Vec<Value>,
}

/// The parts of a query that determine its shape. The values in the filter have no effect.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct QueryShape {
    pub query: Map,
    pub sort: Map,
    pub projection: Map,
    pub collation: Map,
}

impl QueryShape {
    /// The shape of a command whose query is in the field `filter`.
    pub(crate) fn of(body: &Map, filter: &str) -> Self {
        let part = |name: &str| body.document(name).cloned().unwrap_or_default();
        Self { query: part(filter), sort: part("sort"), projection: part("projection"), collation: part("collation") }
    }

    /// The shape of the query at the beginning of a pipeline: the leading `$match` and `$sort` stages.
    pub(crate) fn of_pipeline(body: &Map) -> Self {
        let mut stages = body.elements("pipeline").unwrap_or_default().iter().filter_map(Value::as_map).peekable();
        let mut part = |name: &str| {
            let found = stages.peek().and_then(|stage| stage.document(name)).cloned();
            if found.is_some() {
                stages.next();
            }
            found.unwrap_or_default()
        };
        let (query, sort) = (part("$match"), part("$sort"));
        let collation = body.document("collation").cloned().unwrap_or_default();
        Self { query, sort, projection: Map::new(), collation }
    }

    fn is_like(&self, other: &Self) -> bool {
        shape(&self.query) == shape(&other.query)
            && self.sort == other.sort
            && self.projection == other.projection
            && self.collation == other.collation
    }

    fn to_map(&self) -> Map {
        let mut map = Map::from([
            ("query", Value::Map(self.query.clone())),
            ("sort", Value::Map(self.sort.clone())),
            ("projection", Value::Map(self.projection.clone())),
        ]);
        if !self.collation.is_empty() {
            map.push("collation", self.collation.clone());
        }
        map
    }
}

impl PlanFilters {
    /// Sets the indexes for a query shape.
    pub(crate) fn set(&mut self, collection: &str, filter: PlanFilter) {
        let filters = self.by_collection.entry(collection.to_owned()).or_default();
        filters.retain(|other| !other.query.is_like(&filter.query));
        filters.push(filter);
    }

    /// Removes the filter of a shape; without a shape, removes all filters of the collection.
    pub(crate) fn clear(&mut self, collection: &str, query: Option<&QueryShape>) {
        match (query, self.by_collection.get_mut(collection)) {
            (Some(query), Some(filters)) => filters.retain(|filter| !filter.query.is_like(query)),
            _ => drop(self.by_collection.remove(collection)),
        }
    }

    /// The filters of a collection, as `planCacheListFilters` shows them.
    pub(crate) fn list(&self, collection: &str) -> Vec<Value> {
        let filters = self.by_collection.get(collection).into_iter().flatten();
        let each = filters.map(|filter| {
            let mut map = filter.query.to_map();
            map.push("indexes", Value::Array(filter.indexes.clone()));
            Value::Map(map)
        });
        each.collect()
    }

    /// True if no collection has a filter.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_collection.is_empty()
    }

    /// The indexes that a query may use; `None` if it may use all.
    pub(crate) fn indexes(&self, collection: &str, query: &QueryShape) -> Option<&[Value]> {
        let filters = self.by_collection.get(collection)?;
        Some(&filters.iter().find(|filter| filter.query.is_like(query))?.indexes)
    }
}

/// A filter without its values: fields, operators, and the value types that determine comparisons.
fn shape(query: &Map) -> Map {
    let mut fields: Vec<(Value, Value)> = query
        .entries
        .iter()
        .map(|(name, value)| {
            let is_operator = name.as_str().is_some_and(|name| name.starts_with('$'));
            (name.clone(), shape_of(value, is_operator))
        })
        .collect();
    fields.sort_by_key(|(name, _)| name.to_string());
    Map { entries: fields }
}

fn shape_of(value: &Value, of_operator: bool) -> Value {
    let has_operators =
        |map: &Map| map.entries.iter().any(|(name, _)| name.as_str().is_some_and(|name| name.starts_with('$')));
    match value {
        Value::Map(map) if has_operators(map) => Value::Map(shape(map)),
        Value::Array(values) if of_operator && values.iter().all(|value| value.as_map().is_some()) => {
            Value::Array(values.iter().filter_map(Value::as_map).map(|map| Value::Map(shape(map))).collect())
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests;
