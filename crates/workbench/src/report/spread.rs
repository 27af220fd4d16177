//! The spread of repeated figures.

use serde::Serialize;

/// The minimum, the quartiles and the maximum of some figures.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    /// The minimum.
    pub(super) min: f64,
    /// The first quartile.
    pub(super) q1: f64,
    /// The median.
    pub(super) median: f64,
    /// The third quartile.
    pub(super) q3: f64,
    /// The maximum.
    pub(super) max: f64,
    /// The number of figures.
    pub(super) count: usize,
}

impl Spread {
    /// The spread of figures in any order; `None` if there are no figures.
    pub(super) fn of(figures: &[f64]) -> Option<Self> {
        let mut sorted = figures.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        // A quantile between two figures is interpolated linearly.
        let quantile = |share: f64| {
            let at = share * (sorted.len() - 1) as f64;
            let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        let (q1, median, q3) = (quantile(0.25), quantile(0.5), quantile(0.75));
        Some(Self { min, q1, median, q3, max, count: sorted.len() })
    }

    /// The spread of one figure.
    pub(super) fn single(figure: f64) -> Self {
        Self { min: figure, q1: figure, median: figure, q3: figure, max: figure, count: 1 }
    }

    /// All figures times a factor.
    pub(super) fn scaled(self, factor: f64) -> Self {
        let Self { min, q1, median, q3, max, count } = self;
        let [min, q1, median, q3, max] = [min, q1, median, q3, max].map(|figure| figure * factor);
        Self { min, q1, median, q3, max, count }
    }
}

#[cfg(test)]
mod tests;
