//! Figures over time, or over another quantity in the samples of a trial.

use super::{Drawing, LineKey, Lines, Raw, Series, Source};
use crate::plan::Published;
use crate::record::{at, figure};
use crate::report::axis::Axis;
use crate::report::numbers::exact;
use crate::report::split::{Split, Trial};
use crate::report::spread::Spread;
use serde_json::Value;

/// A longer line is divided into this many pieces. The smallest and the largest figure of each piece are kept, so a
/// line has at most twice as many points.
const PIECES: usize = 300;

/// A published line is not drawn if it is more than this many times longer than the measured lines.
const LONGER_MAX: f64 = 10.0;

/// The samples of one trial, and the number of trials from which it was chosen.
struct Samples {
    points: Vec<(f64, f64)>,
    /// The number of trials from which this trial was chosen.
    of: usize,
}

/// Draws the trials of a panel. Of repeated trials, only the trial with the median mean is drawn.
pub(super) fn draw(source: Source<'_>, split: &Split, lines: &Lines<'_, '_>) -> Option<Drawing> {
    let chart = source.chart;
    let (x, y) = (chart.x.as_deref().unwrap_or("seconds"), chart.y.as_deref()?);
    let chosen = |(key, trials): (&LineKey, &Vec<&Trial<'_>>)| {
        let samples = choose(trials, |trial| samples(at(trial.json, chart.list())?, x, y))?;
        Some((key.clone(), samples))
    };
    let mut all: Vec<(LineKey, Samples)> = lines.iter().filter_map(chosen).collect();
    if x == "seconds" {
        let is_rate = chart.unit.as_deref().is_some_and(|unit| unit.ends_with("/s"));
        for (_, samples) in &mut all {
            if is_rate {
                leave_out_the_rest(&mut samples.points);
            }
            round(&mut samples.points);
        }
    }
    let of = all.iter().map(|(_, samples)| samples.of).max()?;
    let longest = all.iter().map(|(_, samples)| samples.points.len()).max()?;
    all.iter_mut().for_each(|(_, samples)| samples.points = thin(&samples.points));
    let mut origins: Vec<usize> = all.iter().map(|(key, _)| key.origin).collect();
    origins.sort_unstable();
    origins.dedup();
    let source = source.naming(&origins);
    let end = all.iter().filter_map(|(_, samples)| samples.points.last()).map(|last| last.0).fold(0.0, f64::max);
    let mut notes = notes(of, longest);
    let mut published = Vec::new();
    for line in &chart.published {
        let points = sorted(line);
        match points.last() {
            // Next to a line of an hour, a trial of seconds would be a stroke at the edge of the chart.
            Some(last) if last.0 > end * LONGER_MAX => notes.push(too_long(line, &points)),
            _ => published.push((line.name.clone(), points)),
        }
    }
    let of_all = all.iter().map(|(_, samples)| &samples.points).chain(published.iter().map(|(_, points)| points));
    let mut xs: Vec<f64> = of_all.flatten().map(|point| point.0).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let ours = all.iter().map(|(key, one)| Series::measured(source, split, key, aligned(&one.points, &xs)));
    let theirs = published.iter().map(|(name, points)| Series::published(name, aligned(points, &xs)));
    let series = ours.chain(theirs).collect();
    let axis = Axis::of_progress(chart.x_scale, &xs);
    let raw = Raw { words: Vec::new(), xs, series, notes, origins };
    let unit = chart.x_unit.as_deref().or((x == "seconds").then_some("s"));
    let name = if x == "seconds" { "time".to_owned() } else { x.replace(['_', '.'], " ") };
    raw.finish(source, unit.map_or_else(|| name.clone(), |unit| format!("{name}, {unit}")), axis)
}

fn notes(of: usize, longest: usize) -> Vec<String> {
    let repeated = format!("Of {of} repeats of a trial, the one whose mean is the median is drawn.");
    let thinned = format!("Lines of more than {} samples show the least and the greatest of each piece.", 2 * PIECES);
    let notes = [(of > 1, repeated), (longest > 2 * PIECES, thinned)];
    notes.into_iter().filter(|(is_true, _)| *is_true).map(|(_, note)| note).collect()
}

/// The points of a published line, in ascending order.
fn sorted(line: &Published) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = line.points.iter().filter_map(|(x, y)| Some((x.as_f64()?, *y))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The note about a published line that is not drawn.
fn too_long(line: &Published, points: &[(f64, f64)]) -> String {
    let shown = points.iter().map(|(x, y)| format!("{} at {}", exact(*y), exact(*x))).collect::<Vec<_>>().join(", ");
    format!("{}, much longer than these trials and not drawn: {shown}.", line.name)
}

/// The samples of the trial whose mean is the median of the means of all trials.
fn choose(trials: &[&Trial<'_>], read: impl Fn(&Trial<'_>) -> Option<Vec<(f64, f64)>>) -> Option<Samples> {
    let mean = |points: &[(f64, f64)]| points.iter().map(|point| point.1).sum::<f64>() / points.len() as f64;
    let mut all: Vec<Vec<(f64, f64)>> = trials.iter().filter_map(|trial| read(trial)).collect();
    all.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let of = all.len();
    (of > 0).then(|| Samples { points: all.swap_remove((of - 1) / 2), of })
}

/// The figures in a list of samples; `None` if there are none.
fn samples(list: &Value, x: &str, y: &str) -> Option<Vec<(f64, f64)>> {
    let one = |sample: &Value| Some((figure(sample, x)?, figure(sample, y)?));
    let mut points: Vec<(f64, f64)> = list.as_array()?.iter().filter_map(one).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!points.is_empty()).then_some(points)
}

/// The last sample counts as a part of an interval if it follows the previous sample after less than this share of an
/// interval.
const WHOLE: f64 = 0.9;

/// Removes the last sample if it covers only a part of an interval, because it would look like a drop of the rate.
fn leave_out_the_rest(points: &mut Vec<(f64, f64)>) {
    if let [first, .., before, last] = points[..] {
        let interval = (before.0 - first.0) / (points.len() - 2) as f64;
        if last.0 - before.0 < WHOLE * interval {
            points.pop();
        }
    }
}

/// Rounds the times of samples, so that samples of several trials have equal times. Times are rounded to seconds if the
/// samples are about a second apart, otherwise to tenths.
fn round(points: &mut Vec<(f64, f64)>) {
    let span = points.last().map_or(0.0, |last| last.0) - points.first().map_or(0.0, |first| first.0);
    let steps: f64 = if span >= 0.9 * points.len().saturating_sub(1) as f64 { 1.0 } else { 10.0 };
    points.iter_mut().for_each(|point| point.0 = (point.0 * steps).round() / steps);
    points.dedup_by_key(|point| point.0);
}

/// Keeps the smallest and the largest figure of each of many pieces, so that no stall and no peak is lost.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= 2 * PIECES {
        return points.to_vec();
    }
    let of_piece = |piece: &[(f64, f64)]| {
        let compare = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        let ends = [piece.iter().min_by(compare), piece.iter().max_by(compare)];
        let mut ends: Vec<(f64, f64)> = ends.into_iter().flatten().copied().collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        ends.dedup();
        ends
    };
    points.chunks(points.len().div_ceil(PIECES)).flat_map(of_piece).collect()
}

fn aligned(points: &[(f64, f64)], xs: &[f64]) -> Vec<Option<Spread>> {
    let mut left = points.iter().peekable();
    let at = |x: &f64| left.next_if(|point| point.0 == *x).map(|point| Spread::single(point.1));
    xs.iter().map(at).collect()
}

#[cfg(test)]
mod tests;
