//! The division of the trials of an experiment among the panels, the lines and the positions of a chart.

use crate::plan::{Chart, ChartKind, Experiment, Parameters};
use crate::record::Record;
use serde_json::Value;
use std::collections::BTreeMap;

/// If a chart has more lines than this, they are divided among panels.
const LINES_MAX: usize = 8;
/// The parameter that names the engine. Engines are compared, so they stay in one panel.
const ENGINE: &str = "engine";

/// A trial with figures.
#[derive(Debug, Clone, Copy)]
pub(super) struct Trial<'a> {
    /// The index of its run among the directories.
    pub(super) run: usize,
    /// The index of its origin.
    pub(super) origin: usize,
    /// Its record.
    pub(super) record: &'a Record,
    /// The record as JSON, for paths.
    pub(super) json: &'a Value,
}

/// The parameters of a chart by their use, with the values of each in their order.
#[derive(Debug)]
pub(super) struct Split {
    /// The parameter along the horizontal axis; `None` if the axis is not a parameter.
    pub(super) x: Option<String>,
    /// Parameters whose values distinguish lines.
    pub(super) lines: Vec<String>,
    /// Parameters whose values have separate panels. The chart does not name these parameters, and figures of their
    /// values must not be combined.
    pub(super) panels: Vec<String>,
    values: BTreeMap<String, Vec<Value>>,
}

impl Split {
    /// Divides the trials of an experiment.
    pub(super) fn of(chart: &Chart, experiment: &Experiment, trials: &[Trial<'_>]) -> Self {
        let values: BTreeMap<String, Vec<Value>> =
            experiment.grid.iter().map(|(name, values)| (name.clone(), distinct(name, values, trials))).collect();
        let is_parameter = !matches!(chart.kind, ChartKind::Time | ChartKind::Table);
        let x = chart.x.clone().filter(|_| is_parameter);
        let is_free = |name: &String| x.as_ref() != Some(name) && !chart.series.contains(name);
        let used =
            |name: &String| trials.iter().filter_map(|trial| trial.record.parameters.get(name)).collect::<Vec<_>>();
        let varies = |name: &String| used(name).windows(2).any(|pair| pair[0] != pair[1]);
        let free: Vec<String> = values.keys().filter(|name| is_free(name) && varies(name)).cloned().collect();
        let count = |names: &[String]| names.iter().map(|name| used_values(name, trials)).product::<usize>();
        let (mut lines, mut panels) = match chart.series.is_empty() && count(&free) <= LINES_MAX {
            true => (free, Vec::new()),
            false => (chart.series.clone(), free),
        };
        while chart.kind != ChartKind::Table && count(&lines) > LINES_MAX {
            let Some(first) = lines.iter().position(|name| name != ENGINE && used_values(name, trials) > 1) else {
                break;
            };
            panels.push(lines.remove(first));
        }
        Self { x, lines, panels, values }
    }

    /// The indexes of the values of these parameters.
    pub(super) fn places(&self, names: &[String], parameters: &Parameters) -> Vec<usize> {
        names.iter().map(|name| self.place(name, parameters.get(name))).collect()
    }

    fn place(&self, name: &str, value: Option<&Value>) -> usize {
        let values = self.values.get(name).map_or(&[] as &[Value], Vec::as_slice);
        values.iter().position(|known| Some(known) == value).unwrap_or(values.len())
    }

    /// The values of a parameter.
    pub(super) fn values(&self, name: &str) -> &[Value] {
        self.values.get(name).map_or(&[], Vec::as_slice)
    }

    /// The values with these indexes, with the name of the parameter if the value alone is not clear.
    pub(super) fn label(&self, names: &[String], places: &[usize]) -> String {
        let one = |(name, place): (&String, &usize)| match self.values(name).get(*place) {
            Some(Value::String(text)) if text.starts_with(char::is_alphabetic) => text.clone(),
            Some(value) => format!("{} {}", name.replace('_', " "), shown(value)),
            None => format!("no {name}"),
        };
        names.iter().zip(places).map(one).collect::<Vec<_>>().join(", ")
    }
}

/// The number of different values that a parameter has in the trials.
fn used_values(name: &str, trials: &[Trial<'_>]) -> usize {
    let mut values: Vec<Option<&Value>> = Vec::new();
    for value in trials.iter().map(|trial| trial.record.parameters.get(name)) {
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values.len().max(1)
}

/// A value as text, with separators between thousands.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.as_u64().map_or_else(|| number.to_string(), alluvium_cli::text::count),
        other => other.to_string(),
    }
}

/// A value in the notation of the command line.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The values of a parameter: first the values of the plan, then other values in the trials. Numbers are in ascending
/// order.
fn distinct(name: &str, planned: &[Value], trials: &[Trial<'_>]) -> Vec<Value> {
    let mut values = planned.to_vec();
    for value in trials.iter().filter_map(|trial| trial.record.parameters.get(name)) {
        if !values.contains(value) {
            values.push(value.clone());
        }
    }
    if values.iter().all(Value::is_number) {
        values.sort_by(|a, b| a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)));
    }
    values
}
