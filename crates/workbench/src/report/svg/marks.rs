//! The lines, points, bars and boxes of a chart.

use super::{Area, Drawn};
use crate::plan::ChartKind;
use crate::report::axis::Axis;
use crate::report::drawing::{Drawing, Series};
use crate::report::spread::Spread;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use std::ops::Range;

/// The share of the space of a word that is covered by its bars.
const COVERED: f64 = 0.78;
const BAR_MAX: f64 = 180.0;
const RADIUS: i32 = 7;
/// The number of marks on a long line.
const FEW: usize = 8;

/// How a series is drawn.
pub(super) struct Style {
    pub(super) colour: RGBColor,
    /// The index among all series, which determines the shape of the points.
    pub(super) place: usize,
    /// The index among the published series, which determines the dash pattern.
    pub(super) dash: usize,
}

/// Converts values to coordinates.
pub(super) struct Place<'a> {
    drawing: &'a Drawing,
    x: &'a Axis,
    y: &'a Axis,
    across: Range<i32>,
    down: Range<i32>,
}

impl<'a> Place<'a> {
    /// The coordinates of a drawing's values in a rectangle.
    pub(super) fn of(drawing: &'a Drawing, across: Range<i32>, down: Range<i32>) -> Self {
        Self { drawing, x: &drawing.x, y: &drawing.y, across, down }
    }

    /// The horizontal coordinate of a value.
    pub(super) fn x(&self, value: f64) -> i32 {
        self.across.start + (self.x.place(value) * f64::from(self.across.end - self.across.start)).round() as i32
    }

    /// The vertical coordinate of a value.
    pub(super) fn y(&self, value: f64) -> i32 {
        let place = self.y.place(value).clamp(0.0, 1.0);
        self.down.end - (place * f64::from(self.down.end - self.down.start)).round() as i32
    }

    /// The left and the right side of the bar of a series at a word. Only series with a figure for the word have a bar.
    fn slot(&self, at: usize, style: &Style) -> Range<i32> {
        let series = &self.drawing.series;
        let present = |word: usize, series: &[Series]| series.iter().filter(|one| one.points[word].is_some()).count();
        let most = (0..self.drawing.xs.len()).map(|word| present(word, series)).max().unwrap_or(1);
        let width = (f64::from(self.x(1.0) - self.x(0.0)) * COVERED / most as f64).min(BAR_MAX);
        let rank = present(at, &series[..style.place]) as f64 - present(at, series) as f64 / 2.0;
        let left = f64::from(self.x(at as f64)) + width * rank;
        (left + width * 0.06) as i32..(left + width * 0.94) as i32
    }
}

/// A line through the medians; dashed if the figures are published.
pub(super) fn line<'a>(area: &Area<'a>, place: &Place<'_>, xs: &[f64], series: &Series, style: &Style) -> Drawn<'a> {
    let at = |(x, point): (&f64, &Option<Spread>)| point.map(|point| (place.x(*x), place.y(point.median)));
    let points: Vec<(i32, i32)> = xs.iter().zip(&series.points).filter_map(at).collect();
    stroke(area, points, series.published, style)
}

fn stroke<'a>(area: &Area<'a>, points: Vec<(i32, i32)>, is_dashed: bool, style: &Style) -> Drawn<'a> {
    let line = style.colour.stroke_width(4);
    if !is_dashed {
        return area.draw(&PathElement::new(points, line));
    }
    let (dash, gap) = [(16, 10), (4, 8), (28, 10), (10, 4)][style.dash % 4];
    area.draw(&DashedPathElement::new(points, dash, gap, line))
}

/// Marks at the medians, with whiskers to the minimum and the maximum of the repeats.
pub(super) fn points<'a>(area: &Area<'a>, place: &Place<'_>, xs: &[f64], series: &Series, style: &Style) -> Drawn<'a> {
    for (x, point) in xs.iter().zip(&series.points).filter_map(|(x, point)| Some((place.x(*x), point.as_ref()?))) {
        whisker(area, place, x, point, &style.colour)?;
        mark(area, (x, place.y(point.median)), series.published, style)?;
    }
    Ok(())
}

/// Marks at a few points of a long line, at positions where the other lines have no marks.
pub(super) fn few_points<'a>(
    area: &Area<'a>,
    place: &Place<'_>,
    xs: &[f64],
    series: &Series,
    style: &Style,
) -> Drawn<'a> {
    let known: Vec<(f64, f64)> =
        xs.iter().zip(&series.points).filter_map(|(x, point)| Some((*x, point.as_ref()?.median))).collect();
    let step = (known.len() / FEW).max(1);
    for (x, y) in known.iter().skip(step * (style.place % 4) / 4 + step / 8).step_by(step) {
        mark(area, (place.x(*x), place.y(*y)), series.published, style)?;
    }
    Ok(())
}

fn whisker<'a>(area: &Area<'a>, place: &Place<'_>, x: i32, point: &Spread, colour: &RGBColor) -> Drawn<'a> {
    if point.max <= point.min {
        return Ok(());
    }
    let (low, high) = (place.y(point.min), place.y(point.max));
    for path in [[(x, low), (x, high)], [(x - 8, low), (x + 8, low)], [(x - 8, high), (x + 8, high)]] {
        area.draw(&PathElement::new(path, colour.stroke_width(3)))?;
    }
    Ok(())
}

/// A mark of one of five shapes; hollow for published figures.
fn mark<'a>(area: &Area<'a>, at: (i32, i32), is_hollow: bool, style: &Style) -> Drawn<'a> {
    let (x, y, r) = (at.0, at.1, RADIUS);
    let shape = match style.place % 5 {
        0 => {
            let fill = if is_hollow { WHITE.filled() } else { style.colour.filled() };
            area.draw(&Circle::new(at, r, fill))?;
            return area.draw(&Circle::new(at, r, style.colour.stroke_width(3)));
        }
        1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
        2 => vec![(x, y - r - 2), (x + r + 1, y + r - 1), (x - r - 1, y + r - 1)],
        3 => vec![(x, y - r - 3), (x + r + 3, y), (x, y + r + 3), (x - r - 3, y)],
        _ => {
            area.draw(&PathElement::new([(x - r, y - r), (x + r, y + r)], style.colour.stroke_width(4)))?;
            return area.draw(&PathElement::new([(x + r, y - r), (x - r, y + r)], style.colour.stroke_width(4)));
        }
    };
    let fill = if is_hollow { WHITE } else { style.colour };
    area.draw(&Polygon::new(shape.clone(), fill.filled()))?;
    let closed: Vec<(i32, i32)> = shape.iter().chain(shape.first()).copied().collect();
    area.draw(&PathElement::new(closed, style.colour.stroke_width(3)))
}

/// Bars that begin at zero, or at the beginning of the axis. Bars of publications are hollow and dashed.
pub(super) fn bars<'a>(area: &Area<'a>, place: &Place<'_>, series: &Series, style: &Style) -> Drawn<'a> {
    for (at, point) in series.points.iter().enumerate().filter_map(|(at, point)| Some((at, point.as_ref()?))) {
        let slot = place.slot(at, style);
        let (top, bottom) = (place.y(point.median), place.down.end);
        match series.published {
            true => outline(area, &slot, top..bottom, style)?,
            false => {
                let colour = if place.drawing.colours_words { super::of_word(at) } else { style.colour };
                area.draw(&Rectangle::new([(slot.start, top), (slot.end, bottom)], colour.filled()))?;
            }
        }
        whisker(area, place, (slot.start + slot.end) / 2, point, &super::INK)?;
    }
    Ok(())
}

fn outline<'a>(area: &Area<'a>, across: &Range<i32>, down: Range<i32>, style: &Style) -> Drawn<'a> {
    let (left, right) = (across.start, across.end);
    let path = vec![(left, down.end), (left, down.start), (right, down.start), (right, down.end)];
    stroke(area, path, true, style)
}

/// Boxes from the first to the third quartile with the median, and whiskers to the minimum and the maximum.
pub(super) fn boxes<'a>(area: &Area<'a>, place: &Place<'_>, series: &Series, style: &Style) -> Drawn<'a> {
    for (at, point) in series.points.iter().enumerate().filter_map(|(at, point)| Some((at, point.as_ref()?))) {
        let slot = place.slot(at, style);
        let median = vec![(slot.start, place.y(point.median)), (slot.end, place.y(point.median))];
        if series.published || point.count == 1 {
            stroke(area, median, series.published, style)?;
            continue;
        }
        whisker(area, place, (slot.start + slot.end) / 2, point, &style.colour)?;
        let corners = [(slot.start, place.y(point.q3)), (slot.end, place.y(point.q1))];
        area.draw(&Rectangle::new(corners, WHITE.filled()))?;
        area.draw(&Rectangle::new(corners, style.colour.mix(0.3).filled()))?;
        area.draw(&Rectangle::new(corners, style.colour.stroke_width(3)))?;
        area.draw(&PathElement::new(median, style.colour.stroke_width(6)))?;
    }
    Ok(())
}

/// The symbol of a series in the legend, to the left of its name.
pub(super) fn sample<'a>(
    area: &Area<'a>,
    kind: ChartKind,
    at: (i32, i32),
    series: &Series,
    style: &Style,
) -> Drawn<'a> {
    let (x, y) = at;
    match kind {
        ChartKind::Bar if series.published => outline(area, &(x + 4..x + 60), y - 12..y + 10, style),
        ChartKind::Bar => area.draw(&Rectangle::new([(x + 4, y - 12), (x + 60, y + 10)], style.colour.filled())),
        _ => {
            stroke(area, vec![(x, y), (x + 64, y)], series.published, style)?;
            match kind {
                ChartKind::Line | ChartKind::Time => mark(area, (x + 32, y), series.published, style),
                _ => Ok(()),
            }
        }
    }
}
