//! `alluvium-bench kv`.

use super::scenario::{RunArgs, describe, print};
use crate::scenarios::kv::{self, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::database::{Acknowledge, DatabaseArgs};
use alluvium_cli::signals::Stop;
use alluvium_store::{Options, Store};

/// Arguments of `kv`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium-bench kv trial.kv --mix put-heavy --partitions 16 --threads 32 --seconds 60")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// The shares of puts, deletes and gets
    #[arg(long, value_enum, default_value = "balanced")]
    mix: Mix,
    #[command(flatten)]
    run: RunArgs,
    /// Different keys to draw from
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    key_space: u64,
    /// Length of the values in bytes
    #[arg(long, value_name = "N", default_value_t = 1024)]
    value_bytes: usize,
    /// Partitions, if the store is created; the default is 4
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// When puts and deletes are acknowledged
    #[arg(long, value_enum, default_value = "periodic")]
    sync: Acknowledge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Mix {
    /// 33% puts, 33% deletes, 34% gets
    Balanced,
    /// 45% puts, 45% deletes, 10% gets
    DeleteHeavy,
    /// 10% puts, 5% deletes, 85% gets
    GetHeavy,
    /// 90% puts, 5% deletes, 5% gets
    PutHeavy,
}

impl Args {
    /// Runs the mix, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        Stop::at_once()?;
        files::refuse_inside(&alluvium_env::Env::os(), self.database.path())?;
        let settings = Settings {
            mix: match self.mix {
                Mix::Balanced => kv::Mix::Balanced,
                Mix::DeleteHeavy => kv::Mix::DeleteHeavy,
                Mix::GetHeavy => kv::Mix::GetHeavy,
                Mix::PutHeavy => kv::Mix::PutHeavy,
            },
            find_rate: self.run.find_rate(0.5)?,
            key_space: self.key_space,
            value_bytes: self.value_bytes,
            threads: self.run.threads,
            duration: self.run.duration()?,
            seed: self.run.seed,
        };
        let mut options = Options { partitions: self.partitions, durability: self.sync.into(), ..Options::default() };
        if let Some(bytes) = self.database.memory_bytes()? {
            options.memory_bytes = bytes;
        }
        self.refuse_documents(&options)?;
        let outcome = kv::kv(self.database.path(), options, &settings).map_err(alluvium::Error::from)?;
        print(&outcome, self.run.json, describe)
    }

    /// Refuses a store with documents, because the scenario writes random keys.
    fn refuse_documents(&self, options: &Options) -> Outcome {
        let env = alluvium_env::Env::os();
        if !env.fs.exists(self.database.path())? {
            return Ok(());
        }
        let store = Store::open(env, self.database.path(), options.clone()).map_err(alluvium::Error::from)?;
        let is_ours = store.trees().iter().all(|(_, name)| name.as_slice() == b"kv");
        store.close().map_err(alluvium::Error::from)?;
        match is_ours {
            true => Ok(()),
            false => Err(Failure::Usage(format!(
                "{} holds documents: name a directory for random keys",
                self.database.path().display()
            ))),
        }
    }
}
