//! Charts with their figures, ready to be drawn by the page's script or as SVG.

mod points;
mod time;

use super::axis::Axis;
use super::numbers::Unit;
use super::origin;
use super::split::{Split, Trial};
use super::spread::Spread;
use crate::plan::{Chart, ChartKind, Experiment, THIS_PROGRAM};
use serde::Serialize;
use std::collections::BTreeMap;

/// Published lines up to this number are grey; more have the colours of the measured ones in their order.
const GREY_MAX: usize = 2;

/// The parameter whose values have colours of their own.
const ENGINE: &str = "engine";

/// One chart: all figures of a chart of the plan, or a panel of them.
#[derive(Debug, Serialize)]
pub(crate) struct Drawing {
    /// Unique in the report: letters, digits and dashes.
    pub(super) id: String,
    /// The title, that of the panel included.
    pub(super) title: String,
    /// The kind; never a table.
    pub(super) kind: ChartKind,
    /// The name of the horizontal axis.
    pub(super) x_name: String,
    /// The unit of the figures; may be empty.
    pub(super) unit: String,
    /// The horizontal axis.
    pub(super) x: Axis,
    /// The vertical axis.
    pub(super) y: Axis,
    /// The values of the horizontal axis if they are words; `xs` are their places then.
    pub(super) words: Vec<String>,
    /// The values of the horizontal axis, ascending.
    pub(super) xs: Vec<f64>,
    /// The lines, or the bars of one colour.
    pub(super) series: Vec<Series>,
    /// Each word has a colour of its own.
    pub(super) colours_words: bool,
    /// Notes for the reader of the chart.
    pub(super) notes: Vec<String>,
    /// The places of the origins of its figures.
    pub(super) origins: Vec<usize>,
}

impl Drawing {
    /// True for engines, each of which has one bar.
    fn is_of_engines(&self) -> bool {
        self.kind == ChartKind::Bar
            && self.x_name == ENGINE
            && self.series.iter().filter(|one| !one.published).count() == 1
    }

    /// A name that no other chart of the report has.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// A line, or the bars of one colour.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    /// Its name.
    pub(super) name: String,
    /// The figures are those of a publication.
    pub(super) published: bool,
    /// The number of its colour; `None` is grey.
    pub(super) colour: Option<usize>,
    /// The shade that distinguishes the origins of lines of one colour: 0 is the full colour, 1 a fainter one.
    pub(super) shade: usize,
    /// The name without its origin.
    #[serde(skip)]
    label: String,
    /// For each of the drawing's `xs`, the figure, if there is one.
    pub(super) points: Vec<Option<Spread>>,
}

/// The panel and the line of a trial; the origin is a part of the line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    places: Vec<usize>,
    origin: usize,
}

/// Lines of one panel: figures by their place on the axis.
type Lines<'t, 'a> = BTreeMap<LineKey, Vec<&'t Trial<'a>>>;

/// The experiment and the chart that drawings are made for.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The experiment.
    pub(super) experiment: &'a Experiment,
    /// The chart.
    pub(super) chart: &'a Chart,
    /// The number of the chart in the experiment, from 1.
    pub(super) number: usize,
    /// Figures of several origins are in the report, so that lines name theirs.
    pub(super) names_origins: bool,
}

impl Source<'_> {
    /// Lines name their origins only in a chart with figures of several.
    fn naming(self, origins: &[usize]) -> Self {
        Self { names_origins: self.names_origins && origins.len() > 1, ..self }
    }
}

/// The drawings of a chart; empty for a table, or if no trial has the figure.
pub(super) fn drawings(source: Source<'_>, trials: &[Trial<'_>]) -> Vec<Drawing> {
    if source.chart.kind == ChartKind::Table {
        return Vec::new();
    }
    let split = Split::of(source.chart, source.experiment, trials);
    let mut panels: BTreeMap<Vec<usize>, Lines<'_, '_>> = BTreeMap::new();
    for trial in trials {
        let parameters = &trial.record.parameters;
        let key = LineKey { places: split.places(&split.lines, parameters), origin: trial.origin };
        let panel = panels.entry(split.places(&split.panels, parameters)).or_default();
        panel.entry(key).or_default().push(trial);
    }
    let mut drawn = Vec::new();
    for (panel, lines) in panels {
        let drawing = match source.chart.kind {
            ChartKind::Time => time::draw(source, &split, &lines),
            _ => points::draw(source, &split, &lines),
        };
        let Some(mut drawing) = drawing else { continue };
        let number = drawn.len() + 1;
        drawing.id = format!("{}-{}", source.experiment.name, source.number);
        if !split.panels.is_empty() {
            drawing.id += &format!("-{number}");
            drawing.title += &format!(": {}", split.label(&split.panels, &panel));
        }
        drawn.push(drawing);
    }
    drawn
}

/// The figures of a drawing before they have units and axes.
struct Raw {
    words: Vec<String>,
    xs: Vec<f64>,
    series: Vec<Series>,
    notes: Vec<String>,
    origins: Vec<usize>,
}

impl Raw {
    /// The drawing; `None` without measured figures.
    fn finish(self, source: Source<'_>, x_name: String, x: Axis) -> Option<Drawing> {
        let chart = source.chart;
        self.series.iter().any(|series| !series.published).then_some(())?;
        let figures = |series: &Series| series.points.iter().flatten().flat_map(|p| [p.min, p.max]).collect::<Vec<_>>();
        let most = self.series.iter().flat_map(figures).map(f64::abs).fold(0.0, f64::max);
        let unit = Unit::of(chart.unit.as_deref().unwrap_or(""), most);
        let mut series = self.series;
        for point in series.iter_mut().flat_map(|series| series.points.iter_mut()).flatten() {
            *point = point.scaled(unit.factor);
        }
        colour(&mut series);
        let y = Axis::of_figures(chart.y_scale, series.iter().flat_map(figures));
        let mut drawing = Drawing {
            id: String::new(),
            title: chart.title.clone(),
            kind: chart.kind,
            x_name,
            unit: unit.name,
            x,
            y,
            words: self.words,
            xs: self.xs,
            series,
            notes: self.notes,
            origins: self.origins,
            colours_words: false,
        };
        drawing.colours_words = drawing.is_of_engines();
        Some(drawing)
    }
}

/// Gives each line its colour: that of its label, fainter for each further origin.
fn colour(series: &mut [Series]) {
    let published = series.iter().filter(|series| series.published).count();
    let mut labels: Vec<String> = Vec::new();
    let mut theirs = 0;
    let mut before: Vec<usize> = Vec::new();
    for series in series {
        if series.published {
            series.colour = (published > GREY_MAX).then_some(theirs);
            theirs += 1;
            continue;
        }
        let place = labels.iter().position(|label| *label == series.label).unwrap_or_else(|| {
            labels.push(series.label.clone());
            before.push(0);
            labels.len() - 1
        });
        (series.colour, series.shade) = (Some(place), before[place]);
        before[place] += 1;
    }
}

impl Series {
    /// The line of some trials.
    fn measured(source: Source<'_>, split: &Split, key: &LineKey, points: Vec<Option<Spread>>) -> Self {
        let label = match (split.label(&split.lines, &key.places), source.experiment.program.as_str()) {
            (label, _) if !label.is_empty() => label,
            (_, THIS_PROGRAM) => "Alluvium".to_owned(),
            (_, program) => program.to_owned(),
        };
        let name = match source.names_origins {
            true => format!("{label} (run {})", origin::letter(key.origin)),
            false => label.clone(),
        };
        Self { name, label, published: false, colour: None, shade: 0, points }
    }

    /// The line of a publication.
    fn published(name: &str, points: Vec<Option<Spread>>) -> Self {
        Self { name: name.to_owned(), label: String::new(), published: true, colour: None, shade: 0, points }
    }
}
