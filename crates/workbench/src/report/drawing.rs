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

/// Up to this number of published lines are drawn in grey. If there are more, they get the colours of the measured
/// lines, in order.
const GREY_MAX: usize = 2;

/// The parameter whose values have separate colours.
const ENGINE: &str = "engine";

/// One chart: all figures of a chart of the plan, or the figures of one panel.
#[derive(Debug, Serialize)]
pub(crate) struct Drawing {
    /// The id, unique in the report: letters, digits and dashes.
    pub(super) id: String,
    /// The title, including the title of the panel.
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
    /// The values of the horizontal axis if they are words. In this case `xs` has their positions.
    pub(super) words: Vec<String>,
    /// The values of the horizontal axis, ascending.
    pub(super) xs: Vec<f64>,
    /// The lines, or the bars of one colour.
    pub(super) series: Vec<Series>,
    /// True if each word has a separate colour.
    pub(super) colours_words: bool,
    /// Notes for the reader of the chart.
    pub(super) notes: Vec<String>,
    /// The indexes of the origins of its figures.
    pub(super) origins: Vec<usize>,
}

impl Drawing {
    /// True for a bar chart of engines in which each engine has one bar.
    fn is_of_engines(&self) -> bool {
        self.kind == ChartKind::Bar
            && self.x_name == ENGINE
            && self.series.iter().filter(|one| !one.published).count() == 1
    }

    /// The id of the chart, unique in the report.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }
}

/// A line, or the bars of one colour.
#[derive(Debug, Serialize)]
pub(super) struct Series {
    /// The name.
    pub(super) name: String,
    /// True if the figures are from a publication.
    pub(super) published: bool,
    /// The number of the colour; `None` for grey.
    pub(super) colour: Option<usize>,
    /// The shade, which distinguishes the origins of lines of the same colour: 0 is the full colour, 1 is fainter.
    pub(super) shade: usize,
    /// The name without its origin.
    #[serde(skip)]
    label: String,
    /// For each of the `xs` of the drawing, the figure, if any.
    pub(super) points: Vec<Option<Spread>>,
}

/// The key of a line: the indexes of the parameter values that distinguish it from other lines, and the origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    places: Vec<usize>,
    origin: usize,
}

/// The lines of one panel, each with its trials.
type Lines<'t, 'a> = BTreeMap<LineKey, Vec<&'t Trial<'a>>>;

/// The experiment and the chart for which drawings are made.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    /// The experiment.
    pub(super) experiment: &'a Experiment,
    /// The chart.
    pub(super) chart: &'a Chart,
    /// The number of the chart in the experiment, from 1.
    pub(super) number: usize,
    /// True if the report has figures of several origins, so that lines name their origins.
    pub(super) names_origins: bool,
}

impl Source<'_> {
    /// Lines name their origins only if the chart has figures of several origins.
    fn naming(self, origins: &[usize]) -> Self {
        Self { names_origins: self.names_origins && origins.len() > 1, ..self }
    }
}

/// The drawings of a chart. Empty for a table, or if no trial has the figure.
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

/// The figures of a drawing before units and axes are chosen.
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

/// Sets the colour of each line. Lines with the same label have the same colour, which is fainter for each further
/// origin.
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
    /// A line of measured figures.
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

    /// A line of published figures.
    fn published(name: &str, points: Vec<Option<Spread>>) -> Self {
        Self { name: name.to_owned(), label: String::new(), published: true, colour: None, shade: 0, points }
    }
}
