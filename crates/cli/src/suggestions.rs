//! Suggestions for commands that have another name in other databases.

use crate::exit::Failure;
use crate::text;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Names of commands in other databases, and the corresponding commands.
const SUGGESTIONS: &[(&str, &str)] = &[
    ("add", "`put` stores one document, `load` files of them"),
    ("backup", "`checkpoint` copies a whole database, `dump` writes it as files"),
    ("bench", "the program `alluvium-bench` measures"),
    ("check", "`verify`"),
    ("cli", "`shell`"),
    ("console", "`shell`"),
    ("copy", "`checkpoint` copies a whole database, `export` a collection"),
    ("create", "`put`, `load` and `index create` create what does not exist"),
    ("databases", "`collections`"),
    ("demo", "the program `alluvium-bench` has it"),
    ("explain", "`find --explain`"),
    ("fields", "`describe DB COLLECTION` shows the fields"),
    ("fsck", "`verify`"),
    ("gen", "the program `alluvium-bench` generates data"),
    ("import", "`load`"),
    ("indexes", "`index list`"),
    ("info", "`stats`"),
    ("insert", "`put` stores one document, `load` files of them"),
    ("list", "`collections` lists the collections, `index list` the indexes"),
    ("ls", "`collections`"),
    ("mongodump", "`dump`"),
    ("mongoexport", "`export`"),
    ("mongoimport", "`load`"),
    ("mongorestore", "`restore`"),
    ("open", "`shell`"),
    ("query", "`find`"),
    ("read", "`get` prints documents by _id, `find` by filter"),
    ("remove", "`delete`"),
    ("repl", "`shell`"),
    ("replace", "`put`"),
    ("rm", "`delete` deletes documents, `drop` a collection"),
    ("save", "`put`"),
    ("schema", "`describe DB COLLECTION` shows the fields"),
    ("search", "`find`"),
    ("select", "`find`"),
    ("set", "`update`"),
    ("show", "`collections`"),
    ("tables", "`collections`"),
    ("upsert", "`update --upsert`"),
    ("vacuum", "`compact`"),
    ("write", "`put`"),
];

/// The message about an unknown command, if its name means another command of this program.
pub(crate) fn of(error: &clap::Error) -> Option<Failure> {
    if error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (_, instead) = SUGGESTIONS.iter().find(|(typed, _)| *typed == name.to_lowercase())?;
    Some(Failure::Usage(format!("there is no command {}: {}", text::plain(name), meant(instead))))
}

fn meant(instead: &str) -> String {
    if instead.ends_with('`') && !instead.contains("there are") && instead.matches('`').count() == 2 {
        format!("did you mean {instead}?")
    } else {
        instead.to_owned()
    }
}
