//! Progress of a run: a bar on a terminal; otherwise a line for each trial.

use crate::plan::Trial;
use alluvium_cli::text;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::time::Duration;

/// The number of trials that have ended, the number of trials left, and the time that trials take.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    ended: usize,
    /// The number of trials left, by experiment.
    left: HashMap<String, usize>,
    /// The total seconds and the number of the trials that have ended, by experiment.
    took: HashMap<String, (f64, usize)>,
}

impl Progress {
    /// Starts with the trials that will run.
    pub fn new(pending: &[&Trial<'_>]) -> Self {
        let mut left = HashMap::new();
        for trial in pending {
            *left.entry(trial.experiment.name.clone()).or_default() += 1;
        }
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(pending.len() as u64), ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{wide_bar} {pos}/{len}  {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Self { bar, ended: 0, left, took: HashMap::new() }
    }

    /// Adds the time that a trial of an earlier run took.
    pub fn learn(&mut self, experiment: &str, seconds: f64) {
        let (all, count) = self.took.entry(experiment.to_owned()).or_default();
        *all += seconds;
        *count += 1;
    }

    /// Shows the trial that is running.
    pub fn show(&self, trial: &Trial<'_>, step: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(format!("{} {step}{}{}", trial.experiment.name, trial.label(), self.estimate()));
        }
    }

    /// Draws the bar again.
    pub fn tick(&self) {
        if let Some(bar) = &self.bar {
            bar.tick();
        }
    }

    /// Records that a trial has ended. `took` includes its preparation and its warm-up.
    pub fn end(&mut self, trial: &Trial<'_>, took: Duration, failure: Option<&str>) {
        self.learn(&trial.experiment.name, took.as_secs_f64());
        if let Some(left) = self.left.get_mut(&trial.experiment.name) {
            *left = left.saturating_sub(1);
        }
        self.ended += 1;
        let all = self.ended + self.left.values().sum::<usize>();
        let result = failure.map_or_else(|| text::duration(took), |why| format!("failed: {}", text::plain(why)));
        let repeat = match trial.experiment.repeats {
            1 => String::new(),
            repeats => format!(" ({} of {repeats})", trial.repeat + 1),
        };
        let label = match trial.label() {
            label if label.is_empty() => label,
            label => format!(" {label}"),
        };
        let line =
            format!("{}/{all} {}{label}{repeat}: {result}{}", self.ended, trial.experiment.name, self.estimate());
        match &self.bar {
            Some(bar) => {
                bar.inc(1);
                if failure.is_some() {
                    bar.println(line);
                }
            }
            None => eprintln!("{line}"),
        }
    }

    /// The estimated time of the trials left, as text. Empty if no trial has ended yet.
    fn estimate(&self) -> String {
        let (seconds, count) = self.took.values().fold((0.0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if count == 0 {
            return String::new();
        }
        let mean = |experiment: &str| match self.took.get(experiment) {
            Some((seconds, count)) => seconds / *count as f64,
            None => seconds / count as f64,
        };
        let left: f64 = self.left.iter().map(|(experiment, left)| mean(experiment) * *left as f64).sum();
        match Duration::try_from_secs_f64(left) {
            Ok(left) if left.as_secs() >= 120 => format!(", {} min left", left.as_secs() / 60),
            Ok(left) if !left.is_zero() => format!(", {} s left", left.as_secs()),
            _ => String::new(),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests;
