//! Figures as shares of the figures of another experiment.

use super::split::Trial;
use super::spread::Spread;
use crate::record::figure;
use serde_json::{Value, json};

/// For each trial that has a base, the index of the trial, and a record with only the share at the path `y`.
///
/// The base is the median of trials of the other experiment. Only trials of the same run and origin count, and only if
/// all parameters that both trials have are equal.
pub(super) fn shares(y: &str, trials: &[Trial<'_>], others: &[Trial<'_>]) -> Vec<(usize, Value)> {
    let share = |trial: &Trial<'_>| {
        let bases: Vec<f64> =
            others.iter().filter(|other| is_base(trial, other)).filter_map(|other| figure(other.json, y)).collect();
        let base = Spread::of(&bases)?.median;
        Some(figure(trial.json, y)? / base).filter(|share| share.is_finite())
    };
    let shared = |(at, trial)| share(trial).map(|share| (at, record(y, share)));
    trials.iter().enumerate().filter_map(shared).collect()
}

fn is_base(trial: &Trial<'_>, other: &Trial<'_>) -> bool {
    let parameters = &trial.record.parameters;
    (trial.run, trial.origin) == (other.run, other.origin)
        && other.record.parameters.iter().all(|(name, value)| parameters.get(name).is_none_or(|own| own == value))
}

/// A record with one figure.
fn record(path: &str, figure: f64) -> Value {
    path.rsplit('.').fold(json!(figure), |value, name| json!({ name: value }))
}
