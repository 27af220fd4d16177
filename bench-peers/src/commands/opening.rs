//! `bench-peers opening`.

use super::documents::{BLOCK_BYTES, Engine};
use super::table::{self, Column};
use super::{Common, new_directory, processes, size};
use crate::engines::Place;
use alluvium_workbench::peer::{Documents, Failure};
use alluvium_workbench::scenarios::peers::{self, Settings};
use serde_json::json;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

/// Opens a store whose process was killed with SIGKILL after the last put, and gets random documents: for a second, and
/// then for `--seconds`. Then settles, closes, drops the files from the page cache, and does the same with `--cold-memory`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: bench-peers opening trial --docs 334000 --memory 512M --engines alluvium,rocksdb,lmdb,fjall

A document that was put and is not found is an error: give no engine that keeps its puts in memory (redb)."
)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,
    /// Which engines, in this order
    #[arg(long, value_enum, value_delimiter = ',', required = true)]
    engines: Vec<Engine>,
    /// Documents to put, each a commit of its own
    #[arg(long, value_name = "N", default_value_t = 334_000, value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    docs: u64,
    /// How long documents are read after the first second
    #[arg(long, value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seconds: u64,
    /// Threads that read
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    threads: u64,
    /// The memory when the files are cold
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64M")]
    cold_memory: u64,
    /// Measure one engine in this process, and print its figures as JSON
    #[arg(long, hide = true)]
    only: Option<Engine>,
    /// Put the documents, print a line, and wait to be killed
    #[arg(long, hide = true)]
    put: bool,
}

const COLUMNS: [Column; 10] = [
    ("open ms", "figures.killed.open_ms", 1.0),
    ("open CPU ms", "figures.killed.open_cpu_ms", 1.0),
    ("get CPU µs, 1st s", "figures.killed.first.cpu_us", 1.0),
    ("p50", "figures.killed.first.latency.p50", 1.0),
    ("later", "figures.killed.later.cpu_us", 1.0),
    ("cold open ms", "figures.cold.open_ms", 1.0),
    ("cold get CPU µs, 1st s", "figures.cold.first.cpu_us", 1.0),
    ("p50", "figures.cold.first.latency.p50", 1.0),
    ("reads", "figures.cold.first.read_calls", 1.0),
    ("later", "figures.cold.later.cpu_us", 1.0),
];

impl Args {
    /// Measures one engine, or each in a process of its own.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self.only {
            Some(engine) if self.put => self.put(engine),
            Some(engine) => self.measure(engine),
            None => self.measure_all(),
        }
    }

    fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            documents: self.docs,
            threads: usize::try_from(self.threads)?,
            duration: std::time::Duration::from_secs(self.seconds),
            memory_bytes: self.common.memory,
            cold_memory_bytes: self.cold_memory,
            seed: self.common.seed,
            ..Settings::default()
        })
    }

    fn open(&self, engine: Engine, dir: &Path, memory_bytes: u64) -> Result<Box<dyn Documents>, Failure> {
        let threads = usize::try_from(self.threads)?;
        engine.open(&Place { dir, memory_bytes, threads, block_bytes: BLOCK_BYTES })
    }

    /// Puts the documents by one thread, and waits.
    fn put(&self, engine: Engine) -> Result<(), Failure> {
        let dir = self.common.path.join(engine.name());
        let store = self.open(engine, &dir, self.common.memory)?;
        peers::put_before_kill(&*store, &Settings { threads: 1, ..self.settings()? })?;
        println!("put");
        std::io::stdout().flush()?;
        let mut never = String::new();
        std::io::stdin().read_line(&mut never)?;
        Err("it was not killed".into())
    }

    /// Kills the process that puts the documents once it is done, and opens the store.
    fn measure(&self, engine: Engine) -> Result<(), Failure> {
        let dir = self.common.path.join(engine.name());
        new_directory(&dir)?;
        let mut child = processes::again(&["--put"])?.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        child.kill()?;
        let status = child.wait()?;
        if line.trim() != "put" || status.code().is_some() {
            return Err(format!("the process that puts ended with {status} before it was killed").into());
        }
        let open = |memory_bytes| self.open(engine, &dir, memory_bytes);
        let figures = peers::opening(&open, &dir, &self.settings()?)?;
        println!("{}", json!({"engine": engine.name(), "figures": figures}));
        Ok(())
    }

    fn measure_all(&self) -> Result<(), Failure> {
        let names: Vec<&str> = self.engines.iter().map(|engine| engine.name()).collect();
        let measured = processes::each(&names, &self.common.path, self.common.keep)?;
        if self.common.json {
            println!("{}", serde_json::to_string_pretty(&measured.reports)?);
        } else {
            print!("{}", table::text(&COLUMNS, &measured.reports));
        }
        measured.end()
    }
}
