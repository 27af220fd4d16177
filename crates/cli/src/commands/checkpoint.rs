//! `alluvium checkpoint`: a complete copy of a database, made of hard links where possible.

use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::settings::access::Reading;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium::backup::CheckpointReport;
use std::path::PathBuf;

/// Arguments of `checkpoint`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium checkpoint my.db backups/monday
  alluvium checkpoint my.db backups/tuesday --base backups/monday
  alluvium checkpoint my.db /mnt/disk/tuesday --base /mnt/disk/monday

On the same file system the sorted files are hard-linked, and take no additional space until the database replaces \
them; keep a copy on another disk, too. On another file system they are copied, except those that the base has. \
`alluvium restore` makes a database from a checkpoint, `alluvium verify` checks it, and removing its directory removes it \
without effect on others. A program that has the database open can make checkpoints while it writes \
(Database::checkpoint); this command opens the database itself.")]
pub(crate) struct Args {
    #[command(flatten)]
    database: DatabaseArgs<Reading>,
    /// The directory of the new checkpoint; it must not exist or be empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// An earlier checkpoint of the same database; files that it contains are not copied again
    #[arg(long, value_name = "DIR")]
    base: Option<PathBuf>,
    /// Copy the files of the database; by default they are hard-linked where possible
    #[arg(long)]
    copy: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Makes the checkpoint, and prints its content.
    pub(crate) fn run(&self) -> Outcome {
        self.database.refuse_read_only("a copy of its directory is a whole backup")?;
        let stop = Stop::on_signals()?;
        let made = self.database.with(|database| {
            let mut checkpoint = database.checkpoint(&self.dir).copy(self.copy).stop_when(stop.flag());
            if let Some(base) = &self.base {
                checkpoint = checkpoint.base(base);
            }
            Ok(checkpoint.run()?)
        });
        let report = made.map_err(|failure| match failure {
            Failure::Interrupted(_) => Failure::Interrupted("stopped: the unfinished copy was removed".to_owned()),
            failure => failure,
        })?;
        let mut out = Output::new();
        match self.json {
            true => out.json(&to_json(&report))?,
            false => out.text(&self.describe(&report))?,
        }
        out.finish()
    }

    fn describe(&self, report: &CheckpointReport) -> String {
        let (bytes, took) = (text::bytes(report.bytes), text::duration(report.took));
        let files = text::counted(report.files, "file");
        let mut said = format!(
            "checkpoint {} at sequence number {}: {files}, {bytes}, {} of them of the log; made in {took}\n",
            text::path(&self.dir),
            report.seq,
            text::bytes(report.log_bytes),
        );
        if let Some(base) = &self.base {
            let files = text::counted(report.in_base, "sorted file");
            said += &format!("{files}, {}, are in {} too\n", text::bytes(report.bytes_in_base), text::path(base));
        }
        if report.copied > 0 {
            let why = if self.copy { "" } else { ", because links are not possible there" };
            let files = text::counted(report.copied, "sorted file");
            said += &format!("{files}, {}, copied{why}\n", text::bytes(report.bytes_copied));
        }
        said
    }
}

fn to_json(report: &CheckpointReport) -> serde_json::Value {
    serde_json::json!({
        "id": format!("{:016x}", report.id),
        "sequence": report.seq,
        "files": report.files,
        "bytes": report.bytes,
        "log_bytes": report.log_bytes,
        "files_in_base": report.in_base,
        "bytes_in_base": report.bytes_in_base,
        "files_copied": report.copied,
        "bytes_copied": report.bytes_copied,
        "seconds": report.took.as_secs_f64(),
    })
}
