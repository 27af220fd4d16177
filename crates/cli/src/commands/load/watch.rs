//! Progress of a load: a bar on a terminal, and a file with one JSON line per second.

use super::input::{Consumed, Source};
use super::settings::Settings;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::process;
use crate::progress::target;
use crate::text;
use alluvium::Database;
use alluvium::load::Progress;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::{Clock, Env};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The time between two updates of the bar.
const BAR_INTERVAL: Duration = Duration::from_millis(100);

/// A thread that shows the progress of a load.
pub(super) struct Watch {
    shared: Arc<Shared>,
    thread: Option<alluvium_env::thread::JoinHandle<Outcome>>,
}

/// The figures of one interval of a load, by default a second.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Sample {
    /// Seconds since the start.
    seconds: f64,
    /// Documents loaded in the interval.
    put: u64,
    /// Bytes of all files now.
    file_bytes: u64,
    /// The current compaction debt, 0 to 1.
    debt: f64,
    /// Bytes of resident memory now.
    memory_bytes: u64,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    clock: Arc<dyn Clock>,
    started: Duration,
    /// The time between two lines of JSON, and between two samples.
    line_interval: Duration,
    /// The samples so far, if they are kept.
    samples: Option<Mutex<Vec<Sample>>>,
}

#[derive(Default)]
struct State {
    ended: bool,
    settling: bool,
    /// Documents of finished inputs.
    documents: u64,
    bytes: u64,
    consumed: u64,
    current: Option<(Arc<Progress>, Consumed)>,
}

/// The progress of a load at one time.
struct Figures {
    settling: bool,
    documents: u64,
    /// Bytes of JSON.
    bytes: u64,
    /// Bytes of the inputs on disk.
    consumed: u64,
}

impl State {
    fn figures(&self) -> Figures {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let mut figures =
            Figures { settling: self.settling, documents: self.documents, bytes: self.bytes, consumed: self.consumed };
        if let Some((progress, consumed)) = &self.current {
            figures.documents += of(&progress.documents);
            figures.bytes += of(&progress.bytes);
            figures.consumed += match consumed {
                Consumed::AsLoaded => of(&progress.bytes),
                Consumed::Counted(counter) => of(counter),
                Consumed::Unknown => 0,
            };
        }
        figures
    }
}

impl Watch {
    /// Starts watching, if there is a terminal or a file.
    pub(super) fn start(database: &Database, settings: &Settings, lines: Option<Lines>, env: &Env) -> Outcome<Self> {
        let started = env.clock.now();
        let shared = Arc::new(Shared {
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            clock: env.clock.clone(),
            started,
            line_interval: settings.progress_interval,
            samples: settings.samples.then(Mutex::default),
        });
        let bar = target::target().map(|target| bar(&settings.sources, target));
        if bar.is_none() && lines.is_none() && shared.samples.is_none() {
            return Ok(Self { shared, thread: None });
        }
        let (watched, database) = (shared.clone(), database.clone());
        let has_lines = lines.is_some();
        let started = alluvium_env::thread::try_spawn("progress", move || watched.run(&database, bar.as_ref(), lines));
        match started {
            Ok(thread) => Ok(Self { shared, thread: Some(thread) }),
            // Without a thread, a script might wait for the lines in vain, so this is an error. A bar is optional.
            Err(error) if has_lines => Err(Failure::Other(format!("cannot start a thread for the progress: {error}"))),
            Err(_) => Ok(Self { shared, thread: None }),
        }
    }

    /// Starts an input.
    pub(super) fn input_begins(&self, progress: Arc<Progress>, consumed: Consumed) {
        self.shared.state.lock().current = Some((progress, consumed));
    }

    /// Ends an input, even after an error.
    pub(super) fn input_ended(&self, source: &Source) {
        let mut state = self.shared.state.lock();
        let figures = state.figures();
        state.documents = figures.documents;
        state.bytes = figures.bytes;
        // The whole input, including skipped parts.
        state.consumed += source.bytes().unwrap_or(0);
        state.current = None;
    }

    /// All inputs have ended, but compactions continue.
    pub(super) fn settling(&self) {
        self.shared.state.lock().settling = true;
    }

    /// Writes a last line, ends the thread, and returns the samples.
    pub(super) fn end(mut self) -> Outcome<Vec<Sample>> {
        self.shared.state.lock().ended = true;
        self.shared.changed.notify_all();
        match self.thread.take().map(alluvium_env::thread::JoinHandle::join) {
            None => {}
            Some(Ok(outcome)) => outcome?,
            Some(Err(panicked)) => return Err(Failure::Other(panicked.to_string())),
        }
        Ok(self.shared.samples.as_ref().map(|samples| std::mem::take(&mut *samples.lock())).unwrap_or_default())
    }
}

impl Shared {
    fn run(&self, database: &Database, bar: Option<&ProgressBar>, mut lines: Option<Lines>) -> Outcome {
        let mut next_line = self.line_interval;
        let mut wait = self.line_interval.min(BAR_INTERVAL);
        let mut result = Ok(());
        let mut sampled = 0;
        loop {
            let mut state = self.state.lock();
            if !state.ended {
                self.changed.wait_for(&mut state, wait);
            }
            let (ended, figures) = (state.ended, state.figures());
            drop(state);
            let since = self.clock.now().saturating_sub(self.started);
            if let Some(bar) = bar {
                show(bar, &figures, since, database);
            }
            if ended || since >= next_line {
                while next_line <= since {
                    next_line += self.line_interval;
                }
                if let Some(samples) = &self.samples {
                    samples.lock().push(sample(&figures, &mut sampled, since, database));
                }
                if let Some(open) = &mut lines
                    && let Err(failure) = open.write(&figures, since, database)
                {
                    // The load continues; [`Watch::end`] returns the failure.
                    result = Err(failure);
                    lines = None;
                }
            }
            if ended {
                break;
            }
            wait = BAR_INTERVAL.min(next_line - since);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        result
    }
}

fn sample(figures: &Figures, sampled: &mut u64, since: Duration, database: &Database) -> Sample {
    let stats = database.stats();
    let put = figures.documents.saturating_sub(*sampled);
    *sampled = figures.documents;
    Sample {
        seconds: since.as_secs_f64(),
        put,
        file_bytes: stats.disk_bytes,
        debt: stats.debt,
        memory_bytes: process::resident_bytes().unwrap_or(0),
    }
}

/// A progress bar over the bytes of all sources, or a counter if the total is unknown.
fn bar(sources: &[Source], target: ProgressDrawTarget) -> ProgressBar {
    let total: Option<u64> = sources.iter().map(Source::bytes).sum();
    let template = match total {
        Some(_) => "{wide_bar} {percent}%  {msg}  ETA {eta}",
        None => "{spinner} {msg}",
    };
    let bar = ProgressBar::with_draw_target(total, target);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

fn show(bar: &ProgressBar, figures: &Figures, since: Duration, database: &Database) {
    let documents = text::counted(figures.documents, "document");
    if figures.settling {
        let debt = text::bytes(database.stats().compaction_debt_bytes);
        bar.set_message(format!("{documents}, settling ({debt} to compact)"));
        return;
    }
    bar.set_position(figures.consumed);
    let per_second = text::ratio(figures.documents as f64, since.as_secs_f64()).unwrap_or(0.0);
    bar.set_message(format!("{documents}  {}/s  {}", text::count(per_second as u64), text::bytes(figures.bytes)));
}

/// The file with one JSON line per second.
pub(super) struct Lines {
    path: PathBuf,
    file: Box<dyn Write + Send>,
}

impl Lines {
    /// Opens the file of `--progress-json`, if it was given.
    pub(super) fn open(settings: &Settings) -> Outcome<Option<Self>> {
        let Some(path) = settings.progress_json.clone() else { return Ok(None) };
        let file = Box::new(files::append(&path)?);
        Ok(Some(Self { path, file }))
    }

    fn write(&mut self, figures: &Figures, since: Duration, database: &Database) -> Outcome {
        let stats = database.stats();
        let line = serde_json::json!({
            "seconds": since.as_secs_f64(),
            "phase": if figures.settling { "settle" } else { "load" },
            "documents": figures.documents,
            "bytes": figures.bytes,
            "disk_bytes": stats.disk_bytes,
            "debt": stats.debt,
            "compaction_debt_bytes": stats.compaction_debt_bytes,
            "memory_bytes": stats.memtable_bytes + stats.cache_bytes + stats.pinned_bytes,
            "resident_bytes": process::resident_bytes(),
        });
        // Each line is written at once, so that other processes which read the file see complete lines.
        let text = format!("{line}\n");
        self.file.write_all(text.as_bytes()).map_err(|error| Failure::io("write", &self.path, &error))
    }
}
