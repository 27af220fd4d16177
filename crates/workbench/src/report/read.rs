//! Reads the directories that `alluvium-bench run` wrote.

use crate::plan::{FORMAT, Plan};
use crate::record::Record;
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::text;
use alluvium_env::{Env, OpenMode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The records of one directory.
#[derive(Debug)]
pub(crate) struct Run {
    /// The directory as the user named it.
    pub(super) dir: String,
    /// The resolved plan.
    pub(super) plan: Plan,
    /// The records in the order of their files' names.
    pub(super) records: Vec<Record>,
    /// Files that were skipped, each with the reason.
    pub(super) skipped: Vec<String>,
    /// Experiments that the run skipped, each with the reason.
    pub(super) not_run: BTreeMap<String, String>,
}

/// Reads a directory. Records that cannot be used are skipped.
///
/// # Errors
/// The directory has no plan, or the plan cannot be read.
pub(crate) fn read(env: &Env, dir: &Path) -> Outcome<Run> {
    let shown = text::plain(&dir.display().to_string());
    let path = dir.join("plan.json");
    if !env.fs.exists(&path)? {
        let what = format!("{shown} has no plan.json: name a directory that `alluvium-bench run` wrote with --out");
        return Err(Failure::NotFound(what));
    }
    let plan: Plan = content(env, &path)?
        .and_then(typed)
        .map_err(|why| Failure::Other(format!("{}: {why}", text::plain(&path.display().to_string()))))?;
    let mut run = Run { dir: shown, plan, records: Vec::new(), skipped: Vec::new(), not_run: BTreeMap::new() };
    let path = dir.join("skipped.json");
    if env.fs.exists(&path)? {
        match content(env, &path)?.and_then(|value| serde_json::from_value(value).map_err(|error| error.to_string())) {
            Ok(not_run) => run.not_run = not_run,
            Err(why) => run.skipped.push(format!("{}/skipped.json: {why}", run.dir)),
        }
    }
    let trials = dir.join("trials");
    let entries = if env.fs.exists(&trials)? { env.fs.list(&trials)? } else { Vec::new() };
    for entry in entries.iter().filter(|entry| !entry.is_dir && entry.name.ends_with(".json")) {
        let read = content(env, &trials.join(&entry.name))?.and_then(typed).and_then(|record| known(&run.plan, record));
        match read {
            Ok(record) => run.records.push(record),
            Err(why) => run.skipped.push(format!("{}/trials/{}: {why}", run.dir, text::plain(&entry.name))),
        }
    }
    Ok(run)
}

/// The JSON in a file; the inner error has the reason.
fn content(env: &Env, path: &Path) -> Outcome<Result<Value, String>> {
    let file = env.fs.open(path, OpenMode::Read)?;
    let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(serde_json::from_slice(&bytes).map_err(|error| format!("not JSON: {error}")))
}

/// Converts JSON to a plan or a record, if it has the format that this program reads.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    match value.get("format") {
        Some(format) if *format == FORMAT => {}
        Some(format) => return Err(format!("the format is {format}, and this program reads format {FORMAT}")),
        None => return Err("there is no \"format\": it was not written by `alluvium-bench run`".to_owned()),
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn known(plan: &Plan, record: Record) -> Result<Record, String> {
    match plan.experiments.iter().any(|experiment| experiment.name == record.experiment) {
        true => Ok(record),
        false => Err(format!("the plan has no experiment {}", text::plain(&record.experiment))),
    }
}
