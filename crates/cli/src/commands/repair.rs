//! `alluvium repair`: copies the undamaged parts of a damaged database to a new one.

use crate::advice;
use crate::exit::{self, Failure, Outcome};
use crate::files;
use crate::output::Output;
use crate::settings::database::refuse_read_only;
use crate::settings::size;
use crate::signals::Stop;
use crate::text;
use alluvium::repair::{self, Loss, LostNumbers, RepairReport};
use alluvium_env::Env;
use std::path::PathBuf;

/// Arguments of `repair`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: alluvium repair damaged.db --to saved.db

The damaged database is only read: keep it until you have checked the copy. Every document whose bytes are undamaged is \
saved. A document of which a newer version or its deletion may be lost is saved in the collection NAME.doubtful: check \
these, and put back those that you want (`alluvium export` and `alluvium load`). What the log has lost is reported by the sequence numbers of the \
operations. Indexes are built again over the saved documents. The exit code is 0 if nothing was lost, else 5.")]
pub(crate) struct Args {
    /// The damaged database, a directory
    #[arg(value_name = "DB")]
    database: PathBuf,
    /// The directory of the new database; it must not exist
    #[arg(long, value_name = "NEW")]
    to: PathBuf,
    /// Memory budget for writing the new database in bytes, such as 64M or 1G; at least 8M, by default 256M
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    memory: Option<u64>,
    /// Start even if the disk may be too small
    #[arg(long)]
    no_space_check: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// The maximum number of losses, of notes and of documents that are listed; --json lists all of them.
const MOST_LISTED: usize = 50;

impl Args {
    /// Repairs, and prints the saved and the lost documents.
    pub(crate) fn run(&self) -> Outcome {
        refuse_read_only(&self.database, "`verify` checks it, and one that is damaged is built again from its source")?;
        if let Some(what) = advice::unfinished(&self.database) {
            return Err(Failure::NotFound(what));
        }
        let stop = Stop::on_signals()?;
        let large = |_| Failure::Usage("--memory is more than this machine can address".to_owned());
        let memory_bytes = self.memory.map(usize::try_from).transpose().map_err(large)?;
        let mut repair = repair::repair(&self.database, &self.to).stop_when(stop.flag());
        if let Some(bytes) = memory_bytes {
            repair = repair.memory(bytes);
        }
        let env = Env::os();
        files::refuse_inside(&env, &self.to)?;
        if !self.no_space_check
            && let Ok(space) = repair.space()
        {
            exit::enough_space(space)?;
        }
        let report = repair.run().map_err(|error| match error {
            alluvium::Error::Stopped => Failure::Interrupted("stopped: the unfinished copy was removed".to_owned()),
            error => error.into(),
        })?;
        let mut out = Output::new();
        match self.json {
            true => out.json(&to_json(&report))?,
            false => out.text(&self.describe(&report))?,
        }
        out.finish()?;
        match report.is_whole() {
            true => Ok(()),
            false => {
                let (from, to) = (text::path(&self.database), text::path(&self.to));
                Err(Failure::Damaged(format!("something was lost: keep {from} until you have looked at {to}")))
            }
        }
    }

    fn describe(&self, report: &RepairReport) -> String {
        let mut said = format!(
            "saved {} of {} in {} ({} and {} of {} read)\n",
            text::counted(report.documents(), "document"),
            text::path(&self.database),
            text::path(&self.to),
            text::counted(report.files, "sorted file"),
            text::counted(report.blocks, "block"),
            text::path(&self.database),
        );
        for collection in &report.collections {
            let full_name = text::plain(&collection.name);
            said += &format!("  {full_name}: {}\n", text::counted(collection.documents, "document"));
            if let Some(name) = &collection.doubtful_in {
                let documents = text::counted(collection.doubtful, "document");
                said += &format!("  {}: {documents} that may have been changed or deleted since\n", text::plain(name));
            }
            if collection.unreadable > 0 {
                let documents = text::counted(collection.unreadable, "document");
                said += &format!("  {full_name}: {documents} lost, which cannot be decoded\n");
            }
            if collection.unordered > 0 {
                let documents = text::counted(collection.unordered, "document");
                said += &format!(
                    "  {full_name}: the place of {documents} in the order of insertion is lost; those without one come last, as they were written\n"
                );
            }
            for index in &collection.indexes {
                said += &format!("  {full_name}: the index {} was built again\n", text::plain(index));
            }
            for (index, reason) in &collection.indexes_lost {
                said += &format!(
                    "  {full_name}: the index {} was not built: {}\n",
                    text::plain(index),
                    text::plain(reason)
                );
            }
        }
        list(&mut said, report.losses.iter().map(|loss| format!("lost: {}", describe_loss(loss))));
        if report.indexes_lost > 0 {
            let n = text::count(report.indexes_lost);
            said += &format!("lost: the definitions of {n} of the indexes; `alluvium index create` makes them again\n");
        }
        list(&mut said, report.lost_numbers.iter().map(describe_numbers));
        list(&mut said, report.unreadable.iter().map(|u| format!("lost: {} of {}: {}", u.id, u.collection, u.reason)));
        list(&mut said, report.notes.iter().map(|note| format!("note: {note}")));
        if report.is_whole() {
            said += "nothing is lost\n";
        }
        said
    }
}

fn list(said: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let more = lines.len().saturating_sub(MOST_LISTED);
    for line in lines.take(MOST_LISTED) {
        *said += &(text::plain(&line) + "\n");
    }
    if more > 0 {
        *said += &format!("and {more} more (--json lists them all)\n");
    }
}

pub(super) fn describe_numbers(lost: &LostNumbers) -> String {
    let advice = "documents that they changed have their earlier content, and documents that they deleted may be back";
    match lost.last {
        u64::MAX => format!("lost: the operations from number {} on, an unknown number: {advice}", lost.first),
        last => format!("lost: the operations {} to {last} of the log: {advice}", lost.first),
    }
}

/// A loss as text.
pub(super) fn describe_loss(loss: &Loss) -> String {
    let keys = if loss.entries { format!(": {}", repair::describe_range(loss)) } else { String::new() };
    let (path, what) = (text::path(&loss.path), &loss.what);
    match loss.bytes {
        0 => format!("{path}: {what}{keys}"),
        bytes => format!("{path} at offset {}, {bytes} bytes: {what}{keys}", loss.offset),
    }
}

fn to_json(report: &RepairReport) -> serde_json::Value {
    let collections = report.collections.iter().map(|collection| {
        serde_json::json!({
            "name": collection.name,
            "documents": collection.documents,
            "doubtful": collection.doubtful,
            "doubtful_in": collection.doubtful_in,
            "unordered": collection.unordered,
            "unreadable": collection.unreadable,
            "indexes": collection.indexes,
            "indexes_lost": collection
                .indexes_lost
                .iter()
                .map(|(name, reason)| serde_json::json!({ "name": name, "reason": reason }))
                .collect::<Vec<_>>(),
        })
    });
    let losses = report.losses.iter().map(|loss| {
        serde_json::json!({
            "file": loss.path.display().to_string(),
            "offset": loss.offset,
            "bytes": loss.bytes,
            "reason": loss.what,
            "keys": loss.entries.then(|| repair::describe_range(loss)),
        })
    });
    let numbers = |lost: &LostNumbers| {
        let last = (lost.last < u64::MAX).then_some(lost.last);
        serde_json::json!({ "first": lost.first, "last": last })
    };
    let unreadable = report
        .unreadable
        .iter()
        .map(|u| serde_json::json!({ "collection": u.collection, "id": u.id, "reason": u.reason }));
    serde_json::json!({
        "whole": report.is_whole(),
        "documents": report.documents(),
        "doubtful": report.doubtful(),
        "collections": collections.collect::<Vec<_>>(),
        "other_entries": report.others.0,
        "other_entries_doubtful": report.others.1,
        "index_definitions_lost": report.indexes_lost,
        "losses": losses.collect::<Vec<_>>(),
        "lost_operations": report.lost_numbers.iter().map(numbers).collect::<Vec<_>>(),
        "unreadable": unreadable.collect::<Vec<_>>(),
        "notes": report.notes,
    })
}
