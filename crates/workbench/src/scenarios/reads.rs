//! Raw reads: random blocks of files, without a database. Their rate is the upper limit for gets from a cold disk.

use super::run::{Counters, Outcome, Plan, run};
use alluvium_env::{Env, File, OpenMode, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The suffix of the names of sorted files.
const DATA_END: &str = ".sst";

/// Parameters of raw reads.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The number of threads.
    pub threads: usize,
    /// How long the threads read.
    pub duration: Duration,
    /// The number of reads after which the threads end early; 0 is no limit.
    pub operations: u64,
    /// Bytes of a read. Each read begins at a multiple of this number.
    pub bytes: usize,
    /// True if files are read through the page cache of the system.
    pub cached: bool,
    /// The seed of the random choices.
    pub seed: u64,
}

/// The data files of `paths`, with their lengths: each path that is a file, and the sorted files at any depth below
/// each directory. Files shorter than `bytes` are left out.
///
/// # Errors
/// A path does not exist; errors of the file system.
pub fn data_files(env: &Env, paths: &[PathBuf], bytes: usize) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    for path in paths {
        match env.fs.list(path) {
            Ok(_) => below(env, path, &mut found)?,
            Err(error) if error.is_not_a_directory() => {
                let len = env.fs.open(path, OpenMode::Read)?.len()?;
                found.push((path.clone(), len));
            }
            Err(error) => return Err(error),
        }
    }
    found.retain(|(_, len)| *len >= bytes as u64);
    Ok(found)
}

fn below(env: &Env, dir: &Path, found: &mut Vec<(PathBuf, u64)>) -> Result<()> {
    for entry in env.fs.list(dir)? {
        let path = dir.join(&entry.name);
        if entry.is_dir {
            below(env, &path, found)?;
        } else if entry.name.ends_with(DATA_END) {
            found.push((path, entry.len));
        }
    }
    Ok(())
}

/// Reads random whole blocks of these files ([`data_files`]). All blocks are equally likely.
///
/// # Errors
/// Errors of the file system, which may not support reads without the page cache.
pub fn reads(env: &Env, files: &[(PathBuf, u64)], settings: &Settings) -> Result<Outcome> {
    let fs = alluvium_env::BoundedFs::over(env.fs.clone());
    let mut opened: Vec<Arc<dyn File>> = Vec::new();
    // For each file, the number of the first block after it.
    let mut ends: Vec<u64> = Vec::new();
    for (path, len) in files {
        opened.push(match settings.cached {
            true => fs.open(path, OpenMode::Read)?,
            false => fs.open_direct(path, OpenMode::Read)?,
        });
        ends.push(ends.last().unwrap_or(&0) + len / settings.bytes as u64);
    }
    let blocks = ends.last().copied().unwrap_or(0);
    let plan = Plan {
        name: "reads".to_owned(),
        threads: settings.threads,
        duration: settings.duration,
        operations: settings.operations,
    };
    let file_bytes: u64 = files.iter().map(|(_, len)| len).sum();
    run(&plan, &env.clock, &|| (file_bytes, 0.0), &|worker| {
        let mut random = fastrand::Rng::with_seed(settings.seed + worker.index as u64);
        let mut buffer = vec![0; settings.bytes];
        while blocks > 0 && worker.goes_on() {
            let block = random.u64(0..blocks);
            let at = ends.partition_point(|end| *end <= block);
            let first = if at == 0 { 0 } else { ends[at - 1] };
            let offset = (block - first) * settings.bytes as u64;
            worker.timed(|| opened[at].read_exact_at(&mut buffer, offset))?;
            Counters::add(&worker.counters.get);
            Counters::add(&worker.counters.get_found);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests;
