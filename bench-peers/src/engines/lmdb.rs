//! LMDB as a store of keys and values: the unnamed database of an environment, a transaction for each write.

mod ffi;

use super::Place;
use alluvium_workbench::peer::{Change, Failure, KeyValueSession, KeyValues};
use heed::types::Bytes;
use heed::{CommitOrAbort, Database, Env, RwTxn};

struct Lmdb {
    env: Env,
    pairs: Database<'static, Bytes, Bytes>,
}

/// LMDB has no memory of its own: it reads from the system's page cache, and writes there.
pub(crate) fn open(place: &Place<'_>) -> Result<Box<dyn KeyValues>, Failure> {
    let env = ffi::open(place.dir)?;
    let transaction = env.write_txn()?;
    let pairs = env.create_databases_and_commit(transaction, |opener, transaction| {
        opener.create_database(transaction, None).map(CommitOrAbort::<_, ()>::Commit)
    })?;
    match pairs {
        CommitOrAbort::Commit(pairs) => Ok(Box::new(Lmdb { env, pairs })),
        CommitOrAbort::Abort(()) => Err("LMDB: the database was not created".into()),
    }
}

impl KeyValues for Lmdb {
    fn session(&self) -> Result<Box<dyn KeyValueSession + '_>, Failure> {
        Ok(Box::new(Session(self)))
    }

    fn settle(&self) -> Result<(), Failure> {
        Ok(self.env.force_sync()?)
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        drop(self.env);
        Ok(())
    }
}

struct Session<'a>(&'a Lmdb);

impl<'a> Session<'a> {
    /// Runs `act` in a transaction, which is committed if it returns true.
    fn write(&self, act: impl FnOnce(&mut RwTxn<'a>) -> Result<bool, Failure>) -> Result<bool, Failure> {
        let mut transaction = self.0.env.write_txn()?;
        let done = act(&mut transaction)?;
        if done {
            transaction.commit()?;
        }
        Ok(done)
    }
}

impl KeyValueSession for Session<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let put = |transaction: &mut RwTxn<'_>| Ok(self.0.pairs.put(transaction, key, value).map(|()| true)?);
        self.write(put).map(drop)
    }

    fn get(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let transaction = self.0.env.read_txn()?;
        let Some(found) = self.0.pairs.get(&transaction, key)? else { return Ok(false) };
        value.clear();
        value.extend_from_slice(found);
        Ok(true)
    }

    fn delete(&mut self, key: &[u8]) -> Result<bool, Failure> {
        self.write(|transaction| Ok(self.0.pairs.delete(transaction, key)?))
    }

    fn update(&mut self, key: &[u8], change: &mut Change<'_>) -> Result<bool, Failure> {
        self.write(|transaction| {
            let mut new = Vec::new();
            let Some(old) = self.0.pairs.get(transaction, key)? else { return Ok(false) };
            change(old, &mut new)?;
            self.0.pairs.put(transaction, key, &new)?;
            Ok(true)
        })
    }
}
