//! How far a command is that writes documents: a line on a terminal, nothing elsewhere.

use crate::text;
use env::{Clock, Env};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

/// A line that says how many documents and bytes there were.
pub(crate) struct Meter {
    bar: Option<ProgressBar>,
    clock: Arc<dyn Clock>,
    started: Duration,
    ended: Option<Duration>,
}

impl Meter {
    /// Begins to measure.
    pub(crate) fn new(env: &Env) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{spinner} {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, clock: env.clock.clone(), started: env.clock.now(), ended: None }
    }

    /// Shows so many documents and bytes.
    pub(crate) fn show(&mut self, documents: u64, bytes: u64) {
        let Some(bar) = &self.bar else { return };
        let per_second = text::ratio(documents as f64, self.took().as_secs_f64()).unwrap_or(0.0);
        let documents = text::counted(documents, "document");
        bar.set_message(format!("{documents}  {}/s  {}", text::count(per_second as u64), text::bytes(bytes)));
        bar.tick();
    }

    /// Ends, and clears the line.
    pub(crate) fn end(&mut self) {
        self.ended = Some(self.took());
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    /// From the beginning to now, or to the end.
    pub(crate) fn took(&self) -> Duration {
        self.ended.unwrap_or_else(|| self.clock.now().saturating_sub(self.started))
    }
}
