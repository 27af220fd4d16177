//! The end of the demo: the remaining files, and suggestions.

use super::query::{Queried, SORT};
use super::{Demo, terminal};
use alluvium_cli::exit::Outcome;
use alluvium_cli::files;
use alluvium_cli::text;
use alluvium_env::OpenMode;
use std::path::PathBuf;

impl Demo {
    /// Lists the remaining files, and commands to try on them.
    pub(super) fn next(&self, queried: &Queried) -> Outcome<String> {
        let comments = self.env.fs.open(&self.comments, OpenMode::Read)?.len()?;
        let database = files::bytes_below(&self.env, &self.database)?;
        let left = text::columns(&[
            (format!("  {}", self.comments.display()), format!("{}: the comments", text::bytes(comments))),
            (
                format!("  {}", self.database.display()),
                format!("{}: the collections comments, with an index, and killed", text::bytes(database)),
            ),
        ]);
        let (program, database) = (program().display().to_string(), self.database.display());
        let filter = &queried.filter;
        let commands = [
            format!("find {database} comments '{filter}' --sort '{SORT}' --limit 3 --pretty"),
            format!("find {database} comments '{filter}' --sort '{SORT}' --limit 3 --explain"),
            format!("count {database} comments '{{\"score\": {{\"$lt\": 0}}}}'"),
            format!("stats {database}"),
            format!("shell {database}"),
        ];
        let commands: String = commands.iter().map(|command| format!("  {program} {command}\n")).collect();
        let remove = format!("  rm -r {} {database}\n", self.comments.display());
        let (these, try_next, to_remove) =
            (terminal::heading("Left:"), terminal::heading("Try next:"), terminal::heading("To remove what is left:"));
        Ok(format!("\n{these}\n{left}\n{try_next}\n{commands}\n{to_remove}\n{remove}"))
    }
}

/// The program `alluvium`, as a path if it is in the same directory as this program.
fn program() -> PathBuf {
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name("alluvium"));
    let beside = beside.filter(|path| alluvium_env::Env::os().fs.exists(path).unwrap_or(false));
    let Some(path) = beside else { return PathBuf::from("alluvium") };
    let here = std::path::absolute(".").ok();
    here.and_then(|here| path.strip_prefix(here).map(PathBuf::from).ok()).unwrap_or(path)
}
