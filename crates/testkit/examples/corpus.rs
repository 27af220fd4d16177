//! Writes the initial inputs of the fuzzers, one directory for each target: `corpus DIRECTORY`.

// This tool of the repository writes real files.
#![allow(clippy::disallowed_methods)]

use std::io::Error;
use std::path::PathBuf;

fn main() -> Result<(), Error> {
    let Some(dir) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return Err(Error::other("corpus DIRECTORY"));
    };
    for (target, _) in alluvium_testkit::fuzz::TARGETS {
        std::fs::create_dir_all(dir.join(target))?;
        for (number, input) in alluvium_testkit::fuzz::seeds(target).iter().enumerate() {
            std::fs::write(dir.join(target).join(format!("begin-{number}")), input)?;
        }
    }
    Ok(())
}
