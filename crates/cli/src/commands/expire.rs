//! `alluvium expire`: deletes expired documents now.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;

/// Arguments of `expire`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium expire my.db

An index that was created with --expire-after defines when documents expire. A process that has the database open, such as `alluvium shell`, deletes \
expired documents every minute; otherwise run this command from time to time. When the command succeeds, the deletes are on the disk, in the shell as on the \
command line.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the count as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Deletes the expired documents, and prints their number.
    pub(crate) fn run(&self) -> Outcome {
        self.database.refuse_read_only("nothing in it expires")?;
        // Deleted documents stay deleted, and the next run continues.
        Stop::at_once()?;
        let deleted = self.database.with(|database| {
            let deleted = database.delete_expired()?;
            database.sync()?;
            Ok(deleted)
        })?;
        let mut out = Output::new();
        match self.json {
            true => out.json(&serde_json::json!({ "deleted": deleted }))?,
            false => out.text(&format!("deleted {}\n", text::counted(deleted, "expired document")))?,
        }
        out.finish()
    }
}
