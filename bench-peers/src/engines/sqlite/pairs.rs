//! Keys and values as blobs.

use super::Sqlite;
use crate::engines::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues};
use rusqlite::Connection;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS pairs (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID";
const PUT: &str = "INSERT OR REPLACE INTO pairs VALUES (?1, ?2)";
const GET: &str = "SELECT value FROM pairs WHERE key = ?1";
const DELETE: &str = "DELETE FROM pairs WHERE key = ?1";

struct Pairs(Sqlite);

/// A table of pairs.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    Ok(Box::new(Pairs(Sqlite::open(place, TABLE)?)))
}

impl KeyValues for Pairs {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session { sqlite: &self.0, connection: self.0.connect()? }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.0.settle()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        Ok(())
    }
}

struct Session<'a> {
    sqlite: &'a Sqlite,
    connection: Connection,
}

impl Session<'_> {
    fn put_alone(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.connection.prepare_cached(PUT)?.execute((key, value))?;
        Ok(())
    }
}

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let _writer = self.sqlite.write();
        self.put_alone(key, value)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let mut get = self.connection.prepare_cached(GET)?;
        let mut rows = get.query([key])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(row.get_ref(0)?.as_blob()?);
        Ok(true)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let _writer = self.sqlite.write();
        Ok(self.connection.prepare_cached(DELETE)?.execute([key])? == 1)
    }

    /// All writers hold the lock of the writer, so that the read and the write are one step.
    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        let _writer = self.sqlite.write();
        let (mut old, mut new) = (Vec::new(), Vec::new());
        if !self.get(key, &mut old)? {
            return Ok(false);
        }
        change(&old, &mut new)?;
        self.put_alone(key, &new).map(|()| true)
    }
}
