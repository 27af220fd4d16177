//! Opening: the lock, the superblock, the partitions' manifests, the log's replay, the trees.
//!
//! Creating a database begins with `ALLUVIUM.tmp` and ends with its rename to `ALLUVIUM`, so a
//! creation that was cut short is known as such and begun again, and a database that lost its
//! superblock is never taken for an empty directory.

use crate::admission::Admission;
use crate::commit::Commit;
use crate::durability::Syncer;
use crate::holds::Holds;
use crate::locks::LockTable;
use crate::marks;
use crate::options::DEFAULT_PARTITIONS;
use crate::policy::StorePolicy;
use crate::replay::{self, Replayed};
use crate::store::Inner;
use crate::superblock::{self, Superblock};
use crate::trees::{NEXT_KEY, Recovered, SYSTEM, TreeId, Trees};
use crate::visibility::Visibility;
use crate::workers::Workers;
use crate::{Compression, Error, Options, Result};
use alluvium_codec::entry::Seq;
use alluvium_env::sync::Mutex;
use alluvium_env::sync::atomic::AtomicBool;
use alluvium_env::{Env, FileLock, OpenMode};
use alluvium_lsm::Partition;
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub(crate) const LOCK_NAME: &str = "LOCK";
pub(crate) const LOG_DIR: &str = "wal";
/// What the names of folders begin with in which readers keep the files of a sort. Where 16 lowercase hexadecimal digits
/// follow, they go when the store is opened.
pub const SORT_PREFIX: &str = "sort-";

/// What opening a store found and did.
#[derive(Debug, Clone, Default)]
pub struct OpenReport {
    /// The database was created.
    pub created: bool,
    /// It had been closed cleanly.
    pub clean: bool,
    /// Log records replayed.
    pub replayed_records: u64,
    /// Their bytes.
    pub replayed_bytes: u64,
    /// A torn tail of the log that was cut off: file, offset, bytes. What was in it had not been
    /// acknowledged under [`crate::Durability::Sync`].
    pub dropped: Option<(PathBuf, u64, u64)>,
    /// Torn tails of manifests that were cut off: file, offset, bytes. The flush or compaction that was
    /// being written down there is done again; nothing is lost.
    pub manifest_tails: Vec<(PathBuf, u64, u64)>,
    /// Numbers of operations lost to damage; only with [`Options::accept_log_damage`], unless nothing but files that
    /// [`crate::Store::ingest`] has made tells of it.
    pub lost: Vec<(Seq, Seq)>,
    /// How long opening took.
    pub took: Duration,
}

/// Opens or creates the store, without its threads.
pub(crate) fn open(env: Env, path: &Path, mut options: Options) -> Result<Arc<Inner>> {
    options.check()?;
    let started = env.clock.now();
    let lock = lock_directory(&env, path, &options)?;
    let (superblock, created) = read_or_begin(&env, path, &options)?;
    options.partitions = Some(superblock.partitions);
    let clock = env.clock.clone();
    let visibility = Visibility::new(0, clock, options.snapshot_max_age);
    let trees = Arc::new(Trees::new());
    let policy = Arc::new(StorePolicy::new(&visibility, &trees, &options));
    let jobs = (options.memory_bytes / 8).min(24 << 20);
    let budget = alluvium_lsm::Budget::with_shares(options.memory_bytes, options.memtable_bytes(), jobs);
    let lsm_options = lsm_options(&options, superblock);
    let shared = alluvium_lsm::Shared::new(env.clone(), lsm_options, budget, alluvium_lsm::Policies::from_one(&policy));
    let segments = log_segments(&env, path, created || options.accept_log_damage)?;
    let partitions = open_partitions(&shared, path, superblock, created)?;
    let read = replay::replay(&env, path, &options, superblock, &partitions, created).and_then(|read| {
        load_trees(&partitions[0], read.last, read.highest_tree, &trees)?;
        Ok(read)
    });
    let Replayed { log, mut report, last, damaged, .. } = read.inspect_err(|_| replay::withdraw(&partitions))?;
    // Nothing is missing that was not accepted, so what seems left over is.
    partitions.iter().try_for_each(|p| p.remove_left_overs().map(|()| p.limit_ranges()))?;
    remove_sorts(&env, path)?;
    if !created && log.is_as_made() {
        superblock.finish_again(&env, path)?;
    }
    let wal = Arc::new(log.start()?);
    let _first = policy.wal.set(wal.clone());
    if created {
        superblock.finish(&env, path)?;
    }
    visibility.recovered(last);
    report.created = created;
    let tails = partitions.iter().filter_map(|p| p.dropped_tail());
    report.manifest_tails = tails.map(|tail| (tail.path.clone(), tail.offset, tail.bytes)).collect();
    report.took = env.clock.now().saturating_sub(started);
    let (count, room) = (partitions.len(), options.memtable_bytes() / 2);
    let syncer = Syncer::new(env.clock.now());
    let inner = Arc::new(Inner {
        env,
        path: path.to_owned(),
        options,
        superblock,
        partitions,
        shared,
        wal,
        visibility,
        trees,
        locks: LockTable::new(),
        commit: Commit::new(last + 1),
        admission: Admission::new(room),
        workers: Workers::new(count),
        syncer,
        holds: Holds::default(),
        poisoned: OnceLock::new(),
        closed: AtomicBool::new(false),
        schema: Mutex::new(()),
        background_error: Mutex::new(None),
        damaged: AtomicBool::new(damaged),
        discard_wanted: AtomicBool::new(false),
        report,
        lock: Mutex::new(Some(lock)),
    });
    let _first = policy.inner.set(Arc::downgrade(&inner));
    let _debt = inner.measure_debt();
    // Without it the database is whole, only longer to open the next time.
    let _why_not = inner.trim_log(segments);
    Ok(inner)
}

/// The number of segments of the log. A database has one at least.
fn log_segments(env: &Env, path: &Path, may_be_missing: bool) -> Result<usize> {
    let dir = path.join(LOG_DIR);
    let segments = if env.fs.exists(&dir)? { env.fs.list(&dir)?.len() } else { 0 };
    if segments == 0 && !may_be_missing {
        let what = "the write-ahead log is missing: restore the directory from a backup";
        return Err(alluvium_env::Error::corrupt(&dir, 0, what).into());
    }
    Ok(segments)
}

/// Starts the workers and the syncing thread. Those that were started are in `handles` also if one of them cannot be had.
pub(crate) fn start_threads(inner: &Arc<Inner>, handles: &mut Vec<alluvium_env::thread::JoinHandle<()>>) -> Result<()> {
    if !inner.options.background {
        return Ok(());
    }
    let mut start = |name: &str, body: Box<dyn FnOnce() + Send>| match alluvium_env::thread::try_spawn(name, body) {
        Ok(handle) => {
            handles.push(handle);
            Ok(())
        }
        Err(cause) => Err(alluvium_env::Error::io("start a thread for", &inner.path, cause)),
    };
    let threads = inner.options.threads.unwrap_or_else(alluvium_env::thread::available_parallelism);
    let threads = threads.max(2);
    for at in 0..threads {
        let inner = inner.clone();
        let name = format!("alluvium-{at}");
        start(&name, Box::new(move || guarded(&inner, |inner| crate::workers::run(inner, threads))))?;
    }
    let syncing = inner.clone();
    start("alluvium-sync", Box::new(move || guarded(&syncing, crate::durability::run)))?;
    Ok(())
}

/// Runs a background thread; if it panics, the store is poisoned, so that nobody waits for it.
fn guarded(inner: &Arc<Inner>, body: impl FnOnce(&Arc<Inner>)) {
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(inner)));
    if let Err(panic) = outcome {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        inner.poison(Error::WorkerFailed(words.to_owned()));
    }
}

/// Makes sure of the directory and takes its lock.
fn lock_directory(env: &Env, path: &Path, options: &Options) -> Result<Box<dyn FileLock>> {
    let exists = env.fs.exists(path)?;
    if !exists && !options.create_if_missing {
        return Err(Error::NotADatabase(path.to_owned()));
    }
    if exists {
        check_contents(env, path, options)?;
    }
    if !env.fs.exists(&path.join(superblock::NAME))? {
        make_directory(env, path)?;
    }
    let lock = env.fs.try_lock(&path.join(LOCK_NAME))?;
    let lock = lock.ok_or_else(|| Error::InUse(path.to_owned()))?;
    if options.direct_io {
        // A file system that cannot do without the page cache says so now, not at the first flush.
        env.fs.open_direct(&path.join(LOCK_NAME), OpenMode::Read)?;
    }
    Ok(lock)
}

/// Makes the directory of a new database, with what is missing above it, and their names
/// durable. Also if it is there already: whoever made it need not have synced its name.
pub(crate) fn make_directory(env: &Env, path: &Path) -> Result<()> {
    Ok(alluvium_env::create_dir_durably(&env.fs, path)?)
}

/// Refuses a directory that is neither a database, nor empty, nor an unfinished creation.
fn check_contents(env: &Env, path: &Path, options: &Options) -> Result<()> {
    let entries = list(env, path)?;
    let has = |name: &str| entries.iter().any(|e| e.name == name);
    if has(superblock::NAME) {
        return Ok(());
    }
    if has(crate::checkpoint::listing::NAME) {
        return Err(Error::IsCheckpoint(path.to_owned()));
    }
    let parts = has("p000") && has(LOG_DIR);
    if parts && !has(superblock::TEMPORARY) {
        let file = path.join(superblock::NAME);
        let what = "the file is missing, though the directory holds a database: restore a backup, or save by `repair` what is \
                    whole";
        return Err(alluvium_env::Error::corrupt(&file, 0, what).into());
    }
    if !options.create_if_missing {
        return Err(Error::NotADatabase(path.to_owned()));
    }
    // What a creation makes is made after its temporary superblock: without that, a folder that
    // has such a name is somebody else's, and must not be removed.
    let begun = has(superblock::TEMPORARY);
    let made_first = [LOCK_NAME, superblock::NEXT];
    let ours = |name: &str| made_first.contains(&name) || begun && (is_ours(name) || name == superblock::TEMPORARY);
    if entries.iter().any(|e| !ours(&e.name)) {
        return Err(Error::ForeignDirectory(path.to_owned()));
    }
    Ok(())
}

/// What is in the directory of a store. A file is none, and what cannot be read may be one.
pub(crate) fn list(env: &Env, path: &Path) -> Result<Vec<alluvium_env::DirEntry>> {
    env.fs.list(path).map_err(|error| match error.is_not_a_directory() {
        true => Error::NotADatabase(path.to_owned()),
        false => error.into(),
    })
}

/// True for the names that creating a database makes.
fn is_ours(name: &str) -> bool {
    let partition = name.strip_prefix('p').is_some_and(|n| n.len() == 3 && n.parse::<u16>().is_ok());
    partition || name == LOG_DIR
}

/// Reads the superblock, or begins to create a database.
fn read_or_begin(env: &Env, path: &Path, options: &Options) -> Result<(Superblock, bool)> {
    if let Some(found) = Superblock::read(env, path)? {
        if let Some(asked) = options.partitions.filter(|p| *p != found.partitions) {
            let path = path.to_owned();
            return Err(Error::PartitionCount { path, found: found.partitions, asked });
        }
        return Ok((found, false));
    }
    for entry in env.fs.list(path)?.iter().filter(|e| is_ours(&e.name)) {
        marks::UNFINISHED_CREATION.hit();
        remove_tree(env, &path.join(&entry.name), entry.is_dir)?;
    }
    let partitions = options.partitions.unwrap_or(DEFAULT_PARTITIONS);
    let superblock = Superblock { database_id: env.rng.next_u64(), partitions };
    superblock.begin(env, path)?;
    Ok((superblock, true))
}

/// Removes what sorts left that were under way when the process ended. One that is still there, of a database that was
/// closed in this process, removes its files itself. What somebody has put there under another name stays, and what a
/// symbolic link leads to: only the link goes.
fn remove_sorts(env: &Env, path: &Path) -> Result<()> {
    for entry in env.fs.list(path)?.iter().filter(|entry| entry.is_dir && is_sort(&entry.name)) {
        let folder = path.join(&entry.name);
        if env.fs.remove(&folder).is_err() {
            for file in env.fs.list(&folder).unwrap_or_default() {
                let _left = env.fs.remove(&folder.join(&file.name));
            }
            let _left = env.fs.remove_dir(&folder);
        }
    }
    Ok(())
}

/// True for the name of a sort's folder: 16 lowercase hexadecimal digits behind the prefix.
fn is_sort(name: &str) -> bool {
    let digits = name.strip_prefix(SORT_PREFIX).unwrap_or_default();
    digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(crate) fn remove_tree(env: &Env, path: &Path, is_dir: bool) -> Result<()> {
    if !is_dir {
        return Ok(env.fs.remove(path)?);
    }
    for entry in env.fs.list(path)? {
        remove_tree(env, &path.join(&entry.name), entry.is_dir)?;
    }
    Ok(env.fs.remove_dir(path)?)
}

fn open_partitions(
    shared: &Arc<alluvium_lsm::Shared>,
    path: &Path,
    superblock: Superblock,
    create: bool,
) -> Result<Vec<Arc<Partition>>> {
    let dirs: Vec<_> = (0..superblock.partitions).map(|index| path.join(format!("p{index:03}"))).collect();
    for dir in dirs.iter().filter(|_| !create) {
        if !has_manifest(&shared.env, dir)? {
            let what = "the partition's manifest is missing: restore the directory from a backup";
            return Err(alluvium_env::Error::corrupt(dir, 0, what).into());
        }
    }
    let mut partitions = Vec::new();
    for (index, dir) in (0..).zip(&dirs) {
        match Partition::open(shared.clone(), index, dir) {
            Ok(partition) => partitions.push(Arc::new(partition)),
            Err(error) => {
                replay::withdraw(&partitions);
                return Err(error.into());
            }
        }
    }
    Ok(partitions)
}

/// An existing database has a manifest in every partition: without one, its data is lost, and
/// must not be taken for empty.
fn has_manifest(env: &Env, dir: &Path) -> Result<bool> {
    if !env.fs.exists(dir)? {
        return Ok(false);
    }
    let names = env.fs.list(dir)?;
    Ok(names.iter().filter_map(|e| e.name.strip_prefix("MANIFEST-")).any(|number| number.parse::<u64>().is_ok()))
}

/// Reads the registry of trees. New ids begin above all that it names, and above `highest`.
fn load_trees(partition: &Arc<Partition>, last: Seq, highest: u32, trees: &Trees) -> Result<()> {
    // No further than its own tree: what stands behind may have deltas, which nobody can fold yet.
    let end = (SYSTEM.0 + 1).to_be_bytes();
    let mut iter = partition.iter(partition.view(), last, Bound::Unbounded, Bound::Excluded(&end));
    let mut found = Recovered { next: 1, ..Recovered::default() };
    iter.seek(&SYSTEM.0.to_be_bytes())?;
    while iter.valid() && iter.key().starts_with(&SYSTEM.0.to_be_bytes()) {
        let key = iter.key().get(4..).unwrap_or(&[]);
        let id = key.get(1..).and_then(|id| id.first_chunk()).map(|id| TreeId(u32::from_be_bytes(*id)));
        match (key.first(), id) {
            (Some(b't'), Some(id)) => {
                let what = |_| {
                    alluvium_env::Error::corrupt(partition.dir(), 0, "the registry of trees names one that cannot be")
                };
                alluvium_codec::limits::tree_of(&id.0.to_be_bytes()).map_err(what)?;
                found.live.insert(id, iter.value().to_vec());
            }
            (Some(b'm'), Some(id)) => drop(found.multivalue.insert(id)),
            (Some(b'i'), Some(id)) => drop(found.indexes.insert(id)),
            _ => {
                if let (NEXT_KEY, Ok(bytes)) = (key, <[u8; 4]>::try_from(iter.value())) {
                    found.next = u32::from_le_bytes(bytes);
                }
            }
        }
        iter.next()?;
    }
    let above = found.live.keys().next_back().map_or(highest, |id| id.0.max(highest)).saturating_add(1);
    found.next = found.next.max(above);
    trees.recovered(found);
    Ok(())
}

fn lsm_options(options: &Options, superblock: Superblock) -> alluvium_lsm::Options {
    let mut lsm = alluvium_lsm::Options { database_id: superblock.database_id, ..alluvium_lsm::Options::default() };
    lsm.writer.block_bytes = options.block_bytes;
    lsm.writer.filter_bits_per_key = options.filter_bits_per_key;
    lsm.writer.compression = match options.compression {
        Compression::None => alluvium_sst::Compression::None,
        Compression::Lz4 => alluvium_sst::Compression::Lz4,
        Compression::Zstd(level) => alluvium_sst::Compression::Zstd { level },
    };
    // A job holds this much until it knows whether its output is worth a dictionary, so a small budget
    // gives smaller files a smaller one; 64 to 1, so that the copy in each file costs some 4%.
    lsm.dictionary_file_bytes = (options.memory_bytes as u64 / 32).clamp(1 << 20, 4 << 20);
    lsm.dictionary_bytes = (lsm.dictionary_file_bytes / 64) as usize;
    lsm.target_file_bytes = options.sorted_file_bytes();
    lsm.direct_io = options.direct_io;
    // Far below where an edit is refused.
    let most = alluvium_codec::limits::FULL_RANGE_BYTES as u64 / 4;
    lsm.max_range_bytes = (options.memory_bytes as u64 / 32 / u64::from(superblock.partitions)).clamp(64 << 10, most);
    options.tuning.apply(&mut lsm);
    lsm
}
