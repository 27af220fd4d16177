//! `alluvium dump`: writes all collections to files, as `mongodump` does.

use super::multivalue;
use crate::exit::{self, Failure, Outcome};
use crate::files;
use crate::notes;
use crate::output::Output;
use crate::progress::Meter;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium::Error;
use alluvium::dump::DumpReport;
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `dump`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium dump my.db backup-monday --gzip

A collection main.pets becomes DIR/main/pets.bson and DIR/main/pets.metadata.json, which mongorestore reads too: the \
documents, and the definitions of the indexes. The dump is a consistent snapshot of all collections. A document that BSON cannot represent (a decimal of more than 34 digits, a \
map whose keys are not strings) stops the dump with an error that names it; with --alluvium-types it is written to \
DIR/main/pets.alluvium.jsonl, which only Alluvium reads. A restored document has all its types and the \
order of its fields. Sets of values (`mv`) are not dumped.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// The directory to write; it must not exist or be empty. A dump that fails leaves nothing in it, and the remains of a killed dump are removed
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Compress every file with gzip
    #[arg(long)]
    gzip: bool,
    /// Write documents that BSON cannot represent to additional files, which only Alluvium reads
    #[arg(long)]
    alluvium_types: bool,
    /// Start even if the disk may be too small
    #[arg(long)]
    no_space_check: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Dumps the database, and prints what was dumped.
    pub(crate) fn run(&self) -> Outcome {
        self.database
            .refuse_read_only("`export` writes its documents, and a copy of its directory is a whole backup")?;
        let stop = Stop::on_signals()?;
        let env = Env::os();
        files::refuse_inside(&env, &self.dir)?;
        let mut meter = Meter::new(&env);
        // No other process has the database open, so there are no other snapshots that could pin files.
        let report = self.database.with_builder(self.database.with_long_snapshots()?, |database| {
            let sets = multivalue::sets(database.store());
            if !sets.is_empty() {
                notes::say(&format!(
                    "these sets of values (mv) are not collections and are not dumped: {}",
                    sets.join(", ")
                ));
            }
            // The compressed size is not known in advance.
            if !self.no_space_check && !self.gzip {
                exit::enough_space(database.dump_space(&self.dir))?;
            }
            let dump = database.dump(&self.dir).gzip(self.gzip).alluvium_types(self.alluvium_types);
            let dump = dump.on_progress(|documents, bytes| meter.show(documents, bytes)).stop_when(stop.flag());
            dump.run().map_err(|error| self.explain(error))
        })?;
        meter.end();
        let mut out = Output::new();
        if self.json {
            out.json(&serde_json::json!({
                "collections": report.collections,
                "documents": report.documents,
                "alluvium_types": report.others,
                "indexes": report.indexes,
                "bytes": report.bytes,
                "seconds": meter.took().as_secs_f64(),
            }))?;
        } else {
            out.text(&self.describe(&report, &meter))?;
        }
        out.finish()
    }

    fn describe(&self, report: &DumpReport, meter: &Meter) -> String {
        let documents = text::counted(report.documents, "document");
        let collections = text::counted(report.collections, "collection");
        let (bytes, took) = (text::bytes(report.bytes), text::duration(meter.took()));
        let mut text = format!("dumped {documents} of {collections}, {bytes}, in {took}\n");
        if report.others > 0 {
            let others = text::counted(report.others, "document");
            text += &format!("{others} in .alluvium.jsonl files, which only Alluvium reads\n");
        }
        text
    }

    fn explain(&self, error: Error) -> Failure {
        let dir = text::path(&self.dir);
        match error {
            Error::Stopped => Failure::Interrupted(format!("stopped: nothing is left of the dump in {dir}")),
            Error::Export(_) if !self.alluvium_types => {
                Failure::explained(error, Some("--alluvium-types keeps such documents".to_owned()))
            }
            error => error.into(),
        }
    }
}
