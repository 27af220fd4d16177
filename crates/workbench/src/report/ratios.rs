//! The figures of Alluvium divided by the figures of each peer, in the same run.

use super::numbers::{more_is_better, short};
use super::origin;
use super::split::{Split, Trial};
use super::spread::Spread;
use crate::plan::{Chart, Experiment, Parameters};
use crate::record::figure;
use alluvium_cli::text;
use serde_json::Value;
use std::collections::BTreeMap;

/// The parameter that names the engine, and its value for Alluvium.
const ENGINE: &str = "engine";
const OURS: &str = "alluvium";

/// The figure of Alluvium divided by the figure of a peer.
#[derive(Debug)]
pub(super) struct Ratio {
    /// The id of the chart's first drawing.
    pub(super) id: String,
    /// The title of the chart.
    pub(super) title: String,
    /// The peer, with the origin if the report has several.
    pub(super) peer: String,
    /// The geometric mean of the ratios.
    pub(super) mean: String,
    /// The smallest and the largest ratio, and the number of ratios.
    pub(super) range: String,
    /// A sentence with the mean.
    pub(super) sentence: String,
    /// True if the figure of Alluvium is better.
    pub(super) is_ahead: bool,
}

/// The ratios of a chart.
pub(super) fn ratios(
    chart: &Chart,
    experiment: &Experiment,
    number: usize,
    trials: &[Trial<'_>],
    names_origins: bool,
) -> Vec<Ratio> {
    let Some(y) = chart.y.as_deref().filter(|_| chart.ratio) else { return Vec::new() };
    // Figures grouped by the run, the origin, and all parameters except the engine.
    let mut groups: BTreeMap<(usize, usize, String), BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for trial in trials {
        let parameters = &trial.record.parameters;
        let engine = parameters.get(ENGINE).and_then(Value::as_str);
        if let (Some(engine), Some(figure)) = (engine, figure(trial.json, y)) {
            let group = groups.entry((trial.run, trial.origin, others(parameters))).or_default();
            group.entry(engine.to_owned()).or_default().push(figure);
        }
    }
    let mut found: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for ((_, origin, _), engines) in &groups {
        let Some(ours) = engines.get(OURS).and_then(|figures| Spread::of(figures)) else { continue };
        // Engines such as `alluvium-pairs` are Alluvium, too.
        for (peer, figures) in engines.iter().filter(|(engine, _)| !engine.starts_with(OURS)) {
            let ratio = Spread::of(figures).map(|theirs| ours.median / theirs.median);
            let ratio = ratio.filter(|ratio| ratio.is_finite() && *ratio > 0.0);
            found.entry((peer.clone(), *origin)).or_default().extend(ratio);
        }
    }
    let panels = !Split::of(chart, experiment, trials).panels.is_empty();
    let id = format!("{}-{number}{}", experiment.name, if panels { "-1" } else { "" });
    let found = found.into_iter().filter(|(_, ratios)| !ratios.is_empty());
    found
        .map(|((peer, origin), ratios)| {
            let mut ratio = ratio(chart, y, &id, peer, &ratios);
            if names_origins {
                ratio.peer += &format!(" ({})", origin::letter(origin));
            }
            ratio
        })
        .collect()
}

fn ratio(chart: &Chart, y: &str, id: &str, peer: String, ratios: &[f64]) -> Ratio {
    let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let unit = chart.unit.as_deref().unwrap_or("");
    let is_rate = more_is_better(unit, y);
    let what = if unit.is_empty() { "figure" } else { unit };
    let shown = short(mean);
    let sentence = match is_rate {
        true => format!("Alluvium reaches {shown} times the {what} of {peer}: more is better."),
        false => format!("Alluvium takes {shown} times the {what} of {peer}: less is better."),
    };
    let range = match ratios.len() {
        1 => "1 pair".to_owned(),
        n => format!("{} to {} of {}", short(least), short(most), text::counted(n as u64, "pair")),
    };
    let is_ahead = (mean > 1.0) == is_rate;
    Ratio { id: id.to_owned(), title: chart.title.clone(), peer, mean: shown, range, sentence, is_ahead }
}

/// All parameters except the engine, as text.
fn others(parameters: &Parameters) -> String {
    let others: Vec<String> =
        parameters.iter().filter(|(name, _)| *name != ENGINE).map(|(name, value)| format!("{name}={value}")).collect();
    others.join("\n")
}
