//! The loop over the trials of a plan.

use super::child::{Ended, Run};
use super::directory::Directory;
use super::machine::{Device, machine, versions};
use super::programs::Programs;
use super::progress::Progress;
use super::stores::{StoreOf, Stores, drop_from_cache, filled, has_store};
use crate::plan::{FORMAT, Plan, THIS_PROGRAM, Trial, trials};
use crate::record::{Machine, ProcessUse, Record, Versions};
use alluvium_cli::exit::Outcome;
use alluvium_cli::signals::Stop;
use alluvium_document::json::date_to_iso;
use alluvium_env::Env;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The settings of a run.
pub(crate) struct Settings {
    /// True if all trials run again, even if they have records.
    pub again: bool,
    /// True if the stores are kept.
    pub keep: bool,
}

/// The outcomes of the trials of a plan.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    /// The number of trials that ran and have figures.
    pub measured: usize,
    /// The number of trials that had figures before this run.
    pub before: usize,
    /// Trials that failed: their names, each with the reason.
    pub failed: Vec<(String, String)>,
    /// Experiments that were skipped, each with the reason.
    pub skipped: BTreeMap<String, String>,
}

/// Runs the trials of a plan that have no figures yet.
///
/// # Errors
/// A signal to stop; records that cannot be written. Trials that fail are listed in the summary.
pub(crate) fn run(env: &Env, directory: &Directory, plan: &Plan, settings: &Settings, stop: &Stop) -> Outcome<Summary> {
    if settings.again {
        directory.clear()?;
    }
    let programs = Programs::find(env, plan)?;
    let all = trials(plan);
    let mut summary = Summary::default();
    let mut stores = Stores::of(env, directory, &all, plan.seed, settings.keep);
    let (mut pending, mut earlier) = (Vec::new(), Vec::new());
    for trial in &all {
        if let Err(why) = programs.path(&trial.experiment.program) {
            summary.skipped.insert(trial.experiment.name.clone(), why);
        } else if let Some(record) = directory.figures(trial)? {
            summary.before += 1;
            earlier.push((trial.experiment.name.as_str(), record.seconds));
        } else {
            stores.expect(trial);
            pending.push(trial);
        }
    }
    directory.keep_skipped(&summary.skipped)?;
    let mut progress = Progress::new(&pending);
    earlier.into_iter().for_each(|(experiment, seconds)| progress.learn(experiment, seconds));
    let device = Device::of(&directory.stores());
    let machine = machine(&device);
    let place = Place { env, plan, programs: &programs, device: &device, machine: &machine, stop };
    let mut known = BTreeMap::new();
    let ended = pending.iter().try_for_each(|trial| {
        stop.check()?;
        place.trial(trial, &mut stores, &mut progress, &mut known, directory, &mut summary)
    });
    progress.finish();
    ended?;
    if !settings.keep {
        directory.remove_store(&directory.stores())?;
    }
    Ok(summary)
}

/// The context that all trials of a run share.
struct Place<'a> {
    env: &'a Env,
    plan: &'a Plan,
    programs: &'a Programs,
    device: &'a Device,
    machine: &'a Machine,
    stop: &'a Stop,
}

/// The figures of a trial, or the reason why it has none.
struct Measured {
    command: Vec<String>,
    prepared: Option<Value>,
    ended: Ended,
}

impl Place<'_> {
    /// Runs a trial, and writes its record.
    fn trial(
        &self,
        trial: &Trial<'_>,
        stores: &mut Stores<'_>,
        progress: &mut Progress,
        known: &mut BTreeMap<String, Versions>,
        directory: &Directory,
        summary: &mut Summary,
    ) -> Outcome {
        let Ok(program) = self.programs.path(&trial.experiment.program) else { return Ok(()) };
        let versions = known.entry(trial.experiment.program.clone());
        let versions = versions.or_insert_with(|| versions_of(trial, program)).clone();
        let (began, started) = (date_to_iso(self.env.clock.unix_millis()), self.env.clock.now());
        let store = stores.store(trial);
        let measured = self.measure(trial, program, &store, stores, progress)?;
        // The store is released before the record is written, because the disk may be full.
        stores.release(&store)?;
        let record = self.record(trial, measured, versions, began);
        directory.keep(trial, &record)?;
        progress.end(trial, self.env.clock.now().saturating_sub(started), record.failure.as_deref());
        match record.failure {
            None => summary.measured += 1,
            Some(why) => summary.failed.push((trial.file_name(), why)),
        }
        Ok(())
    }

    /// Prepares the store, runs the warm-up, and runs the command.
    fn measure(
        &self,
        trial: &Trial<'_>,
        program: &Path,
        store: &StoreOf,
        stores: &mut Stores<'_>,
        progress: &Progress,
    ) -> Outcome<Measured> {
        let execute = |arguments: &[String], step: &str| {
            progress.show(trial, step);
            let hidden = (trial.experiment.program == THIS_PROGRAM).then(|| "--end-with-parent".to_owned());
            let arguments: Vec<String> = hidden.into_iter().chain(arguments.iter().cloned()).collect();
            let run = Run { program, arguments: &arguments, env: self.env, device: self.device, stop: self.stop };
            run.run(&mut || progress.tick())
        };
        let arguments = filled(&trial.experiment.command, trial, &store.path, trial.seed);
        let command = [vec![trial.experiment.program.clone()], arguments.clone()].concat();
        let failed = |prepared, why| Measured { command: command.clone(), prepared, ended: without_figures(why) };
        let made = stores.prepare(trial, store, &mut |make| Ok(execute(make, "is prepared: ")?.result))?;
        let prepared = match made {
            Ok(prepared) => prepared,
            Err(why) => return Ok(failed(None, why)),
        };
        if let Some(warm_up) = &trial.experiment.warm_up {
            let ended = execute(&filled(warm_up, trial, &store.path, trial.seed), "warms up: ")?;
            if let Err(why) = ended.result {
                return Ok(failed(prepared, format!("the warm-up failed: {why}")));
            }
        }
        if trial.experiment.cold && has_store(trial) {
            drop_from_cache(self.env, &store.path)?;
        }
        let ended = execute(&arguments, "")?;
        Ok(Measured { command, prepared, ended })
    }

    fn record(&self, trial: &Trial<'_>, measured: Measured, versions: Versions, began: String) -> Record {
        let Ended { seconds, used, device, result } = measured.ended;
        let (outcome, failure) = match result {
            Ok(outcome) => (Some(outcome), None),
            Err(why) => (None, Some(why)),
        };
        Record {
            format: FORMAT,
            plan: trial.experiment.plan.clone(),
            experiment: trial.experiment.name.clone(),
            size: self.plan.size,
            parameters: trial.parameters.clone(),
            repeat: trial.repeat,
            seed: trial.seed,
            command: measured.command,
            began,
            seconds,
            machine: self.machine.clone(),
            versions,
            process: used,
            device,
            prepared: measured.prepared,
            outcome,
            failure,
        }
    }
}

fn without_figures(why: String) -> Ended {
    Ended { seconds: 0.0, used: ProcessUse::default(), device: None, result: Err(why) }
}

fn versions_of(trial: &Trial<'_>, program: &Path) -> Versions {
    versions(&trial.experiment.program, program)
}
