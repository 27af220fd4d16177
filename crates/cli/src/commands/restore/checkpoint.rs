//! Restoring a checkpoint as a new database.

use super::Args;
use crate::exit::{Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::signals::Stop;
use crate::text;
use alluvium::ErrorKind;
use alluvium::backup::{self, RestoreReport};
use alluvium_env::Env;

impl Args {
    /// Checks the checkpoint, makes a database from it, and prints its content.
    pub(super) fn checkpoint(&self, env: &Env) -> Outcome {
        // `readers` is allowed: it may be set for dumps, in the environment or a file.
        if self.on_duplicate.is_some() || self.partitions.is_some() {
            let what =
                format!("--on-duplicate and --partitions are for dumps, and {} is a checkpoint", text::path(&self.dir));
            return Err(Failure::Usage(what));
        }
        files::refuse_inside(env, self.database.path())?;
        let stop = Stop::on_signals()?.flag();
        let restore = backup::restore(&self.dir, self.database.path()).copy(self.copy).quick(self.quick);
        let report = restore.stop_when(stop).run().map_err(|error| match error {
            alluvium::Error::Stopped => Failure::Interrupted("stopped: the unfinished copy was removed".to_owned()),
            error if error.kind() == ErrorKind::Corruption => {
                let advice = "`alluvium verify CHECKPOINT` lists all damage; restore another checkpoint".to_owned();
                Failure::explained(error, Some(advice))
            }
            error => error.into(),
        })?;
        let mut out = Output::new();
        match self.json {
            true => out.json(&to_json(&report))?,
            false => out.text(&self.restored(&report))?,
        }
        out.finish()
    }

    fn restored(&self, report: &RestoreReport) -> String {
        let how = match (report.copied, report.files - report.copied) {
            (0, 0) => String::new(),
            (0, _) => ", linked to the checkpoint".to_owned(),
            (_, 0) => ", copied".to_owned(),
            (copied, linked) => format!(", {copied} of them copied and {linked} linked"),
        };
        format!(
            "restored {} at sequence number {}: {}, {}{how}, in {}\n",
            text::path(self.database.path()),
            report.seq,
            text::counted(report.files, "sorted file"),
            text::bytes(report.bytes),
            text::duration(report.took),
        )
    }
}

fn to_json(report: &RestoreReport) -> serde_json::Value {
    serde_json::json!({
        "checkpoint": format!("{:016x}", report.checkpoint),
        "sequence": report.seq,
        "files": report.files,
        "bytes": report.bytes,
        "files_copied": report.copied,
        "seconds": report.took.as_secs_f64(),
    })
}
