//! `alluvium expire`: deletes what has expired, now.

use crate::exit::Outcome;
use crate::output::Output;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;

/// Arguments of `expire`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: alluvium expire my.db

Documents expire by an index with --expire-after. A process that keeps a database open, such as `alluvium shell`, deletes them \
every minute; where none does, this command may be run from time to time.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the figure as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Deletes them, and prints how many.
    pub(crate) fn run(&self) -> Outcome {
        self.database.refuse_read_only("nothing in it expires")?;
        // What was deleted stays so, and the next time goes on.
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
