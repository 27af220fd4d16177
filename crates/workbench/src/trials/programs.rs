//! Where the programs of experiments are.

use crate::plan::{Plan, THIS_PROGRAM};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_env::Env;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The program that measures other databases.
const PEERS: &str = "bench-peers";

/// The programs of a plan.
pub(super) struct Programs {
    found: BTreeMap<String, PathBuf>,
}

impl Programs {
    /// Looks for each program of a plan: beside this one, in the folder where it is built, and on the `PATH`.
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
            if let Some(path) = place {
                found.insert(name.to_owned(), path);
            }
        }
        Ok(Self { found })
    }

    /// The path of a program, or why experiments without it are skipped.
    pub fn path(&self, name: &str) -> Result<&Path, String> {
        self.found.get(name).map(PathBuf::as_path).ok_or_else(|| match name {
            PEERS => format!("there is no program {PEERS}: `make peers` builds it"),
            _ => format!("there is no program {name}: put it beside {THIS_PROGRAM}, or on the PATH"),
        })
    }
}

#[allow(clippy::disallowed_methods, reason = "programs are looked up as a shell does; nothing is configured by this")]
fn search_path() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}
