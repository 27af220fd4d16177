//! The registry of commands; each has a file of its own.

mod aggregate;
mod build;
mod changes;
mod checkpoint;
mod collections;
mod compact;
mod completions;
mod config;
mod count;
mod create;
mod delete;
mod describe;
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
pub(crate) mod mongod;
mod multivalue;
mod put;
mod rename;
mod repair;
mod restore;
mod scan;
mod serve;
pub(crate) mod shell;
mod stats;
mod update;
mod validator;
mod verify;
mod view;
mod watch;

use crate::context::Context;
use crate::exit::Outcome;

/// One command with its arguments, in alphabetical order.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run a pipeline over a collection: groups, joins, computed fields
    Aggregate(aggregate::Args),
    /// Build a read-only store, which any number of processes can read at once
    Build(build::Args),
    /// Record changes of documents for change streams; list and stop that
    #[command(subcommand)]
    Changes(changes::Command),
    /// Make a checkpoint: a complete copy of a database, made of hard links where possible
    Checkpoint(checkpoint::Args),
    /// List the collections, with their documents, sizes and indexes
    Collections(collections::Args),
    /// Merge all files of a database, and free the space of deleted documents
    Compact(compact::Args),
    /// Print a completion script for a shell
    Completions(completions::Args),
    /// Show the settings, and where each value comes from
    #[command(subcommand)]
    Config(config::Command),
    /// Count the documents of a collection: all, those that match a filter, or those with each value of a field
    Count(count::Args),
    /// Create a collection with options: capped ones keep the newest documents
    Create(create::Args),
    /// Delete documents by _id or by filter
    Delete(delete::Args),
    /// Show the fields of a collection, with their types and values
    Describe(describe::Args),
    /// Print the distinct values of a field
    Distinct(distinct::Args),
    /// Drop a collection with all its documents
    Drop(drop::Args),
    /// Write all collections to BSON files, as mongodump does
    Dump(dump::Args),
    /// Delete the documents that have expired
    Expire(expire::Args),
    /// Write a collection, or the result of a query, to a file of JSON, CSV or BSON
    Export(export::Args),
    /// Print the documents that match a filter
    Find(find::Args),
    /// Print documents by _id
    Get(get::Args),
    /// Create, list and drop indexes
    #[command(subcommand)]
    Index(index::Command),
    /// Show the content of one file of a database
    Inspect(inspect::Args),
    /// Load files of JSON, CSV or BSON; an interrupted load continues when it is run again
    Load(load::Args),
    /// Write the manual pages
    Man(man::Args),
    /// Serve as MongoDB's mongod does, with its arguments and its log
    Mongod(mongod::Args),
    /// Store many sorted values under a key: put, get, delete, load
    #[command(subcommand)]
    Mv(multivalue::Command),
    /// Store one document; an existing document with the same _id is replaced
    Put(put::Args),
    /// Rename a collection
    Rename(rename::Args),
    /// Copy the undamaged documents of a damaged database to a new database
    Repair(repair::Args),
    /// Restore a checkpoint, or a dump made by `dump` or mongodump
    Restore(restore::Args),
    /// Print documents in order of their _id
    Scan(scan::Args),
    /// Serve a database to MongoDB's clients
    Serve(serve::Args),
    /// Open a database and run commands, typed or from a script
    Shell(shell::Args),
    /// Show the size and the state of a database or a collection
    Stats(stats::Args),
    /// Change fields of documents with update operators
    Update(update::Args),
    /// Set, show and remove the validator of a collection, which refuses wrong documents
    #[command(subcommand)]
    Validator(validator::Command),
    /// Check a database or checkpoint for damage
    Verify(verify::Args),
    /// Create and list views: pipelines over a collection that have a name
    #[command(subcommand)]
    View(view::Command),
    /// Print changes of documents as they happen, as events of MongoDB's change streams
    Watch(watch::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, context: Context<'_>) -> Outcome {
        match self {
            Self::Aggregate(args) => args.run(),
            Self::Build(args) => args.run(),
            Self::Changes(command) => command.run(),
            Self::Checkpoint(args) => args.run(),
            Self::Collections(args) => args.run(),
            Self::Compact(args) => args.run(),
            Self::Completions(args) => args.run(context),
            Self::Config(command) => command.run(context.config),
            Self::Count(args) => args.run(),
            Self::Create(args) => args.run(),
            Self::Delete(args) => args.run(),
            Self::Describe(args) => args.run(),
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
            Self::Man(args) => args.run(context),
            Self::Mongod(args) => args.run(),
            Self::Mv(command) => command.run(),
            Self::Put(args) => args.run(),
            Self::Rename(args) => args.run(),
            Self::Repair(args) => args.run(),
            Self::Restore(args) => args.run(),
            Self::Scan(args) => args.run(),
            Self::Serve(args) => args.run(context),
            Self::Shell(args) => args.run(context),
            Self::Stats(args) => args.run(),
            Self::Update(args) => args.run(),
            Self::Validator(command) => command.run(),
            Self::Verify(args) => args.run(),
            Self::View(command) => command.run(),
            Self::Watch(args) => args.run(),
        }
    }
}
