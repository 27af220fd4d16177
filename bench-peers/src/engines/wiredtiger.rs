//! WiredTiger as an engine: a table of rows and one for each index, with the options that MongoDB gives them. A table is
//! a b-tree or an LSM tree.

mod config;
mod ffi;
mod pairs;

use alluvium_workbench::iibench::{Engine, Failure, Pairs, Row, Session, Settings, Sizes, row_key};
use ffi::{Connection, RawTrees};
use std::path::{Path, PathBuf};

pub(crate) use config::Kind;
pub(crate) use pairs::open as open_pairs;

struct WiredTiger {
    connection: Connection,
    dir: PathBuf,
    kind: Kind,
    tables: Vec<String>,
    indexes: usize,
}

/// A new database.
pub(crate) fn open(kind: Kind, dir: &Path, settings: &Settings) -> Result<Box<dyn Engine>, Failure> {
    let connection = Connection::open(dir, &config::connection(settings.memory_bytes, settings.direct))?;
    let tables: Vec<String> = (0..=settings.indexes).map(|tree| format!("tree{tree}")).collect();
    for (tree, table) in tables.iter().enumerate() {
        let is_index = tree > 0;
        connection.create(&uri(table), &kind.table(is_index, tables.len(), settings.memory_bytes))?;
    }
    Ok(Box::new(WiredTiger { connection, dir: dir.to_owned(), kind, tables, indexes: settings.indexes }))
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

    /// Only settles: `compact` of WiredTiger gives space back, and a b-tree has nothing to merge.
    fn merge(&self) -> Result<(), Failure> {
        self.settle()
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        let files = alluvium_env::Env::os().fs.list(&self.dir)?;
        let len = |table: &String| match files.iter().filter(|file| self.kind.is_of(table, &file.name)) {
            found if found.clone().next().is_none() => Err(format!("{table} has no file")),
            found => Ok(found.map(|file| file.len).sum()),
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
