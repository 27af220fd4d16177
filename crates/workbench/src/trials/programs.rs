//! Finds the programs of experiments.

use crate::plan::{Plan, THIS_PROGRAM};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_env::Env;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that measures other databases.
const PEERS: &str = "bench-peers";

/// The programs of a plan.
pub(super) struct Programs {
    /// For the name of each program, its path, or the reason why it does not start.
    found: BTreeMap<String, Result<PathBuf, String>>,
}

impl Programs {
    /// Looks for each program of a plan: in the directory of this program, in the directory where the program is built,
    /// and on the `PATH`.
    pub fn find(env: &Env, plan: &Plan) -> Outcome<Self> {
        let own =
            std::env::current_exe().map_err(|error| Failure::Other(format!("cannot find this program: {error}")))?;
        let beside = own.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let mut dirs = vec![beside, PathBuf::from("bench-peers/target/release")];
        dirs.extend(search_path());
        let mut found = BTreeMap::new();
        for experiment in &plan.experiments {
            let name = experiment.program.as_str();
            let place = match name {
                THIS_PROGRAM => Some(own.clone()),
                _ => dirs.iter().map(|dir| dir.join(name)).find(|path| env.fs.exists(path).unwrap_or(false)),
            };
            if let Some(path) = place
                && !found.contains_key(name)
            {
                let starts = if name == THIS_PROGRAM { Ok(()) } else { starts(&path) };
                found.insert(name.to_owned(), starts.map(|()| path));
            }
        }
        Ok(Self { found })
    }

    /// The path of a program, or the reason why its experiments are skipped.
    pub fn path(&self, name: &str) -> Result<&Path, String> {
        match self.found.get(name) {
            Some(Ok(path)) => Ok(path),
            Some(Err(why)) => Err(format!("{name} does not start: {why}")),
            None if name == PEERS => Err(format!("there is no program {PEERS}: `make peers` builds it")),
            None => Err(format!("there is no program {name}: put it beside {THIS_PROGRAM}, or on the PATH")),
        }
    }
}

/// Checks that a program starts. It does not start if the libraries to which it is linked are missing.
fn starts(path: &Path) -> Result<(), String> {
    let output = Command::new(path).arg("--version").stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            let line = text.lines().next().map(str::trim).filter(|line| !line.is_empty());
            Err(line.map_or_else(|| output.status.to_string(), str::to_owned))
        }
        Err(error) => Err(error.to_string()),
    }
}

#[allow(clippy::disallowed_methods, reason = "programs are looked up as a shell does; nothing is configured by this")]
fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}
