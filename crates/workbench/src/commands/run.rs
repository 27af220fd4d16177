//! `alluvium-bench run`.

use crate::plan::{self, Plan, Size};
use crate::trials::{Directory, Settings, Summary, run};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::output::Output;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium-bench run plans/get.toml --out figures --size small

A plan is a TOML file: experiments, each with a command over a grid of parameters, and the charts of its figures. Trials run in \
random order, each in a process of its own. DIR then has a record for each, as JSON, in DIR/trials: its parameters, seed, command, \
machine and versions, what the process and the device did, and the figures of the command. A trial that fails is recorded, and \
the others run.

The same command continues a run that was interrupted: trials that have figures do not run again. An experiment whose program \
is missing is skipped.")]
pub(crate) struct Args {
    /// The plan
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// The directory of the records, and of the stores while they are needed
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// How much is measured
    #[arg(long, value_enum, default_value = "small")]
    size: Size,
    /// Remove the records of an earlier run of the plan, and run all of its trials
    #[arg(long)]
    again: bool,
    /// Keep the stores
    #[arg(long)]
    keep: bool,
    /// Another seed gives another order of the trials, and other keys
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
}

impl Args {
    /// Runs the plan, and prints the outcomes of its trials.
    pub(super) fn run(&self) -> Outcome {
        let env = Env::os();
        let stop = Stop::on_signals()?;
        let plan = plan::read(&env, &self.plan, self.size, self.seed)
            .map_err(|error| Failure::Usage(text::plain(&error.to_string())))?;
        let directory = Directory::open(&env, &self.out, &plan)?;
        let settings = Settings { again: self.again, keep: self.keep };
        match run(&env, &directory, &plan, &settings, &stop) {
            Ok(summary) => self.finish(&directory, &summary),
            Err(Failure::Interrupted(_)) => {
                Err(Failure::Interrupted(format!("interrupted; to continue: {}", self.continuation(&plan))))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The command that continues this run.
    fn continuation(&self, plan: &Plan) -> String {
        let (file, out) = (self.plan.display(), self.out.display());
        let mut command = format!("alluvium-bench run {file} --out {out} --size {}", plan.size.name());
        if plan.seed != 1 {
            command += &format!(" --seed {}", plan.seed);
        }
        if self.keep {
            command += " --keep";
        }
        text::plain(&command)
    }

    fn finish(&self, directory: &Directory, summary: &Summary) -> Outcome {
        let mut out = Output::new();
        let before = match summary.before {
            0 => String::new(),
            before => format!(", and {} before", text::counted(before as u64, "trial")),
        };
        let measured = text::counted(summary.measured as u64, "trial");
        out.text(&format!("measured {measured}{before}: the records are in {}\n", directory.trials().display()))?;
        for (experiment, why) in &summary.skipped {
            out.text(&format!("skipped {}: {}\n", text::plain(experiment), text::plain(why)))?;
        }
        out.finish()?;
        if summary.failed.is_empty() {
            return Ok(());
        }
        let mut what = format!("{} failed", text::counted(summary.failed.len() as u64, "trial"));
        for (name, why) in &summary.failed {
            what += &format!("\n{}: {}", text::plain(name), text::plain(why));
        }
        Err(Failure::Other(what))
    }
}
