//! The history of commands, in a file of the user.

use super::complete::Helper;
use crate::text;
use crate::variables;
use alluvium_env::Env;
use rustyline::Editor;
use rustyline::history::FileHistory;
use std::path::PathBuf;

/// The path of the file, in the user's state directory.
fn path() -> Option<PathBuf> {
    Some(variables::folder(&variables::variable, "XDG_STATE_HOME", ".local/state")?.join("history"))
}

/// Loads the history.
pub(super) fn load(editor: &mut Editor<Helper, FileHistory>) {
    let Some(path) = path() else { return };
    // The shell also works without a history.
    if let Some(folder) = path.parent()
        && let Err(error) = Env::os().fs.create_dir_all(folder)
    {
        log::warn!(target: "alluvium::shell", "commands will not be remembered: {error}");
    }
    let _none_yet = editor.load_history(&path);
}

/// Adds a command, and saves the history at once, because a shell may be killed.
pub(super) fn add(editor: &mut Editor<Helper, FileHistory>, line: &str) {
    let added = editor.add_history_entry(line).unwrap_or(false);
    if let (true, Some(path)) = (added, path())
        && let Err(error) = editor.append_history(&path)
    {
        log::warn!(target: "alluvium::shell", "the command is not remembered in {}: {error}", text::path(&path));
    }
}
