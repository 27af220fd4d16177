//! RocksDB's `TransactionDB` as a store of keys and values: an update is a transaction of one.

use super::ffi::TransactionDatabase;
use super::pairs::{Compression, config};
use crate::engines::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues};

struct Pairs(TransactionDatabase);

/// A store with the settings of RocksDB without transactions.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    Ok(Box::new(Pairs(TransactionDatabase::open(place.dir, &config(Compression::Lz4, place)?)?)))
}

impl KeyValues for Pairs {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session { database: &self.0, old: Vec::new(), new: Vec::new() }))
    }

    fn settle(&self) -> Result<(), Failure> {
        self.0.settle()
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.0);
        Ok(())
    }
}

struct Session<'a> {
    database: &'a TransactionDatabase,
    old: Vec<u8>,
    new: Vec<u8>,
}

impl Session<'_> {
    /// One attempt of a transaction. Returns false, without a commit, if a key does not exist.
    fn try_all(&mut self, keys: &[&[u8]], change: &mut Change<'_>) -> Result<bool, Failure> {
        let mut transaction = self.database.begin();
        for key in keys {
            if !transaction.get_for_update(key, &mut self.old)? {
                return Ok(false);
            }
            self.new.clear();
            change(&self.old, &mut self.new)?;
            transaction.put(key, &self.new)?;
        }
        transaction.commit().map(|()| true)
    }

    /// Repeats a transaction until it has no conflict.
    fn all(&mut self, keys: &[&[u8]], change: &mut Change<'_>) -> Result<bool, Failure> {
        loop {
            match self.try_all(keys, change) {
                Err(error) if is_conflict(&error) => {}
                result => return result,
            }
        }
    }
}

/// True for the errors by which RocksDB ends one of two transactions: the key is locked, or has changed.
fn is_conflict(error: &Failure) -> bool {
    let text = error.to_string();
    ["Operation timed out", "Resource busy"].iter().any(|status| text.contains(status))
}

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        self.database.put(key, value)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        self.database.get(key, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        let found = self.database.get(key, &mut self.old)?;
        self.database.delete(key)?;
        Ok(found)
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        self.all(&[key], change)
    }

    fn update_all(&mut self, keys: &[&[u8]], change: &mut Change<'_>) -> Result<Option<bool>, Failure> {
        self.all(keys, change).map(Some)
    }
}
