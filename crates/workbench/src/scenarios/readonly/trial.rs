//! Computes medians and quartiles of trials.

use super::{Combination, Found};
use serde::Serialize;

/// One trial.
#[derive(Debug, Clone)]
pub(super) struct Trial {
    pub gets: u64,
    pub found: u64,
    pub seconds: f64,
    pub cpu_seconds: f64,
    /// System calls that read.
    pub reads: u64,
}

/// The distribution of a figure over the trials.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Quartiles {
    /// The lowest.
    pub min: f64,
    /// The first quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
    /// The highest.
    pub max: f64,
}

/// The quartiles of some figures, interpolated linearly; zeros if there are none.
pub fn quartiles(mut figures: Vec<f64>) -> Quartiles {
    figures.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = part * figures.len().saturating_sub(1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        match (figures.get(low), figures.get(high)) {
            (Some(low), Some(high)) => low + (high - low) * place.fract(),
            _ => 0.0,
        }
    };
    Quartiles { min: at(0.0), q1: at(0.25), median: at(0.5), q3: at(0.75), max: at(1.0) }
}

/// The results of a combination.
pub(super) fn found(combination: Combination, trials: &[Trial]) -> Found {
    let gets: u64 = trials.iter().map(|trial| trial.gets).sum();
    let share = |sum: u64| sum as f64 / gets.max(1) as f64;
    let each = |figure: &dyn Fn(&Trial) -> f64| quartiles(trials.iter().map(figure).collect());
    Found {
        combination,
        rate: each(&|trial| trial.gets as f64 / trial.seconds),
        cpu_us: each(&|trial| trial.cpu_seconds * 1e6 / trial.gets.max(1) as f64),
        found: share(trials.iter().map(|trial| trial.found).sum()),
        reads: share(trials.iter().map(|trial| trial.reads).sum()),
    }
}

#[cfg(test)]
mod tests;
