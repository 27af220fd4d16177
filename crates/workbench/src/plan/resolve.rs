//! Resolves plan files to a plan for one size: includes, values and grids, and the errors in them.

use super::error::{PlanError, nearest};
use super::file::{ExperimentFile, PlanFile, Source};
use super::grid::placeholders;
use super::{Chart, ChartKind, Experiment, FORMAT, Parameters, Plan, Size};
use alluvium_env::{Env, OpenMode};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The maximum depth of includes. Plans that include each other are refused at this depth.
const DEPTH_MAX: usize = 8;
/// Placeholders whose values are not given in the plan.
const OWN: [&str; 2] = ["store", "seed"];

/// Reads a plan file and the files that it includes, for a size.
///
/// # Errors
/// A file that cannot be read, is not TOML, or describes trials that cannot be run.
pub fn read(env: &Env, path: &Path, size: Size, seed: u64) -> Result<Plan, PlanError> {
    let mut plan = Plan {
        format: FORMAT,
        name: stem(path),
        title: String::new(),
        size,
        seed,
        command: Vec::new(),
        experiments: Vec::new(),
    };
    plan.title = Resolver { env, size, experiments: &mut plan.experiments }.add(path, 0)?;
    let shown = path.display().to_string();
    plan.command = ["alluvium-bench", "run", &shown, "--size", size.name()].map(str::to_owned).to_vec();
    Ok(plan)
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

struct Resolver<'a> {
    env: &'a Env,
    size: Size,
    experiments: &'a mut Vec<Experiment>,
}

impl Resolver<'_> {
    /// Adds the experiments of a file; returns its title.
    fn add(&mut self, path: &Path, depth: usize) -> Result<String, PlanError> {
        let text = text(self.env, path).map_err(|why| PlanError::whole(path, why))?;
        let source = Source { path, text: &text };
        let file = source.parse()?;
        if file.include.is_empty() && file.experiments.is_empty() {
            return Err(PlanError::whole(path, "the plan has no experiment and includes no other plan"));
        }
        for included in &file.include {
            if depth == DEPTH_MAX {
                return Err(source.wrong(included.span().start, "plans include each other"));
            }
            let other = path.parent().map_or_else(PathBuf::new, Path::to_path_buf).join(included.get_ref());
            if !self.env.fs.exists(&other).unwrap_or(false) {
                let what = format!("there is no plan {} to include", other.display());
                return Err(source.wrong(included.span().start, what));
            }
            self.add(&other, depth + 1)?;
        }
        for experiment in &file.experiments {
            let resolved = One { source: &source, file: &file, size: self.size }.resolve(experiment)?;
            if let Some(other) = self.experiments.iter().find(|other| other.name == resolved.name) {
                let what = format!("the plan {} has an experiment {}, too", other.plan, other.name);
                return Err(source.wrong(experiment.get_ref().name.span().start, what));
            }
            for (chart, spanned) in resolved.charts.iter().zip(&experiment.get_ref().charts) {
                let names = || self.experiments.iter().map(|other| other.name.as_str());
                if let Some(other) = chart.share_of.as_deref().filter(|other| !names().any(|name| name == *other)) {
                    let near = nearest(other, names()).map(|near| format!(": did you mean {near}?"));
                    let what = format!("no experiment {other} is before this one{}", near.unwrap_or_default());
                    return Err(source.wrong(spanned.span().start, format!("{}: {what}", chart.title)));
                }
            }
            self.experiments.push(resolved);
        }
        Ok(file.title)
    }
}

/// The text of a file.
fn text(env: &Env, path: &Path) -> Result<String, String> {
    let bytes = env.fs.open(path, OpenMode::Read).and_then(|file| {
        let mut bytes = vec![0; file.len()? as usize];
        file.read_exact_at(&mut bytes, 0).map(|()| bytes)
    });
    match bytes.map(String::from_utf8) {
        Ok(Ok(text)) => Ok(text),
        Ok(Err(_)) => Err("the plan is not UTF-8 text".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// One experiment of a file.
struct One<'a> {
    source: &'a Source<'a>,
    file: &'a PlanFile,
    size: Size,
}

impl One<'_> {
    fn resolve(&self, spanned: &Spanned<ExperimentFile>) -> Result<Experiment, PlanError> {
        let given = spanned.get_ref();
        let name = given.name.get_ref();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            let what = format!("{name:?} is not a name of an experiment: use letters, digits and dashes");
            return Err(self.source.wrong(given.name.span().start, what));
        }
        let grid = self.grid(given)?;
        let commands: Vec<&Spanned<Vec<String>>> =
            [given.prepare.as_ref(), Some(&given.command), given.warm_up.as_ref()].into_iter().flatten().collect();
        let values = self.values(&commands, &grid)?;
        self.used(given, &commands)?;
        let charts = given.charts.iter().map(|chart| self.chart(chart, &grid)).collect::<Result<Vec<Chart>, _>>()?;
        let own = |command: &Spanned<Vec<String>>| command.get_ref().clone();
        Ok(Experiment {
            plan: stem(self.source.path),
            plan_title: self.file.title.clone(),
            name: name.clone(),
            title: given.title.clone(),
            program: given.program.clone(),
            prepare: given.prepare.as_ref().map(own),
            command: own(&given.command),
            warm_up: given.warm_up.as_ref().map(own),
            fresh: given.fresh,
            cold: given.cold,
            repeats: self.repeats(given)?,
            values,
            grid,
            charts,
        })
    }

    /// The values of each parameter for the size.
    fn grid(&self, given: &ExperimentFile) -> Result<BTreeMap<String, Vec<Value>>, PlanError> {
        let mut grid = BTreeMap::new();
        for (name, spanned) in &given.grid {
            let (label, at) = (format!("grid.{name}"), spanned.span().start);
            if OWN.contains(&name.as_str()) || self.file.values.contains_key(name) {
                let what = format!("{name} has a value already: a parameter needs a name of its own");
                return Err(self.source.wrong(at, what));
            }
            let toml::Value::Array(list) = self.source.by_size(&label, spanned, self.size)? else {
                return Err(self.source.wrong(at, format!("{label}: write a list, or one for each size")));
            };
            if list.is_empty() {
                return Err(self.source.wrong(at, format!("{label} is an empty list: no trial would run")));
            }
            let values = list.iter().map(|value| self.source.scalar(&label, value, at));
            grid.insert(name.clone(), values.collect::<Result<Vec<_>, _>>()?);
        }
        Ok(grid)
    }

    /// The values of the plan that the commands use.
    fn values(
        &self,
        commands: &[&Spanned<Vec<String>>],
        grid: &BTreeMap<String, Vec<Value>>,
    ) -> Result<Parameters, PlanError> {
        let mut values = Parameters::new();
        for command in commands {
            for name in placeholders(command.get_ref()) {
                if OWN.contains(&name) || grid.contains_key(name) {
                    continue;
                }
                let Some(spanned) = self.file.values.get(name) else {
                    let known = self.file.values.keys().chain(grid.keys()).map(String::as_str).chain(OWN);
                    let near = nearest(name, known).map(|near| format!(": did you mean {{{near}}}?"));
                    let what = format!("{{{name}}} has no value, in [values] or the grid{}", near.unwrap_or_default());
                    return Err(self.source.wrong(command.span().start, what));
                };
                let value = self.source.by_size(name, spanned, self.size)?;
                values.insert(name.to_owned(), self.source.scalar(name, value, spanned.span().start)?);
            }
        }
        Ok(values)
    }

    /// Refuses parameters that no command uses, and stores that are not used.
    fn used(&self, given: &ExperimentFile, commands: &[&Spanned<Vec<String>>]) -> Result<(), PlanError> {
        let named: Vec<&str> = commands.iter().flat_map(|command| placeholders(command.get_ref())).collect();
        for (name, spanned) in &given.grid {
            if !named.contains(&name.as_str()) {
                let what = format!("grid.{name} is not used: write {{{name}}} in a command");
                return Err(self.source.wrong(spanned.span().start, what));
            }
        }
        match &given.prepare {
            Some(prepare) if !placeholders(prepare.get_ref()).contains(&"store") => {
                let what = "prepare makes a store: write {store} where its path belongs";
                Err(self.source.wrong(prepare.span().start, what))
            }
            _ => Ok(()),
        }
    }

    fn repeats(&self, given: &ExperimentFile) -> Result<u32, PlanError> {
        let Some(spanned) = &given.repeats else { return Ok(1) };
        let value = self.source.by_size("repeats", spanned, self.size)?;
        let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
        number.filter(|number| (1..=1000).contains(number)).ok_or_else(|| {
            self.source.wrong(spanned.span().start, "repeats is a number between 1 and 1000, or one for each size")
        })
    }

    fn chart(&self, spanned: &Spanned<Chart>, grid: &BTreeMap<String, Vec<Value>>) -> Result<Chart, PlanError> {
        let chart = spanned.get_ref();
        let wrong = |what: String| Err(self.source.wrong(spanned.span().start, format!("{}: {what}", chart.title)));
        let x = chart.x.iter().filter(|_| !matches!(chart.kind, ChartKind::Time | ChartKind::Table));
        for name in x.chain(&chart.series) {
            if !grid.contains_key(name) {
                let near = nearest(name, grid.keys().map(String::as_str));
                let near = near.map(|near| format!(": did you mean {near}?"));
                return wrong(format!("the grid has no parameter {name}{}", near.unwrap_or_default()));
            }
        }
        match chart.kind {
            ChartKind::Table if chart.columns.is_empty() => return wrong("a table needs columns".to_owned()),
            ChartKind::Line | ChartKind::Bar | ChartKind::Quartiles if chart.x.is_none() => {
                return wrong("x is missing: name a parameter of the grid".to_owned());
            }
            ChartKind::Table => {}
            _ if chart.y.is_none() => return wrong("y is missing: name a figure of the record".to_owned()),
            _ => {}
        }
        let ours = grid.get("engine").is_some_and(|engines| engines.iter().any(|engine| engine == "alluvium"));
        if chart.ratio && !(ours && chart.series.iter().any(|name| name == "engine")) {
            return wrong("a ratio needs the series engine with the value alluvium".to_owned());
        }
        Ok(chart.clone())
    }
}
