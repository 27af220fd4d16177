//! Calls into RocksDB's C interface, as `rocksdb/c.h` declares it.
//!
//! Safety, for every `unsafe` here: pointers come from the matching `create` or `open`, are never null (RocksDB ends the
//! process where it has no memory), and are given back once, by `Drop`; iterators and batches borrow or belong to what
//! they are used with; a database may be used by any thread at once, a batch or an iterator by one; bytes handed in are
//! read before the call returns; those handed out live as long as the value that holds them; a message about an error
//! is a string that ends with 0 and is given back to `rocksdb_free`.
#![allow(unsafe_code)]

use alluvium_workbench::iibench::Failure;
use std::ffi::{CStr, CString, c_char, c_int, c_uchar, c_void};
use std::marker::PhantomData;
use std::path::Path;
use std::ptr;

macro_rules! opaque {
    ($($name:ident)*) => { $(#[repr(C)] struct $name(c_void);)* };
}
opaque! { Db Options TableOptions Cache FilterPolicy Handle RawBatch WriteOptions ReadOptions FlushOptions RawIterator Pinned WaitOptions }
opaque! { TransactionDb }

mod transactions;

pub(super) use transactions::TransactionDatabase;

type Message = *mut *mut c_char;

unsafe extern "C" {
    fn rocksdb_options_create() -> *mut Options;
    fn rocksdb_options_destroy(options: *mut Options);
    fn rocksdb_options_set_create_if_missing(options: *mut Options, on: c_uchar);
    fn rocksdb_options_set_create_missing_column_families(options: *mut Options, on: c_uchar);
    fn rocksdb_options_set_compression(options: *mut Options, kind: c_int);
    fn rocksdb_options_set_bottommost_compression(options: *mut Options, kind: c_int);
    fn rocksdb_options_set_compression_options(
        options: *mut Options,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
    );
    fn rocksdb_options_set_compression_options_zstd_max_train_bytes(options: *mut Options, bytes: c_int);
    fn rocksdb_options_set_bottommost_compression_options(
        options: *mut Options,
        window_bits: c_int,
        level: c_int,
        strategy: c_int,
        max_dict_bytes: c_int,
        enabled: c_uchar,
    );
    fn rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(
        options: *mut Options,
        bytes: c_int,
        enabled: c_uchar,
    );
    fn rocksdb_options_set_db_write_buffer_size(options: *mut Options, bytes: usize);
    fn rocksdb_options_set_use_direct_reads(options: *mut Options, on: c_uchar);
    fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(options: *mut Options, on: c_uchar);
    fn rocksdb_options_set_block_based_table_factory(options: *mut Options, table: *mut TableOptions);
    fn rocksdb_block_based_options_create() -> *mut TableOptions;
    fn rocksdb_block_based_options_destroy(table: *mut TableOptions);
    fn rocksdb_block_based_options_set_block_cache(table: *mut TableOptions, cache: *mut Cache);
    fn rocksdb_block_based_options_set_cache_index_and_filter_blocks(table: *mut TableOptions, on: c_uchar);
    fn rocksdb_block_based_options_set_block_size(table: *mut TableOptions, bytes: usize);
    fn rocksdb_block_based_options_set_filter_policy(table: *mut TableOptions, policy: *mut FilterPolicy);
    fn rocksdb_block_based_options_set_index_type(table: *mut TableOptions, kind: c_int);
    fn rocksdb_block_based_options_set_partition_filters(table: *mut TableOptions, on: c_uchar);
    fn rocksdb_block_based_options_set_pin_top_level_index_and_filter(table: *mut TableOptions, on: c_uchar);
    fn rocksdb_filterpolicy_create_bloom_full(bits_per_key: f64) -> *mut FilterPolicy;
    fn rocksdb_cache_create_lru(bytes: usize) -> *mut Cache;
    fn rocksdb_cache_destroy(cache: *mut Cache);
    fn rocksdb_open_column_families(
        options: *const Options,
        name: *const c_char,
        count: c_int,
        names: *const *const c_char,
        each: *const *const Options,
        handles: *mut *mut Handle,
        message: Message,
    ) -> *mut Db;
    fn rocksdb_column_family_handle_destroy(handle: *mut Handle);
    fn rocksdb_close(db: *mut Db);
    fn rocksdb_free(pointer: *mut c_void);
    fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    fn rocksdb_readoptions_create() -> *mut ReadOptions;
    fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    fn rocksdb_flushoptions_create() -> *mut FlushOptions;
    fn rocksdb_flushoptions_destroy(options: *mut FlushOptions);
    fn rocksdb_flush_cf(db: *mut Db, options: *const FlushOptions, handle: *mut Handle, message: Message);
    fn rocksdb_wait_for_compact_options_create() -> *mut WaitOptions;
    fn rocksdb_wait_for_compact_options_destroy(options: *mut WaitOptions);
    fn rocksdb_wait_for_compact(db: *mut Db, options: *mut WaitOptions, message: Message);
    fn rocksdb_compact_range_cf(
        db: *mut Db,
        handle: *mut Handle,
        start: *const c_char,
        start_len: usize,
        limit: *const c_char,
        limit_len: usize,
    );
    fn rocksdb_property_int_cf(db: *mut Db, handle: *mut Handle, name: *const c_char, value: *mut u64) -> c_int;
    fn rocksdb_writebatch_create() -> *mut RawBatch;
    fn rocksdb_writebatch_clear(batch: *mut RawBatch);
    fn rocksdb_writebatch_destroy(batch: *mut RawBatch);
    fn rocksdb_writebatch_put_cf(
        batch: *mut RawBatch,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
    );
    fn rocksdb_put_cf(
        db: *mut Db,
        options: *const WriteOptions,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        value: *const c_char,
        value_len: usize,
        message: Message,
    );
    fn rocksdb_delete_cf(
        db: *mut Db,
        options: *const WriteOptions,
        handle: *mut Handle,
        key: *const c_char,
        key_len: usize,
        message: Message,
    );
    fn rocksdb_write(db: *mut Db, options: *const WriteOptions, batch: *mut RawBatch, message: Message);
    fn rocksdb_create_iterator_cf(db: *mut Db, options: *const ReadOptions, handle: *mut Handle) -> *mut RawIterator;
    fn rocksdb_iter_destroy(iterator: *mut RawIterator);
    fn rocksdb_iter_seek(iterator: *mut RawIterator, key: *const c_char, len: usize);
    fn rocksdb_iter_valid(iterator: *const RawIterator) -> c_uchar;
    fn rocksdb_iter_next(iterator: *mut RawIterator);
    fn rocksdb_iter_key(iterator: *const RawIterator, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_value(iterator: *const RawIterator, len: *mut usize) -> *const c_char;
    fn rocksdb_iter_get_error(iterator: *const RawIterator, message: Message);
    fn rocksdb_get_pinned_cf(
        db: *mut Db,
        options: *const ReadOptions,
        handle: *mut Handle,
        key: *const c_char,
        len: usize,
        message: Message,
    ) -> *mut Pinned;
    fn rocksdb_pinnableslice_value(pinned: *const Pinned, len: *mut usize) -> *const c_char;
    fn rocksdb_pinnableslice_destroy(pinned: *mut Pinned);
}

/// Runs a call that leaves a message when it fails.
fn checked<T>(call: impl FnOnce(Message) -> T) -> Result<T, Failure> {
    let mut message = ptr::null_mut();
    let value = call(&raw mut message);
    if message.is_null() {
        return Ok(value);
    }
    // SAFETY: see the module's head.
    let text = unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned();
    // SAFETY: once.
    unsafe { rocksdb_free(message.cast()) };
    Err(format!("RocksDB: {text}").into())
}

/// The options with which a database is opened.
pub(super) struct Config {
    pub cache_bytes: usize,
    pub write_buffer_bytes: usize,
    pub direct: bool,
    pub compression: c_int,
    pub bottommost_compression: c_int,
    /// Bytes of a data block before compression.
    pub block_bytes: usize,
    /// Filters and indexes in blocks of 4 KiB, each read and cached on its own.
    pub partition_filters: bool,
    /// A dictionary of each file for zstd, on all levels.
    pub dictionary: Option<Dictionary>,
}

/// How dictionaries are trained.
pub(super) struct Dictionary {
    pub bytes_max: c_int,
    /// Bytes of a file that it is trained with.
    pub training_bytes_max: c_int,
}

impl Config {
    /// Options of a database with these settings.
    ///
    /// # Safety
    /// The caller destroys the options, once.
    unsafe fn options(&self) -> *mut Options {
        // SAFETY: see the module's head. The cache and the table options are counted inside, so that ours can go.
        unsafe {
            let options = rocksdb_options_create();
            rocksdb_options_set_create_if_missing(options, 1);
            rocksdb_options_set_create_missing_column_families(options, 1);
            rocksdb_options_set_compression(options, self.compression);
            rocksdb_options_set_bottommost_compression(options, self.bottommost_compression);
            if let Some(dictionary) = &self.dictionary {
                let (max, training) = (dictionary.bytes_max, dictionary.training_bytes_max);
                rocksdb_options_set_compression_options(options, WINDOW_BITS, LEVEL, 0, max);
                rocksdb_options_set_compression_options_zstd_max_train_bytes(options, training);
                rocksdb_options_set_bottommost_compression_options(options, WINDOW_BITS, LEVEL, 0, max, 1);
                rocksdb_options_set_bottommost_compression_options_zstd_max_train_bytes(options, training, 1);
            }
            rocksdb_options_set_db_write_buffer_size(options, self.write_buffer_bytes);
            rocksdb_options_set_use_direct_reads(options, self.direct.into());
            rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, self.direct.into());
            let (table, cache) = (rocksdb_block_based_options_create(), rocksdb_cache_create_lru(self.cache_bytes));
            rocksdb_block_based_options_set_block_cache(table, cache);
            rocksdb_block_based_options_set_cache_index_and_filter_blocks(table, 1);
            rocksdb_block_based_options_set_block_size(table, self.block_bytes);
            // The policy belongs to the table options from here on.
            rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom_full(10.0));
            if self.partition_filters {
                rocksdb_block_based_options_set_index_type(table, TWO_LEVEL_INDEX);
                rocksdb_block_based_options_set_partition_filters(table, 1);
                rocksdb_block_based_options_set_pin_top_level_index_and_filter(table, 1);
            }
            rocksdb_options_set_block_based_table_factory(options, table);
            rocksdb_block_based_options_destroy(table);
            rocksdb_cache_destroy(cache);
            options
        }
    }
}

/// RocksDB's defaults: the window is unused by zstd, and the level is the compression's own.
const WINDOW_BITS: c_int = -14;
const LEVEL: c_int = 32_767;

/// RocksDB's number of the kind of index that partitioned filters need.
const TWO_LEVEL_INDEX: c_int = 2;

/// An open database with its column families.
pub(super) struct Database {
    db: *mut Db,
    /// The database with transactions that `db` is below; null without them.
    transactions: *mut TransactionDb,
    handles: Vec<*mut Handle>,
    options: *mut Options,
    write_options: *mut WriteOptions,
    read_options: *mut ReadOptions,
}

// SAFETY: a database may be used by any thread at once, and so may its handles and options, which no code changes.
unsafe impl Send for Database {}
// SAFETY: likewise.
unsafe impl Sync for Database {}

impl Database {
    /// Opens a database with these column families, and creates what does not exist; the first is `default`.
    pub fn open(path: &Path, families: &[String], config: &Config) -> Result<Self, Failure> {
        Self::open_as(path, families, config, false)
    }

    fn open_as(path: &Path, families: &[String], config: &Config, transactions: bool) -> Result<Self, Failure> {
        let path = CString::new(path.as_os_str().as_encoded_bytes())?;
        let names: Vec<CString> = families.iter().map(|name| CString::new(name.as_str())).collect::<Result<_, _>>()?;
        // `names` lives until the end of this function, and the pointers into it are not used later.
        let pointers: Vec<*const c_char> = names.iter().map(|name| name.as_ptr()).collect();
        Self::open_named(&path, &pointers, config, transactions)
    }

    /// The names end with 0 and live in the caller.
    fn open_named(path: &CStr, names: &[*const c_char], config: &Config, transactions: bool) -> Result<Self, Failure> {
        let count = c_int::try_from(names.len())?;
        let mut handles = vec![ptr::null_mut(); names.len()];
        // SAFETY: see the module's head; the options are destroyed below or by `Drop`.
        unsafe {
            let options = config.options();
            let each = vec![options.cast_const(); names.len()];
            let opened = checked(|message| {
                let (path, names, each, handles) = (path.as_ptr(), names.as_ptr(), each.as_ptr(), handles.as_mut_ptr());
                match transactions {
                    false => {
                        let db = rocksdb_open_column_families(options, path, count, names, each, handles, message);
                        (db, ptr::null_mut())
                    }
                    true => transactions::open(options, path, count, names, each, handles, message),
                }
            });
            let (db, transactions) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    rocksdb_options_destroy(options);
                    return Err(error);
                }
            };
            // The write options' defaults: with the log, without a sync.
            let (write_options, read_options) = (rocksdb_writeoptions_create(), rocksdb_readoptions_create());
            Ok(Self { db, transactions, handles, options, write_options, read_options })
        }
    }

    /// Compacts every column family as a whole.
    pub fn merge(&self) {
        for handle in &self.handles {
            // SAFETY: see the module's head. Null bounds stand for all keys.
            unsafe { rocksdb_compact_range_cf(self.db, *handle, ptr::null(), 0, ptr::null(), 0) };
        }
    }

    /// Writes all memtables, and waits until no compaction is due.
    pub fn settle(&self) -> Result<(), Failure> {
        // SAFETY: see the module's head.
        unsafe {
            let options = rocksdb_flushoptions_create();
            let mut handles = self.handles.iter();
            let flushed =
                handles.try_for_each(|at| checked(|message| rocksdb_flush_cf(self.db, options, *at, message)));
            rocksdb_flushoptions_destroy(options);
            flushed?;
            let options = rocksdb_wait_for_compact_options_create();
            let waited = checked(|message| rocksdb_wait_for_compact(self.db, options, message));
            rocksdb_wait_for_compact_options_destroy(options);
            waited
        }
    }

    /// A property of a column family that is a number.
    pub fn number(&self, family: usize, name: &CStr) -> Result<u64, Failure> {
        let mut value = 0;
        // SAFETY: a string that ends with 0, and a place for the answer.
        let code = unsafe { rocksdb_property_int_cf(self.db, self.handles[family], name.as_ptr(), &raw mut value) };
        if code == 0 { Ok(value) } else { Err(format!("RocksDB does not know {name:?}").into()) }
    }

    /// Writes a batch.
    pub fn write(&self, batch: &mut Batch) -> Result<(), Failure> {
        // SAFETY: see the module's head.
        checked(|message| unsafe { rocksdb_write(self.db, self.write_options, batch.0, message) })
    }

    /// Writes one pair.
    pub fn put_one(&self, family: usize, key: &[u8], value: &[u8]) -> Result<(), Failure> {
        let (handle, key_at, value_at) = (self.handles[family], key.as_ptr().cast(), value.as_ptr().cast());
        checked(|message| {
            // SAFETY: slices, as long as they say.
            unsafe {
                let options = self.write_options;
                rocksdb_put_cf(self.db, options, handle, key_at, key.len(), value_at, value.len(), message);
            }
        })
    }

    /// Deletes one key.
    pub fn delete_one(&self, family: usize, key: &[u8]) -> Result<(), Failure> {
        let (handle, key_at) = (self.handles[family], key.as_ptr().cast());
        // SAFETY: a slice, as long as it says.
        checked(|message| unsafe {
            rocksdb_delete_cf(self.db, self.write_options, handle, key_at, key.len(), message);
        })
    }

    /// Adds a pair to a batch.
    pub fn put(&self, batch: &mut Batch, family: usize, key: &[u8], value: &[u8]) {
        let (key_at, value_at) = (key.as_ptr().cast(), value.as_ptr().cast());
        // SAFETY: slices, as long as they say; the handle is one of this database.
        unsafe {
            rocksdb_writebatch_put_cf(batch.0, self.handles[family], key_at, key.len(), value_at, value.len());
        }
    }

    /// The value of a key in `value`; false if there is none.
    pub fn get(&self, family: usize, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure> {
        let (db, handle) = (self.db, self.handles[family]);
        // SAFETY: a slice, as long as it says.
        let pinned = checked(|message| unsafe {
            rocksdb_get_pinned_cf(db, self.read_options, handle, key.as_ptr().cast(), key.len(), message)
        })?;
        // SAFETY: this is its only use.
        Ok(unsafe { take(pinned, value) })
    }

    /// An iterator at the first key of a column family at or above this one.
    pub fn seek(&self, family: usize, key: &[u8]) -> Walk<'_> {
        // SAFETY: a slice, as long as it says; the iterator borrows the database.
        let iterator = unsafe {
            let iterator = rocksdb_create_iterator_cf(self.db, self.read_options, self.handles[family]);
            rocksdb_iter_seek(iterator, key.as_ptr().cast(), key.len());
            iterator
        };
        Walk { iterator, _database: PhantomData }
    }
}

/// Moves what was read into `value`. Returns false for a null pointer: the key does not exist.
///
/// # Safety
/// The pointer is not used later.
unsafe fn take(pinned: *mut Pinned, value: &mut Vec<u8>) -> bool {
    if pinned.is_null() {
        return false;
    }
    value.clear();
    let mut len = 0;
    // SAFETY: the bytes live as long as `pinned`, which goes once.
    unsafe {
        let at = rocksdb_pinnableslice_value(pinned, &raw mut len);
        if len > 0 {
            value.extend_from_slice(std::slice::from_raw_parts(at.cast(), len));
        }
        rocksdb_pinnableslice_destroy(pinned);
    }
    true
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: once each, and nothing that borrows the database is left.
        unsafe {
            self.handles.iter().for_each(|handle| rocksdb_column_family_handle_destroy(*handle));
            match self.transactions.is_null() {
                true => rocksdb_close(self.db),
                false => transactions::close(self.db, self.transactions),
            }
            rocksdb_readoptions_destroy(self.read_options);
            rocksdb_writeoptions_destroy(self.write_options);
            rocksdb_options_destroy(self.options);
        }
    }
}

/// A write batch, of one thread.
pub(super) struct Batch(*mut RawBatch);

impl Batch {
    pub fn new() -> Self {
        // SAFETY: see the module's head.
        Self(unsafe { rocksdb_writebatch_create() })
    }

    pub fn clear(&mut self) {
        // SAFETY: see the module's head.
        unsafe { rocksdb_writebatch_clear(self.0) }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        // SAFETY: once.
        unsafe { rocksdb_writebatch_destroy(self.0) }
    }
}

/// A key and a value.
type Pair<'a> = (&'a [u8], &'a [u8]);

/// A walk over the keys of a column family.
pub(super) struct Walk<'a> {
    iterator: *mut RawIterator,
    _database: PhantomData<&'a Database>,
}

impl Walk<'_> {
    /// The key and value that it is on; `None` behind the last.
    pub fn pair(&self) -> Result<Option<Pair<'_>>, Failure> {
        // SAFETY: the bytes stay until the iterator moves, for which it would be borrowed mutably.
        unsafe {
            if rocksdb_iter_valid(self.iterator) == 0 {
                return checked(|message| rocksdb_iter_get_error(self.iterator, message)).map(|()| None);
            }
            let (mut key_len, mut value_len) = (0, 0);
            let key: *const u8 = rocksdb_iter_key(self.iterator, &raw mut key_len).cast();
            let value: *const u8 = rocksdb_iter_value(self.iterator, &raw mut value_len).cast();
            let slice = |at, len| if len == 0 { &[][..] } else { std::slice::from_raw_parts(at, len) };
            Ok(Some((slice(key, key_len), slice(value, value_len))))
        }
    }

    /// To the next key. Only from one: not behind the last.
    pub fn next(&mut self) {
        // SAFETY: see the module's head; an iterator that is not valid is left alone.
        unsafe {
            if rocksdb_iter_valid(self.iterator) != 0 {
                rocksdb_iter_next(self.iterator);
            }
        }
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        // SAFETY: once.
        unsafe { rocksdb_iter_destroy(self.iterator) }
    }
}
