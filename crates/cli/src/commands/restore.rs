//! `alluvium restore`: restores a dump of Alluvium or `mongodump` into a database, or a checkpoint
//! as a new database.

mod checkpoint;

use super::load::{Bad, Duplicate, Rejects, option_for, unkept};
use crate::advice;
use crate::exit::{self, Failure, Outcome};
use crate::files;
use crate::notes;
use crate::output::Output;
use crate::progress::Meter;
use crate::settings::database::DatabaseArgs;
use crate::signals::Stop;
use crate::text;
use alluvium::dump::{self, Dump, Restore, RestoreReport, RestoredCollection};
use alluvium::load::Progress;
use alluvium::{Builder, Error, OnDuplicate, Space};
use alluvium_env::Env;
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  alluvium restore backup-monday my.db
  alluvium restore dump my.db --on-duplicate skip
  alluvium restore dump/shop my.db
  alluvium restore shop.archive.gz my.db --on-bad repair --strict
  alluvium restore checkpoint-monday new.db

A checkpoint (DIR has a file CHECKPOINT) becomes a new database, which must not exist. Every block of it is checked first. \
The checkpoint is not changed, and can be restored any number of times. A dump goes into a new or an existing database: DIR holds DIR/LOGICAL/COLLECTION.bson, plain, .gz or .zst, as `dump` and mongodump write them; it is the directory of one database, dump/shop; or it is a file of `mongodump --archive`, plain or compressed. An interrupted \
restore continues when it is run again. A dump that was restored completely is refused, since documents may have changed, unless \
--on-duplicate is given. Indexes are created before the documents are loaded; definitions of old versions of MongoDB are \
converted as by `mongorestore --convertLegacyIndexes`. Unsupported indexes, collections and options of collections are reported and \
skipped; if an index or a collection was skipped, the exit code is 1.")]
pub(crate) struct Args {
    /// The directory of the dump, of one database of it, or of the checkpoint; or an archive of mongodump
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    database: DatabaseArgs,
    /// What to do with a document whose _id exists; by default a collection that has documents is refused, and so is a dump that was restored before
    #[arg(long, value_enum)]
    on_duplicate: Option<Duplicate>,
    /// What to do with a document that cannot be stored, such as one with a string that is not UTF-8, which MongoDB keeps
    #[arg(long, value_enum, default_value = "error")]
    on_bad: Bad,
    /// Append what is skipped to this file, as JSON lines with file, document, byte, reason and base64
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Number of threads that parse; by default one for each core
    #[arg(long, value_name = "N")]
    readers: Option<usize>,
    /// Number of partitions, if the database is created; by default 1 if --memory is below 64M,
    /// and otherwise 4
    #[arg(long, value_name = "N")]
    partitions: Option<u32>,
    /// Refuse a dump with indexes or collections that cannot be restored, before anything is restored
    #[arg(long)]
    strict: bool,
    /// Start even if the disk may be too small
    #[arg(long)]
    no_space_check: bool,
    /// For a checkpoint: copy its sorted files; by default they are hard-linked where possible
    #[arg(long, conflicts_with_all = ["on_duplicate", "readers", "partitions", "strict"])]
    copy: bool,
    /// For a checkpoint: check only lengths, footers, manifests and the log first, instead of every block
    #[arg(long, conflicts_with_all = ["on_duplicate", "readers", "partitions", "strict"])]
    quick: bool,
    /// Print the figures as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Restores, and prints what was restored.
    pub(crate) fn run(&self) -> Outcome {
        if self.readers == Some(0) {
            return Err(Failure::Usage("--readers is at least 1".to_owned()));
        }
        if self.rejects.is_some() && self.on_bad != Bad::Skip {
            return Err(Failure::Usage("--rejects takes what --on-bad skip leaves out: add that".to_owned()));
        }
        let env = Env::os();
        if !env.fs.exists(&self.dir)? {
            return Err(Failure::NotFound(format!("there is no directory {}", text::path(&self.dir))));
        }
        if alluvium::backup::is_checkpoint(&self.dir)? {
            return self.checkpoint(&env);
        }
        if let Some(what) = advice::unfinished(&self.dir) {
            return Err(Failure::NotFound(what));
        }
        if self.copy || self.quick {
            let what =
                format!("--copy and --quick are for checkpoints, and {} is not a checkpoint", text::path(&self.dir));
            return Err(Failure::Usage(what));
        }
        let stop = Stop::on_signals()?;
        let dump = dump::read(&self.dir).run()?;
        let builder = self.builder()?;
        let path = self.database.path();
        let smaller = builder.clone();
        let with_memory = |memory, plain, packed| smaller.clone().memory(memory).new_load_space(path, plain, packed);
        // Invalid arguments must not create a database.
        if self.database.is_new(&builder)? {
            if self.strict {
                dump.check_indexes()?;
            }
            if !self.no_space_check {
                room(&[], &dump, with_memory, |plain, packed| builder.new_load_space(path, plain, packed))?;
            }
        }
        let rejects = self.open_rejects(&env)?;
        let mut meter = Meter::new(&env);
        let report = self.database.with_builder(builder, |database| {
            let progress = Arc::new(Progress::default());
            let mut restore = dump
                .restore(database)
                .on_duplicate(self.on_duplicate.map(OnDuplicate::from))
                .strict_indexes(self.strict)
                .on_bad(self.on_bad.into())
                .progress(Arc::clone(&progress))
                .stop_when(stop.flag());
            if let Some(readers) = self.readers {
                restore = restore.readers(readers);
            }
            if let Some(rejects) = rejects.clone() {
                restore = restore.rejects(move |input| rejects.writer(input));
            }
            if !self.no_space_check {
                let there: Vec<String> = database.collections().iter().map(|info| info.full_name()).collect();
                room(&there, &dump, with_memory, |plain, packed| database.load_space(plain, packed))?;
            }
            restore_each(&restore, &dump, &progress, &mut meter)
        })?;
        meter.end();
        let mut out = Output::new();
        if self.json {
            out.json(&to_json(&dump, &report, &meter))?;
        } else {
            out.text(&describe(&report, &meter))?;
        }
        out.finish()?;
        skipped(&dump)
    }

    /// The options for opening the database, which need not exist yet.
    fn builder(&self) -> Outcome<Builder> {
        let builder = self.database.creating()?;
        Ok(match self.partitions {
            Some(partitions) => builder.partitions(partitions),
            None => builder,
        })
    }

    fn open_rejects(&self, env: &Env) -> Outcome<Option<Rejects>> {
        if let Some(rejects) = &self.rejects {
            files::refuse_inside(env, rejects)?;
        }
        self.rejects.as_deref().map(Rejects::open).transpose()
    }
}

/// Refuses a restore that does not fit the disk. Existing collections are not counted, because they may have been
/// restored in part.
fn room(
    there: &[String],
    dump: &Dump,
    with_memory: impl Fn(usize, u64, u64) -> Space,
    space: impl FnOnce(u64, u64) -> Space,
) -> Outcome {
    let (mut plain, mut packed) = (0_u64, 0_u64);
    for dumped in dump.collections.iter().filter(|dumped| !there.contains(&dumped.name)) {
        let bytes = if dumped.is_packed() { &mut packed } else { &mut plain };
        *bytes = bytes.saturating_add(dumped.bytes);
    }
    match plain.saturating_add(packed) {
        0 => Ok(()),
        _ => exit::enough_space_over_reserve(space(plain, packed), |memory| with_memory(memory, plain, packed)),
    }
}

fn restore_each(
    restore: &Restore<'_>,
    dump: &Dump,
    progress: &Arc<Progress>,
    meter: &mut Meter,
) -> Outcome<RestoreReport> {
    restore.check().map_err(explain)?;
    for (path, why) in dump.passed_over.iter().chain(&dump.skipped) {
        notes::say(&format!("{} is not restored: {why}", text::path(path)));
    }
    let mut report = RestoreReport::default();
    for dumped in &dump.collections {
        if let Some(note) = dumped.metadata.as_ref().and_then(|(path, metadata)| unkept(path, metadata)) {
            notes::say(&note);
        }
        let watched = meter.watch(Arc::clone(progress));
        let restored = restore.collection(dumped);
        watched.end();
        report.collections.push(restored.map_err(explain)?);
    }
    report.views = restore.create_views().map_err(explain)?;
    Ok(report)
}

fn explain(error: Error) -> Failure {
    match error {
        Error::Stopped => Failure::Interrupted("stopped: run the same command again to continue".to_owned()),
        Error::Dump(ref text) if text.contains("restored before") => {
            let advice = "--on-duplicate replace overwrites existing documents with those of the dump, and --on-duplicate skip restores only the missing ones";
            Failure::explained(error, Some(advice.to_owned()))
        }
        Error::Dump(ref text) if text.contains("documents already") => {
            let advice = "--on-duplicate error, replace or skip restores into them anyway".to_owned();
            Failure::explained(error, Some(advice))
        }
        error => match option_for(&error.to_string()) {
            Some(option) => {
                Failure::explained(error, Some(format!("{option}, and --on-bad skip leaves such documents out")))
            }
            None => error.into(),
        },
    }
}

/// Fails if an index or a collection of the dump is not restored.
fn skipped(dump: &Dump) -> Outcome {
    let metadata = dump.collections.iter().filter_map(|dumped| dumped.metadata.as_ref());
    let indexes: usize = metadata.map(|(_, metadata)| metadata.unsupported_indexes().len()).sum();
    let parts: Vec<String> = [(indexes, "index"), (dump.skipped.len(), "collection or view")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| match (count, what) {
            (1, what) => format!("1 {what}"),
            (n, "index") => format!("{n} indexes"),
            (n, _) => format!("{n} collections or views"),
        })
        .collect();
    if parts.is_empty() {
        return Ok(());
    }
    let verb = if indexes + dump.skipped.len() == 1 { "is" } else { "are" };
    Err(Failure::Other(format!(
        "{} of the dump {verb} not restored (see the notes above); --strict refuses such a dump before anything is restored",
        parts.join(" and ")
    )))
}

fn sum(report: &RestoreReport, figure: fn(&RestoredCollection) -> u64) -> u64 {
    report.collections.iter().map(figure).sum()
}

fn describe(report: &RestoreReport, meter: &Meter) -> String {
    let documents = text::counted(sum(report, |c| c.documents), "document");
    let collections = text::counted(report.collections.len() as u64, "collection");
    let indexes: usize = report.collections.iter().map(|collection| collection.indexes.len()).sum();
    let indexes = match indexes {
        0 => String::new(),
        1 => ", and an index,".to_owned(),
        n => format!(", and {n} indexes,"),
    };
    let mut text = format!("restored {documents} of {collections}{indexes} in {}\n", text::duration(meter.took()));
    for (n, what) in [
        (sum(report, |c| c.documents_before), "had been restored before, and were not changed"),
        (sum(report, |c| c.duplicates), "left out, because a document with the _id existed"),
        (sum(report, |c| c.rejected), "left out, because it cannot be stored"),
        (sum(report, |c| c.repaired), "repaired"),
    ] {
        if n > 0 {
            let what = if n == 1 { what.to_owned() } else { what.replace("it cannot", "they cannot") };
            text += &format!("{} {what}\n", text::counted(n, "document"));
        }
    }
    text
}

fn to_json(dump: &Dump, report: &RestoreReport, meter: &Meter) -> serde_json::Value {
    let collections = dump.collections.iter().zip(&report.collections).map(|(dumped, restored)| {
        let passed_over = dumped.metadata.as_ref().map(|(_, metadata)| metadata.unsupported_indexes());
        let passed_over: Vec<String> = passed_over.into_iter().flatten().map(|(name, _)| name).collect();
        serde_json::json!({
            "name": restored.name,
            "documents": restored.documents,
            "documents_before": restored.documents_before,
            "duplicates": restored.duplicates,
            "rejected": restored.rejected,
            "repaired": restored.repaired,
            "indexes_made": restored.indexes,
            "indexes_not_built": passed_over,
        })
    });
    let file =
        |(path, why): &(PathBuf, String)| serde_json::json!({ "file": path.display().to_string(), "reason": why });
    serde_json::json!({
        "documents": sum(report, |c| c.documents),
        "seconds": meter.took().as_secs_f64(),
        "collections": collections.collect::<Vec<_>>(),
        "passed_over": dump.passed_over.iter().map(file).collect::<Vec<_>>(),
        "skipped": dump.skipped.iter().map(file).collect::<Vec<_>>(),
    })
}
