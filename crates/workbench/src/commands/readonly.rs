//! `alluvium-bench readonly`.

use super::scenario::print;
use crate::scenarios::readonly::{self, Event, Found, Report, Settings};
use alluvium_cli::exit::{Failure, Outcome};
use alluvium_cli::files;
use alluvium_cli::settings::size;
use alluvium_cli::signals::Stop;
use alluvium_cli::text;
use alluvium_env::Env;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `readonly`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: alluvium-bench readonly trials --data-size 1G,5G --index-interval 10,100 --threads 1,2 --ordinary

Builds a store of random 16-byte keys and random values for each size, once, and gets random keys from it: every \
combination of the parameters, in trials of random order, each of which opens the store again."
)]
pub(crate) struct Args {
    /// A directory for the stores; those of an earlier run are used again
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Bytes of keys and values
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = size::parse, default_value = "256M")]
    data_size: Vec<u64>,
    /// Length of the values in bytes
    #[arg(long, value_name = "NS", value_delimiter = ',', default_value = "4096")]
    value_bytes: Vec<usize>,
    /// Keys for each index entry; 0 is one index, with an entry for each data block
    #[arg(long, value_name = "NS", value_delimiter = ',', default_value = "10,100")]
    index_interval: Vec<u64>,
    /// The share of looked-up keys that exist, 0 to 1
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "0.1,0.5,0.9")]
    find_rate: Vec<f64>,
    /// Threads that read
    #[arg(long, value_name = "NS", value_delimiter = ',', default_value = "1,4,16")]
    threads: Vec<usize>,
    /// Trials of each combination
    #[arg(long, value_name = "N", default_value_t = 10)]
    trials: u32,
    /// How long a trial runs
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Bytes of a data block before compression
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "2K")]
    block_size: u64,
    /// Memory budget of reading
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "256M")]
    memory: u64,
    /// Memory budget of building
    #[arg(long, value_name = "SIZE", value_parser = size::parse, default_value = "256M")]
    build_memory: u64,
    /// The same gets from an ordinary store with the same pairs
    #[arg(long)]
    ordinary: bool,
    /// Another seed chooses other keys and another order
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Runs the trials, and prints the figures.
    pub(super) fn run(&self) -> Outcome {
        let settings = self.settings()?;
        Stop::at_once()?;
        let env = Env::os();
        files::refuse_inside(&env, &self.dir)?;
        if env.fs.exists(&self.dir)? {
            self.refuse_others(&env)?;
        }
        env.fs.create_dir_all(&self.dir)?;
        let terminal = std::io::stderr().is_terminal();
        let report = readonly::readonly(&self.dir, &settings, &mut |event| {
            if terminal {
                eprint!("\r{}\x1b[K", progress(&event, &settings));
            }
        })?;
        if terminal {
            eprint!("\r\x1b[K");
        }
        print(&report, self.json, describe)
    }

    /// Refuses a directory with other files, because the scenario fills it.
    fn refuse_others(&self, env: &Env) -> Outcome {
        let is_ours = |name: &str| name.starts_with("readonly-") || name.starts_with("ordinary-");
        match env.fs.list(&self.dir)?.iter().all(|entry| is_ours(&entry.name)) {
            true => Ok(()),
            false => {
                Err(Failure::Usage(format!("{} holds something else: name an empty directory", self.dir.display())))
            }
        }
    }

    fn settings(&self) -> Outcome<Settings> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        if self.threads.contains(&0) || self.trials == 0 {
            return usage("--threads and --trials are at least 1");
        }
        if !self.find_rate.iter().all(|rate| (0.0..=1.0).contains(rate)) {
            return usage("--find-rate is between 0 and 1");
        }
        let Ok(duration) = Duration::try_from_secs_f64(self.seconds) else {
            return usage("--seconds is a number above zero");
        };
        let index_intervals = match self.index_interval.as_slice() {
            [0] => Vec::new(),
            intervals if intervals.contains(&0) => {
                return usage("--index-interval 0 cannot be combined with other values");
            }
            intervals => intervals.to_vec(),
        };
        let bytes = |size: u64, name: &str| match usize::try_from(size) {
            Ok(bytes) if bytes >= 8 << 20 => Ok(bytes),
            _ => Err(Failure::Usage(format!("{name} is at least 8M"))),
        };
        if !(512..=1 << 20).contains(&self.block_size) {
            return usage("--block-size is 512 to 1M");
        }
        Ok(Settings {
            data_bytes: self.data_size.clone(),
            value_bytes: self.value_bytes.clone(),
            index_intervals,
            find_rates: self.find_rate.clone(),
            threads: self.threads.clone(),
            trials: self.trials,
            duration,
            block_bytes: self.block_size as usize,
            memory_bytes: bytes(self.memory, "--memory")?,
            build_memory_bytes: bytes(self.build_memory, "--build-memory")?,
            ordinary: self.ordinary,
            seed: self.seed,
        })
    }
}

fn progress(event: &Event<'_>, settings: &Settings) -> String {
    match event {
        Event::Building(path, done, pairs) => {
            format!("{}: {} of {} pairs", path.display(), text::count(*done), text::counted(*pairs, "pair"))
        }
        Event::Trials(done, all) => {
            let left = settings.duration.mul_f64((all - done) as f64);
            format!("trial {} of {all}, {} to go", done + 1, text::duration(left))
        }
    }
}

fn describe(report: &Report) -> String {
    let mut out = String::new();
    for built in &report.built {
        out += &format!(
            "{}: {} in {:.1} s ({:.2} µs of CPU each), {} on disk, peak memory {}\n",
            built.path.display(),
            text::counted(built.pairs, "pair"),
            built.seconds,
            built.cpu_seconds * 1e6 / built.pairs.max(1) as f64,
            text::bytes(built.disk_bytes),
            text::bytes(built.peak_memory_bytes),
        );
    }
    out += "store      data     value  index  find  threads | gets/s: min, 25%, median, 75%, max | CPU µs: 25%, median, 75% | found | reads\n";
    for found in &report.found {
        out += &row(found);
    }
    out
}

fn row(found: &Found) -> String {
    let Found { combination, rate, cpu_us, .. } = found;
    let rates = [rate.min, rate.q1, rate.median, rate.q3, rate.max].map(|rate| text::count(rate as u64)).join(" ");
    format!(
        "{:9}  {:>7}  {:>5}  {:>5}  {:.2}  {:>7} | {rates} | {:.2} {:.2} {:.2} | {:.2} | {:.2}\n",
        if combination.ordinary { "ordinary" } else { "read-only" },
        text::bytes(combination.data_bytes),
        combination.value_bytes,
        combination.index_interval.map_or_else(|| "-".to_owned(), |interval| interval.to_string()),
        combination.find_rate,
        combination.threads,
        cpu_us.q1,
        cpu_us.median,
        cpu_us.q3,
        found.found,
        found.reads,
    )
}
