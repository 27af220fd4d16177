//! `alluvium verify`: every block of every file.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium::VerifiedIndex;
use env::Env;
use std::time::Duration;

/// Arguments of `verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium verify my.db
  alluvium verify backups/monday

Checks every block of the sorted files, their order, filters and counts, what the manifests say of them, the log, the \
superblock, that every document can be read and is found by its _id, and that every index leads to the documents as they \
are (stale entries, which readers pass over, are counted); of a checkpoint, every block and the listing. \
Damage is printed a line each, with file and offset. Where there is some: copy the directory first, then restore a backup, \
or save what is whole with `alluvium repair`.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the damage that is found, one a line.
    pub(crate) fn run(&self) -> Outcome {
        let stop = Stop::at_once()?;
        let env = Env::os();
        let started = env.clock.now();
        if alluvium::backup::is_checkpoint(&env, self.database.path())? {
            let checked = alluvium::backup::check_unless(&env, self.database.path(), true, &stop.flag())?;
            let took = env.clock.now().saturating_sub(started);
            let findings = checked.damage.iter().map(ToString::to_string).collect();
            let (files, bytes) = (checked.listing.files.len() as u64, checked.listing.bytes());
            return self.report(findings, files, bytes, took, &text::counted(files, "file"), &[]);
        }
        if let Some(store) = self.database.read_only(None)? {
            let (stats, damage) = (store.stats(), store.verify()?);
            let took = env.clock.now().saturating_sub(started);
            let files = u64::from(stats.pairs > 0);
            let findings = damage.iter().map(ToString::to_string).collect();
            let what = format!("{} and its indexes", text::counted(files, "sorted file"));
            return self.report(findings, files, stats.disk_bytes, took, &what, &[]);
        }
        let (report, stats) =
            self.database.with(|database| Ok((database.verify_all(&stop.flag())?, database.stats())))?;
        let took = env.clock.now().saturating_sub(started);
        let files: u64 = stats.partitions.iter().map(|partition| partition.files as u64).sum();
        let findings = report.damage.iter().map(ToString::to_string).collect();
        let what = format!("{} and the log", text::counted(files, "sorted file"));
        self.report(findings, files, stats.disk_bytes, took, &what, &report.indexes)
    }

    fn report(
        &self,
        findings: Vec<String>,
        files: u64,
        bytes: u64,
        took: Duration,
        what: &str,
        indexes: &[VerifiedIndex],
    ) -> Outcome {
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "damage": findings,
                "files": files,
                "bytes": bytes,
                "indexes": indexes.iter().map(to_json).collect::<Vec<_>>(),
                "seconds": took.as_secs_f64(),
            }))?;
        } else {
            for finding in &findings {
                out.text(&format!("{finding}\n"))?;
            }
            if findings.is_empty() {
                let (bytes, took) = (text::bytes(bytes), text::duration(took));
                out.text(&format!("no damage: {what}{}, {bytes}, checked in {took}\n", describe(indexes)))?;
            }
        }
        out.finish()?;
        match findings.len() as u64 {
            0 => Ok(()),
            n => Err(Failure::Damaged(format!(
                "found damage in {}: copy the directory before anything else, then restore a backup, or save what is whole \
                 with `alluvium repair`",
                text::counted(n, "place")
            ))),
        }
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

/// How many indexes and entries were checked.
fn describe(indexes: &[VerifiedIndex]) -> String {
    let sum = |figure: fn(&VerifiedIndex) -> u64| text::count(indexes.iter().map(figure).sum());
    let (entries, stale) = (sum(|index| index.entries), sum(|index| index.stale));
    match indexes.len() {
        0 => String::new(),
        1 => format!(", an index ({entries} entries, {stale} of them stale)"),
        n => format!(", {n} indexes ({entries} entries, {stale} of them stale)"),
    }
}
