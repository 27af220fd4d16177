//! RocksDB as an engine: a column family of rows and one for each index, batches through the log, no sync.

mod ffi;
mod pairs;
mod transactions;

use alluvium_workbench::iibench::{Engine, Failure, Pairs, Row, Session, Settings, Sizes, row_key};
use ffi::{Batch, Config, Database};
use std::path::Path;

pub(crate) use pairs::{Compression, open as open_pairs};
pub(crate) use transactions::open as open_transactions;

/// RocksDB's numbers of the compressions.
const LZ4: i32 = 4;
const ZSTD: i32 = 7;

struct RocksDb {
    database: Database,
    indexes: usize,
}

/// A new database: half of the memory for write buffers, half for the block cache, filters and indexes included.
pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
    let memory = usize::try_from(settings.memory_bytes)?;
    let config = Config {
        cache_bytes: memory / 2,
        write_buffer_bytes: memory / 2,
        direct: settings.direct,
        compression: LZ4,
        bottommost_compression: ZSTD,
        block_bytes: 4 << 10,
        // A small cache is divided into parts that have no room for the filter of a whole file, and never keep it.
        partition_filters: true,
        dictionary: None,
    };
    let name = |tree| if tree == 0 { "default".to_owned() } else { format!("index{tree}") };
    let families: Vec<String> = (0..=settings.indexes).map(name).collect();
    let database = Database::open(dir, &families, &config)?;
    Ok(Box::new(RocksDb { database, indexes: settings.indexes }))
}

impl Engine for RocksDb {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        Ok(Box::new(RocksDbSession { engine: self, pairs: Pairs::default(), batch: Batch::new() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.database.settle()
    }

    fn merge(&self) -> Result<(), Failure> {
        self.database.merge();
        self.database.settle()
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        let size = |family| self.database.number(family, c"rocksdb.live-sst-files-size");
        let indexes = (1..=self.indexes).map(size).collect::<Result<_, _>>()?;
        Ok(Sizes { rows: size(0)?, indexes })
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.database);
        Ok(())
    }
}

struct RocksDbSession<'a> {
    engine: &'a RocksDb,
    pairs: Pairs,
    batch: Batch,
}

impl Session for RocksDbSession<'_> {
    fn prepare(&mut self, rows: &[Row]) {
        self.pairs.fill(rows, self.engine.indexes);
    }

    fn insert(&mut self) -> Result<(), Failure> {
        self.batch.clear();
        for (tree, key, value) in self.pairs.iter() {
            self.engine.database.put(&mut self.batch, tree, key, value);
        }
        self.engine.database.write(&mut self.batch)
    }

    fn rewrite(&mut self, rows: &[Row]) -> Result<(), Failure> {
        self.pairs.fill(rows, 0);
        self.insert()
    }

    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure> {
        let mut key = Vec::new();
        match index {
            0 => from.put_key(&mut key),
            _ => from.put_index_key(index - 1, &mut key),
        }
        let mut walk = self.engine.database.seek(index, &key);
        let (mut found, mut value) = (0, Vec::new());
        while found < limit
            && let Some((key, own)) = walk.pair()?
        {
            found += 1;
            if fetch && index > 0 {
                if !self.engine.database.get(0, row_key(index - 1, key)?, &mut value)? {
                    return Err("an index entry leads to no row".into());
                }
            } else {
                value.clear();
                value.extend_from_slice(own);
            }
            walk.next();
        }
        Ok(Some(found))
    }
}
