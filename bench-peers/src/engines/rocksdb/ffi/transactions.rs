//! The calls for transactions. Those of a `TransactionDB` lock the keys that they read for an update or write, until they
//! end.
//!
//! Safety, for every `unsafe` here: as in [`super`]; a transaction is of one thread and ends before its database.
#![allow(unsafe_code)]

use super::{
    Config, Database, Db, Handle, Message, Options, Pinned, ReadOptions, TransactionDb, WriteOptions, checked, take,
};
use alluvium_workbench::iibench::Failure;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::ptr;

opaque! { DbOptions RawTransaction TransactionOptions }

unsafe extern "C" {
    fn rocksdb_transactiondb_options_create() -> *mut DbOptions;
    fn rocksdb_transactiondb_options_destroy(options: *mut DbOptions);
    fn rocksdb_transactiondb_open_column_families(
        options: *const Options,
        transactions: *const DbOptions,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const *const Options,
        handles: *mut *mut Handle,
        message: Message,
    ) -> *mut TransactionDb;
    fn rocksdb_transactiondb_get_base_db(db: *mut TransactionDb) -> *mut Db;
    fn rocksdb_transactiondb_close_base_db(db: *mut Db);
    fn rocksdb_transactiondb_close(db: *mut TransactionDb);
    fn rocksdb_transactiondb_put_cf(
        db: *mut TransactionDb,
        options: *const WriteOptions,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        message: Message,
    );
    fn rocksdb_transactiondb_delete_cf(
        db: *mut TransactionDb,
        options: *const WriteOptions,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        message: Message,
    );
    fn rocksdb_transaction_options_create() -> *mut TransactionOptions;
    fn rocksdb_transaction_options_destroy(options: *mut TransactionOptions);
    fn rocksdb_transaction_begin(
        db: *mut TransactionDb,
        write_options: *const WriteOptions,
        options: *const TransactionOptions,
        old: *mut RawTransaction,
    ) -> *mut RawTransaction;
    fn rocksdb_transaction_get_pinned_for_update_cf(
        transaction: *mut RawTransaction,
        options: *const ReadOptions,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        exclusive: c_uchar,
        message: Message,
    ) -> *mut Pinned;
    fn rocksdb_transaction_put_cf(
        transaction: *mut RawTransaction,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        message: Message,
    );
    fn rocksdb_transaction_commit(transaction: *mut RawTransaction, message: Message);
    fn rocksdb_transaction_destroy(transaction: *mut RawTransaction);
}

/// Opens a database with transactions, and returns the database below, too; both are null if there is a message.
///
/// # Safety
/// As for `rocksdb_open_column_families`.
pub(super) unsafe fn open(
    options: *const Options,
    path: *const c_char,
    count: c_int,
    names: *const *const c_char,
    each: *const *const Options,
    handles: *mut *mut Handle,
    message: Message,
) -> (*mut Db, *mut TransactionDb) {
    // SAFETY: see the module's head; the options are copied.
    unsafe {
        let all = rocksdb_transactiondb_options_create();
        let transactions =
            rocksdb_transactiondb_open_column_families(options, all, path, count, names, each, handles, message);
        rocksdb_transactiondb_options_destroy(all);
        match transactions.is_null() {
            true => (ptr::null_mut(), transactions),
            false => (rocksdb_transactiondb_get_base_db(transactions), transactions),
        }
    }
}

/// Closes what [`open`] has returned.
///
/// # Safety
/// Once, when nothing that belongs to the database is left.
pub(super) unsafe fn close(db: *mut Db, transactions: *mut TransactionDb) {
    // SAFETY: the first call only frees the handle on the database below, which the second closes.
    unsafe {
        rocksdb_transactiondb_close_base_db(db);
        rocksdb_transactiondb_close(transactions);
    }
}

/// A database of one column family with transactions.
pub(in super::super) struct TransactionDatabase(Database);

impl TransactionDatabase {
    /// Opens a database, and creates it if it does not exist.
    pub fn open(path: &Path, config: &Config) -> Result<Self, Failure> {
        Ok(Self(Database::open_as(path, &["default".to_owned()], config, true)?))
    }

    /// As [`Database::get`].
    pub fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        self.0.get(0, key, value)
    }

    /// As [`Database::settle`].
    pub fn settle(&self) -> Result<(), Failure> {
        self.0.settle()
    }

    /// Writes one pair, as a transaction of its own.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (handle, key_at, value_at) = (self.0.handles[0], key.as_ptr().cast(), value.as_ptr().cast());
        checked(|message| {
            let (db, options) = (self.0.transactions, self.0.write_options);
            // SAFETY: slices, as long as they say.
            unsafe {
                rocksdb_transactiondb_put_cf(db, options, handle, key_at, key.len(), value_at, value.len(), message);
            }
        })
    }

    /// Deletes one key, as a transaction of its own.
    pub fn delete(&self, key: &[u8]) -> Result<(), Failure> {
        let (handle, key_at) = (self.0.handles[0], key.as_ptr().cast());
        checked(|message| {
            let (db, options) = (self.0.transactions, self.0.write_options);
            // SAFETY: a slice, as long as it says.
            unsafe { rocksdb_transactiondb_delete_cf(db, options, handle, key_at, key.len(), message) };
        })
    }

    /// Begins a transaction, which is rolled back if it is dropped before it is committed.
    pub fn begin(&self) -> Transaction<'_> {
        // SAFETY: see the module's head; the options are copied.
        let raw = unsafe {
            let options = rocksdb_transaction_options_create();
            let raw = rocksdb_transaction_begin(self.0.transactions, self.0.write_options, options, ptr::null_mut());
            rocksdb_transaction_options_destroy(options);
            raw
        };
        Transaction { raw, database: &self.0 }
    }
}

/// A transaction, of one thread.
pub(in super::super) struct Transaction<'a> {
    raw: *mut RawTransaction,
    database: &'a Database,
}

impl Transaction<'_> {
    /// Locks a key, and copies its value to `value`. Returns false if the key does not exist.
    pub fn get_for_update(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let (options, handle) = (self.database.read_options, self.database.handles[0]);
        let (key_at, exclusive) = (key.as_ptr().cast(), 1);
        // SAFETY: a slice, as long as it says; what was read is used once.
        unsafe {
            let pinned = checked(|message| {
                let (raw, len) = (self.raw, key.len());
                rocksdb_transaction_get_pinned_for_update_cf(raw, options, handle, key_at, len, exclusive, message)
            })?;
            Ok(take(pinned, value))
        }
    }

    /// Writes one pair.
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (handle, key_at, value_at) = (self.database.handles[0], key.as_ptr().cast(), value.as_ptr().cast());
        checked(|message| {
            let (raw, key_len, value_len) = (self.raw, key.len(), value.len());
            // SAFETY: slices, as long as they say.
            unsafe { rocksdb_transaction_put_cf(raw, handle, key_at, key_len, value_at, value_len, message) };
        })
    }

    /// Commits.
    pub fn commit(self) -> Result<(), Failure> {
        // SAFETY: see the module's head.
        checked(|message| unsafe { rocksdb_transaction_commit(self.raw, message) })
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // SAFETY: once. Its locks go with it.
        unsafe { rocksdb_transaction_destroy(self.raw) }
    }
}
