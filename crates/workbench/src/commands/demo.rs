//! `alluvium-bench demo`: loads a million documents, reads and changes them, kills a load, recovers
//! and verifies; prints a table at the end.

mod child;
mod expected;
mod next;
mod operations;
mod query;
mod steps;
mod table;
mod terminal;

use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::size;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use alluvium_env::Env;
use std::path::PathBuf;

/// The minimum number of documents. A smaller load would end before it can be killed.
const LEAST_DOCS: u64 = 20_000;

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench demo --docs 100000")]
pub(crate) struct Args {
    /// The number of documents, at least 20000: a smaller load ends before it can be killed
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    docs: u64,
    /// Another seed gives other documents
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Memory budget of the database
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size::parse)]
    memory: u64,
    /// The directory for comments.jsonl and demo.alluvium, which are replaced if they exist
    #[arg(long, value_name = "DIR", default_value = ".")]
    dir: PathBuf,
}

/// The parameters of the demo.
struct Demo {
    env: Env,
    docs: u64,
    seed: u64,
    memory_bytes: u64,
    comments: PathBuf,
    database: PathBuf,
    progress: PathBuf,
}

impl Args {
    /// Runs all steps. Ends at the first step that fails.
    pub(crate) fn run(&self) -> Outcome {
        Stop::at_once()?;
        if self.docs < LEAST_DOCS {
            let least = text::count(LEAST_DOCS);
            let what =
                format!("the demo needs at least {least} documents: a smaller load ends before it can be killed");
            return Err(Failure::Usage(what));
        }
        let env = Env::os();
        files::refuse_inside(&env, &self.dir.join("comments.jsonl"))?;
        let demo = Demo {
            env: env.clone(),
            docs: self.docs,
            seed: self.seed,
            memory_bytes: self.memory,
            comments: self.dir.join("comments.jsonl"),
            database: self.dir.join("demo.alluvium"),
            progress: self.dir.join("demo.progress.jsonl"),
        };
        demo.clear()?;
        let result = demo.run();
        if env.fs.exists(&demo.progress)? {
            env.fs.remove(&demo.progress)?;
        }
        result
    }
}

impl Demo {
    /// Removes the database of an earlier demo. Any other directory is not removed.
    fn clear(&self) -> Outcome {
        let fs = &self.env.fs;
        if fs.exists(&self.database)? {
            let is_ours =
                ["ALLUVIUM", "ALLUVIUM.tmp"].iter().any(|name| fs.exists(&self.database.join(name)).is_ok_and(|is| is));
            if !is_ours && !fs.list(&self.database)?.is_empty() {
                let path = self.database.display();
                return Err(Failure::Other(format!("{path} is not a database: the demo does not remove it")));
            }
            files::remove_below(&self.env, &self.database)?;
        }
        Ok(())
    }
}
