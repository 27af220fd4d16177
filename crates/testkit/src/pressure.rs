//! Databases under pressure. Each runs in its own process, so that the resources of the process are the resources of
//! the database.
//!
//! `pressed SCENARIO DIRECTORY [AMOUNT]` runs one scenario ([`run`]) and prints its [`Figures`]. [`in_child`] starts
//! this program and reads the figures, optionally with a limit on file descriptors.

// The scenarios run in real processes on a real disk, and the kernel measures them.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[cfg(feature = "shuttle")]
pub mod overload;
mod scenarios;

use crate::replay::seed;
use alluvium::Database;
use std::fmt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

pub use scenarios::{LARGE_SORTED_BYTES, LONG_LINE_BYTES, Text, run};

/// The resources that a scenario used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// The memory budget in bytes.
    pub budget: u64,
    /// The resident memory of the process before the database was opened, in bytes.
    pub before: u64,
    /// The peak resident memory in bytes.
    pub peak: u64,
    /// The maximum memory that the database reported, in bytes.
    pub reported: u64,
    /// The maximum number of open file descriptors.
    pub descriptors: u64,
    /// The number of sorted files at the end.
    pub files: u64,
    /// The number of read calls during the second open of the database.
    pub opening: u64,
    /// The number of documents.
    pub documents: u64,
    /// The number of bytes of text that were written.
    pub bytes: u64,
}

impl Figures {
    /// The memory that the process uses for the database.
    pub fn taken(&self) -> u64 {
        self.peak.saturating_sub(self.before)
    }

    fn fields(&mut self) -> [&mut u64; 9] {
        [
            &mut self.budget,
            &mut self.before,
            &mut self.peak,
            &mut self.reported,
            &mut self.descriptors,
            &mut self.files,
            &mut self.opening,
            &mut self.documents,
            &mut self.bytes,
        ]
    }

    /// Checks that the memory reported by the database is at most 15% above its budget, and the memory of the process
    /// at most `percent` percent of it.
    ///
    /// # Panics
    /// If the memory is larger.
    pub fn check_memory(&self, percent: u64) {
        assert!(self.reported * 100 <= self.budget * 115, "what the database says it holds: {self:?}");
        assert!(self.taken() * 100 <= self.budget * percent, "what the process took, {}: {self:?}", self.taken());
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut copy = *self;
        let fields: Vec<String> = copy.fields().iter().map(|field| field.to_string()).collect();
        f.write_str(&fields.join(" "))
    }
}

impl FromStr for Figures {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut figures = Self::default();
        let mut numbers = text.split_whitespace();
        for field in figures.fields() {
            let number = numbers.next().and_then(|number| number.parse().ok());
            *field = number.ok_or_else(|| format!("no figures: {text}"))?;
        }
        Ok(figures)
    }
}

/// The value in the line of `/proc/self/status` with this name, in bytes.
fn status(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux has it");
    let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("the kernel reports it");
    let kilobytes: u64 = line.trim_matches([':', '\t', ' ']).trim_end_matches(" kB").trim().parse().expect("a number");
    kilobytes << 10
}

/// The number of read calls of this process.
fn reads() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    text.lines().find_map(|line| line.strip_prefix("syscr: ")).and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn descriptors() -> u64 {
    std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64)
}

/// Measures a database while it works.
#[derive(Default)]
pub struct Meter {
    reported: AtomicU64,
    descriptors: AtomicU64,
    over: AtomicBool,
}

impl Meter {
    /// Takes one measurement.
    pub fn look(&self, db: &Database) {
        let stats = db.stats();
        // The dictionaries are included in pinned memory.
        let reported = stats.memtable_bytes + stats.job_bytes + stats.cache_bytes + stats.pinned_bytes;
        self.reported.fetch_max(reported as u64, Ordering::SeqCst);
        self.descriptors.fetch_max(descriptors(), Ordering::SeqCst);
    }

    /// Takes measurements repeatedly while `work` runs.
    pub fn during<T>(&self, db: &Database, work: impl FnOnce() -> T) -> T {
        self.over.store(false, Ordering::SeqCst);
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                while !self.over.load(Ordering::SeqCst) {
                    self.look(db);
                    std::thread::park_timeout(std::time::Duration::from_millis(5));
                }
            });
            // If the work panics, the watcher must end, too; otherwise the scope would wait for it forever.
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            self.over.store(true, Ordering::SeqCst);
            watcher.thread().unpark();
            done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Runs a scenario in its own process with the program `pressed`, optionally with a limit on file descriptors. The rare
/// paths that the process took are reported to the soak.
///
/// # Panics
/// If the scenario fails.
pub fn in_child(pressed: &str, scenario: &str, amount: u64, limit: Option<u64>) -> Figures {
    let dir = std::env::temp_dir().join(format!("alluvium-pressed-{}-{scenario}", std::process::id()));
    let limit = limit.map_or_else(String::new, |limit| format!("ulimit -n {limit} && "));
    let threshold = if scenario == "large_documents" { "4194304" } else { "262144" };
    let line = format!("{limit}exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &line, pressed, scenario])
        .arg(&dir)
        .arg(amount.to_string())
        // These are the settings of the command line. With them, the measured memory is the memory that the database
        // uses, and not memory that the allocator retains in arenas and holes.
        .env("MALLOC_ARENA_MAX", "1")
        .env("MALLOC_MMAP_THRESHOLD_", threshold)
        .output()
        .expect("a process");
    let _not_there = std::fs::remove_dir_all(&dir);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{scenario}: {text}{}", String::from_utf8_lossy(&output.stderr));
    for line in text.lines().filter_map(|line| line.strip_prefix("rare\t")) {
        let (words, count) = line.split_once('\t').expect("words and a count");
        seed::tally(&seed::rare_row(words), count.parse().expect("a count"));
    }
    let figures = text.lines().find_map(|line| line.strip_prefix("figures ")).expect("it prints figures");
    let figures: Figures = figures.parse().expect("figures");
    println!("{scenario} {amount}: {} taken, {figures:?}", figures.taken());
    figures
}

/// The amount of work: `usual`, which takes about `seconds`, or a multiple of it that fits the requested time
/// (`ALLUVIUM_SECONDS`).
pub fn amount(usual: u64, seconds: u64) -> u64 {
    seed::requested_seconds().map_or(usual, |asked| usual * (asked / seconds.max(1)).max(1))
}

/// Measures a scenario in this process. `work` is given the meter, and sets the numbers of documents and bytes.
pub(crate) fn measured(path: &Path, work: impl FnOnce(&Path, &Meter, &mut Figures)) -> Figures {
    let before = status("VmRSS");
    let mut figures = Figures { before, ..Figures::default() };
    let meter = Meter::default();
    work(path, &meter, &mut figures);
    figures.peak = status("VmHWM");
    figures.reported = meter.reported.load(Ordering::SeqCst);
    figures.descriptors = meter.descriptors.load(Ordering::SeqCst);
    figures
}
