//! Opening a store: the lock, the superblock, the manifests of the partitions, the replay of the log, and the trees.
//!
//! Creating a database begins with `ALLUVIUM.tmp` and ends with its rename to `ALLUVIUM`. Therefore an unfinished
//! creation is recognised and restarted, and a database that lost its superblock is never mistaken for an empty
//! directory.

mod need;
mod replay;
mod room;

use super::{Closing, Store};
use crate::admission::{Admission, Debt};
use crate::claims::Claims;
use crate::commit::{Commit, CommitQueue};
use crate::durability::Syncer;
use crate::error::{Error, Result};
use crate::files::superblock::{self, Superblock};
use crate::files::{self, LOCK_NAME, LOG_DIR, listing, partition_dir};
use crate::health::Health;
use crate::holds::Holds;
use crate::locks::LockTable;
use crate::marks;
use crate::options::Options;
use crate::partitions::{self, Partitions};
use crate::poison::Poison;
use crate::policy::{LiveState, OwnerDefinitions, OwnerFold, SyncedLog};
use crate::reading::Reading;
use crate::reads::Reads;
use crate::report::{CutTail, OpenReport};
use crate::trees::Trees;
use crate::upkeep::Upkeep;
use crate::visibility::Visibility;
use crate::work::WorkSignal;
use alluvium_codec::entry::Seq;
use alluvium_env::sync::Mutex;
use alluvium_env::thread::{JoinHandle, available_parallelism, try_spawn};
use alluvium_env::{Env, FileLock, OpenMode};
use alluvium_lsm::{Budget, Policies, Shared};
use alluvium_wal::Wal;
use replay::{Replay, Replayed};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens or creates the store, without starting its threads.
pub(super) fn open(env: Env, path: &Path, options: Options) -> Result<Store> {
    match open_once(env.clone(), path, options.clone()) {
        // If no space can be freed, the first error is returned.
        Err(Error::NoSpaceToOpen { .. }) if room::make(&env, path, &options).unwrap_or(false) => {
            open_once(env, path, options)
        }
        opened => opened,
    }
}

fn open_once(env: Env, path: &Path, mut options: Options) -> Result<Store> {
    options.check()?;
    if options.read_only {
        options.create_if_missing = false;
        options.background = false;
    }
    let started = env.clock.now();
    // From here on every path of the store leads into this directory, even if the directory is renamed or replaced.
    let Locked { env, lock, reading } = lock_directory(&env, path, &options)?;
    let (superblock, created) = read_or_begin(&env, path, &options)?;
    options.partitions = Some(superblock.partitions);
    options.disk_reserve_bytes = Some(options.disk_reserve_at(&env, path));
    let options = Arc::new(options.fitted(env.fs.capacity_bytes(path).unwrap_or(u64::MAX)));
    let explain = |error| match created {
        true => error,
        false => need::explain(error, &env, path, superblock.partitions, &options),
    };
    let visibility = Visibility::new(0, env.clock.clone(), options.snapshot_max_age);
    let trees = Arc::new(Trees::new());
    let log_barrier = SyncedLog::new(&visibility);
    let definitions = OwnerDefinitions::new(options.definitions.clone(), &trees);
    let policies = Policies {
        liveness: Arc::new(LiveState { visibility: visibility.clone(), trees: trees.clone() }),
        trees: trees.clone(),
        log: log_barrier.clone(),
        fold: Arc::new(OwnerFold(options.fold.clone())),
        definitions: definitions.clone(),
    };
    let budget = Budget::with_shares(options.memory_bytes, options.memtable_bytes(), options.job_bytes());
    if let Some(reading) = &reading {
        reading.charge(&budget);
    }
    let lsm_options = options.lsm(superblock.database_id, superblock.partitions);
    let shared = Shared::new(env.clone(), lsm_options, budget, policies);
    let segments = log_segments(&env, path, created || options.accept_log_damage)?;
    let partitions = partitions::open(&shared, path, superblock.partitions, created).map_err(explain)?;
    let replay = Replay { env: &env, path, options: &options, superblock, partitions: &partitions, created };
    let read = replay.run().and_then(|read| {
        trees.load(&partitions[0], read.last, read.highest_tree)?;
        Ok(read)
    });
    let read = read.map_err(explain);
    let Replayed { log, mut report, last, damaged, .. } = read.inspect_err(|_| partitions::withdraw(&partitions))?;
    // All missing data was accepted as lost. Therefore a file that seems left over is not needed.
    partitions.iter().try_for_each(|p| p.remove_left_overs().map(|()| p.limit_ranges()))?;
    remove_sorts(&env, path)?;
    if !created && log.is_as_made() {
        superblock.finish_again(&env, path)?;
    }
    let wal = Arc::new(log.start().map_err(|error| explain(error.into()))?);
    log_barrier.set_wal(&wal);
    if created {
        superblock.finish(&env, path)?;
    }
    visibility.recovered(last);
    report.created = created;
    let tails = partitions.iter().filter_map(|p| p.dropped_tail());
    report.manifest_tails =
        tails.map(|tail| CutTail { path: tail.path.clone(), offset: tail.offset, bytes: tail.bytes }).collect();
    report.took = env.clock.now().saturating_sub(started);
    let path = path.to_owned();
    let recovered =
        Recovered { env, path, options, superblock, partitions, shared, wal, visibility, trees, report, last, lock };
    let store = recovered.compose(damaged);
    definitions.set_reads(&store.reads);
    store.admission.measure_debt();
    if !store.options.read_only {
        // If trimming fails, the database is intact, and the next open takes longer.
        let _untrimmed = store.upkeep.trim_log(segments);
    }
    Ok(store)
}

/// The state that was recovered from disk.
struct Recovered {
    env: Env,
    path: PathBuf,
    options: Arc<Options>,
    superblock: Superblock,
    partitions: Partitions,
    shared: Arc<Shared>,
    wal: Arc<Wal>,
    visibility: Arc<Visibility>,
    trees: Arc<Trees>,
    report: OpenReport,
    /// The last number found in the log and the files.
    last: Seq,
    lock: Box<dyn FileLock>,
}

impl Recovered {
    /// Builds the store from its parts. `damaged` is true if the log had damage, which was accepted.
    fn compose(self, damaged: bool) -> Store {
        let Self { env, path, options, superblock, partitions, shared, wal, visibility, trees, report, last, lock } =
            self;
        let (clock, work) = (env.clock.clone(), Arc::new(WorkSignal::default()));
        let health = Arc::new(Health::new(options.read_only.then(|| path.clone())));
        let debt = Debt::new(partitions.clone(), shared.budget.clone(), options.memory_bytes, options.memtable_bytes());
        let admission = Arc::new(Admission::new(health.clone(), clock.clone(), debt, options.max_batch_bytes()));
        let poison = Arc::new(Poison {
            path: path.clone(),
            health: health.clone(),
            visibility: visibility.clone(),
            admission: admission.clone(),
            work: work.clone(),
            wal: wal.clone(),
            partitions: partitions.clone(),
        });
        let syncer = Arc::new(Syncer::new(wal.clone(), poison.clone(), clock.clone(), &options));
        let holds = Arc::new(Holds::new(damaged));
        let commit = Arc::new(Commit {
            options: options.clone(),
            wal: wal.clone(),
            partitions: partitions.clone(),
            trees: trees.clone(),
            visibility: visibility.clone(),
            admission: admission.clone(),
            holds: holds.clone(),
            work: work.clone(),
            syncer: syncer.clone(),
            poison: poison.clone(),
            compressor: options.log_compressor(),
            clock: clock.clone(),
            queue: CommitQueue::new(last + 1),
        });
        let reads = Arc::new(Reads {
            health: health.clone(),
            partitions: partitions.clone(),
            visibility: visibility.clone(),
            trees: trees.clone(),
            cache: shared.cache.clone(),
            memory_bytes: options.memory_bytes,
        });
        let (locks, claims) = (LockTable::new(), Claims::new(env.clock.clone()));
        let (schema, lock, closing) = (Mutex::new(()), Mutex::new(Some(lock)), Mutex::new(Closing::default()));
        Store {
            env,
            path,
            options,
            superblock,
            partitions,
            shared,
            wal,
            health,
            poison,
            visibility,
            trees,
            holds,
            reads,
            admission,
            upkeep: Arc::new(Upkeep::new(clock, &commit)),
            commit,
            work,
            syncer,
            locks,
            claims,
            report,
            schema,
            lock,
            closing,
        }
    }
}

/// The number of segments of the log. A database has at least one segment.
fn log_segments(env: &Env, path: &Path, may_be_missing: bool) -> Result<usize> {
    let dir = path.join(LOG_DIR);
    let segments = if env.fs.exists(&dir)? { env.fs.list(&dir)?.len() } else { 0 };
    if segments == 0 && !may_be_missing {
        let what = "the write-ahead log is missing: restore the directory from a backup";
        return Err(alluvium_env::Error::corrupt(&dir, 0, what).into());
    }
    Ok(segments)
}

impl Store {
    /// Starts the workers and the syncing thread. If a thread cannot be started, closing the store ends the running
    /// ones.
    pub(super) fn start_threads(&self) -> Result<()> {
        if !self.options.background {
            return Ok(());
        }
        let threads = self.options.threads.unwrap_or_else(available_parallelism).max(2);
        for at in 0..threads {
            let upkeep = self.upkeep.clone();
            self.start_thread(&format!("alluvium-{at}"), move || upkeep.run_worker(threads))?;
        }
        let syncer = self.syncer.clone();
        self.start_thread("alluvium-sync", move || syncer.run())
    }

    /// Starts a background thread. A panic of the thread poisons the store, so that no other thread waits for it.
    fn start_thread(&self, name: &str, body: impl FnOnce() + Send + 'static) -> Result<()> {
        let poison = self.poison.clone();
        let guarded = move || {
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            if let Err(panic) = outcome {
                let words = panic.downcast_ref::<String>().map(String::as_str);
                let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
                poison.poison(Error::WorkerFailed(words.to_owned()));
            }
        };
        let started: std::io::Result<JoinHandle<()>> = try_spawn(name, guarded);
        let handle = started.map_err(|cause| alluvium_env::Error::io("start a thread for", &self.path, cause))?;
        self.closing.lock().threads.push(handle);
        Ok(())
    }
}

/// The directory of a store, held open and locked.
struct Locked {
    env: Env,
    lock: Box<dyn FileLock>,
    /// Set if the store is opened for reading only.
    reading: Option<Reading>,
}

/// Checks or makes the directory, holds it open, and locks it.
fn lock_directory(env: &Env, path: &Path, options: &Options) -> Result<Locked> {
    let exists = env.fs.exists(path)?;
    if !exists {
        if !options.create_if_missing {
            return Err(Error::NotADatabase(path.to_owned()));
        }
        files::make_directory(env, path)?;
    }
    let held = files::hold(env, path)?.ok_or_else(|| Error::NotADatabase(path.to_owned()))?;
    let reading = options.read_only.then(|| Reading::new(&held, path, options));
    let env = reading.as_ref().map_or(&held, |reading| &reading.env);
    check_contents(env, path, options)?;
    if exists && !env.fs.exists(&path.join(superblock::NAME))? {
        files::make_directory(env, path)?;
    }
    let lock_path = path.join(LOCK_NAME);
    let lock = env.fs.try_lock(&lock_path)?.ok_or_else(|| Error::in_use(env, path, &lock_path))?;
    if options.direct_io {
        // A file system without direct I/O is refused here, not at the first flush. A reader may have no lock file.
        let probe = if options.read_only { superblock::NAME } else { LOCK_NAME };
        env.fs.open_direct(&path.join(probe), OpenMode::Read)?;
    }
    Ok(Locked { env: env.clone(), lock, reading })
}

/// Refuses a directory that is not a database, not empty, and not an unfinished creation.
fn check_contents(env: &Env, path: &Path, options: &Options) -> Result<()> {
    let entries = files::list(env, path)?;
    let has = |name: &str| entries.iter().any(|e| e.name == name);
    if has(superblock::NAME) {
        return Ok(());
    }
    if has(listing::NAME) {
        return Err(Error::IsCheckpoint(path.to_owned()));
    }
    let parts = has(&partition_dir(0)) && has(LOG_DIR);
    if parts && !has(superblock::TEMPORARY) {
        let file = path.join(superblock::NAME);
        let what =
            "the file is missing, though the directory holds a database: restore a backup, or salvage the whole parts";
        return Err(alluvium_env::Error::corrupt(&file, 0, what).into());
    }
    if !options.create_if_missing {
        return Err(Error::NotADatabase(path.to_owned()));
    }
    // A creation makes its temporary superblock first. Without this file, a directory with such a name was not made by
    // a creation, and must not be removed.
    let begun = has(superblock::TEMPORARY);
    let made_first = [LOCK_NAME, superblock::NEXT];
    let ours = |name: &str| made_first.contains(&name) || begun && (is_ours(name) || name == superblock::TEMPORARY);
    if entries.iter().any(|e| !ours(&e.name)) {
        return Err(Error::ForeignDirectory(path.to_owned()));
    }
    Ok(())
}

/// True for the names of directories that the creation of a database makes.
fn is_ours(name: &str) -> bool {
    files::partition_of_dir(name).is_some() || name == LOG_DIR
}

/// Reads the superblock, or begins to create a database.
fn read_or_begin(env: &Env, path: &Path, options: &Options) -> Result<(Superblock, bool)> {
    if let Some(found) = Superblock::read(env, path)? {
        if let Some(requested) = options.partitions.filter(|p| *p != found.partitions) {
            let path = path.to_owned();
            return Err(Error::PartitionCount { path, found: found.partitions, requested });
        }
        return Ok((found, false));
    }
    for entry in env.fs.list(path)?.iter().filter(|e| is_ours(&e.name)) {
        marks::UNFINISHED_CREATION.hit();
        files::remove_all(env, &path.join(&entry.name), entry.is_dir)?;
    }
    let superblock = Superblock { database_id: env.rng.next_u64(), partitions: options.new_partitions() };
    superblock.begin(env, path)?;
    Ok((superblock, true))
}

/// Removes the files of sorts that were running when the process ended. A sort of this process, over a database that
/// was closed, removes its files itself. Directories with other names are kept. If a name is a symbolic link, only the
/// link is removed.
fn remove_sorts(env: &Env, path: &Path) -> Result<()> {
    for entry in env.fs.list(path)?.iter().filter(|entry| entry.is_dir && files::is_sort_dir(&entry.name)) {
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
