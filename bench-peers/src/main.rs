//! Alluvium and the databases that people would use instead, in the same scenarios: one harness, one process for each
//! engine, one table.

mod commands;
mod encodings;
mod engines;
#[cfg(test)]
mod tests;

use alluvium_workbench::peer::Failure;
use clap::{Parser, Subcommand};
use commands::{documents, iibench, kv, opening};
use std::process::ExitCode;

/// Measures Alluvium and other databases in the same scenario: each engine in a process of its own, one after the other,
/// and the figures side by side.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    #[command(subcommand)]
    scenario: Scenario,
}

#[derive(Debug, Subcommand)]
enum Scenario {
    Documents(documents::Args),
    Iibench(iibench::Args),
    Kv(kv::Args),
    Opening(opening::Args),
}

fn main() -> ExitCode {
    let done: Result<(), Failure> = match Args::parse().scenario {
        Scenario::Documents(args) => args.run(),
        Scenario::Iibench(args) => args.run(),
        Scenario::Kv(args) => args.run(),
        Scenario::Opening(args) => args.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            ExitCode::FAILURE
        }
    }
}
