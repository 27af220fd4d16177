//! Alluvium as an engine of iibench: its documents, and its key/value store alone.

use super::engine::{Engine, Session, Sizes};
use super::failure::Failure;
use super::row::{Field, INDEXES, Pairs, Row, row_key};
use super::settings::Settings;
use alluvium::Snapshot;
use alluvium::{Collection, Database, Durability, Map, Value};
use alluvium_collections::engine::EngineHandle;
use alluvium_collections::index::IndexSet;
use alluvium_collections::index_scan::{IndexScan, Proof};
use alluvium_collections::names::FullName;
use alluvium_store::{Bounds, Options, Store, TreeId, TreeStats, Tuning};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

/// The layer to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Documents, inserted as values: Alluvium encodes rows and index entries.
    Documents,
    /// The underlying key/value store, with the same bytes as the peers: rows as BSON, and index
    /// entries in separate trees.
    Pairs,
}

/// A new database at `path`.
///
/// # Errors
/// Errors of opening; the directory is not empty; the settings have an index that does not exist.
pub fn open(layer: Layer, path: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
    let fs = alluvium_env::Env::os().fs;
    if fs.exists(path)? && !fs.list(path)?.is_empty() {
        return Err(format!("{} is not empty: name a directory that is not there yet", path.display()).into());
    }
    let options = Options {
        memory_bytes: usize::try_from(settings.memory_bytes)?,
        direct_io: settings.direct,
        partitions: settings.partitions,
        ..Options::default()
    };
    Ok(match layer {
        Layer::Documents => {
            let tuning = Tuning { memtable_bytes: settings.memtable_bytes, ..Tuning::default() };
            // The same as for the peers: the log is written, but inserts do not wait for the disk.
            let durability = Durability::Bulk;
            let options = Options { durability, tuning, ..options };
            let database = Database::builder().options(options).open(path)?;
            let collection = database.create_collection("receipts").run()?;
            let indexes = declare_indexes(&collection, settings.indexes)?;
            Box::new(Documents { database, collection, indexes })
        }
        Layer::Pairs => {
            let store = Store::open(alluvium_env::Env::os(), path, options)?;
            let names: Vec<String> = (0..=settings.indexes).map(|tree| format!("tree {tree}")).collect();
            let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let trees = store.create_trees(&names)?;
            Box::new(PairStore { store, trees, indexes: settings.indexes })
        }
    })
}

/// Creates the first `indexes` secondary indexes, and returns their names.
fn declare_indexes(collection: &Collection, indexes: usize) -> Result<Vec<String>, Failure> {
    let keys = |index: &[Field]| -> Map { index.iter().map(|field| (field.name(), 1)).collect() };
    INDEXES[..indexes].iter().map(|index| Ok(collection.create_index(keys(index)).run()?)).collect()
}

/// The approximate raw bytes of a row, and of an index entry.
const ROW_BYTES: u64 = 150;
const ENTRY_BYTES: u64 = 40;

/// The bytes of each tree in the sorted files. The bytes of files with several trees are divided
/// among the trees, in proportion to the raw bytes of their entries in such files.
fn divide(store: &Store, rows: &TreeStats, indexes: &[TreeStats]) -> Sizes {
    let files: u64 = store.stats().partitions.iter().map(|partition| partition.bytes).sum();
    let own: u64 = indexes.iter().map(|index| index.bytes).sum();
    let shared = files.saturating_sub(rows.bytes + own);
    let raw = |tree: &TreeStats, bytes: u64| (tree.keys + tree.tombstones).saturating_sub(tree.entries) * bytes;
    let all = raw(rows, ROW_BYTES) + indexes.iter().map(|index| raw(index, ENTRY_BYTES)).sum::<u64>();
    let bytes = |tree: &TreeStats, raw: u64| {
        tree.bytes + (u128::from(shared) * u128::from(raw) / u128::from(all.max(1))) as u64
    };
    let indexes = indexes.iter().map(|index| bytes(index, raw(index, ENTRY_BYTES))).collect();
    Sizes { rows: bytes(rows, raw(rows, ROW_BYTES)), indexes }
}

struct Documents {
    database: Database,
    collection: Collection,
    /// The names of the secondary indexes.
    indexes: Vec<String>,
}

impl Documents {
    fn index_set(&self) -> Result<Arc<IndexSet>, Failure> {
        let engine: &EngineHandle = self.database.as_ref();
        Ok(engine
            .catalog
            .require(&FullName::parse(&self.collection.full_name()?).map_err(alluvium::Error::from)?)?
            .indexes())
    }

    /// Reads entries of an index that are verified to be current, beginning with the first key of
    /// `from`. With `fetch`, also reads their documents. Returns the number of entries, at most
    /// `limit`.
    fn walk(&self, at: &Snapshot, index: &str, from: &Map, limit: usize, fetch: bool) -> Result<usize, Failure> {
        let set = self.index_set()?;
        let keys = set.find(index).map(|index| index.keys(from, &[])).transpose()?;
        let first = keys.and_then(|keys| keys.keys.into_iter().next()).map(|key| key.bytes);
        let bounds = Bounds { lower: first.map_or(Bound::Unbounded, Bound::Included), ..Bounds::all() };
        let proof = if fetch { Proof::Documents } else { Proof::Numbers };
        let name = FullName::parse(&self.collection.full_name()?).map_err(alluvium::Error::from)?;
        let mut scan = IndexScan::open(self.database.as_ref(), &name, at, index, bounds, proof)?;
        let mut found = 0;
        while found < limit && scan.next_by(proof)? {
            found += 1;
        }
        Ok(found)
    }
}

impl Engine for Documents {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(DocumentSession { engine: self, maps: Vec::new() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(self.database.wait_for_compaction()?)
    }

    fn merge(&self) -> Result<(), Failure> {
        self.database.compact().run()?;
        Ok(())
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        let (store, set) = (self.database.store(), self.index_set()?);
        let indexes = self.indexes.iter().filter_map(|name| set.find(name)).map(|index| store.tree_stats(index.tree));
        let indexes: Vec<TreeStats> = indexes.collect::<Result<_, _>>()?;
        Ok(divide(self.database.store(), &self.collection.stats()?, &indexes))
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(self.database.close()?)
    }
}

struct DocumentSession<'a> {
    engine: &'a Documents,
    maps: Vec<Map>,
}

impl Session for DocumentSession<'_> {
    fn prepare(&mut self, rows: &[Row]) {
        self.maps = rows.iter().map(Row::document).collect();
    }

    fn insert(&mut self) -> Result<(), Failure> {
        self.engine.collection.insert_many(std::mem::take(&mut self.maps))?;
        Ok(())
    }

    fn rewrite(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let change = Map::from([("$set", Value::Map(Map::from([("data", row.data.as_str())])))]);
            self.engine.collection.update_one(Map::from([("_id", row.id)]), &change).run()?;
        }
        Ok(())
    }

    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure> {
        if index > 0 {
            let Some(name) = self.engine.indexes.get(index - 1) else { return Ok(None) };
            let from = from.document();
            let snapshot = self.engine.database.snapshot();
            return Ok(Some(self.engine.walk(&snapshot, name, &from, limit, fetch)?));
        }
        let cursor = self.engine.collection.scan().from(from.id).limit(limit as u64).run()?;
        let mut found = 0;
        for document in cursor {
            document?;
            found += 1;
        }
        Ok(Some(found))
    }
}

struct PairStore {
    store: Store,
    /// The tree of the rows, then the tree of each index.
    trees: Vec<TreeId>,
    indexes: usize,
}

impl Engine for PairStore {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(PairSession { engine: self, pairs: Pairs::default() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(self.store.wait_for_compaction()?)
    }

    fn merge(&self) -> Result<(), Failure> {
        Ok(self.store.compact()?)
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        let stats = self.trees.iter().map(|tree| self.store.tree_stats(*tree));
        let stats: Vec<TreeStats> = stats.collect::<Result<_, _>>()?;
        Ok(divide(&self.store, &stats[0], &stats[1..]))
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(self.store.close()?)
    }
}

struct PairSession<'a> {
    engine: &'a PairStore,
    pairs: Pairs,
}

impl Session for PairSession<'_> {
    fn prepare(&mut self, rows: &[Row]) {
        self.pairs.fill(rows, self.engine.indexes);
    }

    fn insert(&mut self) -> Result<(), Failure> {
        let mut batch = self.engine.store.batch();
        for (tree, key, value) in self.pairs.iter() {
            batch.put(self.engine.trees[tree], key, value);
        }
        self.engine.store.write(batch, Durability::Bulk)?;
        Ok(())
    }

    fn rewrite(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.pairs.fill(rows, 0);
        self.insert()
    }

    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure> {
        let Some(tree) = self.engine.trees.get(index) else { return Ok(None) };
        let mut lower = Vec::new();
        match index {
            0 => from.put_key(&mut lower),
            _ => from.put_index_key(index - 1, &mut lower),
        }
        let bounds = Bounds { lower: Bound::Included(lower), ..Bounds::all() };
        let mut scan = self.engine.store.scan(*tree, bounds, None)?;
        let (mut found, mut value) = (0, Vec::new());
        while found < limit
            && let Some((key, _)) = scan.next()?
        {
            found += 1;
            if fetch
                && index > 0
                && !self.engine.store.get(self.engine.trees[0], row_key(index - 1, key)?, &mut value)?
            {
                return Err("an index entry leads to no row".into());
            }
        }
        Ok(Some(found))
    }
}
