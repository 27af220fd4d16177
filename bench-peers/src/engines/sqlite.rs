//! SQLite: documents as JSONB under their `_id`, and keys and values as blobs.

mod documents;
mod pairs;

use super::Place;
use alluvium_env::sync::{Mutex, MutexGuard};
use alluvium_workbench::peer::Failure;
use rusqlite::Connection;
use std::path::PathBuf;

pub(crate) use documents::open as open_documents;
pub(crate) use pairs::open as open_pairs;

/// Rows of a table without a rowid are cut into overflow pages if they have more than a quarter of a page. These pages
/// hold most comments whole.
const PAGE_BYTES: u32 = 16 << 10;
/// SQLite maps no more than this.
const MAP_BYTES_MAX: u64 = 0x7fff_0000;

/// A database file. Each session has a connection of its own.
struct Sqlite {
    path: PathBuf,
    /// Of each connection.
    cache_bytes: u64,
    /// SQLite has one writer at a time. Others wait here, since they would sleep otherwise, and try again.
    writer: Mutex<()>,
}

impl Sqlite {
    /// Opens the file, and creates it with this table if it does not exist.
    fn open(place: &Place<'_>, table: &str) -> Result<Self, Failure> {
        // One more connection settles.
        let connections = place.threads as u64 + 1;
        let cache_bytes = place.memory_bytes / connections;
        let sqlite = Self { path: place.dir.join("data.sqlite"), cache_bytes, writer: Mutex::new(()) };
        sqlite.connect()?.execute_batch(table)?;
        Ok(sqlite)
    }

    /// A connection. With `synchronous` NORMAL the log is written at each commit, and synced before a checkpoint.
    fn connect(&self) -> Result<Connection, Failure> {
        let connection = Connection::open(&self.path)?;
        connection.execute_batch(&format!(
            "PRAGMA page_size = {PAGE_BYTES}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
             PRAGMA cache_size = -{}; PRAGMA mmap_size = {MAP_BYTES_MAX}; PRAGMA temp_store = MEMORY;",
            self.cache_bytes / 1024,
        ))?;
        Ok(connection)
    }

    fn write(&self) -> MutexGuard<'_, ()> {
        self.writer.lock()
    }

    /// Moves the log into the database file.
    fn settle(&self) -> Result<(), Failure> {
        let _writer = self.write();
        Ok(self.connect()?.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?)
    }
}
