//! Tables of figures: a table below each drawing, and charts that are only tables.

use super::drawing::{Drawing, Series};
use super::numbers::{Decimals, Unit, exact, more_is_better};
use super::origin;
use super::split::{Split, Trial, shown};
use super::spread::Spread;
use crate::plan::{Chart, ChartKind, Experiment};
use crate::record::{at, figure};
use serde_json::Value;
use std::collections::BTreeMap;

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    /// The heads of the columns.
    pub(super) head: Vec<String>,
    /// The number of columns at the left that name a row.
    pub(super) names: usize,
    /// The cells of each row.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// The text.
    pub(super) text: String,
    /// A smaller second line, such as the spread of repeats.
    pub(super) small: String,
}

impl Cell {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), small: String::new() }
    }
}

/// The figures of a drawing.
pub(super) fn of_drawing(drawing: &Drawing) -> Table {
    match drawing.kind {
        ChartKind::Time => of_time(drawing),
        ChartKind::Quartiles => of_quartiles(drawing),
        _ => of_points(drawing),
    }
}

/// A row for each value of the axis, a column for each line.
fn of_points(drawing: &Drawing) -> Table {
    let decimals: Vec<Decimals> =
        drawing.series.iter().map(|series| decimals_of(std::slice::from_ref(series))).collect();
    let cell = |place: usize, series: &Series, decimals: Decimals| match series.points[place] {
        None => Cell::new("–"),
        Some(point) if point.count == 1 => Cell::new(decimals.show(point.median)),
        Some(point) => Cell {
            text: decimals.show(point.median),
            small: format!("{} to {}", decimals.show(point.min), decimals.show(point.max)),
        },
    };
    let row = |place: usize| {
        let cells = drawing.series.iter().zip(&decimals).map(|(series, decimals)| cell(place, series, *decimals));
        std::iter::once(Cell::new(x_text(drawing, place))).chain(cells).collect()
    };
    let names = drawing.series.iter().map(|series| head(&series.name, &drawing.unit));
    Table {
        head: std::iter::once(drawing.x_name.clone()).chain(names).collect(),
        names: 1,
        rows: (0..drawing.xs.len()).map(row).collect(),
    }
}

fn head(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}, {unit}") }
}

/// A row for each value of the axis and each line, with the quartiles.
fn of_quartiles(drawing: &Drawing) -> Table {
    let decimals = decimals_of(&drawing.series);
    let mut rows = Vec::new();
    for series in &drawing.series {
        for (place, point) in series.points.iter().enumerate() {
            let Some(point) = point else { continue };
            let named = [series.name.clone(), x_text(drawing, place)];
            rows.push(named.into_iter().chain(spread_texts(point, decimals)).map(Cell::new).collect());
        }
    }
    let head = ["", &drawing.x_name, "least", "first quartile", "median", "third quartile", "greatest", "trials"];
    Table { head: head.map(str::to_owned).to_vec(), names: 2, rows }
}

fn spread_texts(point: &Spread, decimals: Decimals) -> Vec<String> {
    let figures = [point.min, point.q1, point.median, point.q3, point.max].map(|figure| decimals.show(figure));
    let figures = if point.count == 1 {
        ["–".into(), "–".into(), figures[2].clone(), "–".into(), "–".into()]
    } else {
        figures
    };
    figures.into_iter().chain([point.count.to_string()]).collect()
}

/// A row for each line: the spread of its samples.
fn of_time(drawing: &Drawing) -> Table {
    let decimals = decimals_of(&drawing.series);
    let mut rows = Vec::new();
    for series in &drawing.series {
        let figures: Vec<f64> = series.points.iter().flatten().map(|point| point.median).collect();
        let (Some(spread), Some(last)) = (Spread::of(&figures), figures.last()) else { continue };
        let middle = [spread.min, spread.q1, spread.median, spread.q3, spread.max, *last];
        let figures = middle.map(|figure| decimals.show(figure));
        let name = [series.name.clone()];
        rows.push(name.into_iter().chain(figures).chain([spread.count.to_string()]).map(Cell::new).collect());
    }
    let unit = &drawing.unit;
    let first = if unit.is_empty() { "samples".to_owned() } else { format!("samples, {unit}") };
    let head = [&first, "least", "first quartile", "median", "third quartile", "greatest", "last", "points"];
    Table { head: head.map(str::to_owned).to_vec(), names: 1, rows }
}

fn x_text(drawing: &Drawing, place: usize) -> String {
    let number = || exact(drawing.xs[place]);
    drawing.words.get(place).cloned().unwrap_or_else(number)
}

fn decimals_of(series: &[Series]) -> Decimals {
    let points = series.iter().flat_map(|series| series.points.iter().flatten());
    Decimals::of(points.flat_map(|point| [point.min, point.median, point.max]))
}

/// The figures of a chart that is a table: a row for each combination of parameters.
pub(super) fn of_chart(chart: &Chart, experiment: &Experiment, trials: &[Trial<'_>], names_origins: bool) -> Table {
    let split = Split::of(&Chart { series: Vec::new(), ..chart.clone() }, experiment, trials);
    let varied: Vec<String> = split.lines.iter().chain(&split.panels).cloned().collect();
    let mut groups: BTreeMap<(Vec<usize>, usize), Vec<&Trial<'_>>> = BTreeMap::new();
    for trial in trials {
        let places = split.places(&varied, &trial.record.parameters);
        groups.entry((places, trial.origin)).or_default().push(trial);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    if let Some(y) = chart.y.as_deref() {
        let median = |trials: &[&Trial<'_>]| spread_at(trials, y).map_or(f64::MIN, |spread| spread.median);
        groups.sort_by(|(_, a), (_, b)| median(a).total_cmp(&median(b)));
        if more_is_better(chart.unit.as_deref().unwrap_or(""), y) {
            groups.reverse();
        }
    }
    let columns: Vec<Column> = chart.columns.iter().map(|path| Column::of(path, trials)).collect();
    let mut rows = Vec::new();
    for ((places, place), trials) in &groups {
        let value = |(name, place): (&String, &usize)| split.values(name).get(*place).map_or_else(String::new, shown);
        let mut row: Vec<Cell> = varied.iter().zip(places).map(|pair| Cell::new(value(pair))).collect();
        row.extend(names_origins.then(|| Cell::new(origin::letter(*place))));
        row.extend(columns.iter().map(|column| column.cell(trials)));
        rows.push(row);
    }
    let mut head: Vec<String> = varied.iter().map(|name| name.replace('_', " ")).collect();
    head.extend(names_origins.then(|| "origin".to_owned()));
    let names = head.len();
    head.extend(columns.into_iter().map(|column| column.head));
    Table { head, names, rows }
}

/// A column with the figures at a path.
struct Column {
    path: String,
    head: String,
    factor: f64,
    decimals: Decimals,
}

impl Column {
    fn of(path: &str, trials: &[Trial<'_>]) -> Self {
        let figures: Vec<f64> = trials.iter().filter_map(|trial| figure(trial.json, path)).collect();
        let (name, unit) = named(path);
        let unit = Unit::of(unit, figures.iter().copied().map(f64::abs).fold(0.0, f64::max));
        let decimals = Decimals::of(figures.iter().map(|figure| figure * unit.factor));
        let head = head(&name, &unit.name);
        Self { path: path.to_owned(), head, factor: unit.factor, decimals }
    }

    fn cell(&self, trials: &[&Trial<'_>]) -> Cell {
        match spread_at(trials, &self.path) {
            None => {
                let text = trials.iter().find_map(|trial| at(trial.json, &self.path));
                Cell::new(text.filter(|value| !value.is_null()).map_or_else(|| "–".to_owned(), text_of))
            }
            Some(spread) => {
                let shown = |figure: f64| self.decimals.show(figure * self.factor);
                let is_spread = spread.count > 1 && spread.min < spread.max;
                let small = format!("{} to {}", shown(spread.min), shown(spread.max));
                Cell { text: shown(spread.median), small: if is_spread { small } else { String::new() } }
            }
        }
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The name of a column and its unit, from its path: `outcome.latency.max_us` is the maximum latency in microseconds.
fn named(path: &str) -> (String, &'static str) {
    const UNITS: [(&str, &str); 5] =
        [("_bytes", "bytes"), ("_seconds", "s"), ("_us", "µs"), ("_kb", "kB"), ("_percent", "%")];
    let mut unit = "";
    let mut words = Vec::new();
    for part in path.split('.') {
        // An index in a list has no meaning without the name of the list, so both are removed.
        if part.parse::<usize>().is_ok() {
            let _list = words.pop();
            continue;
        }
        let (part, per) = part.split_once("_per_").map_or((part, None), |(part, per)| (part, Some(per)));
        let found = UNITS.into_iter().find_map(|(end, unit)| Some((part.strip_suffix(end)?, unit)));
        let part = found.map_or(part, |(part, found)| {
            unit = found;
            part
        });
        words.push(per.map_or_else(|| part.to_owned(), |per| format!("{part} per {per}")));
    }
    if unit.is_empty() && words.iter().any(|word| word == "latency") {
        unit = "µs";
    }
    words.retain(|word| !matches!(word.as_str(), "outcome" | "process" | "figures" | ""));
    (words.join(" ").replace('_', " "), unit)
}

fn spread_at(trials: &[&Trial<'_>], path: &str) -> Option<Spread> {
    let figures: Vec<f64> = trials.iter().filter_map(|trial| figure(trial.json, path)).collect();
    Spread::of(&figures)
}

#[cfg(test)]
mod tests;
