//! `alluvium verify`: checks a database, a checkpoint or a read-only store for damage.

use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::session;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium::{Database, ErrorKind, ReadOnly, Stats, VerifiedIndex, VerifyReport, repair};
use alluvium_env::Env;
use std::time::Duration;

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium verify my.db
  alluvium verify backups/monday

Checks every block of the sorted files, their order, filters and counts, the manifests, the log and the \
superblock; that every document can be read and is found by its _id; and that every index entry leads to its document \
(stale entries, which readers skip, are counted). Of a checkpoint, every block and the listing are checked. \
Damage is printed one per line, with file and offset. If the database does not open, \
every block is still read, but documents and indexes are not checked. If there is damage: copy the directory first, then restore a backup, \
or save the undamaged documents with `alluvium repair`.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the damage, one item per line.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::at_once()?;
        let env = Env::os();
        let started = env.clock.now();
        let mut found = if alluvium::backup::is_checkpoint(self.database.path())? {
            self.checkpoint(&stop)?
        } else if let Some(found) = self.read_only()? {
            found
        } else {
            self.opened(&env, |database| {
                Ok(Found::of(database.verify().stop_when(stop.flag()).run()?, &database.stats()))
            })?
        };
        found.took = env.clock.now().saturating_sub(started);
        self.report(&found)
    }

    fn checkpoint(&self, stop: &Stop) -> Outcome<Found> {
        let checked = alluvium::backup::check(self.database.path()).stop_when(stop.flag()).run()?;
        let files = checked.listing.files.len() as u64;
        Ok(Found {
            damage: checked.damage.iter().map(ToString::to_string).collect(),
            files,
            bytes: checked.listing.bytes(),
            what: text::counted(files, "file"),
            advice: "restore another backup, and make a new checkpoint of the database",
            ..Found::default()
        })
    }

    /// The findings about a read-only store, if there is one at the path. It is opened without
    /// index files, so that a missing one is reported as damage.
    fn read_only(&self) -> Outcome<Option<Found>> {
        let found = match self.database.read_only(Some(0)) {
            Ok(Some(store)) => Found::read_only(&store)?,
            Ok(None) => return Ok(None),
            Err(Failure::Library { error, .. }) if error.kind() == ErrorKind::Corruption => {
                Found { damage: vec![error.to_string()], advice: OF_READ_ONLY, ..Found::default() }
            }
            Err(failure) => return Err(failure),
        };
        Ok(Some(found))
    }

    /// Opens the database and checks it. If the database does not open, reads all parts that are readable.
    fn opened(&self, env: &Env, check: impl FnOnce(&Database) -> Outcome<Found>) -> Outcome<Found> {
        let mut opens = false;
        // This process alone has the database open, so there are no other snapshots that could pin
        // files.
        let checked = self.database.with_builder(self.database.with_long_snapshots()?, |database| {
            opens = true;
            check(database)
        });
        match checked {
            Err(failure) if !opens => self.unopened(env, failure),
            checked => checked,
        }
    }

    /// The findings about a database that cannot be opened because of damage, or that must not be written to.
    fn unopened(&self, env: &Env, failure: Failure) -> Outcome<Found> {
        let Failure::Library { error, .. } = &failure else { return Err(failure) };
        let (kind, path) = (error.kind(), self.database.path());
        if session::is_open() || !matches!(kind, ErrorKind::Corruption | ErrorKind::Io | ErrorKind::NoSpace) {
            return Err(failure);
        }
        let examined = match repair::examine(path).run() {
            Ok(examined) => examined,
            Err(other) if other.kind() == ErrorKind::InUse => return Err(other.into()),
            Err(_) => return Err(failure),
        };
        let mut damage = examined.damage;
        damage.extend(examined.losses.iter().map(super::repair::describe_loss));
        damage.extend(examined.lost_numbers.iter().map(super::repair::describe_numbers));
        // Adds the error of opening, unless a finding names the same file.
        if kind == ErrorKind::Corruption && !named(error, &damage) {
            damage.insert(0, error.to_string());
        }
        let why = match kind {
            ErrorKind::Corruption => "the database does not open".to_owned(),
            _ => format!("the database does not open here ({error})"),
        };
        let note = format!("note: {why}: every block was read, but documents and indexes were not checked");
        let notes = examined.torn.iter().map(|torn| format!("note: {torn}")).chain([note]).collect();
        Ok(Found {
            damage,
            notes,
            files: examined.files,
            bytes: files::bytes_below(env, path)?,
            what: format!("{} and the log", text::counted(examined.files, "sorted file")),
            advice: OF_DATABASE,
            ..Found::default()
        })
    }

    fn report(&self, found: &Found) -> Outcome {
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "damage": found.damage,
                "notes": found.notes,
                "files": found.files,
                "bytes": found.bytes,
                "indexes": found.indexes.iter().map(to_json).collect::<Vec<_>>(),
                "seconds": found.took.as_secs_f64(),
            }))?;
        } else {
            for line in found.damage.iter().chain(&found.notes) {
                out.text(&(text::plain(line) + "\n"))?;
            }
            if found.damage.is_empty() {
                let (bytes, took) = (text::bytes(found.bytes), text::duration(found.took));
                let (what, indexes) = (&found.what, describe(&found.indexes));
                out.text(&format!("no damage: {what}{indexes}, {bytes}, checked in {took}\n"))?;
            }
        }
        out.finish()?;
        match found.damage.len() as u64 {
            0 => Ok(()),
            n => Err(Failure::Damaged(format!("found damage in {}: {}", text::counted(n, "place"), found.advice))),
        }
    }
}

/// Advice about a damaged database.
const OF_DATABASE: &str = "copy the directory before anything else, then restore a backup, or save what is whole with \
                           `alluvium repair`";

/// Advice about a damaged read-only store.
const OF_READ_ONLY: &str =
    "restore a copy of the directory, or build the store again from its source with `alluvium build`";

/// The findings of a check.
#[derive(Default)]
struct Found {
    /// One sentence for each damaged item.
    damage: Vec<String>,
    /// Other notes.
    notes: Vec<String>,
    files: u64,
    bytes: u64,
    /// A description of the thing that was checked.
    what: String,
    indexes: Vec<VerifiedIndex>,
    /// The advice about damage.
    advice: &'static str,
    took: Duration,
}

impl Found {
    fn of(report: VerifyReport, stats: &Stats) -> Self {
        let files: u64 = stats.partitions.iter().map(|partition| partition.files as u64).sum();
        Self {
            damage: report.damage.iter().map(ToString::to_string).collect(),
            files,
            bytes: stats.disk_bytes,
            what: format!("{} and the log", text::counted(files, "sorted file")),
            indexes: report.indexes,
            advice: OF_DATABASE,
            ..Self::default()
        }
    }

    fn read_only(store: &ReadOnly) -> Outcome<Self> {
        let (stats, damage) = (store.stats(), store.verify()?);
        let files = u64::from(stats.pairs > 0);
        Ok(Self {
            damage: damage.iter().map(ToString::to_string).collect(),
            files,
            bytes: stats.disk_bytes,
            what: format!("{} and its indexes", text::counted(files, "sorted file")),
            advice: OF_READ_ONLY,
            ..Self::default()
        })
    }
}

/// True if a finding names the file that the error is about.
fn named(error: &alluvium::Error, findings: &[String]) -> bool {
    match error {
        alluvium::Error::Store(alluvium_store::Error::Storage(alluvium_env::Error::Corrupt { path, .. })) => {
            let path = path.display().to_string();
            findings.iter().any(|finding| finding.contains(&path))
        }
        _ => false,
    }
}

fn to_json(index: &VerifiedIndex) -> serde_json::Value {
    serde_json::json!({
        "collection": index.collection,
        "name": index.name,
        "ready": index.ready,
        "entries": index.entries,
        "stale": index.stale,
    })
}

/// The numbers of indexes and entries that were checked, as text.
fn describe(indexes: &[VerifiedIndex]) -> String {
    let sum = |figure: fn(&VerifiedIndex) -> u64| text::count(indexes.iter().map(figure).sum());
    let (entries, stale) = (sum(|index| index.entries), sum(|index| index.stale));
    match indexes.len() {
        0 => String::new(),
        1 => format!(", an index ({entries} entries, {stale} of them stale)"),
        n => format!(", {n} indexes ({entries} entries, {stale} of them stale)"),
    }
}

#[cfg(test)]
mod tests;
