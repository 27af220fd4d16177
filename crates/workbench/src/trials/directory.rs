//! The directory of a run: the plan, the records, the stores.

use crate::plan::{Experiment, FORMAT, Plan, Trial};
use crate::record::Record;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_env::sync::{Condvar, Mutex};
use alluvium_env::{Env, FileLock, OpenMode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The number of attempts to remove a store, and the time between two attempts.
const TRIES: usize = 100;
const BETWEEN_TRIES: Duration = Duration::from_millis(100);

const PLAN: &str = "plan.json";
const SKIPPED: &str = "skipped.json";
const LOCK: &str = "run.lock";
const TRIALS: &str = "trials";
const STORES: &str = "stores";

/// The directory of a run. It is locked, so that no other run uses it.
pub(crate) struct Directory {
    env: Env,
    path: PathBuf,
    _lock: Box<dyn FileLock>,
}

impl Directory {
    /// Creates the directory of a run of this plan, or opens it again.
    ///
    /// # Errors
    /// The directory belongs to another plan, to something else, or to a run that has not ended.
    pub fn open(env: &Env, path: &Path, plan: &Plan) -> Outcome<Self> {
        files::refuse_inside(env, &path.join(PLAN))?;
        let before: Option<Plan> = if env.fs.exists(path)? { earlier_plan(env, path)? } else { None };
        if let Some(before) = &before
            && let Some(difference) = difference(before, plan)
        {
            let path = path.display();
            let what = format!("{path} has records of {difference}: name another directory, or remove this one");
            return Err(Failure::Usage(what));
        }
        env.fs.create_dir_all(path)?;
        let Some(lock) = env.fs.try_lock(&path.join(LOCK))? else {
            return Err(Failure::Other(format!("another run is writing to {}", path.display())));
        };
        let directory = Self { env: env.clone(), path: path.to_owned(), _lock: lock };
        env.fs.create_dir_all(&path.join(TRIALS))?;
        env.fs.create_dir_all(&directory.stores())?;
        // The plan is written again, because charts and titles may have changed.
        directory.write(&path.join(PLAN), plan)?;
        Ok(directory)
    }

    /// The directory of the stores.
    pub fn stores(&self) -> PathBuf {
        self.path.join(STORES)
    }

    /// The directory of the records.
    pub fn trials(&self) -> PathBuf {
        self.path.join(TRIALS)
    }

    /// The record of a trial, if it exists and has figures.
    pub fn figures(&self, trial: &Trial<'_>) -> Outcome<Option<Record>> {
        let record: Option<Record> = read(&self.env, &self.trials().join(trial.file_name()))?;
        Ok(record.filter(|record| record.failure.is_none()))
    }

    /// Stores the record of a trial.
    pub fn keep(&self, trial: &Trial<'_>, record: &Record) -> Outcome {
        self.write(&self.trials().join(trial.file_name()), record)
    }

    /// Stores the names of skipped experiments, each with the reason.
    pub fn keep_skipped(&self, skipped: &BTreeMap<String, String>) -> Outcome {
        self.write(&self.path.join(SKIPPED), skipped)
    }

    /// Removes all records and stores.
    pub fn clear(&self) -> Outcome {
        for dir in [self.trials(), self.stores()] {
            files::remove_below(&self.env, &dir)?;
            self.env.fs.create_dir_all(&dir)?;
        }
        Ok(())
    }

    /// Removes the directory of all stores or of one store, if it exists. The processes of a run that was killed may
    /// still write to them for a while.
    ///
    /// # Errors
    /// The last error, after [`TRIES`] tries.
    pub fn remove_store(&self, path: &Path) -> Outcome {
        let (waiting, never) = (Mutex::new(()), Condvar::new());
        for _ in 1..TRIES {
            if !self.env.fs.exists(path)? || files::remove_below(&self.env, path).is_ok() {
                return Ok(());
            }
            never.wait_for(&mut waiting.lock(), BETWEEN_TRIES);
        }
        files::remove_below(&self.env, path)
    }

    /// Writes a file under a temporary name, and then renames it, so that a file with the final name is always
    /// complete.
    pub fn write(&self, path: &Path, content: &impl Serialize) -> Outcome {
        let mut text = serde_json::to_vec_pretty(content).map_err(|error| Failure::Other(error.to_string()))?;
        text.push(b'\n');
        let draft = path.with_extension("tmp");
        if self.env.fs.exists(&draft)? {
            self.env.fs.remove(&draft)?;
        }
        let file = self.env.fs.open(&draft, OpenMode::CreateNew)?;
        file.write_at(&text, 0)?;
        file.sync()?;
        Ok(self.env.fs.rename(&draft, path)?)
    }

    /// The content of a JSON file; `None` if it does not exist, or is not of this form.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Outcome<Option<T>> {
        read(&self.env, path)
    }
}

/// The plan of an existing directory; `None` if a run has not begun there.
fn earlier_plan(env: &Env, path: &Path) -> Outcome<Option<Plan>> {
    let is_begun = |name: &str| ![LOCK, TRIALS, STORES, "plan.tmp"].contains(&name);
    if !env.fs.list(path)?.iter().any(|entry| is_begun(&entry.name)) {
        return Ok(None);
    }
    let plan: Option<Plan> = read(env, &path.join(PLAN))?;
    match plan {
        Some(plan) if plan.format == FORMAT => Ok(Some(plan)),
        _ if env.fs.exists(&path.join(PLAN))? => {
            let what = format!("{} was written by another version of this program", path.join(PLAN).display());
            Err(Failure::Usage(format!("{what}: name another directory")))
        }
        _ => Err(Failure::Usage(format!("{} holds something else: name an empty directory", path.display()))),
    }
}

fn read<T: DeserializeOwned>(env: &Env, path: &Path) -> Outcome<Option<T>> {
    if !env.fs.exists(path)? {
        return Ok(None);
    }
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut text = vec![0; file.len()? as usize];
    file.read_exact_at(&mut text, 0)?;
    Ok(serde_json::from_slice(&text).ok())
}

/// The first difference between the plans that affects their trials. Titles and charts do not matter.
fn difference(before: &Plan, now: &Plan) -> Option<String> {
    if before.name != now.name {
        return Some(format!("the plan {}", before.name));
    }
    if before.size != now.size {
        return Some(format!("the size {}", before.size.name()));
    }
    if before.seed != now.seed {
        return Some(format!("the seed {}", before.seed));
    }
    let trials = |experiment: &Experiment| Experiment {
        plan_title: String::new(),
        title: String::new(),
        charts: Vec::new(),
        ..experiment.clone()
    };
    let other = before.experiments.iter().find(|earlier| {
        let same = now.experiments.iter().find(|experiment| experiment.name == earlier.name);
        same.map(trials) != Some(trials(earlier))
    });
    match other {
        Some(earlier) => Some(format!("another {}, in the experiment {}", now.name, earlier.name)),
        None if before.experiments.len() != now.experiments.len() => Some(format!("another {}", now.name)),
        None => None,
    }
}

#[cfg(test)]
mod tests;
