//! The registry of commands; each has a file of its own.

mod build;
mod checkpoint;
mod collections;
mod compact;
mod completions;
mod config;
mod count;
mod delete;
mod distinct;
mod drop;
mod dump;
mod expire;
mod export;
mod find;
mod get;
mod index;
mod inspect;
pub mod load;
mod man;
mod multivalue;
mod put;
mod rename;
mod repair;
mod restore;
mod scan;
pub(crate) mod shell;
mod stats;
mod update;
mod verify;

use crate::config::Config;
use crate::exit::Outcome;

/// One command with its arguments. In the order of the alphabet.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Build a read-only store, which many processes may read at once
    Build(build::Args),
    /// Make a checkpoint: a whole copy of a database, of links where that is possible
    Checkpoint(checkpoint::Args),
    /// List the collections
    Collections(collections::Args),
    /// Merge all files, and give back all space that can be
    Compact(compact::Args),
    /// Print the script by which a shell completes our arguments
    Completions(completions::Args),
    /// Show the settings, and where they come from
    #[command(subcommand)]
    Config(config::Command),
    /// Count the documents of a collection, or those that match a filter
    Count(count::Args),
    /// Delete documents by _id or by filter
    Delete(delete::Args),
    /// Print the distinct values of a field
    Distinct(distinct::Args),
    /// Drop a collection with all its documents
    Drop(drop::Args),
    /// Write a whole database into files, as mongodump does
    Dump(dump::Args),
    /// Delete the documents that have expired
    Expire(expire::Args),
    /// Write a collection as JSON, CSV or BSON
    Export(export::Args),
    /// Print documents that match a filter
    Find(find::Args),
    /// Print documents by _id
    Get(get::Args),
    /// Make, list and drop indexes
    #[command(subcommand)]
    Index(index::Command),
    /// Show what stands in a single file of a database
    Inspect(inspect::Args),
    /// Load JSON, CSV or BSON; a load that was cut short goes on when it is run again
    Load(load::Args),
    /// Write the manual pages
    Man(man::Args),
    /// Keep many sorted values under a key: put, get, delete, load
    #[command(subcommand)]
    Mv(multivalue::Command),
    /// Store one document, replacing the one with its _id
    Put(put::Args),
    /// Rename a collection
    Rename(rename::Args),
    /// Save what is whole of a damaged database in a new one
    Repair(repair::Args),
    /// Restore a checkpoint, or a dump from here or from mongodump
    Restore(restore::Args),
    /// Print documents in the order of their _id
    Scan(scan::Args),
    /// Type commands, or run a script of them, on one open database
    Shell(shell::Args),
    /// Show figures of a database
    Stats(stats::Args),
    /// Change fields of a document by update operators
    Update(update::Args),
    /// Check every block, reference and count of a database or a checkpoint
    Verify(verify::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, config: &Config) -> Outcome {
        match self {
            Self::Build(args) => args.run(),
            Self::Checkpoint(args) => args.run(),
            Self::Collections(args) => args.run(),
            Self::Compact(args) => args.run(),
            Self::Completions(args) => args.run(),
            Self::Config(command) => command.run(config),
            Self::Count(args) => args.run(),
            Self::Delete(args) => args.run(),
            Self::Distinct(args) => args.run(),
            Self::Drop(args) => args.run(),
            Self::Dump(args) => args.run(),
            Self::Expire(args) => args.run(),
            Self::Export(args) => args.run(),
            Self::Find(args) => args.run(),
            Self::Get(args) => args.run(),
            Self::Index(command) => command.run(),
            Self::Inspect(args) => args.run(),
            Self::Load(args) => args.run(),
            Self::Man(args) => args.run(),
            Self::Mv(command) => command.run(),
            Self::Put(args) => args.run(),
            Self::Rename(args) => args.run(),
            Self::Repair(args) => args.run(),
            Self::Restore(args) => args.run(),
            Self::Scan(args) => args.run(),
            Self::Shell(args) => args.run(config),
            Self::Stats(args) => args.run(),
            Self::Update(args) => args.run(),
            Self::Verify(args) => args.run(),
        }
    }
}
