//! A process for each engine.

use alluvium_env::{Env, Fs};
use alluvium_workbench::peer::Failure;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// The output of the processes of all engines, and the number of them that failed.
pub(super) struct Measured {
    pub reports: Vec<Value>,
    failed: usize,
}

impl Measured {
    /// An error if an engine failed, after the figures of the others are printed.
    pub fn end(self) -> Result<(), Failure> {
        match self.failed {
            0 => Ok(()),
            failed => Err(format!("{failed} of the engines failed").into()),
        }
    }
}

/// Runs this command once for each engine, with `--only` and its name, one after the other; so the arguments of all are the
/// same. Each has the directory with its name below `path`, which is removed at the end unless `keep` is set.
pub(super) fn each(names: &[&str], path: &Path, keep: bool) -> Result<Measured, Failure> {
    let fs = Env::os().fs;
    for name in names {
        // An existing directory may hold other data: only directories that an engine creates below are removed.
        let dir = path.join(name);
        if fs.exists(&dir)? {
            return Err(format!("{} exists: remove it, or name another folder", dir.display()).into());
        }
    }
    let mut measured = Measured { reports: Vec::new(), failed: 0 };
    for name in names {
        let output = again(&["--only", name])?.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        if output.status.success() {
            measured.reports.push(serde_json::from_slice(&output.stdout)?);
        } else {
            eprintln!("bench-peers: {name} failed ({})", output.status);
            measured.failed += 1;
        }
        if !keep {
            remove(&*fs, &path.join(name))?;
        }
    }
    Ok(measured)
}

/// This command with further arguments.
pub(super) fn again(arguments: &[&str]) -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(std::env::args_os().skip(1)).args(arguments);
    Ok(command)
}

/// Removes a folder that an engine has made.
fn remove(fs: &dyn Fs, dir: &Path) -> Result<(), Failure> {
    if !fs.exists(dir)? {
        return Ok(());
    }
    for entry in fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.is_dir { remove(fs, &path)? } else { fs.remove(&path)? }
    }
    Ok(fs.remove_dir(dir)?)
}
