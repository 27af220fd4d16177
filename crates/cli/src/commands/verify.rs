//! `alluvium verify`: every block of every file.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use env::Env;

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium verify my.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the damage that is found, one a line.
    pub(crate) fn run(&self) -> Outcome {
        Stop::at_once()?;
        let env = Env::os();
        let started = env.clock.now();
        let (damage, files, disk_bytes, and) = match self.database.read_only(None)? {
            Some(store) => {
                let stats = store.stats();
                (store.verify()?, usize::from(stats.pairs > 0), stats.disk_bytes, "its indexes")
            }
            None => {
                let (damage, stats) = self.database.with(|database| Ok((database.verify()?, database.stats())))?;
                let files = stats.partitions.iter().map(|partition| partition.files).sum();
                (damage, files, stats.disk_bytes, "the log")
            }
        };
        let took = env.clock.now().saturating_sub(started);
        let findings: Vec<String> = damage.iter().map(ToString::to_string).collect();
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "damage": findings,
                "files": files,
                "bytes": disk_bytes,
                "seconds": took.as_secs_f64(),
            }))?;
        } else {
            for finding in &findings {
                out.text(&format!("{finding}\n"))?;
            }
            if findings.is_empty() {
                let files = text::counted(files as u64, "sorted file");
                let (bytes, took) = (text::bytes(disk_bytes), text::duration(took));
                out.text(&format!("no damage: {files} and {and}, {bytes}, checked in {took}\n"))?;
            }
        }
        out.finish()?;
        match findings.len() as u64 {
            0 => Ok(()),
            n => Err(Failure::Damaged(format!(
                "found damage in {}: copy the directory before anything else, then load what is lost again",
                text::counted(n, "place")
            ))),
        }
    }
}
