//! `$collStats` and `$indexStats`.

use crate::counts;
use crate::engine::EngineHandle;
use crate::error::Result;
use crate::find::{Execution, FindRequest, Query, moment_in};
use crate::index_stats::index_stats;
use crate::limits::Limits;
use crate::names::FullName;
use crate::view::CollectionView;
use alluvium_document::{Map, Value};
use alluvium_query::pipeline::Statistics;
use alluvium_store::TreeStats;

/// The number of documents from which the average size is estimated.
const SAMPLE: u64 = 200;

/// The statistics of a collection as documents.
pub(super) fn of(engine: &EngineHandle, name: &FullName, which: &Statistics, limits: &Limits) -> Result<Vec<Map>> {
    match which {
        Statistics::Indexes => of_indexes(engine, name),
        Statistics::Collection { count, storage_scale } => {
            let mut map = Map::from([("ns", Value::from(name.to_string()))]);
            map.push("localTime", Value::DateTime(engine.env.clock.unix_millis()));
            if let Some(scale) = storage_scale {
                engine.catalog.require(name)?;
                map.push("storageStats", storage(engine, name, *scale, limits)?);
            }
            if *count {
                engine.catalog.require(name)?;
                map.push("count", whole(counts::documents(engine, name, limits.clone())?));
            }
            Ok(vec![map])
        }
    }
}

fn whole(n: u64) -> Value {
    let n = i64::try_from(n).unwrap_or(i64::MAX);
    i32::try_from(n).map_or(Value::Int64(n), Value::Int32)
}

fn of_indexes(engine: &EngineHandle, name: &FullName) -> Result<Vec<Map>> {
    let describe = |definition: Map, uses: u64, ready: bool| {
        let mut map = Map::new();
        for field in ["name", "key"] {
            map.push(field, definition.get(field).cloned().unwrap_or_default());
        }
        let since = Value::DateTime(engine.opened_ms);
        let uses = i64::try_from(uses).unwrap_or(i64::MAX);
        map.push("accesses", Map::from([("ops", Value::Int64(uses)), ("since", since)]));
        map.push("spec", definition);
        if !ready {
            map.push("building", true);
        }
        map
    };
    let Some(state) = engine.catalog.find(name)? else { return Ok(Vec::new()) };
    let others = index_stats(engine, name)?.into_iter();
    let others = others.map(|index| describe(index.definition, index.uses, index.ready));
    let options = &state.indexes().options;
    let unbuilt = options.unbuilt.iter().map(|index| describe(index.to_map(), 0, true));
    Ok(std::iter::once(describe(options.id_index(), 0, true)).chain(others).chain(unbuilt).collect())
}

/// The bytes of all documents as BSON, and the average bytes of a document. Exact for small collections, otherwise
/// estimated from the first documents.
fn sizes(engine: &EngineHandle, name: &FullName, count: u64) -> Result<(u64, Option<u64>)> {
    let view = CollectionView::open(engine, name, None)?;
    let mut request = FindRequest::new(Map::new());
    request.limit = Some(SAMPLE);
    let mut documents = Execution::new(view, Query::new(request, moment_in(engine))?, false)?;
    let (mut bytes, mut found) = (0, 0);
    while let Some(document) = documents.next_raw()? {
        bytes += document.bson_size().unwrap_or_default() as u64;
        found += 1;
    }
    let Some(average) = u64::checked_div(bytes, found) else { return Ok((0, None)) };
    let all = if found < SAMPLE { bytes } else { (bytes as f64 / found as f64 * count.max(found) as f64) as u64 };
    Ok((all, Some(average)))
}

/// The sizes of a collection: zeros if it does not exist.
fn storage(engine: &EngineHandle, name: &FullName, scale: f64, limits: &Limits) -> Result<Map> {
    let state = engine.catalog.find(name)?;
    let (tree, indexes) = match &state {
        Some(state) => (engine.store().tree_stats(state.documents)?, index_stats(engine, name)?),
        None => (TreeStats::default(), Vec::new()),
    };
    let scaled = |bytes: u64| whole((bytes as f64 / scale) as u64);
    let count = counts::documents(engine, name, limits.clone())?;
    let (size, average) = match state.is_some() {
        true => sizes(engine, name, count)?,
        false => (0, None),
    };
    let mut map = Map::from([("size", scaled(size)), ("count", whole(count))]);
    if let Some(average) = average {
        map.push("avgObjSize", whole(average));
    }
    map.push("numOrphanDocs", 0);
    map.push("storageSize", scaled(tree.bytes));
    let capped = state.as_ref().and_then(|state| state.capped());
    map.push("capped", capped.is_some());
    if let Some(limits) = capped {
        map.push("max", whole(limits.documents.unwrap_or(0)));
        map.push("maxSize", scaled(limits.size_bytes));
    }
    let unbuilt = state.as_ref().map(|state| state.indexes().options.unbuilt.clone()).unwrap_or_default();
    map.push("nindexes", whole((indexes.len() + unbuilt.len()) as u64 + u64::from(state.is_some())));
    let building = indexes.iter().filter(|index| !index.ready).map(|index| Value::from(index.name.as_str()));
    map.push("indexBuilds", Value::Array(building.collect()));
    let bytes: u64 = indexes.iter().map(|index| index.bytes).sum();
    map.push("totalIndexSize", scaled(bytes));
    map.push("totalSize", scaled(tree.bytes + bytes));
    let mut sizes = Map::new();
    if state.is_some() {
        // Documents are stored in the order of their `_id`s, so the index on `_id` has no files of its own.
        sizes.push("_id_", 0);
    }
    for index in &indexes {
        sizes.push(index.name.as_str(), scaled(index.bytes));
    }
    unbuilt.iter().for_each(|index| sizes.push(index.name(), 0));
    map.push("indexSizes", sizes);
    map.push("scaleFactor", whole(scale as u64));
    Ok(map)
}
