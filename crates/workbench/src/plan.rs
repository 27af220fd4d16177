//! Plans of trials: experiments, each a command line over a grid of parameters, and the charts of their figures.
//!
//! [`read`] resolves a plan file for one [`Size`]; the result is also what `run` writes to `plan.json`.

mod error;
mod file;
mod grid;
mod resolve;

pub use error::PlanError;
pub(crate) use grid::text_of;
pub use grid::{Trial, fill, placeholders, trials};
pub use resolve::read;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// The version of the format of plans and records in JSON.
pub const FORMAT: u32 = 1;

/// The program of experiments that name no other: this program itself.
pub const THIS_PROGRAM: &str = "alluvium-bench";

/// Names with values: those of a plan, or the parameters of a trial.
pub type Parameters = BTreeMap<String, Value>;

/// How much a plan measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// All plans together in under 10 minutes on 2 cores
    Small,
    /// Up to a few hours on 2 cores, and up to 60 GB of disk
    Machine,
    /// The scale of the publications
    Published,
}

impl Size {
    /// All sizes.
    pub const ALL: [Self; 3] = [Self::Small, Self::Machine, Self::Published];

    /// The name in plan files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Machine => "machine",
            Self::Published => "published",
        }
    }
}

/// A plan, resolved for one size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// [`FORMAT`].
    pub format: u32,
    /// The name of its file without the extension.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The size for which it was resolved.
    pub size: Size,
    /// Chooses the order of the trials, and the seeds of their commands.
    pub seed: u64,
    /// The command that runs it, for readers of a report.
    pub command: Vec<String>,
    /// The experiments, those of included plans first.
    pub experiments: Vec<Experiment>,
}

/// Trials of one command over a grid of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The name of the plan file that defines it, without the extension.
    pub plan: String,
    /// The title of that plan.
    pub plan_title: String,
    /// Its name, unique in the plan: letters, digits and dashes.
    pub name: String,
    /// Its title.
    pub title: String,
    /// The program: `alluvium-bench` is this program itself.
    pub program: String,
    /// The command that makes the store, once for each combination of the values it names.
    pub prepare: Option<Vec<String>>,
    /// The command of a trial.
    pub command: Vec<String>,
    /// Runs before each trial; its figures are dropped.
    pub warm_up: Option<Vec<String>>,
    /// Every trial has a store of its own.
    pub fresh: bool,
    /// The store's files leave the system's page cache before each trial.
    pub cold: bool,
    /// Trials of each combination.
    pub repeats: u32,
    /// The named values that its commands use.
    pub values: Parameters,
    /// The values of each parameter.
    pub grid: BTreeMap<String, Vec<Value>>,
    /// The charts and tables that are drawn.
    pub charts: Vec<Chart>,
}

/// A chart of an experiment's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// Its kind.
    pub kind: ChartKind,
    /// Of `line`, `bar` and `quartiles`, a parameter. Of `time`, a key of the list's items, by default `seconds`.
    #[serde(default)]
    pub x: Option<String>,
    /// The scale of `x`.
    #[serde(default)]
    pub x_scale: Scale,
    /// The unit of `x`.
    #[serde(default)]
    pub x_unit: Option<String>,
    /// A path in the record ([`crate::record::figure`]); of `time`, one in an item of the list. Tables may be without.
    #[serde(default)]
    pub y: Option<String>,
    /// The scale of `y`.
    #[serde(default)]
    pub y_scale: Scale,
    /// The unit of `y`.
    #[serde(default)]
    pub unit: Option<String>,
    /// Parameters whose values make the lines.
    #[serde(default)]
    pub series: Vec<String>,
    /// Of `time`, the path of the list in the record, by default `outcome.samples`.
    #[serde(default)]
    pub list: Option<String>,
    /// Of `table`, paths in the record.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Published figures, drawn beside the measured ones.
    #[serde(default)]
    pub published: Vec<Published>,
    /// The chart compares engines, and is part of the first page of ratios.
    #[serde(default)]
    pub ratio: bool,
    /// The base for shares, an experiment before this one in the plan: each figure is divided by the
    /// median of the other's trials with the same parameters.
    #[serde(default)]
    pub share_of: Option<String>,
}

impl Chart {
    /// The path, in the record of a trial, of the list that a `time` chart shows.
    pub fn list(&self) -> &str {
        self.list.as_deref().unwrap_or("outcome.samples")
    }
}

/// A kind of chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChartKind {
    /// `y` over the parameter `x`.
    Line,
    /// `y` over the items of a list in the record, by default the samples of each second.
    Time,
    /// `y` by a parameter whose values are words.
    Bar,
    /// The least, the quartiles and the greatest of the repeats.
    Quartiles,
    /// Columns without a drawing.
    Table,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Each step is twice the one before.
    Log2,
    /// Each step is ten times the one before.
    Log10,
}

/// A line, or the bars, of a publication.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Author, title, and what the line is.
    pub name: String,
    /// Values of `x`, numbers or words, each with its `y`.
    pub points: Vec<(Value, f64)>,
}

#[cfg(test)]
mod tests;
