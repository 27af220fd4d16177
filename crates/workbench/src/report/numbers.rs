//! Numbers as text: with thousands separators, with decimals that suit a column, or in a short form
//! for axes.

use alluvium_cli::text;

/// The decimals of a column of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decimals {
    /// All figures have this number of decimal places, so that they align.
    Fixed(usize),
    /// Each figure has its own number of decimal places, because the figures differ by a factor of
    /// more than a thousand.
    Own,
}

impl Decimals {
    /// The decimals that show about four digits of the largest figure, and at least one digit of
    /// the smallest.
    pub(super) fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let (mut least, mut most, mut whole) = (f64::INFINITY, 0.0_f64, true);
        for figure in figures.into_iter().map(f64::abs).filter(|figure| *figure > 0.0) {
            least = least.min(figure);
            most = most.max(figure);
            whole &= figure.fract() == 0.0;
        }
        match digits_after(most) {
            _ if whole => Self::Fixed(0),
            digits if least >= 0.1_f64.powi(digits as i32) => Self::Fixed(digits),
            _ => Self::Own,
        }
    }

    /// The figure as text.
    pub(super) fn show(self, figure: f64) -> String {
        match self {
            Self::Fixed(digits) => separated(figure, digits),
            Self::Own if figure != 0.0 && figure.abs() < 0.001 => format!("{figure:.1e}"),
            Self::Own => separated(figure, digits_after(figure.abs())),
        }
    }
}

/// The number of decimals with which four digits of a figure are shown.
fn digits_after(figure: f64) -> usize {
    match figure {
        f if f >= 1000.0 => 0,
        f if f >= 100.0 => 1,
        f if f >= 10.0 => 2,
        f if f >= 1.0 => 3,
        _ => 4,
    }
}

/// A figure with separators between thousands.
fn separated(figure: f64, digits: usize) -> String {
    let shown = format!("{:.digits$}", figure.abs());
    let (whole, rest) = shown.split_once('.').unwrap_or((&shown, ""));
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), text::count);
    let is_zero = shown.chars().all(|c| matches!(c, '0' | '.'));
    let sign = if figure < 0.0 && !is_zero { "−" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{rest}")
}

/// A figure with about three digits.
pub(super) fn short(figure: f64) -> String {
    let digits = match figure.abs() {
        f if f >= 100.0 => 0,
        f if f >= 10.0 => 1,
        f if f >= 0.095 => 2,
        f if f >= 0.0095 => 3,
        _ => 4,
    };
    separated(figure, digits)
}

/// The label of a tick, without superfluous decimals: `0.5`, `1,000`, `25 M`.
pub(super) fn tick(value: f64) -> String {
    for (factor, unit) in [(1e9, " G"), (1e6, " M")] {
        if value.abs() >= factor {
            return trimmed(value / factor) + unit;
        }
    }
    trimmed(value)
}

/// A value of a parameter, with all its digits.
pub(super) fn exact(value: f64) -> String {
    trimmed(value)
}

fn trimmed(value: f64) -> String {
    match value.abs() {
        v if v != 0.0 && v < 1e-4 => format!("{value:e}"),
        v if v.fract() == 0.0 => separated(value, 0),
        _ => separated(value, 4).trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

/// A unit in which figures are short, and the factor by which figures are multiplied.
pub(super) struct Unit {
    /// The name; empty if the figures have no unit.
    pub(super) name: String,
    /// The factor that converts figures of the record to this unit.
    pub(super) factor: f64,
}

impl Unit {
    /// The unit for figures up to `most`: for bytes, a multiple such as MB; for all other units,
    /// the unit itself.
    pub(super) fn of(name: &str, most: f64) -> Self {
        let rest = name.strip_prefix("bytes").or_else(|| name.strip_prefix("byte")).or_else(|| name.strip_prefix('B'));
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(['/', ' '])) else {
            return Self { name: name.to_owned(), factor: 1.0 };
        };
        let multiples = [(1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
        match multiples.into_iter().find(|(bytes, _)| most >= *bytes) {
            Some((bytes, multiple)) => Self { name: format!("{multiple}{rest}"), factor: 1.0 / bytes },
            None => Self { name: name.to_owned(), factor: 1.0 },
        }
    }
}

/// True if a larger figure is better, as for a rate or for evenness.
pub(super) fn more_is_better(unit: &str, path: &str) -> bool {
    let last = path.rsplit('.').next().unwrap_or(path);
    unit.ends_with("/s") || unit.ends_with("a second") || last.ends_with("rate") || last == "worst_over_median"
}

#[cfg(test)]
mod tests;
