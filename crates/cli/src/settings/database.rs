//! Arguments for the database and the collection, and the opening of both.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::notes::{self, Fields, Noted};
use crate::session;
use crate::settings::access::{Access, Writing};
use crate::settings::size;
use crate::signals::{self, Stop};
use crate::streams;
use crate::text;
use alluvium::{
    Aggregate, Builder, ChangeRetention, Collection, CutTail, Database, Document, Durability, ErrorKind, Find,
    LostNumbers, Map, ReadOnly, Scan, Value,
};
use alluvium_env::Env;
use alluvium_env::sync::{Condvar, Mutex};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// The minimum memory budget of a database in bytes.
pub(crate) const LEAST_MEMORY: u64 = 8 << 20;

/// The database, of a command that reads or writes it.
#[derive(Debug, clap::Args)]
pub struct DatabaseArgs<A: Access = Writing> {
    /// The database, a directory
    #[arg(value_name = "DB")]
    path: PathBuf,
    /// Memory budget for caches and write buffers in bytes, such as 64M or 1G; at least 8M, by default 256M
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// Wait this many seconds if another process has the database open; by default the command fails at once
    #[arg(long, value_name = "SECONDS")]
    wait: Option<u64>,
    /// Disk space in bytes that writes leave free for flushes and compactions; 0 for none, by default two fifths of the memory budget plus 64M, and less on small disks
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    disk_reserve: Option<u64>,
    #[command(flatten)]
    access: A,
}

/// The collection and its database.
#[derive(Debug, clap::Args)]
pub struct CollectionArgs<A: Access = Writing> {
    /// The database.
    #[command(flatten)]
    pub database: DatabaseArgs<A>,
    /// The collection: a name, or LOGICAL.NAME (`main` is the default logical database)
    #[arg(value_name = "COLLECTION")]
    pub name: String,
}

/// The durability of writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Acknowledge {
    /// After the log is synced to the disk
    Sync,
    /// The log is synced every 100 ms; a crash may lose the writes since
    Periodic,
    /// One sync at the end of the command
    Bulk,
}

impl From<Acknowledge> for Durability {
    fn from(when: Acknowledge) -> Self {
        match when {
            Acknowledge::Sync => Self::Sync,
            Acknowledge::Periodic => Self::Periodic,
            Acknowledge::Bulk => Self::Bulk,
        }
    }
}

/// When the writes of a command are durable.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct WriteArgs {
    /// When the writes are made durable; the same on the command line and in the shell
    #[arg(long, value_enum, default_value = "bulk")]
    sync: Acknowledge,
}

/// A collection that a command writes to.
pub(crate) struct Written<'a> {
    /// The collection; its writes have the durability that the command chose.
    pub collection: Collection,
    database: &'a Database,
    sync: Acknowledge,
}

impl Written<'_> {
    /// Makes the writes so far durable, unless the user chose not to wait for the disk.
    pub(crate) fn make_durable(&self) -> Outcome {
        match self.sync {
            Acknowledge::Sync | Acknowledge::Bulk => Ok(self.database.sync()?),
            Acknowledge::Periodic => Ok(()),
        }
    }
}

impl<A: Access> DatabaseArgs<A> {
    /// The directory.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Options for opening the database. They never create it. Recorded changes are kept, because only a server knows for
    /// how long.
    pub(crate) fn builder(&self) -> Outcome<Builder> {
        let mut builder = Database::builder().create_if_missing(false).change_retention(ChangeRetention::UNLIMITED);
        if let Some(bytes) = self.disk_reserve {
            builder = builder.disk_reserve(bytes);
        }
        Ok(match self.memory_bytes()? {
            Some(bytes) => {
                if !session::is_open() {
                    crate::allocator::prepare(bytes);
                }
                builder.memory(bytes)
            }
            None => builder,
        })
    }

    /// Options for opening the database. They create it if it does not exist, unless the path is inside another
    /// database.
    pub(crate) fn creating(&self) -> Outcome<Builder> {
        let builder = self.builder()?.create_if_missing(true);
        if self.is_new(&builder)? {
            files::refuse_inside(&Env::os(), &self.path)?;
        }
        Ok(builder)
    }

    /// Options for opening the database, with snapshots that may live for any length of time.
    pub(crate) fn with_long_snapshots(&self) -> Outcome<Builder> {
        const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
        Ok(self.builder()?.snapshot_max_age(YEAR).snapshot_max_debt(u64::MAX))
    }

    /// True if opening with these options would create a database.
    pub(crate) fn is_new(&self, builder: &Builder) -> Outcome<bool> {
        Ok(!session::is_open() && !builder.is_there(&self.path)?)
    }

    /// The memory budget given by `--memory`.
    pub fn memory_bytes(&self) -> Outcome<Option<usize>> {
        if self.memory.is_some_and(|bytes| bytes < LEAST_MEMORY) {
            return Err(Failure::Usage("--memory: a database needs at least 8M".to_owned()));
        }
        let large = |_| Failure::Usage("--memory is more than this machine can address".to_owned());
        self.memory.map(|bytes| usize::try_from(bytes).map_err(large)).transpose()
    }

    /// Opens the database, runs the step, and closes the database.
    pub fn with<T>(&self, step: impl FnOnce(&Database) -> Outcome<T>) -> Outcome<T> {
        self.with_builder(self.builder()?, step)
    }

    /// Like [`DatabaseArgs::with`]; creates a database that does not exist.
    pub fn with_created<T>(&self, step: impl FnOnce(&Database) -> Outcome<T>) -> Outcome<T> {
        self.with_builder(self.creating()?, step)
    }

    /// Opens the database. If another process has it open, waits for that process.
    fn open_waiting(&self, builder: &Builder) -> Outcome<Database> {
        const TRY_INTERVAL: Duration = Duration::from_millis(50);
        let clock = Env::os().clock;
        let until = clock.now().saturating_add(Duration::from_secs(self.wait.unwrap_or(0)));
        let (nothing, never) = (Mutex::new(()), Condvar::new());
        loop {
            match builder.clone().open(&self.path) {
                Err(error) if error.kind() == ErrorKind::InUse && clock.now() < until => {
                    signals::check()?;
                    never.wait_for(&mut nothing.lock(), TRY_INTERVAL);
                }
                opened => return Ok(opened?),
            }
        }
    }

    /// Like [`DatabaseArgs::with`], with other options.
    pub(crate) fn with_builder<T>(&self, builder: Builder, step: impl FnOnce(&Database) -> Outcome<T>) -> Outcome<T> {
        if let Some(open) = session::database() {
            return step(&open);
        }
        let database = self.access.open(builder, &|builder| self.open_waiting(&builder))?;
        report(&database);
        let result = step(&database);
        let closed = database.close();
        let value = result?;
        closed?;
        Ok(value)
    }
}

/// A collection for reading: a collection of a database, or a read-only store.
pub(crate) enum Readable {
    Collection(Collection),
    ReadOnly(ReadOnly),
}

impl Readable {
    /// The document with this `_id`.
    pub(crate) fn get(&self, id: Value) -> Outcome<Option<Document>> {
        Ok(match self {
            Self::Collection(collection) => collection.get(id)?,
            Self::ReadOnly(store) => store.get(id)?,
        })
    }

    /// Some fields of the document with this `_id`.
    pub(crate) fn get_fields(&self, id: Value, paths: &[&str]) -> Outcome<Option<Map>> {
        Ok(match self {
            Self::Collection(collection) => collection.get_fields(id, paths)?,
            Self::ReadOnly(store) => store.get_fields(id, paths)?,
        })
    }

    /// A query for the documents that match a filter.
    pub(crate) fn find(&self, filter: Map) -> Find {
        match self {
            Self::Collection(collection) => collection.find(filter),
            Self::ReadOnly(store) => store.find(filter),
        }
    }

    /// A pipeline over the documents.
    pub(crate) fn aggregate(&self, stages: Value) -> Aggregate {
        match self {
            Self::Collection(collection) => collection.aggregate(stages),
            Self::ReadOnly(store) => store.aggregate(stages),
        }
    }

    /// A scan over all documents.
    pub(crate) fn scan(&self) -> Scan {
        match self {
            Self::Collection(collection) => collection.scan(),
            Self::ReadOnly(store) => store.scan(),
        }
    }

    /// The paths that contain a field which no document is known to have.
    pub(crate) fn unknown<'p>(&self, paths: &[&'p str]) -> Vec<&'p str> {
        if paths.is_empty() { Vec::new() } else { Fields::of(self).unknown(paths.iter().copied()) }
    }

    /// Prints notes about paths that do not exist in any printed document.
    pub(crate) fn note(&self, unknown: &[&str]) {
        if !unknown.is_empty() {
            Fields::of(self).print_of_paths(unknown.iter().copied());
        }
    }

    /// The number of documents.
    pub(crate) fn count(&self, stop: &Stop) -> Outcome<u64> {
        Ok(match self {
            Self::Collection(collection) => collection.find(Map::new()).stop_when(stop.flag()).count()?,
            Self::ReadOnly(store) => store.count(),
        })
    }
}

impl Noted for Readable {
    fn name(&self) -> String {
        match self {
            Self::Collection(collection) => Noted::name(collection),
            Self::ReadOnly(store) => Noted::name(store),
        }
    }

    fn shared_names(&self) -> Vec<String> {
        match self {
            Self::Collection(collection) => collection.shared_names(),
            Self::ReadOnly(store) => store.shared_names(),
        }
    }

    fn documents(&self) -> Scan {
        self.scan()
    }
}

impl<A: Access> DatabaseArgs<A> {
    /// Opens the read-only store at the path, without a lock; `None` if the path has none. `index_interval` selects one
    /// of the store's indexes.
    pub(crate) fn read_only(&self, index_interval: Option<u64>) -> Outcome<Option<ReadOnly>> {
        if session::database().is_some() || !ReadOnly::is_at(&self.path)? {
            return Ok(None);
        }
        let mut options = ReadOnly::options().index_interval(index_interval);
        if let Some(bytes) = self.memory_bytes()? {
            options = options.memory(bytes);
        }
        Ok(Some(options.open(&self.path)?))
    }
}

impl<A: Access> DatabaseArgs<A> {
    /// Refuses a read-only store, with advice.
    pub(crate) fn refuse_read_only(&self, instead: &str) -> Outcome {
        if session::is_open() { Ok(()) } else { refuse_read_only(&self.path, instead) }
    }
}

/// Refuses a read-only store at the path, with advice.
pub(crate) fn refuse_read_only(path: &std::path::Path, instead: &str) -> Outcome {
    match ReadOnly::is_at(path)? {
        true => {
            Err(Failure::Other(format!("{} is a read-only store, which never changes: {instead}", text::path(path))))
        }
        false => Ok(()),
    }
}

impl<A: Access> CollectionArgs<A> {
    /// Opens the database or read-only store, runs the step on the collection, and closes it.
    pub(crate) fn read<T>(&self, step: impl FnOnce(&Readable) -> Outcome<T>) -> Outcome<T> {
        self.read_by(None, self.database.builder()?, step)
    }

    /// Like [`CollectionArgs::read`], with a chosen index of a read-only store, and with other options for a database.
    pub(crate) fn read_by<T>(
        &self,
        index_interval: Option<u64>,
        builder: Builder,
        step: impl FnOnce(&Readable) -> Outcome<T>,
    ) -> Outcome<T> {
        if let Some(store) = self.database.read_only(index_interval)? {
            store.require(&self.name)?;
            return step(&Readable::ReadOnly(store));
        }
        if index_interval.is_some() {
            let what = format!(
                "--index-interval is for read-only stores, and {} is a database",
                text::path(&self.database.path)
            );
            return Err(Failure::Usage(what));
        }
        self.database.with_builder(builder, |database| {
            let collection = session::collection(database, &self.name);
            notes::print_if_missing(&collection);
            step(&Readable::Collection(collection))
        })
    }

    /// Opens the database, runs a step that writes to the collection, and closes it.
    pub(crate) fn write<T>(&self, writes: WriteArgs, step: impl FnOnce(&Written<'_>) -> Outcome<T>) -> Outcome<T> {
        self.write_with(writes, self.database.builder()?, step)
    }

    /// Like [`CollectionArgs::write`], with other options.
    pub(crate) fn write_with<T>(
        &self,
        writes: WriteArgs,
        builder: Builder,
        step: impl FnOnce(&Written<'_>) -> Outcome<T>,
    ) -> Outcome<T> {
        let WriteArgs { sync } = writes;
        self.database.with_builder(builder, |database| {
            let collection = session::collection(database, &self.name).with_durability(sync.into());
            let written = Written { collection, database, sync };
            step(&written).inspect_err(|_| {
                // Writes before the failure remain, so they are made durable. The first failure is reported.
                let _second = written.make_durable();
            })
        })
    }

    /// Like [`CollectionArgs::with`], for a change of collections or indexes. The change is durable when the command
    /// succeeds.
    pub(crate) fn change<T>(&self, step: impl FnOnce(&Collection) -> Outcome<T>) -> Outcome<T> {
        self.database.with(|database| {
            let changed = step(&session::collection(database, &self.name))?;
            database.sync()?;
            Ok(changed)
        })
    }

    /// Opens the database, runs the step on the collection, and closes it.
    pub(crate) fn with<T>(&self, step: impl FnOnce(&Collection) -> Outcome<T>) -> Outcome<T> {
        self.database.with(|database| step(&session::collection(database, &self.name)))
    }
}

/// Prints notes on standard error about the state in which the database was found at opening.
fn report(database: &Database) {
    let report = database.report();
    let path = text::path(database.path());
    let mut notes = String::new();
    if report.created {
        let partitions = text::counted(database.partitions().into(), "partition");
        notes += &format!("created the database {path} with {partitions}\n");
    }
    let gone = if database.is_read_only() { "left out" } else { "removed" };
    if let Some(CutTail { path, offset, bytes }) = &report.dropped {
        notes += &format!(
            "note: the log ended within a record; the last {} of {} (from offset {offset}) had not been acknowledged \
             as durable, and were {gone}\n",
            text::counted(*bytes, "byte"),
            text::path(path),
        );
    }
    for CutTail { path, offset, bytes } in &report.manifest_tails {
        notes += &format!(
            "note: the manifest {} ended within an edit; its last {} (from offset {offset}) were {gone}, and nothing is lost\n",
            text::path(path),
            text::counted(*bytes, "byte"),
        );
    }
    for LostNumbers { first, last } in &report.lost {
        notes += &format!("note: the operations {first} to {last} are lost because the log is damaged\n");
    }
    // If standard error is closed, there is nowhere to report it.
    let _closed = streams::error().write_all(notes.as_bytes());
}
