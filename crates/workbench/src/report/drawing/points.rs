//! Lines, bars and quartiles over the values of a parameter.

use super::{Drawing, Lines, Raw, Series, Source};
use crate::plan::{ChartKind, Published};
use crate::record::figure;
use crate::report::axis::Axis;
use crate::report::split::{Split, Trial, shown};
use crate::report::spread::Spread;
use serde_json::Value;

/// Draws the trials of a panel.
pub(super) fn draw(source: Source<'_>, split: &Split, lines: &Lines<'_, '_>) -> Option<Drawing> {
    let chart = source.chart;
    let (x, y) = (split.x.as_deref()?, chart.y.as_deref()?);
    let values = values(split.values(x), &chart.published);
    let is_number = chart.kind == ChartKind::Line && values.iter().all(Value::is_number);
    let used: Vec<&Value> = values.iter().filter(|value| is_used(value, x, lines, &chart.published)).collect();
    let mut origins: Vec<usize> = lines.keys().map(|key| key.origin).collect();
    origins.sort_unstable();
    origins.dedup();
    let source = source.naming(&origins);
    let mut series = Vec::new();
    for (key, trials) in lines {
        let points = points(trials, x, y, &used);
        if points.iter().any(Option::is_some) {
            series.push(Series::measured(source, split, key, points));
        }
    }
    series.extend(chart.published.iter().map(|published| published_series(published, &used)));
    let xs: Vec<f64> = match is_number {
        true => used.iter().filter_map(|value| value.as_f64()).collect(),
        false => (0..used.len()).map(|at| at as f64).collect(),
    };
    let words = if is_number { Vec::new() } else { used.iter().map(|value| shown(value)).collect() };
    let axis = if is_number { Axis::of_parameters(chart.x_scale, &xs) } else { Axis::of_words(xs.len()) };
    let raw = Raw { words, xs, series, notes: Vec::new(), origins };
    let name = x.replace('_', " ");
    let name = chart.x_unit.as_ref().map_or_else(|| name.clone(), |unit| format!("{name}, {unit}"));
    raw.finish(source, name, axis)
}

/// The measured and the published values of the axis: numbers in ascending order, words in the
/// order of the plan.
fn values(measured: &[Value], published: &[Published]) -> Vec<Value> {
    let mut values = measured.to_vec();
    for (value, _) in published.iter().flat_map(|published| &published.points) {
        if !values.iter().any(|known| is_same(known, value)) {
            values.push(value.clone());
        }
    }
    if values.iter().all(Value::is_number) {
        values.sort_by(|a, b| a.as_f64().unwrap_or(0.0).total_cmp(&b.as_f64().unwrap_or(0.0)));
    }
    values
}

/// True if the values are equal. 4 and 4.0 are equal.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

/// True if the panel has a trial with this value, or a publication has a figure for it.
fn is_used(value: &Value, x: &str, lines: &Lines<'_, '_>, published: &[Published]) -> bool {
    let is_value = |trial: &&Trial<'_>| trial.record.parameters.get(x).is_some_and(|known| is_same(known, value));
    lines.values().flatten().any(is_value)
        || published.iter().flat_map(|published| &published.points).any(|point| is_same(&point.0, value))
}

fn points(trials: &[&Trial<'_>], x: &str, y: &str, values: &[&Value]) -> Vec<Option<Spread>> {
    let at = |value: &&Value| {
        let is_at = |trial: &&&Trial<'_>| trial.record.parameters.get(x).is_some_and(|known| is_same(known, value));
        let figures: Vec<f64> = trials.iter().filter(is_at).filter_map(|trial| figure(trial.json, y)).collect();
        Spread::of(&figures)
    };
    values.iter().map(at).collect()
}

fn published_series(published: &Published, values: &[&Value]) -> Series {
    let at = |value: &&Value| {
        let point = published.points.iter().find(|point| is_same(&point.0, value));
        point.map(|point| Spread::single(point.1))
    };
    Series::published(&published.name, values.iter().map(at).collect())
}
