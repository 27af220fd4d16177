//! Statistics for the planner: the size of a collection, and the number of distinct keys of its indexes. The statistics
//! are estimates in memory, and are collected again after many writes.

use crate::error::Result;
use crate::index::{Index, IndexSet};
use crate::planner_state::{IndexStatistics, Statistics};
use crate::view::CollectionView;
use alluvium_document::{Value, key};
use alluvium_query::index::skip_part;
use alluvium_store::Bounds;
use std::ops::Bound;
use std::sync::Arc;

/// The number of distinct keys that are visited, each by one seek, to estimate the total number of distinct keys.
const STEPS: u64 = 64;
/// The maximum number of leading parts for which distinct keys are counted.
const PARTS_MAX: usize = 3;
/// Statistics are collected again after this number of writes, or a quarter of the number of
/// documents if that is more.
const WRITES: u64 = 1000;

/// Returns statistics of a collection that are fresh enough and include all of its ready indexes.
pub(crate) fn current(view: &CollectionView, set: &IndexSet) -> Arc<Statistics> {
    if let Some(current) = fresh(view, set) {
        return current;
    }
    let cell = &view.state.statistics;
    let _one_at_a_time = cell.lock_collecting();
    if let Some(current) = fresh(view, set) {
        return current;
    }
    // After an error the statistics are unknown. They affect the cost of a plan, but never its result.
    let collected = Arc::new(collect(view, set).unwrap_or_default());
    cell.replace(collected.clone());
    collected
}

/// Discards statistics that led to a wrong plan, unless there were few writes since they were
/// collected.
pub(crate) fn discard(view: &CollectionView) {
    let visible = view.store().visible();
    view.state
        .statistics
        .discard_if(|statistics| visible.saturating_sub(statistics.seq) > (WRITES / 10).max(statistics.documents / 50));
}

fn fresh(view: &CollectionView, set: &IndexSet) -> Option<Arc<Statistics>> {
    let current = view.state.statistics.current()?;
    let written = view.store().visible().saturating_sub(current.seq);
    let known = set.indexes.iter().all(|index| index.ready.is_none() || current.indexes.contains_key(&index.tree));
    (known && written <= WRITES.max(current.documents / 4)).then_some(current)
}

fn collect(view: &CollectionView, set: &IndexSet) -> Result<Statistics> {
    let (store, documents) = (view.store(), view.state.documents);
    let seq = store.visible();
    let mut taken = Statistics { seq, natural_ids: has_natural_ids(view)?, ..Statistics::default() };
    if let Ok(stats) = store.tree_stats(documents) {
        taken.documents = stats.keys;
        taken.bytes = bytes_of(&stats, 512);
    }
    for index in &set.indexes {
        if index.ready.is_some() {
            taken.indexes.insert(index.tree, take_index(view, index).unwrap_or_default());
        }
    }
    Ok(taken)
}

/// The approximate bytes of the keys and values of a tree. Entries in memory are assumed to be as large as entries in
/// files.
fn bytes_of(stats: &alluvium_store::TreeStats, usual: u64) -> u64 {
    match stats.entries {
        0 => stats.keys * usual,
        entries => (stats.raw_bytes as f64 / entries as f64 * stats.keys as f64) as u64,
    }
}

/// True if the first and the last `_id` have a type in which equal values are identical.
fn has_natural_ids(view: &CollectionView) -> Result<bool> {
    for reverse in [false, true] {
        let bounds = Bounds { reverse, ..Bounds::all() };
        let mut scan = view.store().scan(view.state.documents, bounds, Some(&view.snapshot.store))?;
        if let Some((mut id, _)) = scan.next()?
            && !matches!(key::decode(&mut id), Ok(Value::ObjectId(_)))
        {
            return Ok(false);
        }
    }
    Ok(true)
}

fn take_index(view: &CollectionView, index: &Index) -> Result<IndexStatistics> {
    let stats = view.store().tree_stats(index.tree)?;
    let mut taken = IndexStatistics { entries: stats.keys, bytes: bytes_of(&stats, 24), distinct: Vec::new() };
    let parts = index.definition.parts().len().min(PARTS_MAX);
    for parts in 1..=parts {
        let Some(distinct) = distinct(view, index, parts)? else { break };
        // A longer prefix has at least as many distinct values.
        let before = taken.distinct.last().copied().unwrap_or(1);
        taken.distinct.push(distinct.max(before).min(taken.entries.max(1)));
    }
    Ok(taken)
}

/// The approximate number of distinct values of the first parts of an index, estimated from one
/// partition.
fn distinct(view: &CollectionView, index: &Index, parts: usize) -> Result<Option<u64>> {
    let store = view.store();
    let all = store.estimate(index.tree, 0, &Bounds::all())?;
    let mut scan = store.scan_partition(index.tree, 0, Bounds::all(), &view.snapshot.store)?;
    let (mut found, mut middle, mut last) = (0, Vec::new(), Vec::new());
    while found < STEPS {
        let Some((entry, _)) = scan.next()? else { break };
        found += 1;
        last = prefix(entry, index, parts).to_vec();
        if found == STEPS / 2 {
            middle.clone_from(&last);
        }
        let Some(next) = successor(&last) else { break };
        scan.restart(&Bounds { lower: Bound::Included(next), ..Bounds::all() });
    }
    if found == 0 {
        return Ok(None);
    }
    if found < STEPS {
        return Ok(Some(over_partitions(found as f64, all as f64, store.partitions())));
    }
    // The remaining values are assumed to be as dense as the second half of the visited values, because a value of many
    // entries, such as null, usually comes first.
    let up_to = |key: Vec<u8>| store.estimate(index.tree, 0, &Bounds { upper: Bound::Excluded(key), ..Bounds::all() });
    let (before, walked) = (up_to(middle)?, up_to(last)?);
    let each = (walked.saturating_sub(before) as f64 / (STEPS / 2) as f64).max(1.0);
    let of_partition = found as f64 + all.saturating_sub(walked) as f64 / each;
    Ok(Some(over_partitions(of_partition.min(all.max(found) as f64), all as f64, store.partitions())))
}

/// The number of distinct values in all partitions, if one partition has `found` of them in
/// `entries` entries, and documents are spread over partitions at random: a value of `n` entries is
/// missing in one of `p` partitions with the probability `(1 - 1/p)^n`.
fn over_partitions(found: f64, entries: f64, partitions: u32) -> u64 {
    let parts = f64::from(partitions.max(1));
    let (mut low, mut high) = (found, found * parts);
    for _ in 0..32 {
        let middle = f64::midpoint(low, high);
        let of_each = (entries * parts / middle.max(1.0)).max(1.0);
        let expected = middle * (1.0 - (1.0 - 1.0 / parts).powf(of_each));
        if expected < found { low = middle } else { high = middle }
    }
    high.round() as u64
}

/// The first parts of an entry's key.
fn prefix<'a>(entry: &'a [u8], index: &Index, parts: usize) -> &'a [u8] {
    let mut rest = entry;
    for part in &index.definition.parts()[..parts] {
        if skip_part(&mut rest, part.order).is_err() {
            return entry;
        }
    }
    &entry[..entry.len() - rest.len()]
}

/// The lowest key above all keys that begin with `prefix`.
fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte < 0xff)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

#[cfg(test)]
mod tests;
