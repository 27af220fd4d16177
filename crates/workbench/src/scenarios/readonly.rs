//! Random gets from read-only stores: measures every combination of the parameters, in trials that
//! run in random order. Each trial opens the store again. The results are medians and quartiles of
//! the rates.

use crate::keys::{Generator, KEY_BYTES};
use alluvium::{ReadOnly, Result};
use alluvium_cli::process::{Usage, cpu_time, peak_resident_bytes};
use alluvium_env::{Clock, Env};
use alluvium_store::{Durability, Options, Store};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

mod trial;

pub use trial::{Quartiles, quartiles};

/// The parameters. Each value of a list is combined with all values of the other lists.
#[derive(Debug, Clone, Serialize)]
pub struct Settings {
    /// Bytes of keys and values.
    pub data_bytes: Vec<u64>,
    /// Bytes of a value; keys have 16.
    pub value_bytes: Vec<usize>,
    /// Keys for each index entry. An index file is built for each of these values.
    pub index_intervals: Vec<u64>,
    /// The share of gets of existing keys, 0 to 1.
    pub find_rates: Vec<f64>,
    /// The numbers of threads that read.
    pub threads: Vec<usize>,
    /// Trials of each combination.
    pub trials: u32,
    /// How long a trial runs.
    pub duration: Duration,
    /// Bytes of a data block before compression.
    pub block_bytes: usize,
    /// The memory budget for reads.
    pub memory_bytes: usize,
    /// The memory budget for builds.
    pub build_memory_bytes: usize,
    /// True if the same gets are also run on an ordinary store with the same pairs.
    pub ordinary: bool,
    /// The seed of the keys and of the order of trials.
    pub seed: u64,
}

/// The cost of building a store. Costs are zero for a store of an earlier run.
#[derive(Debug, Clone, Serialize)]
pub struct Built {
    /// The path of the store.
    pub path: PathBuf,
    /// True for an ordinary store, for comparison.
    pub ordinary: bool,
    /// The number of pairs.
    pub pairs: u64,
    /// Bytes of keys and values.
    pub raw_bytes: u64,
    /// Bytes of the files of the store.
    pub disk_bytes: u64,
    /// Wall clock time.
    pub seconds: f64,
    /// Processor time, including the generation of the pairs.
    pub cpu_seconds: f64,
    /// Bytes written to intermediate sorted runs.
    pub run_bytes: u64,
    /// The peak resident memory of the process so far, in bytes.
    pub peak_memory_bytes: u64,
}

/// One combination of the parameters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Combination {
    /// True for an ordinary store.
    pub ordinary: bool,
    /// Bytes of keys and values.
    pub data_bytes: u64,
    /// Bytes of a value.
    pub value_bytes: usize,
    /// Keys for each index entry; `None` for an ordinary store, and for a store without index
    /// files.
    pub index_interval: Option<u64>,
    /// The share of existing keys.
    pub find_rate: f64,
    /// The number of threads.
    pub threads: usize,
}

/// The results of a combination.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    /// The combination.
    #[serde(flatten)]
    pub combination: Combination,
    /// Gets a second.
    pub rate: Quartiles,
    /// Processor time of a get in microseconds, over all threads.
    pub cpu_us: Quartiles,
    /// The share of gets that found their key, over all trials.
    pub found: f64,
    /// System calls that read, for each get.
    pub reads: f64,
}

/// All results.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The parameters.
    pub settings: Settings,
    /// Stores that were built.
    pub built: Vec<Built>,
    /// The combinations.
    pub found: Vec<Found>,
}

/// Progress of a run.
pub enum Event<'a> {
    /// A store is being built: its path, the pairs written so far, and the total.
    Building(&'a Path, u64, u64),
    /// Trials that have ended, and the total.
    Trials(usize, usize),
}

/// Runs everything in the directory `dir`. Stores of an earlier run are reused.
///
/// # Errors
/// Errors of the stores.
pub fn readonly(dir: &Path, settings: &Settings, progress: &mut dyn FnMut(Event<'_>)) -> Result<Report> {
    let env = Env::os();
    let mut built = Vec::new();
    for data_bytes in &settings.data_bytes {
        for value_bytes in &settings.value_bytes {
            let place = Place { dir, data_bytes: *data_bytes, value_bytes: *value_bytes, settings };
            built.extend(place.build(&env, progress)?);
            if settings.ordinary {
                built.extend(place.fill_ordinary(&env, progress)?);
            }
        }
    }
    let mut runs: Vec<(Combination, Vec<trial::Trial>)> =
        combinations(settings).into_iter().map(|combination| (combination, Vec::new())).collect();
    let mut order: Vec<usize> = (0..settings.trials).flat_map(|_| 0..runs.len()).collect();
    fastrand::Rng::with_seed(settings.seed).shuffle(&mut order);
    for (done, at) in order.iter().enumerate() {
        progress(Event::Trials(done, order.len()));
        let (combination, trials) = &mut runs[*at];
        let place = Place { dir, data_bytes: combination.data_bytes, value_bytes: combination.value_bytes, settings };
        trials.push(place.trial(&env, combination, done as u64)?);
    }
    let found = runs.into_iter().map(|(combination, trials)| trial::found(combination, &trials)).collect();
    Ok(Report { settings: settings.clone(), built, found })
}

/// All combinations of the parameters. An ordinary store has no index interval.
fn combinations(settings: &Settings) -> Vec<Combination> {
    let mut intervals: Vec<(bool, Option<u64>)> =
        settings.index_intervals.iter().map(|interval| (false, Some(*interval))).collect();
    if intervals.is_empty() {
        intervals.push((false, None));
    }
    if settings.ordinary {
        intervals.push((true, None));
    }
    let mut all = Vec::new();
    for data_bytes in &settings.data_bytes {
        for value_bytes in &settings.value_bytes {
            for (ordinary, index_interval) in &intervals {
                for find_rate in &settings.find_rates {
                    for threads in &settings.threads {
                        all.push(Combination {
                            ordinary: *ordinary,
                            data_bytes: *data_bytes,
                            value_bytes: *value_bytes,
                            index_interval: *index_interval,
                            find_rate: *find_rate,
                            threads: *threads,
                        });
                    }
                }
            }
        }
    }
    all
}

/// The stores of one data size and one length of values.
struct Place<'a> {
    dir: &'a Path,
    data_bytes: u64,
    value_bytes: usize,
    settings: &'a Settings,
}

/// Measurements of a store that is being filled.
struct Filling {
    started: Duration,
    cpu: Duration,
}

impl Filling {
    fn begin(env: &Env) -> Self {
        Self { started: env.clock.now(), cpu: cpu_time() }
    }

    fn end(self, env: &Env, path: PathBuf, ordinary: bool, pairs: u64, raw_bytes: u64, disk_bytes: u64) -> Built {
        Built {
            path,
            ordinary,
            pairs,
            raw_bytes,
            disk_bytes,
            seconds: env.clock.now().saturating_sub(self.started).as_secs_f64(),
            cpu_seconds: cpu_time().saturating_sub(self.cpu).as_secs_f64(),
            run_bytes: 0,
            peak_memory_bytes: peak_resident_bytes().unwrap_or(0),
        }
    }
}

/// The number of pairs between two progress reports.
const TELL_EVERY: u64 = 1 << 16;
/// The number of pairs in a batch of the ordinary store.
const BATCH: u64 = 256;

impl Place<'_> {
    fn path(&self, kind: &str) -> PathBuf {
        self.dir.join(format!("{kind}-{}-{}", self.data_bytes, self.value_bytes))
    }

    fn pairs(&self) -> u64 {
        (self.data_bytes / (KEY_BYTES + self.value_bytes) as u64).max(1)
    }

    /// The generator of keys. Keys in the first half of its key space are in the stores; keys in
    /// the second half are not.
    fn keys(&self) -> Generator {
        Generator::new(self.settings.seed, 2 * self.pairs(), self.value_bytes)
    }

    fn build(&self, env: &Env, progress: &mut dyn FnMut(Event<'_>)) -> Result<Option<Built>> {
        let (path, pairs) = (self.path("readonly"), self.pairs());
        if ReadOnly::is_at(&path)? && ReadOnly::open(&path)?.count() == pairs {
            return Ok(None);
        }
        let filling = Filling::begin(env);
        let build = ReadOnly::build(&path, "bench")
            .memory(self.settings.build_memory_bytes)
            .block_bytes(self.settings.block_bytes)
            .index_intervals(self.settings.index_intervals.iter().copied());
        let mut build = build.start_key_values()?;
        let (mut keys, mut value) = (self.keys(), Vec::new());
        for place in 0..pairs {
            keys.next_pair(&mut value);
            build.add(&keys.key(place), &value)?;
            if place.is_multiple_of(TELL_EVERY) {
                progress(Event::Building(&path, place, pairs));
            }
        }
        let report = build.finish(Vec::new())?;
        let built = filling.end(env, path, false, report.pairs, report.raw_bytes, report.disk_bytes);
        Ok(Some(Built { run_bytes: report.run_bytes, ..built }))
    }

    fn options(&self, memory_bytes: usize) -> Options {
        Options { memory_bytes, block_bytes: self.settings.block_bytes.max(1 << 10), ..Options::default() }
    }

    fn fill_ordinary(&self, env: &Env, progress: &mut dyn FnMut(Event<'_>)) -> Result<Option<Built>> {
        let (path, pairs) = (self.path("ordinary"), self.pairs());
        let done = path.with_extension("done");
        if env.fs.exists(&done).map_err(alluvium_store::Error::from)? {
            return Ok(None);
        }
        let filling = Filling::begin(env);
        let store = Store::open(env.clone(), &path, self.options(self.settings.build_memory_bytes))?;
        let tree = store.create_trees(&[b"kv"])?[0];
        let (mut keys, mut value) = (self.keys(), Vec::new());
        let mut place = 0;
        while place < pairs {
            let mut batch = store.batch();
            for _ in 0..BATCH.min(pairs - place) {
                keys.next_pair(&mut value);
                batch.put(tree, &keys.key(place), &value);
                place += 1;
            }
            store.write(batch, Durability::Bulk)?;
            if place.is_multiple_of(TELL_EVERY) {
                progress(Event::Building(&path, place, pairs));
            }
        }
        store.sync()?;
        store.wait_for_compaction()?;
        let disk_bytes = store.stats().disk_bytes;
        store.close()?;
        // This file is created last, so that the store of an interrupted run is not mistaken for a
        // complete one.
        env.fs.open(&done, alluvium_env::OpenMode::CreateNew).map_err(alluvium_store::Error::from)?;
        let raw_bytes = pairs * (KEY_BYTES + self.value_bytes) as u64;
        Ok(Some(filling.end(env, path, true, pairs, raw_bytes, disk_bytes)))
    }

    fn trial(&self, env: &Env, combination: &Combination, number: u64) -> Result<trial::Trial> {
        let memory_bytes = self.settings.memory_bytes;
        if combination.ordinary {
            let store = Store::open(env.clone(), &self.path("ordinary"), self.options(memory_bytes))?;
            let Some((tree, _)) = store.trees().first().cloned() else {
                return Err(alluvium_store::Error::NotADatabase(self.path("ordinary")).into());
            };
            let trial = self.gets(env, combination, number, &|key, value| Ok(store.get(tree, key, value)?));
            store.close()?;
            return trial;
        }
        let options = ReadOnly::options().memory(memory_bytes).index_interval(combination.index_interval);
        let store = options.open(self.path("readonly"))?;
        self.gets(env, combination, number, &|key, value| Ok(store.pairs().get(key, value)?))
    }

    /// Gets random keys on each thread until the time is over.
    fn gets(&self, env: &Env, combination: &Combination, number: u64, get: &Get<'_>) -> Result<trial::Trial> {
        let (gets, found) = (AtomicU64::new(0), AtomicU64::new(0));
        let failure = alluvium_env::sync::Mutex::new(None);
        let (clock, pairs, duration) = (&*env.clock, self.pairs(), self.settings.duration);
        let (before, started) = (Usage::now(), clock.now());
        let cpu = cpu_time();
        alluvium_env::thread::scope(|scope| {
            for thread in 0..combination.threads {
                let (gets, found, failure, keys) = (&gets, &found, &failure, self.keys());
                let seed = self.settings.seed ^ (number << 16) ^ thread as u64;
                scope.spawn(move || {
                    let reading = Reading { clock, until: started + duration, pairs, keys };
                    match reading.run(get, combination.find_rate, seed) {
                        Ok((got, hit)) => {
                            gets.fetch_add(got, Ordering::Relaxed);
                            found.fetch_add(hit, Ordering::Relaxed);
                        }
                        Err(error) => *failure.lock() = Some(error),
                    }
                });
            }
        });
        let seconds = clock.now().saturating_sub(started).as_secs_f64();
        let cpu_seconds = cpu_time().saturating_sub(cpu).as_secs_f64();
        if let Some(error) = failure.into_inner() {
            return Err(error);
        }
        let reads = Usage::now().since(&before).read_calls;
        Ok(trial::Trial { gets: gets.into_inner(), found: found.into_inner(), seconds, cpu_seconds, reads })
    }
}

/// Gets the value of a key; false if the key does not exist.
type Get<'a> = dyn Fn(&[u8], &mut Vec<u8>) -> Result<bool> + Sync + 'a;

/// The context of a thread of a trial.
struct Reading<'a> {
    clock: &'a dyn Clock,
    until: Duration,
    pairs: u64,
    keys: Generator,
}

impl Reading<'_> {
    /// Runs the gets. Returns the number of gets, and the number of gets that found their key.
    fn run(self, get: &Get<'_>, find_rate: f64, seed: u64) -> Result<(u64, u64)> {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut gets, mut found, mut value) = (0, 0, Vec::new());
        loop {
            for _ in 0..16 {
                let known = random.f64() < find_rate;
                let place = random.u64(0..self.pairs) + if known { 0 } else { self.pairs };
                found += u64::from(get(&self.keys.key(place), &mut value)?);
                gets += 1;
            }
            if self.clock.now() >= self.until {
                return Ok((gets, found));
            }
        }
    }
}
