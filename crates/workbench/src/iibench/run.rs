//! The harness.

use super::engine::{Engine, Session};
use super::failure::Failure;
use super::meter::{Meter, Tally};
use super::report::{Interval, Query, Report, Sample, State};
use super::row::Row;
use super::settings::Settings;
use alluvium_cli::process::{load_average, peak_resident_bytes, resident_bytes, thread_cpu_time};
use alluvium_env::{Env, Fs};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The number of entries that a query reads.
const QUERY_ENTRIES: usize = 10;

/// Runs the benchmark on an empty engine with its files in the directory `dir`, and closes the
/// engine. `line` receives each interval at its end.
///
/// # Errors
/// Errors of the engine.
pub fn run(
    name: &str,
    engine: Box<dyn Engine>,
    dir: &Path,
    settings: &Settings,
    line: &mut dyn FnMut(&Interval),
) -> Result<Report, Failure> {
    let env = Env::os();
    let load_before = load_average();
    let mut report = Report { engine: name.to_owned(), settings: settings.clone(), ..Report::default() };
    let tally = Tally::default();
    let meter = Meter::new(env.clock.clone());
    let sampler = Sampler { env: &env, dir, started: env.clock.now() };
    load(&*engine, settings, &sampler, &tally, &meter, &mut report, line)?;
    // Settling runs on another thread, because the meter does not count the reads of its own
    // thread.
    let before = meter.read(&tally);
    apart(|| engine.settle())?;
    report.settle = meter.read(&tally).since(&before);
    report.sizes = apart(|| engine.sizes())?;
    report.disk_bytes = disk_bytes(&*env.fs, dir)?;
    if report.rows > 0 {
        let asking = Asking { engine: &*engine, settings, rows: report.rows, meter: &meter, tally: &tally };
        asking.all(State::Inserted, &mut report.queries)?;
        if settings.rewrite > 0 {
            apart(|| rewrite(&*engine, settings, report.rows))?;
            asking.all(State::Rewritten, &mut report.queries)?;
            apart(|| engine.merge())?;
            asking.all(State::Merged, &mut report.queries)?;
        }
    }
    report.peak_memory_bytes = peak_resident_bytes().unwrap_or(0);
    report.load_average = (load_before, load_average());
    report.figures = report.summarize();
    engine.close()?;
    Ok(report)
}

/// Runs `act` on another thread.
fn apart<T: Send>(act: impl FnOnce() -> T + Send) -> T {
    alluvium_env::thread::scope(|scope| {
        let thread = scope.spawn(act);
        match thread.join() {
            Ok(value) => value,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The time between two samples.
const SAMPLE: Duration = Duration::from_secs(1);

/// Takes a sample each second.
struct Sampler<'a> {
    env: &'a Env,
    dir: &'a Path,
    started: Duration,
}

impl Sampler<'_> {
    /// The time until the next sample is due.
    fn wait(&self, samples: &[Sample]) -> Duration {
        let due = self.started + SAMPLE * (samples.len() as u32 + 1);
        due.saturating_sub(self.env.clock.now())
    }

    /// Adds a sample if one is due.
    fn sample(&self, inserted: u64, samples: &mut Vec<Sample>) {
        if !self.wait(samples).is_zero() {
            return;
        }
        let before: u64 = samples.iter().map(|sample| sample.put).sum();
        let last = samples.last().map_or(0, |sample| sample.file_bytes);
        samples.push(Sample {
            seconds: self.env.clock.now().saturating_sub(self.started).as_secs_f64(),
            put: inserted.saturating_sub(before),
            // A file may be removed while the directory is listed.
            file_bytes: disk_bytes(&*self.env.fs, self.dir).unwrap_or(last),
            memory_bytes: resident_bytes().unwrap_or(0),
        });
    }
}

fn load(
    engine: &dyn Engine,
    settings: &Settings,
    sampler: &Sampler<'_>,
    tally: &Tally,
    meter: &Meter,
    report: &mut Report,
    line: &mut dyn FnMut(&Interval),
) -> Result<(), Failure> {
    let next = AtomicU64::new(0);
    let first = meter.read(tally);
    let (env, started) = (sampler.env, sampler.started);
    alluvium_env::thread::scope(|scope| {
        for _ in 0..settings.loaders {
            let next = &next;
            scope.spawn(move || {
                tally.enter();
                tally.leave(load_batches(engine, settings, tally, next));
            });
        }
        let mut last = first.clone();
        let mut mark = settings.interval;
        loop {
            let limit = (settings.limit_seconds > 0.0).then(|| Duration::from_secs_f64(settings.limit_seconds));
            let left = limit.map(|limit| (started + limit).saturating_sub(env.clock.now()));
            if left == Some(Duration::ZERO) {
                tally.stop();
            }
            let left = left.filter(|_| !tally.is_stopped()).unwrap_or(Duration::MAX);
            let ended = tally.wait(mark, settings.loaders, left.min(sampler.wait(&report.samples)));
            sampler.sample(tally.inserted(), &mut report.samples);
            if tally.inserted() >= mark || ended {
                let now = meter.read(tally);
                if now.inserted > last.inserted {
                    let interval = Interval { rows: now.inserted, cost: now.since(&last) };
                    line(&interval);
                    report.intervals.push(interval);
                }
                mark = (now.inserted / settings.interval + 1) * settings.interval;
                last = now;
            }
            if ended {
                report.load = last.since(&first);
                report.rows = last.inserted;
                tally.release();
                return;
            }
        }
    });
    tally.take_failure().map_or(Ok(()), Err)
}

/// Runs one loader, which inserts batches until no rows are left or the run is stopped.
fn load_batches(engine: &dyn Engine, settings: &Settings, tally: &Tally, next: &AtomicU64) -> Result<(), Failure> {
    let mut session = engine.session()?;
    let mut rows = Vec::new();
    while !tally.is_stopped() {
        let from = next.fetch_add(settings.batch, Ordering::Relaxed);
        let to = (from + settings.batch).min(settings.rows);
        if from >= to {
            break;
        }
        let began = thread_cpu_time();
        rows.clear();
        rows.extend((from..to).map(|id| Row::new(settings.seed, id, settings.padding)));
        session.prepare(&rows);
        let made = thread_cpu_time();
        session.insert()?;
        let inserted = thread_cpu_time();
        tally.add(to - from, made.saturating_sub(began), inserted.saturating_sub(made), settings.interval);
    }
    Ok(())
}

/// Writes a share of the rows again, each chosen at random, and settles the engine.
fn rewrite(engine: &dyn Engine, settings: &Settings, rows: u64) -> Result<(), Failure> {
    let mut random = fastrand::Rng::with_seed(settings.seed);
    let mut session = engine.session()?;
    for _ in 0..(rows * settings.rewrite / 100).max(1) {
        let mut row = Row::new(settings.seed, random.u64(0..rows), settings.padding);
        row.data = row.data.chars().rev().collect();
        session.rewrite(&[row])?;
    }
    drop(session);
    engine.settle()
}

/// The context of the queries.
struct Asking<'a> {
    engine: &'a dyn Engine,
    settings: &'a Settings,
    rows: u64,
    meter: &'a Meter,
    tally: &'a Tally,
}

impl Asking<'_> {
    /// Runs the queries over each index.
    fn all(&self, state: State, found: &mut Vec<Query>) -> Result<(), Failure> {
        for index in 0..=self.settings.indexes {
            // Index 0 consists of the rows themselves, so nothing is fetched.
            for fetch in [false, true].into_iter().take(if index == 0 { 1 } else { 2 }) {
                found.extend(self.index(state, index, fetch)?);
            }
        }
        Ok(())
    }

    /// Runs range queries that begin at random entries; `None` if the engine has no such index.
    fn index(&self, state: State, index: usize, fetch: bool) -> Result<Option<Query>, Failure> {
        let (settings, count) = (self.settings, self.settings.queries);
        if count == 0 {
            return Ok(None);
        }
        let before = self.meter.read(self.tally);
        let found = apart(|| {
            let mut random = fastrand::Rng::with_seed(settings.seed ^ index as u64);
            let mut session = self.engine.session()?;
            query_all(&mut *session, count, index, fetch, &mut || {
                Row::new(settings.seed, random.u64(0..self.rows), settings.padding)
            })
        })?;
        let cost = self.meter.read(self.tally).since(&before);
        let each = |all: f64| all / count as f64;
        Ok(found.map(|Asked { entries, cpu, times }| Query {
            index,
            state,
            fetched: fetch,
            entries: each(entries as f64),
            cpu_us: each(cpu.as_secs_f64() * 1e6),
            wall_us: each(cost.seconds * 1e6),
            p50_us: median(times).as_secs_f64() * 1e6,
            read_calls: each(cost.read_calls as f64),
            read_kb: each(cost.read_kb as f64),
        }))
    }
}

/// The results and the costs of queries.
struct Asked {
    entries: usize,
    cpu: Duration,
    /// The wall clock of each.
    times: Vec<Duration>,
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Runs the queries.
fn query_all(
    session: &mut dyn Session,
    count: u64,
    index: usize,
    fetch: bool,
    next: &mut dyn FnMut() -> Row,
) -> Result<Option<Asked>, Failure> {
    let clock = Env::os().clock;
    let mut asked = Asked { entries: 0, cpu: Duration::ZERO, times: Vec::new() };
    for _ in 0..count {
        let from = next();
        let (began, start) = (thread_cpu_time(), clock.now());
        let Some(entries) = session.query(index, &from, QUERY_ENTRIES, fetch)? else { return Ok(None) };
        asked.times.push(clock.now().saturating_sub(start));
        asked.cpu += thread_cpu_time().saturating_sub(began);
        if entries == 0 {
            return Err(format!("the row {} was inserted, and index {index} does not have it", from.id).into());
        }
        asked.entries += entries;
    }
    Ok(Some(asked))
}

/// Bytes of all files below a directory.
fn disk_bytes(fs: &dyn Fs, dir: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in fs.list(dir)? {
        bytes += if entry.is_dir { disk_bytes(fs, &dir.join(&entry.name))? } else { entry.len };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests;
