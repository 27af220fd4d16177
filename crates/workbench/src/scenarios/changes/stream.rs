//! A change stream beside a load, and the times of events after their writes.

use super::{Settings, with_database};
use crate::scenarios::documents;
use crate::scenarios::run::{Latency, histogram, latency_of};
use alluvium::{ChangeStream, Collection, Database, Durability, Map, Result, Value};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::process::Usage;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::{Clock, Env};
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// A stream that has waited this long for an event lacks it.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of text in a document whose event is timed.
const TEXT_BYTES: usize = 300;

/// A stream beside a load, until it has returned the events of all documents; then another stream over the same events.
#[derive(Debug, Clone, Serialize)]
pub struct Read {
    /// Documents a second, until the load was acknowledged.
    pub load_rate: f64,
    /// The events, beside the load; the processor time includes that of the load.
    pub beside: Times,
    /// Seconds from the end of the load to the last event.
    pub late_seconds: f64,
    /// The same events, from a stream with nothing beside it.
    pub again: Times,
}

/// The times of events.
#[derive(Debug, Clone, Serialize)]
pub struct Times {
    /// Events a second.
    pub rate: f64,
    /// Processor time of the process for each event in microseconds.
    pub cpu_us: f64,
}

/// The times from acknowledged writes to their events.
#[derive(Debug, Clone, Serialize)]
pub struct Lag {
    /// When the writes are acknowledged: `periodic`, or `sync` for a sync of the log by each.
    pub durability: &'static str,
    /// Other writes of the process.
    pub beside: &'static str,
    /// The number of writes.
    pub writes: u64,
    /// Writes a second.
    pub rate: f64,
    /// The duration of a write.
    pub write: Latency,
    /// The time from the acknowledgement of a write until the stream has returned its event.
    pub lag: Latency,
}

/// Reads a stream beside a load, and again.
pub(super) fn read(dir: &Path, settings: &Settings) -> Outcome<Read> {
    with_database(dir, settings, |database| {
        let comments = database.create_collection("comments").run()?;
        let mut stream = comments.watch().run()?;
        let token = stream.token();
        let (clock, usage) = (Env::os().clock, Usage::now());
        let (began, loaded) = (clock.now(), Mutex::new(None));
        let events = alluvium_env::thread::scope(|scope| {
            scope.spawn(|| {
                let load = documents::load(&comments, settings.documents, settings.seed).run();
                *loaded.lock() = Some(load.map(|_| clock.now()));
            });
            take(&mut stream, settings.documents, &|| matches!(&*loaded.lock(), Some(Err(_))))
        });
        let (ended, beside_cpu) = (clock.now(), Usage::now().since(&usage).cpu_seconds);
        let loaded = loaded.into_inner().ok_or_else(|| lacks("the load has not ended"))??;
        events?;
        database.wait_for_compaction()?;
        let (usage, again_began) = (Usage::now(), clock.now());
        take(&mut comments.watch().resume_after(token).run()?, settings.documents, &|| false)?;
        let again_cpu = Usage::now().since(&usage).cpu_seconds;
        let times = |time: Duration, cpu_seconds: f64| Times {
            rate: settings.documents as f64 / time.as_secs_f64().max(1e-9),
            cpu_us: cpu_seconds * 1e6 / settings.documents.max(1) as f64,
        };
        Ok(Read {
            load_rate: times(loaded.saturating_sub(began), 0.0).rate,
            beside: times(ended.saturating_sub(began), beside_cpu),
            late_seconds: ended.saturating_sub(loaded).as_secs_f64(),
            again: times(clock.now().saturating_sub(again_began), again_cpu),
        })
    })
}

/// Takes this number of inserts from a stream. Ends without an error if the writer has failed, because its error counts.
fn take(stream: &mut ChangeStream, inserts: u64, has_failed: &dyn Fn() -> bool) -> Outcome {
    let (clock, mut left) = (Env::os().clock, inserts);
    let mut until = clock.now().saturating_add(PATIENCE);
    while left > 0 {
        match stream.next_within(Duration::from_millis(500))? {
            Some(event) if event.get("operationType").and_then(Value::as_str) == Some("insert") => {
                left -= 1;
                if left % 128 == 0 {
                    until = clock.now().saturating_add(PATIENCE);
                }
            }
            Some(_) => {}
            None if has_failed() => return Ok(()),
            None if clock.now() > until => return Err(lacks(&format!("the stream lacks {left} events"))),
            None => {}
        }
    }
    Ok(())
}

fn lacks(what: &str) -> Failure {
    Failure::Other(what.to_owned())
}

/// Other writes beside those whose events are timed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// A load of a collection that is not recorded.
    OtherLoad,
    /// A load of a collection whose events the same stream returns.
    WatchedLoad,
}

impl Beside {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::OtherLoad => "a load that is not recorded",
            Self::WatchedLoad => "a load that is watched, too",
        }
    }
}

/// Times events with each durability, beside each kind of other writes.
pub(super) fn lags(dir: &Path, settings: &Settings) -> Outcome<Vec<Lag>> {
    let mut lags = Vec::new();
    for (durability, name) in [(Durability::Periodic, "periodic"), (Durability::Sync, "sync")] {
        for beside in [Beside::Nothing, Beside::OtherLoad, Beside::WatchedLoad] {
            lags.push(with_database(dir, settings, |database| {
                Timed::new(database, settings, durability, beside)?.run(name)
            })?);
        }
    }
    Ok(lags)
}

/// Writes whose events are timed.
struct Timed<'a> {
    settings: &'a Settings,
    clock: Arc<dyn Clock>,
    beside: Beside,
    /// The collection of these writes. The `_id`s are their numbers.
    timed: Collection,
    loaded: Collection,
    stream: Mutex<ChangeStream>,
    load_has_ended: AtomicBool,
    /// The number of writes; the highest number until it is known.
    written: AtomicU64,
}

impl<'a> Timed<'a> {
    fn new(database: &Database, settings: &'a Settings, durability: Durability, beside: Beside) -> Result<Self> {
        let timed = database.create_collection("timed").run()?;
        let loaded = database.create_collection("loaded").run()?;
        let watch = if beside == Beside::WatchedLoad { database.watch() } else { timed.watch() };
        Ok(Self {
            settings,
            clock: Env::os().clock,
            beside,
            timed: timed.with_durability(durability),
            loaded,
            stream: Mutex::new(watch.run()?),
            load_has_ended: AtomicBool::new(false),
            written: AtomicU64::new(u64::MAX),
        })
    }

    fn run(&self, durability: &'static str) -> Outcome<Lag> {
        let (loaded, seen) = (Mutex::new(Ok(())), Mutex::new(Ok(Vec::new())));
        let began = self.clock.now();
        let written = alluvium_env::thread::scope(|scope| {
            scope.spawn(|| *seen.lock() = self.read());
            if self.beside != Beside::Nothing {
                scope.spawn(|| {
                    let load = documents::load(&self.loaded, self.settings.documents, self.settings.seed).run();
                    *loaded.lock() = load.map(drop);
                    self.load_has_ended.store(true, Ordering::Release);
                });
            }
            let mut writes = Writes::default();
            let result = self.write(&mut writes);
            self.written.store(writes.acknowledged.len() as u64, Ordering::Release);
            result.map(|()| (writes, self.clock.now().saturating_sub(began)))
        });
        let (writes, took) = written?;
        loaded.into_inner()?;
        let seen = seen.into_inner()?;
        let mut lag = histogram();
        for (seen, acknowledged) in seen.iter().zip(&writes.acknowledged) {
            lag.saturating_record(seen.saturating_sub(*acknowledged).as_nanos() as u64);
        }
        let mut write = histogram();
        writes.took.iter().for_each(|took| write.saturating_record(took.as_nanos() as u64));
        let count = writes.acknowledged.len() as u64;
        let rate = count as f64 / took.as_secs_f64().max(1e-9);
        let (write, lag) = (latency_of(&write), latency_of(&lag));
        Ok(Lag { durability, beside: self.beside.name(), writes: count, rate, write, lag })
    }

    /// Writes at the rate of the settings.
    fn write(&self, writes: &mut Writes) -> Result<()> {
        let (waiting, never) = (Mutex::new(()), Condvar::new());
        let (began, text) = (self.clock.now(), "a".repeat(TEXT_BYTES));
        for number in 0_u64.. {
            let is_over = match self.beside {
                Beside::Nothing => number == self.settings.writes,
                Beside::OtherLoad | Beside::WatchedLoad => number > 0 && self.load_has_ended.load(Ordering::Acquire),
            };
            if is_over {
                break;
            }
            let due = Duration::from_secs_f64(number as f64 / self.settings.rate.max(1) as f64);
            let early = due.saturating_sub(self.clock.now().saturating_sub(began));
            if !early.is_zero() {
                never.wait_for(&mut waiting.lock(), early);
            }
            let before = self.clock.now();
            let document = Map::from([("_id", number.cast_signed().into()), ("text", Value::from(text.as_str()))]);
            self.timed.insert_one(document)?;
            let now = self.clock.now();
            writes.acknowledged.push(now);
            writes.took.push(now.saturating_sub(before));
        }
        Ok(())
    }

    /// Reads the events of all writes. Returns the time of each.
    fn read(&self) -> Outcome<Vec<Duration>> {
        let (mut stream, mut seen) = (self.stream.lock(), Vec::new());
        let mut until = self.clock.now().saturating_add(PATIENCE);
        loop {
            let written = self.written.load(Ordering::Acquire);
            if seen.len() as u64 >= written {
                return Ok(seen);
            }
            let event = stream.next_within(Duration::from_millis(200))?;
            let now = self.clock.now();
            let Some(event) = event else {
                if written < u64::MAX && now > until {
                    return Err(lacks(&format!("the stream has returned {} of {written} events", seen.len())));
                }
                continue;
            };
            until = now.saturating_add(PATIENCE);
            // The `_id`s of the comments of a load are texts.
            let key = event.get("documentKey").and_then(Value::as_map);
            if let Some(number) = key.and_then(|key| key.get("_id")).and_then(Value::as_i64) {
                if usize::try_from(number) != Ok(seen.len()) {
                    return Err(lacks(&format!("the event of write {number} is at place {}", seen.len())));
                }
                seen.push(now);
            }
        }
    }
}

/// The writes that were acknowledged.
#[derive(Default)]
struct Writes {
    /// The time of each acknowledgement.
    acknowledged: Vec<Duration>,
    /// The duration of each write.
    took: Vec<Duration>,
}
