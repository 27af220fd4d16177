//! Figures of several engines as a table: a line for each engine.

use alluvium_workbench::record::figure;
use serde_json::Value;

/// The title of a column, the path of its figure in a report, and what the figure is divided by.
pub(super) type Column = (&'static str, &'static str, f64);

/// The table.
pub(super) fn text(columns: &[Column], reports: &[Value]) -> String {
    let mut lines =
        vec![["engine"].into_iter().chain(columns.iter().map(|(title, ..)| *title)).map(str::to_owned).collect()];
    for report in reports {
        let engine = report["engine"].as_str().unwrap_or("").to_owned();
        let cell =
            |(_, path, unit): &Column| figure(report, path).map_or("-".to_owned(), |figure| number(figure / unit));
        lines.push([engine].into_iter().chain(columns.iter().map(cell)).collect::<Vec<String>>());
    }
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=columns.len()).map(width).collect();
    let mut out = String::new();
    for line in &lines {
        for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
            out += &if at == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        out.push('\n');
    }
    out
}

/// A number with three significant digits, or whole.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}
