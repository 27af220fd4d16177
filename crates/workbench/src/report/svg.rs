//! A chart as SVG, for pages without scripts and for print.
//!
//! Coordinates are in half pixels, because the library supports only integers. Therefore a chart has twice the size at
//! which it is displayed.

mod marks;

use super::drawing::{Drawing, Series};
use super::numbers::tick;
use crate::plan::ChartKind;
use marks::{Place, Style};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The drawing surface.
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The result of a drawing step of the library.
type Drawn<'a> = Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

const WIDTH: i32 = 1440;
const PLOT_HEIGHT: i32 = 600;
const LEGEND_ROW: i32 = 40;
/// In charts over time, the points of longer lines are not marked.
const POINTS_MAX: usize = 40;
/// Sizes of text; the library divides them by 1.24.
const TEXT: i32 = 32;
const TITLE: i32 = 40;
/// The mean width of a character, as a share of the size.
const CHARACTER: f64 = 0.46;
const INK: RGBColor = RGBColor(0x1c, 0x21, 0x26);
const SOFT: RGBColor = RGBColor(0x5a, 0x64, 0x6e);
const GRID: RGBColor = RGBColor(0xe1, 0xe6, 0xea);
/// The colours of the page's light theme.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xb4, 0x55, 0x8d),
    RGBColor(0xc2, 0x85, 0x00),
    RGBColor(0x3f, 0x9b, 0xd0),
    RGBColor(0x7a, 0x5c, 0x3a),
    INK,
];
const GREY: RGBColor = RGBColor(0x6b, 0x74, 0x7d);

/// The chart as a file, with its title.
pub(crate) fn file(drawing: &Drawing) -> String {
    draw(drawing, true)
}

/// The chart as an element of a page that shows its title already.
pub(super) fn inline(drawing: &Drawing) -> String {
    // In HTML the element needs no namespace. Without it, the page contains no address.
    draw(drawing, false).replace(" xmlns=\"http://www.w3.org/2000/svg\"", "")
}

/// The places of the parts of a chart.
struct Layout {
    top: i32,
    left: i32,
    right: i32,
    bottom: i32,
    /// The number of rows of words below the axis.
    steps: usize,
    legend: i32,
    legend_columns: usize,
    height: i32,
}

impl Layout {
    fn of(drawing: &Drawing, is_titled: bool) -> Self {
        let labels = drawing.y.ticks.iter().map(|value| text_width(&tick(*value), TEXT));
        let (left, right) = (labels.max().unwrap_or(0).max(30) + 44, WIDTH - 30);
        let top = if is_titled { 112 } else { 24 };
        let bottom = top + PLOT_HEIGHT;
        let longest = drawing.words.iter().map(|word| text_width(word, TEXT)).max().unwrap_or(0);
        let place = (right - left) / drawing.words.len().max(1) as i32;
        let steps = if longest + 12 > place { (longest / place.max(1) + 1).min(3) as usize } else { 1 };
        let legend = bottom + 50 + (steps as i32 - 1) * 36 + 60;
        let names = drawing.series.iter().map(|series| text_width(&series.name, TEXT) + 90).max().unwrap_or(0);
        let legend_columns = ((WIDTH - 40) / names.max(1)).clamp(1, 4) as usize;
        let rows = drawing.series.len().div_ceil(legend_columns) as i32;
        Self { top, left, right, bottom, steps, legend, legend_columns, height: legend + rows * LEGEND_ROW + 16 }
    }
}

fn draw(drawing: &Drawing, is_titled: bool) -> String {
    let layout = Layout::of(drawing, is_titled);
    let mut svg = String::new();
    let area = SVGBackend::with_string(&mut svg, (WIDTH as u32, layout.height as u32)).into_drawing_area();
    // Errors are ignored: a write to a string cannot fail, and an incomplete chart is better than no chart.
    let _written = draw_all(&area, drawing, &layout, is_titled);
    let _written = area.present();
    drop(area);
    svg
}

fn draw_all<'a>(area: &Area<'a>, drawing: &Drawing, layout: &Layout, is_titled: bool) -> Drawn<'a> {
    area.fill(&WHITE)?;
    if is_titled {
        let style = ("sans-serif", TITLE).into_font().style(FontStyle::Bold).color(&INK);
        area.draw(&Text::new(drawing.title.clone(), (24, 20), style))?;
        write(area, &drawing.unit, (24, layout.top - 44), SOFT, HPos::Left)?;
    }
    draw_axes(area, drawing, layout)?;
    let place = Place::of(drawing, layout.left..layout.right, layout.top..layout.bottom);
    for (at, series) in drawing.series.iter().enumerate() {
        let style = style(drawing, at);
        match drawing.kind {
            ChartKind::Bar => marks::bars(area, &place, series, &style)?,
            ChartKind::Quartiles => marks::boxes(area, &place, series, &style)?,
            ChartKind::Time if series.points.iter().flatten().count() > POINTS_MAX => {
                marks::line(area, &place, &drawing.xs, series, &style)?;
                if drawing.series.len() > 1 {
                    marks::few_points(area, &place, &drawing.xs, series, &style)?;
                }
            }
            _ => {
                marks::line(area, &place, &drawing.xs, series, &style)?;
                marks::points(area, &place, &drawing.xs, series, &style)?;
            }
        }
    }
    draw_legend(area, drawing, layout)
}

fn draw_axes<'a>(area: &Area<'a>, drawing: &Drawing, layout: &Layout) -> Drawn<'a> {
    let place = Place::of(drawing, layout.left..layout.right, layout.top..layout.bottom);
    for value in &drawing.y.ticks {
        let y = place.y(*value);
        area.draw(&PathElement::new(vec![(layout.left, y), (layout.right, y)], GRID.stroke_width(2)))?;
        write(area, &tick(*value), (layout.left - 14, y), SOFT, HPos::Right)?;
    }
    for (at, value) in drawing.x.ticks.iter().enumerate() {
        let x = place.x(*value);
        if drawing.words.is_empty() {
            area.draw(&PathElement::new(vec![(x, layout.top), (x, layout.bottom)], GRID.stroke_width(2)))?;
        }
        let label = drawing.words.get(at).cloned().unwrap_or_else(|| tick(*value));
        let step = (at % layout.steps) as i32 * 36;
        write(area, &label, (x, layout.bottom + 26 + step), SOFT, HPos::Center)?;
    }
    let base = vec![(layout.left, layout.bottom), (layout.right, layout.bottom)];
    area.draw(&PathElement::new(base, SOFT.stroke_width(2)))?;
    let middle = (layout.left + layout.right) / 2;
    write(area, &drawing.x_name, (middle, layout.legend - 48), SOFT, HPos::Center)
}

fn draw_legend<'a>(area: &Area<'a>, drawing: &Drawing, layout: &Layout) -> Drawn<'a> {
    let column = (WIDTH - 40) / layout.legend_columns as i32;
    // If words have colours, their names are below the bars, so the legend lists only published series.
    let named = drawing.series.iter().enumerate().filter(|(_, one)| !drawing.colours_words || one.published);
    for (at, series) in named {
        let x = 24 + (at % layout.legend_columns) as i32 * column;
        let y = layout.legend + (at / layout.legend_columns) as i32 * LEGEND_ROW + LEGEND_ROW / 2;
        marks::sample(area, drawing.kind, (x, y), series, &style(drawing, at))?;
        write(area, &series.name, (x + 76, y), INK, HPos::Left)?;
    }
    Ok(())
}

fn style(drawing: &Drawing, at: usize) -> Style {
    let is_published = |series: &&Series| series.published;
    Style {
        colour: colour(&drawing.series[at]),
        place: at,
        dash: drawing.series[..at].iter().filter(is_published).count(),
    }
}

/// The colour of a word on the axis, on a white background.
fn of_word(at: usize) -> RGBColor {
    COLOURS[at % COLOURS.len()]
}

/// The colour of a series on a white background.
fn colour(series: &Series) -> RGBColor {
    let RGBColor(red, green, blue) = series.colour.map_or(GREY, |colour| COLOURS[colour % COLOURS.len()]);
    let share = (1.0 - 0.45 * series.shade as f64).max(0.3);
    let part = |part: u8| (f64::from(part) * share + 255.0 * (1.0 - share)).round() as u8;
    RGBColor(part(red), part(green), part(blue))
}

fn write<'a>(area: &Area<'a>, text: &str, at: (i32, i32), colour: RGBColor, side: HPos) -> Drawn<'a> {
    let style = ("sans-serif", TEXT).into_font().color(&colour).pos(Pos::new(side, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))
}

fn text_width(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * CHARACTER) as i32
}

#[cfg(test)]
mod tests;
