//! A report of benchmark records: one HTML file with charts, tables and ratios, and the same charts as SVG.
//!
//! [`read::read`] reads a directory of records; [`Report::of`] computes the content of the report; [`page::html`] and
//! [`svg::svg`] write it.

mod axis;
mod drawing;
mod numbers;
mod origin;
pub(crate) mod page;
mod ratios;
pub(crate) mod read;
mod shares;
mod split;
mod spread;
pub(crate) mod svg;
mod table;

use crate::plan::{Experiment, Plan, fill, trials};
use crate::record::Record;
use drawing::{Drawing, Source};
use origin::Origin;
use ratios::Ratio;
use read::Run;
use serde_json::Value;
use split::Trial;
use table::Table;

/// The content of a report.
#[derive(Debug)]
pub(crate) struct Report {
    title: String,
    origins: Vec<Origin>,
    ratios: Vec<Ratio>,
    sections: Vec<Section>,
    skipped: Vec<String>,
    failures: Vec<FailedTrial>,
    notes: Vec<String>,
}

/// An experiment.
#[derive(Debug)]
struct Section {
    plan_title: String,
    name: String,
    title: String,
    /// The command that ran the plan of this experiment.
    run_command: String,
    /// The commands that prepare and run a trial, with parameters in braces.
    commands: Vec<String>,
    trials: Count,
    figures: Vec<Figure>,
}

/// The numbers of trials of an experiment.
#[derive(Debug, Default)]
struct Count {
    planned: usize,
    done: usize,
    failed: usize,
}

/// A chart, a panel of a chart, or a table.
#[derive(Debug)]
struct Figure {
    title: String,
    id: String,
    drawing: Option<Drawing>,
    table: Table,
}

/// A trial without figures.
#[derive(Debug)]
struct FailedTrial {
    experiment: String,
    trial: String,
    command: String,
    reason: String,
}

/// An experiment, as in the first run that has it.
struct Known<'a> {
    experiment: &'a Experiment,
    plan: &'a Plan,
}

impl Report {
    /// The report of some runs, with the given title or the title of the first plan.
    pub(crate) fn of(runs: &[Run], title: Option<String>) -> Self {
        let title = title.unwrap_or_else(|| runs.first().map_or_else(String::new, |run| run.plan.title.clone()));
        let (origins, places) = origin::origins(runs);
        let (known, notes) = experiments(runs);
        let mut report =
            Self { title, origins, ratios: vec![], sections: vec![], skipped: vec![], failures: failures(runs), notes };
        report.notes.splice(0..0, runs.iter().flat_map(|run| run.skipped.iter().map(|why| format!("Skipped: {why}."))));
        let json: Vec<Vec<Value>> = runs.iter().map(|run| run.records.iter().map(json).collect()).collect();
        for one in known {
            let trials_of = |name: &str| trials_of(runs, &places, &json, name);
            let trials = trials_of(&one.experiment.name);
            let count = count(runs, one.experiment);
            if count.done + count.failed == 0 {
                let experiment = one.experiment;
                let why = runs.iter().find_map(|run| run.not_run.get(&experiment.name));
                let why = why.map_or("no trial has run", String::as_str);
                report.skipped.push(format!("{} ({}): {why}", experiment.title, experiment.name));
                continue;
            }
            report.add(&one, &trials, &trials_of, count);
        }
        report
    }

    /// Adds an experiment. `trials_of` returns the trials of any other experiment.
    fn add<'a>(
        &mut self,
        known: &Known<'_>,
        trials: &[Trial<'a>],
        trials_of: &dyn Fn(&str) -> Vec<Trial<'a>>,
        count: Count,
    ) {
        let experiment = known.experiment;
        let names_origins = self.origins.len() > 1;
        let mut figures = Vec::new();
        for (at, chart) in experiment.charts.iter().enumerate() {
            let number = at + 1;
            self.ratios.extend(ratios::ratios(chart, experiment, number, trials, names_origins));
            let source = Source { experiment, chart, number, names_origins };
            let drawings = match (&chart.share_of, &chart.y) {
                (Some(other), Some(y)) => {
                    let shares = shares::shares(y, trials, &trials_of(other));
                    let shown = shares.iter().map(|(at, json)| Trial { json, ..trials[*at] });
                    drawing::drawings(source, &shown.collect::<Vec<_>>())
                }
                _ => drawing::drawings(source, trials),
            };
            if drawings.is_empty() && !trials.is_empty() && chart.columns.is_empty() {
                self.notes.push(format!(
                    "No trial of {} has the figure {} of the chart \"{}\".",
                    experiment.name,
                    chart.y.as_deref().unwrap_or(""),
                    chart.title
                ));
            }
            if !chart.columns.is_empty() && !trials.is_empty() {
                let table = table::of_chart(chart, experiment, trials, names_origins);
                let id = format!("{}-{number}-table", experiment.name);
                figures.push(Figure { title: chart.title.clone(), id, drawing: None, table });
            }
            figures.extend(drawings.into_iter().map(|drawing| Figure {
                title: drawing.title.clone(),
                id: drawing.id.clone(),
                table: table::of_drawing(&drawing),
                drawing: Some(drawing),
            }));
        }
        self.sections.push(Section {
            plan_title: experiment.plan_title.clone(),
            name: experiment.name.clone(),
            title: experiment.title.clone(),
            run_command: known.plan.command.join(" "),
            commands: commands(experiment),
            trials: count,
            figures,
        });
    }

    /// The charts, each with its id.
    pub(crate) fn drawings(&self) -> impl Iterator<Item = &Drawing> {
        self.sections.iter().flat_map(|section| section.figures.iter().filter_map(|figure| figure.drawing.as_ref()))
    }

    /// A summary of the report in one line.
    pub(crate) fn summary(&self) -> String {
        use alluvium_cli::text::counted;
        let charts = counted(self.drawings().count() as u64, "chart");
        let experiments = counted(self.sections.len() as u64, "experiment");
        let done: usize = self.sections.iter().map(|section| section.trials.done).sum();
        let failed: usize = self.sections.iter().map(|section| section.trials.failed).sum();
        let trials = counted(done as u64, "trial");
        let failed = if failed == 0 { String::new() } else { format!(", {failed} more failed") };
        let notes = self.notes.iter().map(|note| format!("\n{note}")).collect::<String>();
        format!("{charts} of {experiments} ({trials}{failed}){notes}")
    }
}

/// Each experiment once, and notes about experiments that differ between runs.
fn experiments(runs: &[Run]) -> (Vec<Known<'_>>, Vec<String>) {
    let mut known: Vec<Known<'_>> = Vec::new();
    let mut notes = Vec::new();
    for run in runs {
        for experiment in &run.plan.experiments {
            match known.iter().find(|known| known.experiment.name == experiment.name) {
                None => known.push(Known { experiment, plan: &run.plan }),
                Some(first) if first.experiment.command != experiment.command => notes.push(format!(
                    "{} is another command in {}; all its figures are drawn as the first directory's charts.",
                    experiment.name, run.dir
                )),
                Some(_) => {}
            }
        }
    }
    (known, notes)
}

fn json(record: &Record) -> Value {
    serde_json::to_value(record).unwrap_or_default()
}

/// The trials of an experiment that have figures.
fn trials_of<'a>(runs: &'a [Run], places: &[Vec<usize>], json: &'a [Vec<Value>], experiment: &str) -> Vec<Trial<'a>> {
    let mut found = Vec::new();
    for (run, ((records, places), json)) in runs.iter().map(|run| &run.records).zip(places).zip(json).enumerate() {
        for ((record, origin), json) in records.iter().zip(places).zip(json) {
            if record.experiment == experiment && record.failure.is_none() {
                found.push(Trial { run, origin: *origin, record, json });
            }
        }
    }
    found
}

fn count(runs: &[Run], experiment: &Experiment) -> Count {
    let mut count = Count::default();
    for run in runs {
        count.planned += trials(&run.plan).iter().filter(|trial| trial.experiment.name == experiment.name).count();
        for record in run.records.iter().filter(|record| record.experiment == experiment.name) {
            match record.failure {
                None => count.done += 1,
                Some(_) => count.failed += 1,
            }
        }
    }
    count
}

/// The commands of a trial, with the values that all trials share filled in.
fn commands(experiment: &Experiment) -> Vec<String> {
    let value = |name: &str| experiment.values.get(name).map(split::plain);
    let line = |arguments: &Vec<String>| {
        let filled = fill(arguments, &value);
        std::iter::once(experiment.program.clone()).chain(filled).collect::<Vec<_>>().join(" ")
    };
    [experiment.prepare.as_ref(), Some(&experiment.command)].into_iter().flatten().map(line).collect()
}

fn failures(runs: &[Run]) -> Vec<FailedTrial> {
    let mut found = Vec::new();
    for run in runs {
        for record in &run.records {
            let Some(reason) = &record.failure else { continue };
            let grid = run.plan.experiments.iter().find(|one| one.name == record.experiment).map(|one| &one.grid);
            let is_varied = |name: &String| grid.is_some_and(|grid| grid.contains_key(name));
            let parameters = record.parameters.iter().filter(|(name, _)| is_varied(name));
            let parameters = parameters.map(|(name, value)| format!("{name} {}", split::shown(value)));
            let dir = if runs.len() > 1 { format!(" in {}", run.dir) } else { String::new() };
            let repeat = format!("repeat {}{dir}", record.repeat + 1);
            found.push(FailedTrial {
                experiment: record.experiment.clone(),
                trial: parameters.chain([repeat]).collect::<Vec<_>>().join(", "),
                command: record.command.join(" "),
                reason: reason.clone(),
            });
        }
    }
    found
}
