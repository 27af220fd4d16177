//! WiredTiger's b-tree as an engine: a table of rows and one for each index, with the options that MongoDB gives them.

mod ffi;

use alluvium_workbench::iibench::{Engine, Failure, Pairs, Row, Session, Settings, Sizes, row_key};
use ffi::{Connection, RawTrees};
use std::path::{Path, PathBuf};

/// Debian's place for the compressor.
const SNAPPY: &str = "/usr/lib/x86_64-linux-gnu/libwiredtiger_snappy.so";

/// Of the table of rows.
const ROWS: &str = "key_format=u,value_format=u,memory_page_max=10m,split_pct=90,leaf_value_max=64MB,\
                    block_compressor=snappy";
/// Of the tables of index entries.
const INDEX: &str = "key_format=u,value_format=u,internal_page_max=16k,leaf_page_max=16k,prefix_compression=true";

struct WiredTiger {
    connection: Connection,
    dir: PathBuf,
    tables: Vec<String>,
    indexes: usize,
}

/// A new database: the log is written and not synced, a checkpoint every minute.
pub(crate) fn open(dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
    let config = format!(
        "create,exclusive=true,cache_size={},session_max=1100,mmap=false,log=(enabled=true),\
         transaction_sync=(enabled=false),checkpoint=(wait=60,log_size=2GB),eviction=(threads_min=4,threads_max=4),\
         extensions=[{SNAPPY}]{}",
        settings.memory_bytes,
        if settings.direct { ",direct_io=[data]" } else { "" },
    );
    let connection = Connection::open(dir, &config)?;
    let tables: Vec<String> = (0..=settings.indexes).map(|tree| format!("tree{tree}")).collect();
    for (tree, table) in tables.iter().enumerate() {
        connection.create(&uri(table), if tree == 0 { ROWS } else { INDEX })?;
    }
    Ok(Box::new(WiredTiger { connection, dir: dir.to_owned(), tables, indexes: settings.indexes }))
}

fn uri(table: &str) -> String {
    format!("table:{table}")
}

impl Engine for WiredTiger {
    fn session(&self) -> Result<Box<dyn Session + '_>, Failure> {
        let uris: Vec<String> = self.tables.iter().map(|table| uri(table)).collect();
        let trees = self.connection.session(&uris)?;
        Ok(Box::new(WiredTigerSession { trees, pairs: Pairs::default(), indexes: self.indexes }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.connection.checkpoint()
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        let files = alluvium_env::Env::os().fs.list(&self.dir)?;
        let len = |table: &String| {
            let name = format!("{table}.wt");
            files.iter().find(|file| file.name == name).map(|file| file.len).ok_or(format!("{name} is not there"))
        };
        let sizes: Vec<u64> = self.tables.iter().map(len).collect::<Result<_, _>>()?;
        Ok(Sizes { rows: sizes[0], indexes: sizes[1..].to_vec() })
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.connection);
        Ok(())
    }
}

struct WiredTigerSession<'a> {
    trees: RawTrees<'a>,
    pairs: Pairs,
    indexes: usize,
}

impl Session for WiredTigerSession<'_> {
    fn prepare(&mut self, rows: &[Row]) {
        self.pairs.fill(rows, self.indexes);
    }

    fn insert(&mut self) -> Result<(), Failure> {
        self.trees.insert(|| self.pairs.iter())
    }

    fn query(&mut self, index: usize, from: &Row, limit: usize, fetch: bool) -> Result<Option<usize>, Failure> {
        let mut key = Vec::new();
        match index {
            0 => from.put_key(&mut key),
            _ => from.put_index_key(index - 1, &mut key),
        }
        let mut more = self.trees.seek(index, &key)?;
        let (mut found, mut value) = (0, Vec::new());
        while more && found < limit {
            found += 1;
            let entry = self.trees.key(index)?;
            if fetch && index > 0 {
                key.clear();
                key.extend_from_slice(row_key(index - 1, entry)?);
                if !self.trees.search(0, &key)? {
                    return Err("an index entry leads to no row".into());
                }
                value.clear();
                value.extend_from_slice(self.trees.value(0)?);
            } else if index == 0 {
                value.clear();
                value.extend_from_slice(self.trees.value(0)?);
            }
            more = self.trees.next(index)?;
        }
        self.trees.reset(index)?;
        self.trees.reset(0)?;
        Ok(Some(found))
    }
}
