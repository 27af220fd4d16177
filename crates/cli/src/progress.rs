//! Progress of a command that writes documents: a line on a terminal, and nothing elsewhere.

pub(crate) mod target;

use crate::text;
use alluvium::load::Progress;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::{Clock, Env};
use indicatif::{ProgressBar, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The interval between updates of the line.
const INTERVAL: Duration = Duration::from_millis(100);

/// A line with the numbers of documents and bytes.
pub(crate) struct Meter {
    bar: Option<ProgressBar>,
    clock: Arc<dyn Clock>,
    started: Duration,
    ended: Option<Duration>,
}

impl Meter {
    /// Starts the meter and its clock.
    pub(crate) fn new(env: &Env) -> Self {
        let bar = target::target().map(|target| {
            let bar = ProgressBar::with_draw_target(None, target);
            match ProgressStyle::with_template("{spinner} {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, clock: env.clock.clone(), started: env.clock.now(), ended: None }
    }

    /// Shows the numbers of documents and bytes.
    pub(crate) fn show(&mut self, documents: u64, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        let per_second = text::ratio(documents as f64, self.took().as_secs_f64()).unwrap_or(0.0);
        let documents = text::counted(documents, "document");
        bar.set_message(format!("{documents}  {}/s  {}", text::count(per_second as u64), text::bytes(bytes)));
        bar.tick();
    }

    /// Shows the text that a function returns for the elapsed time, from another thread, until the watch ends.
    pub(crate) fn watch_with(&self, describe: impl Fn(Duration) -> String + Send + 'static) -> Watched {
        self.watch_by(move |meter| {
            let Some(bar) = &meter.bar else { return };
            bar.set_message(describe(meter.took()));
            bar.tick();
        })
    }

    /// Shows the progress of loads, from another thread, until the watch ends.
    pub(crate) fn watch(&self, progress: Arc<Progress>) -> Watched {
        self.watch_by(move |meter| {
            let of = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
            meter.show(of(&progress.documents), of(&progress.bytes));
        })
    }

    fn watch_by(&self, show: impl Fn(&mut Self) + Send + 'static) -> Watched {
        let ended = Arc::new((Mutex::new(false), Condvar::new()));
        let Some(bar) = self.bar.clone() else { return Watched { ended, thread: None } };
        let mut meter = Self { bar: Some(bar), clock: self.clock.clone(), started: self.started, ended: None };
        let until = ended.clone();
        let thread = alluvium_env::thread::try_spawn("progress", move || {
            let mut has_ended = until.0.lock();
            while !*has_ended {
                until.1.wait_for(&mut has_ended, INTERVAL);
                show(&mut meter);
            }
        });
        // If no thread can be started, the work is done without showing progress.
        Watched { ended, thread: thread.ok() }
    }

    /// Ends the meter, and clears the line.
    pub(crate) fn end(&mut self) {
        self.ended = Some(self.took());
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// The time from the start to now, or to the end.
    pub(crate) fn took(&self) -> Duration {
        self.ended.unwrap_or_else(|| self.clock.now().saturating_sub(self.started))
    }
}

/// A thread that shows the progress of loads.
pub(crate) struct Watched {
    ended: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<alluvium_env::thread::JoinHandle<()>>,
}

impl Watched {
    /// Ends the thread.
    pub(crate) fn end(mut self) {
        *self.ended.0.lock() = true;
        self.ended.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // A failure to show progress is ignored.
            let _panicked = thread.join();
        }
    }
}
