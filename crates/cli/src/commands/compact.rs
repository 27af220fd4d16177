//! `alluvium compact`: merges each partition into one sorted run.

use crate::exit::{self, Outcome};
use crate::files;
use crate::output::Output;
use crate::session;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium_env::Env;

/// Arguments of `compact`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium compact my.db")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Start even if the disk may be too small
    #[arg(long)]
    no_space_check: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Compacts, and prints the bytes before and after.
    pub(crate) fn run(&self) -> Outcome {
        self.database.refuse_read_only("its build has left nothing to compact")?;
        // An unfinished merge leaves files, which the next open removes.
        let stop = Stop::at_once()?;
        let env = Env::os();
        let started = env.clock.now();
        // While the database is open, its log has preallocated space, which closing frees.
        let closed = if session::is_open() { None } else { files::bytes_below(&env, self.database.path()).ok() };
        let (before, stats) = self.database.with(|database| {
            if !self.no_space_check {
                exit::enough_space(database.compact_space())?;
            }
            let before = closed.map_or_else(|| files::bytes_below(&env, self.database.path()), Ok)?;
            database.compact().stop_when(stop.flag()).run()?;
            Ok((before, database.stats()))
        })?;
        let after = files::bytes_below(&env, self.database.path())?;
        let took = env.clock.now().saturating_sub(started);
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "seconds": took.as_secs_f64(),
                "disk_bytes_before": before,
                "disk_bytes": after,
                "compacted_bytes": stats.compacted_bytes,
            }))?;
        } else {
            let (before, after) = (text::bytes(before), text::bytes(after));
            out.text(&format!("compacted in {}: {before} before, {after} now\n", text::duration(took)))?;
        }
        out.finish()
    }
}
