//! The stores of trials: determines which trials share a store, and when a store is created and removed.

use super::directory::Directory;
use crate::plan::{Trial, fill, placeholders, text_of};
use alluvium_cli::exit::Outcome;
use alluvium_env::Env;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The stores of a run.
pub(super) struct Stores<'a> {
    env: &'a Env,
    directory: &'a Directory,
    /// The names of shared stores by their keys; see `Stores::key`.
    names: HashMap<Vec<String>, String>,
    /// The number of trials that will still use a shared store.
    users: BTreeMap<String, usize>,
    /// Stores that could not be created, each with the reason.
    failed: BTreeMap<String, String>,
    seed: u64,
    keep: bool,
}

/// The store of one trial.
pub(super) struct StoreOf {
    pub name: String,
    pub path: PathBuf,
    is_fresh: bool,
}

/// The record of a store that was created.
#[derive(Serialize, Deserialize)]
struct Made {
    command: Vec<String>,
    outcome: Value,
}

/// Runs a command. Returns its output, or the reason why it failed.
type Make<'a> = dyn FnMut(&[String]) -> Outcome<Result<Value, String>> + 'a;

impl<'a> Stores<'a> {
    /// Assigns names to the stores of all trials of a plan.
    pub fn of(env: &'a Env, directory: &'a Directory, all: &[Trial<'_>], seed: u64, keep: bool) -> Self {
        let (names, users, failed) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut stores = Self { env, directory, names, users, failed, seed, keep };
        let mut sorted: Vec<&Trial<'_>> = all.iter().collect();
        // The names depend on the plan, not on the order in which its trials run. The sort is stable.
        sorted.sort_by_key(|trial| trial.number);
        for trial in sorted.into_iter().filter(|trial| !trial.experiment.fresh) {
            let name = match trial.experiment.prepare {
                Some(_) => {
                    let prefix = format!("{}.", trial.experiment.plan);
                    let next = stores.names.values().filter(|name| name.starts_with(&prefix)).count();
                    format!("{prefix}{next}")
                }
                None => format!("{}-shared", trial.experiment.name),
            };
            stores.names.entry(stores.key(trial)).or_insert(name);
        }
        stores
    }

    /// Records that a trial will run and use its store.
    pub fn expect(&mut self, trial: &Trial<'_>) {
        if let Some(name) = self.names.get(&self.key(trial)) {
            *self.users.entry(name.clone()).or_default() += 1;
        }
    }

    /// The store of a trial.
    pub fn store(&self, trial: &Trial<'_>) -> StoreOf {
        let fresh = || format!("{}-{:04}", trial.experiment.name, trial.number);
        let shared = if trial.experiment.fresh { None } else { self.names.get(&self.key(trial)).cloned() };
        let is_fresh = shared.is_none();
        let name = shared.unwrap_or_else(fresh);
        StoreOf { path: self.directory.stores().join(&name), name, is_fresh }
    }

    /// Creates the store of a trial with `make`, unless an earlier trial has created it. Returns the output of the
    /// command that created it, or the reason why it cannot be created.
    pub fn prepare(
        &mut self,
        trial: &Trial<'_>,
        store: &StoreOf,
        make: &mut Make<'_>,
    ) -> Outcome<Result<Option<Value>, String>> {
        if let Some(why) = self.failed.get(&store.name) {
            return Ok(Err(why.clone()));
        }
        if store.is_fresh {
            self.directory.remove_store(&store.path)?;
        }
        let Some(prepare) = &trial.experiment.prepare else { return Ok(Ok(None)) };
        let seed = if store.is_fresh { trial.seed } else { self.seed };
        let command = filled(prepare, trial, &store.path, seed);
        let made = self.made(store);
        if let Some(Made { command: before, outcome }) = self.directory.read(&made)?
            && before == command
        {
            return Ok(Ok(Some(outcome)));
        }
        self.directory.remove_store(&store.path)?;
        match make(&command)? {
            Ok(outcome) => {
                if !store.is_fresh {
                    self.directory.write(&made, &Made { command, outcome: outcome.clone() })?;
                }
                Ok(Ok(Some(outcome)))
            }
            Err(why) => {
                let why = format!("the store could not be prepared: {why}");
                // The store is removed because its space is needed. The failure is remembered, so that other trials
                // that share the store do not try again.
                self.directory.remove_store(&store.path)?;
                if !store.is_fresh {
                    self.failed.insert(store.name.clone(), why.clone());
                }
                Ok(Err(why))
            }
        }
    }

    /// Removes the store of a trial that has ended, if no other trial needs it.
    pub fn release(&mut self, store: &StoreOf) -> Outcome {
        let left = self.users.get_mut(&store.name).map_or(0, |users| {
            *users = users.saturating_sub(1);
            *users
        });
        if self.keep || left > 0 {
            return Ok(());
        }
        let made = self.made(store);
        if self.env.fs.exists(&made)? {
            self.env.fs.remove(&made)?;
        }
        self.directory.remove_store(&store.path)
    }

    fn made(&self, store: &StoreOf) -> PathBuf {
        self.directory.stores().join(format!("{}.json", store.name))
    }

    /// The key of the store of a trial: the command that creates the store, with its values. Trials with equal keys
    /// share a store.
    fn key(&self, trial: &Trial<'_>) -> Vec<String> {
        let experiment = trial.experiment;
        match &experiment.prepare {
            Some(prepare) => {
                let mut key = vec![experiment.plan.clone(), experiment.program.clone()];
                key.extend(filled(prepare, trial, Path::new("{store}"), self.seed));
                key
            }
            None => vec![experiment.name.clone()],
        }
    }
}

/// The arguments with the values of a trial filled in.
pub(super) fn filled(arguments: &[String], trial: &Trial<'_>, store: &Path, seed: u64) -> Vec<String> {
    fill(arguments, &|name| match name {
        "store" => Some(store.to_string_lossy().into_owned()),
        "seed" => Some(seed.to_string()),
        _ => trial.parameters.get(name).map(text_of),
    })
}

/// True if a command of the experiment names the store.
pub(super) fn has_store(trial: &Trial<'_>) -> bool {
    placeholders(&trial.experiment.command).contains(&"store")
}

/// Writes the files below a directory to their device, and drops them from the system's page cache.
pub(crate) fn drop_from_cache(env: &Env, dir: &Path) -> Outcome {
    if !env.fs.exists(dir)? {
        return Ok(());
    }
    for entry in env.fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.is_dir { drop_from_cache(env, &path)? } else { drop_file(&path)? }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "advice about the page cache needs a file descriptor; nothing is read or written"
)]
fn drop_file(path: &Path) -> Outcome {
    use alluvium_cli::exit::Failure;
    let advise = |file: std::fs::File| {
        // The file is synced first, because pages that are not written yet would stay in the cache.
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).map_err(std::io::Error::from)
    };
    std::fs::File::open(path).and_then(advise).map_err(|error| Failure::io("drop from the page cache", path, &error))
}

#[cfg(not(target_os = "linux"))]
fn drop_file(_path: &Path) -> Outcome {
    Ok(())
}
