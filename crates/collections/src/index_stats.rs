//! Statistics of indexes.

use crate::engine::EngineHandle;
use crate::error::{Error, Result};
use crate::index::{Index, IndexProgress};
use crate::index_scan::IndexScan;
use crate::names::FullName;
use crate::view::CollectionView;
use alluvium_document::Map;
use alluvium_exec::Examined;
use alluvium_store::Bounds;
use std::ops::Bound;
use std::sync::Arc;

/// The number of places of an index from which a sample is taken.
const PLACES: u64 = 16;
/// The number of entries that a sample takes from each place.
const ENTRIES_PER_PLACE: u64 = 64;

/// The statistics of one index.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct IndexStats {
    /// The name.
    pub name: String,
    /// The definition: `v`, `key`, `name` and the options that are set.
    pub definition: Map,
    /// False while it is being built; queries do not use it then.
    pub ready: bool,
    /// The approximate number of entries, including stale entries.
    pub entries: u64,
    /// Bytes of the sorted files that hold only this index. Memory and shared files are not included.
    pub bytes: u64,
    /// Bytes of the sorted files that hold this index together with other indexes or documents.
    pub shared_bytes: u64,
    /// The number of entries in a sample, spread over the whole index; all entries of a small
    /// index.
    pub sampled: u64,
    /// The number of stale entries in the sample. Writes that do not read the document leave stale entries, which
    /// readers skip.
    pub sampled_stale: u64,
    /// The number of queries that used it since the database was opened.
    pub uses: u64,
    /// The time of the last query that used it, in milliseconds since 1970; `None` if no query has used it since the
    /// database was opened.
    pub last_used_ms: Option<i64>,
    /// The number of entries that queries examined since the database was opened.
    pub examined: u64,
    /// The number of these entries that were stale.
    pub examined_stale: u64,
    /// The progress of the build; `None` once the index is ready.
    pub build: Option<BuildProgress>,
}

/// The progress of the build of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildProgress {
    /// The number of documents indexed since the database was opened.
    pub documents: u64,
    /// The approximate total; 0 if it is not known yet.
    pub documents_expected: u64,
}

impl IndexStats {
    /// The approximate fraction of stale entries in the sample, from 0 to 1; `None` without entries.
    ///
    /// ```
    /// # let db = alluvium::Database::in_memory()?;
    /// # let pets = db.collection("pets");
    /// # pets.insert_many([r#"{"_id": "ada", "age": 12}"#, r#"{"_id": "rex", "age": 3}"#, r#"{"_id": "tom", "age": 7}"#])?;
    /// pets.create_index(r#"{"age": 1}"#).run()?;
    /// assert_eq!(pets.index_stats()?[0].stale_share(), Some(0.0));
    /// # alluvium::Result::Ok(())
    /// ```
    pub fn stale_share(&self) -> Option<f64> {
        (self.sampled > 0).then(|| self.sampled_stale as f64 / self.sampled as f64)
    }
}

/// Statistics of all indexes of a collection.
///
/// # Errors
/// [`Error::NoSuchCollection`], or as for any read.
pub fn index_stats(engine: &EngineHandle, name: &FullName) -> Result<Vec<IndexStats>> {
    let view = CollectionView::new(engine, engine.catalog.require(name)?, name, engine.snapshot());
    let mut all = Vec::new();
    for index in &view.state.indexes().indexes {
        match stats(&view, index) {
            Ok(stats) => all.push(stats),
            // Dropped concurrently.
            Err(Error::Store(alluvium_store::Error::NoSuchTree(_))) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

fn stats(view: &Arc<CollectionView>, index: &Arc<Index>) -> Result<IndexStats> {
    let tree = view.store().tree_stats(index.tree)?;
    let sample = sample(view, index)?;
    let (examined, examined_stale) = index.usage.keys_and_stale();
    let counts = |progress: &IndexProgress| BuildProgress {
        documents: progress.documents(),
        documents_expected: progress.documents_expected(),
    };
    Ok(IndexStats {
        name: index.definition.name().to_owned(),
        definition: index.definition.to_map(),
        ready: index.ready.is_some(),
        entries: tree.keys,
        bytes: tree.bytes,
        shared_bytes: tree.shared_bytes,
        sampled: sample.keys,
        sampled_stale: sample.stale,
        uses: index.usage.uses(),
        last_used_ms: index.usage.last_ms(),
        examined,
        examined_stale,
        build: index.ready.is_none().then(|| counts(index.building.progress())),
    })
}

/// The approximate fraction of stale entries of an index, from 0 to 1.
pub(crate) fn stale_share(view: &Arc<CollectionView>, index: &Arc<Index>) -> Result<f64> {
    let sample = sample(view, index)?;
    Ok(sample.stale as f64 / sample.keys.max(1) as f64)
}

/// Examines entries spread over the whole index, or all entries of a small index.
fn sample(view: &Arc<CollectionView>, index: &Arc<Index>) -> Result<Examined> {
    let scan = |bounds| IndexScan::new(view.clone(), index.clone(), bounds);
    let mut whole = scan(Bounds::all())?;
    let mut few = 0;
    while few < PLACES * ENTRIES_PER_PLACE && whole.advance()? {
        few += 1;
        whole.is_proved()?;
    }
    if few < PLACES * ENTRIES_PER_PLACE {
        return Ok(*whole.examined());
    }
    let (mut sum, mut reached) = (Examined::default(), Bound::Unbounded);
    for from in places(view, index)? {
        let lower = match reached {
            Bound::Excluded(last) if last >= from => Bound::Excluded(last),
            _ => Bound::Included(from),
        };
        let mut scan = scan(Bounds { lower: lower.clone(), ..Bounds::all() })?;
        reached = lower;
        while scan.examined().keys < ENTRIES_PER_PLACE && scan.advance()? {
            scan.is_proved()?;
            reached = Bound::Excluded([scan.key(), scan.id()].concat());
        }
        sum.keys += scan.examined().keys;
        sum.stale += scan.examined().stale;
    }
    Ok(sum)
}

/// Returns [`PLACES`] keys that divide the entries into ranges of about the same size.
fn places(view: &Arc<CollectionView>, index: &Arc<Index>) -> Result<Vec<Vec<u8>>> {
    let end = |reverse| -> Result<Vec<u8>> {
        let mut scan = IndexScan::new(view.clone(), index.clone(), Bounds { reverse, ..Bounds::all() })?;
        Ok(if scan.advance()? { [scan.key(), scan.id()].concat() } else { Vec::new() })
    };
    // Documents and their entries are spread over partitions at random, so one partition suffices.
    let count = |from: &[u8], to: &[u8]| {
        let (lower, upper) = (Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec()));
        view.store().estimate(index.tree, 0, &Bounds { lower, upper, reverse: false })
    };
    let mut keys = vec![end(false)?, end(true)?];
    while (keys.len() as u64) <= PLACES {
        let mut finer = Vec::with_capacity(keys.len() * 2);
        for pair in keys.windows(2) {
            finer.push(pair[0].clone());
            finer.push(middle(&pair[0], &pair[1], count)?);
        }
        finer.extend(keys.pop());
        keys = finer;
    }
    keys.pop();
    Ok(keys)
}

/// A key that divides the entries between `first` and `last` about evenly. Found by a binary search over the eight
/// bytes that follow the common prefix, read as a number.
fn middle(
    first: &[u8],
    last: &[u8],
    count: impl Fn(&[u8], &[u8]) -> std::result::Result<u64, alluvium_store::Error>,
) -> Result<Vec<u8>> {
    let common = first.iter().zip(last).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        bytes.iter_mut().zip(&key[common..]).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(bytes)
    };
    let (mut low, mut high) = (number(first), number(last));
    let wanted = count(first, last)? / 2;
    let mut key = first.to_vec();
    while high.saturating_sub(low) > 1 {
        let half = low + (high - low) / 2;
        key = [&first[..common], &half.to_be_bytes()].concat();
        let found = count(first, &key)?;
        if found.abs_diff(wanted) <= wanted / 8 {
            break;
        }
        if found < wanted { low = half } else { high = half }
    }
    Ok(key)
}

#[cfg(test)]
mod tests;
