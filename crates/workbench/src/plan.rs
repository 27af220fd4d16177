//! Plans of trials: experiments, each a command line over a grid of parameters, and the charts of their figures.
//!
//! [`read`] resolves a plan file for one [`Size`]; `run` writes the resolved plan to `plan.json`.

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

/// The program of experiments that name no program: this program itself.
pub const THIS_PROGRAM: &str = "alluvium-bench";

/// Named values: the values of a plan, or the parameters of a trial.
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
    /// The name of the plan file, without the extension.
    pub name: String,
    /// The title.
    pub title: String,
    /// The size for which the plan is resolved.
    pub size: Size,
    /// The seed that determines the order of the trials and the seeds of their commands.
    pub seed: u64,
    /// The command that runs the plan, for readers of a report.
    pub command: Vec<String>,
    /// The experiments. Experiments of included plans come first.
    pub experiments: Vec<Experiment>,
}

/// Trials of one command over a grid of parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    /// The name of the plan file that defines the experiment, without the extension.
    pub plan: String,
    /// The title of that plan.
    pub plan_title: String,
    /// The name, unique in the plan: letters, digits and dashes.
    pub name: String,
    /// The title.
    pub title: String,
    /// The program: `alluvium-bench` is this program itself.
    pub program: String,
    /// The command that creates the store. It runs once for each combination of the values that it uses.
    pub prepare: Option<Vec<String>>,
    /// The command of a trial.
    pub command: Vec<String>,
    /// The command that runs before each trial. Its figures are discarded.
    pub warm_up: Option<Vec<String>>,
    /// True if every trial has a store of its own.
    pub fresh: bool,
    /// True if the files of the store are dropped from the page cache before each trial.
    pub cold: bool,
    /// The number of trials of each combination.
    pub repeats: u32,
    /// The named values that the commands use.
    pub values: Parameters,
    /// The values of each parameter.
    pub grid: BTreeMap<String, Vec<Value>>,
    /// The charts and tables to draw.
    pub charts: Vec<Chart>,
}

/// A chart of an experiment's figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The title.
    pub title: String,
    /// The kind of the chart.
    pub kind: ChartKind,
    /// For `line`, `bar` and `quartiles`, a parameter. For `time`, a key in the items of the list, by default
    /// `seconds`.
    #[serde(default)]
    pub x: Option<String>,
    /// The scale of `x`.
    #[serde(default)]
    pub x_scale: Scale,
    /// The unit of `x`.
    #[serde(default)]
    pub x_unit: Option<String>,
    /// A path in the record ([`crate::record::figure`]). For `time`, a path in an item of the list. Tables do not need
    /// it.
    #[serde(default)]
    pub y: Option<String>,
    /// The scale of `y`.
    #[serde(default)]
    pub y_scale: Scale,
    /// The unit of `y`.
    #[serde(default)]
    pub unit: Option<String>,
    /// The parameters whose values distinguish the lines.
    #[serde(default)]
    pub series: Vec<String>,
    /// For `time`, the path of the list in the record, by default `outcome.samples`.
    #[serde(default)]
    pub list: Option<String>,
    /// For `table`, the paths in the record of its columns.
    #[serde(default)]
    pub columns: Vec<String>,
    /// Published figures, drawn next to the measured figures.
    #[serde(default)]
    pub published: Vec<Published>,
    /// True if the chart compares engines and is included in the ratios at the beginning of the page.
    #[serde(default)]
    pub ratio: bool,
    /// The name of an earlier experiment in the plan that is the base for shares. Each figure is divided by the median
    /// of the trials of that experiment with the same parameters.
    #[serde(default)]
    pub share_of: Option<String>,
}

impl Chart {
    /// The path of the list that a `time` chart shows, in the record of a trial.
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
    /// The minimum, the quartiles and the maximum of the repeats.
    Quartiles,
    /// A table without a drawing.
    Table,
}

/// The scale of an axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal steps.
    #[default]
    Linear,
    /// Each step doubles the value.
    Log2,
    /// Each step multiplies the value by ten.
    Log10,
}

/// Published figures, drawn as a line or as bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The author, the title, and a description of the figures.
    pub name: String,
    /// Values of `x`, numbers or words, each with its `y`.
    pub points: Vec<(Value, f64)>,
}

#[cfg(test)]
mod tests;
