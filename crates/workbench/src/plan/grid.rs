//! The trials of a plan: one for each combination of the parameters and each repeat.

use super::{Experiment, Parameters, Plan};
use serde_json::Value;
use std::ops::Range;

/// The distance between the seeds of two trials. Each thread of a scenario adds its number to the seed.
const SEED_STEP: u64 = 1000;
/// The distance between the base seeds of two plans.
const PLAN_STEP: u64 = 1_000_000_000;

/// One trial of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// The number of the trial in the experiment, from 0. It does not depend on the order in which trials run.
    pub number: usize,
    /// The values that the commands use.
    pub parameters: Parameters,
    /// The number of the trial among the trials with the same parameters, from 0.
    pub repeat: u32,
    /// The seed of the command.
    pub seed: u64,
}

impl Trial<'_> {
    /// The name of the file of its record.
    pub fn file_name(&self) -> String {
        format!("{}-{:04}.json", self.experiment.name, self.number)
    }

    /// The parameters of the grid with their values, as `name=value`. Parameters that are equal in all trials are
    /// omitted.
    pub fn label(&self) -> String {
        let varied = self.parameters.iter().filter(|(name, _)| self.experiment.grid.contains_key(*name));
        varied.map(|(name, value)| format!("{name}={}", text_of(value))).collect::<Vec<_>>().join(" ")
    }
}

/// All trials in the order in which they run: experiment by experiment, and within an experiment in a random order that
/// is determined by the seed of the plan.
pub fn trials(plan: &Plan) -> Vec<Trial<'_>> {
    let mut all = Vec::new();
    for (at, experiment) in plan.experiments.iter().enumerate() {
        let mut own = of(experiment, plan.seed);
        fastrand::Rng::with_seed(plan.seed.wrapping_mul(SEED_STEP).wrapping_add(at as u64)).shuffle(&mut own);
        all.append(&mut own);
    }
    all
}

fn of(experiment: &Experiment, seed: u64) -> Vec<Trial<'_>> {
    let mut combinations = vec![experiment.values.clone()];
    for (name, values) in &experiment.grid {
        let with = |combination: &Parameters, value: &Value| {
            let mut combination = combination.clone();
            combination.insert(name.clone(), value.clone());
            combination
        };
        combinations = combinations.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect();
    }
    let repeats = combinations.into_iter().flat_map(|one| (0..experiment.repeats).map(move |n| (one.clone(), n)));
    let trial = |(number, (parameters, repeat))| {
        let seed = seed.wrapping_mul(PLAN_STEP).wrapping_add(number as u64 * SEED_STEP);
        Trial { experiment, number, parameters, repeat, seed }
    };
    repeats.enumerate().map(trial).collect()
}

/// The arguments with placeholders such as `{threads}` replaced by their values.
pub fn fill(arguments: &[String], value: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    arguments.iter().map(|argument| fill_one(argument, value)).collect()
}

fn fill_one(argument: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let (mut filled, mut done) = (String::new(), 0);
    for span in spans(argument) {
        let Some(text) = value(&argument[span.start + 1..span.end - 1]) else { continue };
        filled += &argument[done..span.start];
        filled += &text;
        done = span.end;
    }
    filled + &argument[done..]
}

/// The names of the placeholders in the arguments.
pub fn placeholders(arguments: &[String]) -> Vec<&str> {
    fn of_one(argument: &str) -> impl Iterator<Item = &str> {
        spans(argument).into_iter().map(|span| &argument[span.start + 1..span.end - 1])
    }
    arguments.iter().flat_map(|argument| of_one(argument)).collect()
}

/// The ranges of the placeholders. A placeholder is a name of letters, digits and underscores in braces. Other braces,
/// as in JSON, are text.
fn spans(argument: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (start, _) in argument.match_indices('{') {
        let name = argument[start + 1..].split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("");
        let end = start + 1 + name.len();
        if !name.is_empty() && argument[end..].starts_with('}') {
            found.push(start..end + 1);
        }
    }
    found
}

/// A value in the notation of the command line.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
