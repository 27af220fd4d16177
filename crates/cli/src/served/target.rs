//! The commands that run in the process that has the database open.

use clap::ArgMatches;
use std::path::PathBuf;

/// Commands that run in the process that serves their database.
const SERVED: &[&str] = &[
    "aggregate",
    "changes",
    "checkpoint",
    "collections",
    "compact",
    "count",
    "create",
    "delete",
    "describe",
    "distinct",
    "drop",
    "dump",
    "expire",
    "export",
    "find",
    "get",
    "index",
    "load",
    "mv",
    "put",
    "rename",
    "scan",
    "stats",
    "update",
    "validator",
    "verify",
    "view",
    "watch",
];
/// Commands that need exclusive use of a database.
const ALONE: &[&str] = &["build", "repair", "restore", "serve", "shell"];

/// The database that a command runs on.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name of the command.
    pub command: String,
    /// The database.
    pub database: Option<PathBuf>,
    /// The number of partitions that the database must have.
    pub partitions: Option<u32>,
    /// True if an argument is a path that depends on the working directory.
    pub has_relative_paths: bool,
}

impl Target {
    /// The target of parsed arguments.
    pub(crate) fn of(matches: &ArgMatches) -> Self {
        let mut leaf = matches;
        while let Some((_, below)) = leaf.subcommand() {
            leaf = below;
        }
        Self {
            command: matches.subcommand_name().unwrap_or_default().to_owned(),
            database: leaf.try_get_one::<PathBuf>("path").ok().flatten().cloned(),
            has_relative_paths: leaf.ids().any(|id| is_relative(leaf, id.as_str())),
            partitions: leaf.try_get_one::<u32>("partitions").ok().flatten().copied(),
        }
    }

    /// The database, if the command can run in the process that has it open.
    pub(crate) fn served(&self) -> Option<&PathBuf> {
        self.database.as_ref().filter(|_| SERVED.contains(&self.command.as_str()))
    }

    /// True for a command that needs exclusive use of its database.
    pub(crate) fn needs_it_alone(&self) -> bool {
        ALONE.contains(&self.command.as_str())
    }
}

/// True for an argument that is a relative path. `-`, which is standard input or output, is not.
fn is_relative(matches: &ArgMatches, id: &str) -> bool {
    let paths = matches.try_get_many::<PathBuf>(id).ok().flatten();
    paths.is_some_and(|mut paths| paths.any(|path| path.is_relative() && path.as_os_str() != "-"))
}
