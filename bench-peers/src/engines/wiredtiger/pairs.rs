//! WiredTiger as a store of keys and values: one table.

use super::config::{Kind, LSM_CACHE_MIN, connection};
use super::ffi::{Connection, RawTrees};
use super::uri;
use crate::engines::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues};

const TABLE: &str = "pairs";

struct Pairs(Connection);

/// A database with one table, which is created if it does not exist.
pub(crate) fn open(kind: Kind, place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    let memory = match kind {
        Kind::BTree => place.memory_bytes,
        Kind::Lsm => place.memory_bytes.max(LSM_CACHE_MIN),
    };
    let connection = Connection::open(place.dir, &connection(memory, false))?;
    // Of a table that exists, the size of chunks may differ, as the memory does.
    let known = alluvium_env::Env::os().fs.list(place.dir)?.iter().any(|file| kind.is_of(TABLE, &file.name));
    if !known {
        connection.create(&uri(TABLE), &kind.table(false, 1, memory))?;
    }
    Ok(Box::new(Pairs(connection)))
}

impl KeyValues for Pairs {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session(self.0.session(&[uri(TABLE)])?)))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.0.checkpoint()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.0);
        Ok(())
    }
}

struct Session<'a>(RawTrees<'a>);

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.0.put(0, key, value)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let found = self.0.search(0, key)?;
        if found {
            value.clear();
            value.extend_from_slice(self.0.value(0)?);
        }
        self.0.reset(0)?;
        Ok(found)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let found = self.0.search(0, key)?;
        if found {
            self.0.remove(0, key)?;
        }
        self.0.reset(0)?;
        Ok(found)
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        let found = self.0.update(0, key, change)?;
        self.0.reset(0)?;
        Ok(found)
    }
}
