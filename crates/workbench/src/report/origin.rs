//! The origin of figures: the machine, the version, and the size of the plan. Figures of different origins are never
//! combined.

use super::read::Run;
use crate::plan::Size;
use crate::record::{Machine, Record};
use alluvium_cli::text;

/// One origin of figures.
#[derive(Debug)]
pub(super) struct Origin {
    size: Size,
    machine: Machine,
    version: String,
    commit: Option<String>,
    /// The first and the last day on which a trial began.
    first_day: String,
    last_day: String,
    /// The directories with trials of this origin.
    pub(super) dirs: Vec<String>,
    /// The number of trials, including failed trials.
    pub(super) trials: usize,
}

/// The origins of all records, in the order of the directories and files. Also returns, for each record of each run,
/// the index of its origin.
pub(super) fn origins(runs: &[Run]) -> (Vec<Origin>, Vec<Vec<usize>>) {
    let mut found: Vec<Origin> = Vec::new();
    let mut places = Vec::new();
    for run in runs {
        let mut of_run = Vec::new();
        for record in &run.records {
            let place = found.iter().position(|origin| origin.is_of(record)).unwrap_or_else(|| {
                found.push(Origin::new(record));
                found.len() - 1
            });
            found[place].add(record, &run.dir);
            of_run.push(place);
        }
        places.push(of_run);
    }
    (found, places)
}

impl Origin {
    fn new(record: &Record) -> Self {
        Self {
            size: record.size,
            machine: record.machine.clone(),
            version: record.versions.alluvium.clone(),
            commit: record.versions.commit.clone(),
            first_day: day(record),
            last_day: day(record),
            dirs: Vec::new(),
            trials: 0,
        }
    }

    fn is_of(&self, record: &Record) -> bool {
        let versions = &record.versions;
        let is_same_version = self.version == versions.alluvium && self.commit == versions.commit;
        is_same_version && self.size == record.size && self.machine == record.machine
    }

    fn add(&mut self, record: &Record, dir: &str) {
        self.trials += 1;
        let day = day(record);
        if day < self.first_day {
            self.first_day.clone_from(&day);
        }
        if day > self.last_day {
            self.last_day = day;
        }
        if !self.dirs.iter().any(|known| known == dir) {
            self.dirs.push(dir.to_owned());
        }
    }

    /// The machine in a few words.
    pub(super) fn machine(&self) -> String {
        let machine = &self.machine;
        let cores = text::counted(machine.cores, "core");
        let memory = format!("{:.0} GiB of memory", machine.memory_bytes as f64 / f64::from(1 << 30));
        let disk = format!("{} on {}", machine.file_system, machine.device);
        let processor = machine.processor.split_whitespace().collect::<Vec<_>>().join(" ");
        [processor, cores, memory, machine.kernel.clone(), disk].join(", ")
    }

    /// The version and the commit.
    pub(super) fn version(&self) -> String {
        let commit = self.commit.as_deref().map_or_else(|| "commit unknown".to_owned(), short_commit);
        format!("Alluvium {}, {commit}", self.version)
    }

    /// The day of the trials, or the first and the last day.
    pub(super) fn days(&self) -> String {
        match self.first_day == self.last_day {
            true => self.first_day.clone(),
            false => format!("{} to {}", self.first_day, self.last_day),
        }
    }

    /// The size of the plan.
    pub(super) fn size(&self) -> &'static str {
        self.size.name()
    }
}

/// The name of the origin with an index: A, B, C.
pub(super) fn letter(place: usize) -> String {
    let letter = char::from(b'A' + (place % 26) as u8);
    if place < 26 { letter.to_string() } else { format!("{letter}{}", place / 26) }
}

/// The date of a record, without the time.
fn day(record: &Record) -> String {
    record.began.chars().take(10).collect()
}

/// The first digits of a commit, and a note if the sources were changed.
fn short_commit(commit: &str) -> String {
    let (hash, mark) = commit.split_once('-').unwrap_or((commit, ""));
    let hash: String = hash.chars().take(12).collect();
    if mark.is_empty() { format!("commit {hash}") } else { format!("commit {hash} with changes") }
}
