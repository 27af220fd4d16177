//! `alluvium collections`: what is there.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::DatabaseArgs;

/// Arguments of `collections`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium collections my.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the full names, sorted.
    pub(crate) fn run(&self) -> Outcome {
        if let Some(store) = self.database.read_only(None)? {
            return self.print(&[store.collection()]);
        }
        self.database.with(|database| {
            let names: Vec<String> = database.collections().iter().map(|info| info.full_name()).collect();
            self.print(&names)
        })
    }

    fn print(&self, names: &[String]) -> Outcome {
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!(names))?;
        } else {
            for name in names {
                out.text(&format!("{name}\n"))?;
            }
        }
        out.finish()
    }
}
