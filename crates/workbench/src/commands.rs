//! The registry of commands. Each command has a file of its own.

mod aggregate;
mod changes;
mod demo;
mod documents;
mod find;
mod generate;
mod iibench;
mod index;
mod kv;
mod lengths;
mod load;
mod multivalue;
mod put;
mod readonly;
mod reads;
mod report;
mod run;
mod scenario;
mod wire;

use alluvium_cli::exit::Outcome;

/// One command with its arguments, in alphabetical order.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Measure pipelines: groups of few and many, counts, sorts, look-ups. Creates an index on `subreddit`
    Aggregate(aggregate::Args),
    /// Measure recorded changes: what they cost loads, updates and puts, and the time until a change stream returns them
    Changes(changes::Args),
    /// Generate, load, read, change, kill, resume and verify a million documents; print a table
    Demo(demo::Args),
    /// Measure queries by index, range, order and `$in`; again after documents were rewritten. Creates the indexes
    Find(find::Args),
    /// Generate data
    #[command(subcommand)]
    Gen(generate::Command),
    /// Measure gets of random documents
    Get(documents::GetArgs),
    /// Measure inserts of rows in key order under indexes on random values, from several loaders; then range queries
    Iibench(iibench::Args),
    /// Measure an index build beside a writer: how long it takes, and how it slows the writer
    Index(index::Args),
    /// Measure random keys of the key/value store: puts, gets and deletes in fixed shares
    Kv(kv::Args),
    /// Measure the lengths of generated comments as JSON: their distribution
    Lengths(lengths::Args),
    /// Measure a load of generated comments (generating them is part of the time)
    Load(load::Args),
    /// Measure many values under a key: comment ids by author or by subreddit, put and read back
    Multivalue(multivalue::Args),
    /// Measure writes of comments as JSON text: puts and inserts, one or many in a commit
    Put(put::Args),
    /// Measure random gets from read-only stores: combinations of parameters in trials of random order
    Readonly(readonly::Args),
    /// Measure random reads of a database's files without the database: what the disk can do
    Reads(reads::Args),
    /// Draw the records of `run` as one page with charts, and as SVG files
    Report(report::Args),
    /// Run a plan of experiments: a process for each trial, in random order, with a record of each
    Run(run::Args),
    /// Measure updates of random documents: score + 1, by get and put, checked or blind
    Update(documents::UpdateArgs),
    /// Measure small requests to a server: operations a second, its processor time for each, latencies
    Wire(wire::Args),
    /// Serve a database for `wire`, until standard input ends
    #[command(hide = true)]
    WireServer(wire::server::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self) -> Outcome {
        match self {
            Self::Aggregate(args) => args.run(),
            Self::Changes(args) => args.run(),
            Self::Demo(args) => args.run(),
            Self::Find(args) => args.run(),
            Self::Gen(command) => command.run(),
            Self::Get(args) => args.run(),
            Self::Iibench(args) => args.run(),
            Self::Index(args) => args.run(),
            Self::Kv(args) => args.run(),
            Self::Lengths(args) => args.run(),
            Self::Load(args) => args.run(),
            Self::Multivalue(args) => args.run(),
            Self::Put(args) => args.run(),
            Self::Readonly(args) => args.run(),
            Self::Reads(args) => args.run(),
            Self::Report(args) => args.run(),
            Self::Run(args) => args.run(),
            Self::Update(args) => args.run(),
            Self::Wire(args) => args.run(),
            Self::WireServer(args) => args.run(),
        }
    }
}
