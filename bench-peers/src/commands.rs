//! The scenarios as commands.

pub(crate) mod documents;
pub(crate) mod iibench;
pub(crate) mod kv;
pub(crate) mod opening;
mod processes;
mod table;

use alluvium_workbench::peer::Failure;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the engines put their files, and what is printed.
#[derive(Debug, clap::Args)]
struct Common {
    /// A directory; each engine creates one in it, which is removed when its figures are taken
    #[arg(value_name = "FOLDER")]
    path: PathBuf,
    /// Each engine's memory for caches and write buffers
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "256M")]
    memory: u64,
    /// Another seed gives other data
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Keep the engines' directories
    #[arg(long)]
    keep: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

/// Reads a size; the units are powers of 1024.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let shift = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return Err("write a size as 65536, 64K, 64M or 1G".to_owned()),
    };
    let number: Option<u64> = digits.parse().ok();
    let bytes = number.and_then(|number| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write a size as 65536, 64K, 64M or 1G".to_owned())
}

/// A number of seconds as a duration.
fn seconds(number: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(number).map_err(|_| "write seconds as a number that is not negative".into())
}

/// Creates the directory of an engine, which must not have files yet.
fn new_directory(dir: &Path) -> Result<(), Failure> {
    let fs = alluvium_env::Env::os().fs;
    alluvium_env::create_dir_durably(&fs, dir)?;
    match fs.list(dir)?.is_empty() {
        true => Ok(()),
        false => Err(format!("{} is not empty: remove it, or name another folder", dir.display()).into()),
    }
}
