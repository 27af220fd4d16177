//! Documents as JSONB.

use super::Sqlite;
use crate::encodings::json_found;
use crate::engines::Place;
use alluvium_workbench::peer::{DocumentSession, Documents, Failure, Found};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS comments (_id TEXT PRIMARY KEY, document BLOB NOT NULL) WITHOUT ROWID";
const PUT: &str = "INSERT OR REPLACE INTO comments VALUES (?1, jsonb(?2))";
const GET: &str = "SELECT json(document) FROM comments WHERE _id = ?1";
const SCORE: &str = "SELECT document ->> '$.score' FROM comments WHERE _id = ?1";
const INCREMENT: &str =
    "UPDATE comments SET document = jsonb_set(document, '$.score', (document ->> '$.score') + 1) WHERE _id = ?1";

struct SqliteDocuments(Sqlite);

/// A table of documents.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn Documents>, Failure> {
    Ok(Box::new(SqliteDocuments(Sqlite::open(place, TABLE)?)))
}

impl Documents for SqliteDocuments {
    fn session(&self) -> Result<Box<dyn DocumentSession + '_>, Failure> {
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

impl DocumentSession for Session<'_> {
    fn put(&mut self, id: &str, json: &str) -> Result<(), Failure> {
        let mut put = self.connection.prepare_cached(PUT)?;
        let _writer = self.sqlite.write();
        put.execute((id, json))?;
        Ok(())
    }

    fn get(&mut self, id: &str) -> Result<Option<Found>, Failure> {
        let mut get = self.connection.prepare_cached(GET)?;
        let mut rows = get.query([id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        json_found(serde_json::from_str(row.get_ref(0)?.as_str()?)?).map(Some)
    }

    fn score(&mut self, id: &str) -> Result<Option<i64>, Failure> {
        Ok(self.connection.prepare_cached(SCORE)?.query_row([id], |row| row.get(0)).optional()?)
    }

    fn increment(&mut self, id: &str) -> Result<bool, Failure> {
        let mut update = self.connection.prepare_cached(INCREMENT)?;
        let _writer = self.sqlite.write();
        Ok(update.execute([id])? == 1)
    }

    fn increment_all(&mut self, ids: &[&str]) -> Result<Option<bool>, Failure> {
        let _writer = self.sqlite.write();
        // Dropped before it is committed, the transaction is rolled back.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut all = true;
        for id in ids {
            all &= transaction.prepare_cached(INCREMENT)?.execute([id])? == 1;
        }
        if all {
            transaction.commit()?;
        }
        Ok(Some(all))
    }
}
